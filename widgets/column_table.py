"""A large table: sorts and filters by index, formats a cell when it is shown, and its totals stay in sight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QMenu, QTableView, QVBoxLayout, QWidget

from viewer.base.column_frame import NS, TEXT, ColumnFrame
from viewer.base.theme import Theme
from viewer.base.time import format_exact
from viewer.base.units import plain_signs
from widgets.keys import wants_copy
from widgets.painted import PaintedWidget
from widgets.table import CHIP, ChipDelegate
from widgets.table_model import CHIP_ROLE, ROOT, Index
from widgets.theming import color, paint_color, palette_of, safe_tip

_PAD = 18
_FIRST_LEAST = 160
_FIRST_MOST = 2_000
_SAMPLE = 300
"""Rows that are measured for the width of a column."""
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class ColumnModel(QAbstractTableModel):
    """A :class:`ColumnFrame` behind Qt's interface; ``order`` maps shown rows to rows of the frame."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame = ColumnFrame(())
        self.order: NDArray[np.int64] = np.empty(0, np.int64)
        self.sorted_by: tuple[str, bool] | None = None
        """Head of the column, and whether the largest come first."""
        self.keep: NDArray[np.bool_] | None = None
        self.theme: Theme | None = None

    def set_frame(self, frame: ColumnFrame, keep: NDArray[np.bool_] | None) -> None:
        """Show other rows, those of ``keep`` (all for None), in the order that was chosen."""
        self.beginResetModel()
        self.frame, self.keep = frame, keep
        self._reorder()
        self.endResetModel()

    def set_keep(self, keep: NDArray[np.bool_] | None) -> None:
        """Show these rows of the frame."""
        self.beginResetModel()
        self.keep = keep
        self._reorder()
        self.endResetModel()

    def sort_by(self, head: str, down: bool) -> None:
        """Sort by a column; rows without a value stay at the end."""
        self.beginResetModel()
        self.sorted_by = (head, down)
        self._reorder()
        self.endResetModel()

    def _reorder(self) -> None:
        rows = np.arange(len(self.frame))
        if self.keep is not None:
            rows = rows[self.keep]
        column = next((c for c in self.frame.columns if self.sorted_by and c.head == self.sorted_by[0]), None)
        if column is not None and self.sorted_by is not None:
            down = self.sorted_by[1]
            if column.kind == TEXT:
                texts = [column.values[r].lower() for r in rows.tolist()]
                at = np.array(sorted(range(len(texts)), key=texts.__getitem__, reverse=down), np.int64)
            else:
                values = (
                    np.array([np.nan if v is None else v for v in column.values], np.float64)[rows]
                    if any(v is None for v in column.values)
                    else np.asarray(column.values)[rows]
                )
                at = np.argsort(-values if down else values, kind="stable")
            rows = rows[at]
        self.order = rows.astype(np.int64)

    def rowCount(self, parent: Index = ROOT) -> int:
        """Number of shown rows."""
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(self.frame.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, alignment, tooltip and colour of a cell."""
        row, column = int(self.order[index.row()]), self.frame.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.shown(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column.kind == TEXT else _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            return safe_tip(self._tip(row, index.column()))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            named = self.frame.class_name(row) if not index.column() else ""
            return f"{column.shown(row)}, {named}" if named else column.shown(row)
        if role == CHIP_ROLE and self.theme is not None and self.frame.paints:
            paint = self.frame.paints[row]
            return None if paint is None else paint_color(self.theme, paint)
        return None

    def _tip(self, row: int, at: int) -> str:
        column = self.frame.columns[at]
        if column.kind == NS and column.values[row] is not None:
            return format_exact(int(column.values[row]))
        named = self.frame.class_name(row) if not at else ""
        return f"{column.shown(row)}\n{named}" if named else column.shown(row)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, tooltip and alignment of a header."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self.frame.columns):
            return None
        column = self.frame.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.head
        if role == Qt.ItemDataRole.ToolTipRole:
            return safe_tip(column.how)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column.kind == TEXT else _RIGHT
        return None


class _View(QTableView):
    """The rows; what is chosen by mouse and keys goes to the table around it."""

    def __init__(self, owner: ColumnTable) -> None:
        super().__init__(owner)
        self._owner = owner

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy, and step through what a row stands for."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self._owner.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._owner.row_stepped.emit(self._owner.row_at(self.currentIndex()), not back)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Take Ctrl+C before a shortcut of the window does."""
        return wants_copy(event) or super().event(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click steps; the first of its clicks went to the longest."""
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            self._owner.row_stepped.emit(self._owner.row_at(index), True)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to copy."""
        menu = QMenu(self)
        some = self.selectionModel().hasSelection()
        menu.addAction("Copy selected rows" if some else "Copy table", self._owner.copy)
        menu.exec(event.globalPos() if event.globalPos() != QPoint() else self.mapToGlobal(QPoint(0, 0)))
        menu.deleteLater()


class _Totals(PaintedWidget):
    """The last row, below the columns it belongs to."""

    def __init__(self, view: QTableView, model: ColumnModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._view, self._model = view, model
        self.texts: tuple[str, ...] = ()
        self.setFixedHeight(self.fontMetrics().height() + 8)

    def paint(self, painter: QPainter) -> None:
        """Draw each text where its column is."""
        theme, head = self._model.theme, self._view.horizontalHeader()
        if theme is None:
            return
        painter.fillRect(self.rect(), color(theme, "window"))
        painter.setPen(QPen(color(theme, "line"), 1))
        painter.drawLine(0, 0, self.width(), 0)
        font = QFont(self.font())
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(color(theme, "text"))
        for c, text in enumerate(self.texts):
            kind = self._model.frame.columns[c].kind
            box = QRect(head.sectionViewportPosition(c), 0, head.sectionSize(c), self.height())
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, box.width() - 8)
            painter.drawText(box.adjusted(4, 0, -4, 0), _LEFT if kind == TEXT else _RIGHT, shown)


class ColumnTable(QWidget):
    """Shows a :class:`ColumnFrame` with a row of totals.

    A header click sorts (numbers: largest first, texts: first letters first); Ctrl+C copies the selected rows, or all.
    ``first_least`` is the least width of the first column in px; where it leaves no room the others are scrolled to.

    Signals:
        row_clicked(int): the row of the frame that was clicked.
        row_stepped(int, bool): a row was double-clicked, or chosen with Return (forward) or Shift+Return (back).
        sorted_by(str, bool): the user sorted by the column of that head; whether the largest come first.
    """

    row_clicked = Signal(int)
    row_stepped = Signal(int, bool)
    sorted_by = Signal(str, bool)

    def __init__(self, parent: QWidget | None = None, first_least: int = _FIRST_LEAST) -> None:
        super().__init__(parent)
        self._first_least = first_least
        self.model = ColumnModel(self)
        view = self.view = _View(self)
        view.setModel(self.model)
        view.setAccessibleName("Table without rows")
        view.setItemDelegateForColumn(0, ChipDelegate(view))
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setShowGrid(False)
        view.setAlternatingRowColors(True)
        view.setWordWrap(False)
        view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        view.setTabKeyNavigation(False)
        view.verticalHeader().hide()
        view.verticalHeader().setMinimumSectionSize(1)
        view.verticalHeader().setDefaultSectionSize(view.fontMetrics().height() + 6)
        head = view.horizontalHeader()
        head.setSectionsClickable(True)
        head.setHighlightSections(False)
        head.setMinimumSectionSize(24)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        head.sectionClicked.connect(self._sort)
        self.totals = _Totals(view, self.model, self)
        head.sectionResized.connect(lambda *_: self.totals.update())
        view.horizontalScrollBar().valueChanged.connect(lambda *_: self.totals.update())
        view.clicked.connect(lambda index: self.row_clicked.emit(self.row_at(index)))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(view, 1)
        layout.addWidget(self.totals)
        self.setFocusProxy(view)

    def row_at(self, index: Index | QModelIndex) -> int:
        """The row of the frame behind a shown cell."""
        return int(self.model.order[index.row()])

    def sizeHint(self) -> QSize:
        """A dozen rows."""
        return QSize(700, 12 * (self.fontMetrics().height() + 6))

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self.model.theme = theme
        palette = palette_of(theme)
        self.setPalette(palette)
        self.view.setPalette(palette)
        self.view.horizontalHeader().setPalette(palette)
        self.view.viewport().update()
        self.totals.update()

    def set_frame(self, frame: ColumnFrame, keep: NDArray[np.bool_] | None, totals: tuple[str, ...]) -> None:
        """Show other rows; order, place and selected names stay where the columns are the same."""
        same = frame.heads == self.model.frame.heads
        chosen = self._chosen_names() if same else set()
        bar, at = self.view.verticalScrollBar(), self.view.verticalScrollBar().value()
        self.model.set_frame(frame, keep)
        self._show_rows(totals)
        if not same:
            self._fit_columns()
        elif chosen:
            self._choose_names(chosen)
        bar.setValue(at if same else 0)

    def set_keep(self, keep: NDArray[np.bool_] | None, totals: tuple[str, ...]) -> None:
        """Filter the rows."""
        self.model.set_keep(keep)
        self._show_rows(totals)

    def set_order(self, head: str, down: bool) -> None:
        """Sort by the column of that head."""
        self.model.sort_by(head, down)
        self._show_indicator()

    def copy(self) -> None:
        """Put the selected rows, or all shown ones, on the clipboard as tab-separated values."""
        lines = self.model.frame.records(self.chosen_rows())
        QGuiApplication.clipboard().setText("\n".join("\t".join(map(plain_signs, line)) for line in lines) + "\n")

    def chosen_rows(self) -> list[int]:
        """Rows of the frame: the selected ones, else all shown ones, as they are sorted."""
        rows = sorted(i.row() for i in self.view.selectionModel().selectedRows())
        return [int(r) for r in (self.model.order[rows] if rows else self.model.order)]

    def _chosen_names(self) -> set[str]:
        rows = self.view.selectionModel().selectedRows()
        return {self.model.frame.columns[0].values[self.row_at(i)] for i in rows}

    def _choose_names(self, names: set[str]) -> None:
        values = self.model.frame.columns[0].values
        mode = self.view.selectionModel().SelectionFlag.Select | self.view.selectionModel().SelectionFlag.Rows
        for shown, row in enumerate(self.model.order.tolist()):
            if values[row] in names:
                self.view.selectionModel().select(self.model.index(shown, 0), mode)

    def _show_rows(self, totals: tuple[str, ...]) -> None:
        self.totals.texts = totals
        self.totals.setAccessibleName("Totals: " + ", ".join(t for t in totals if t))
        self.totals.update()
        words = f"Table of {', '.join(self.model.frame.heads)}: {len(self.model.order)} rows"
        for part in (self, self.view):  # a reader meets the one that takes the focus
            part.setAccessibleName(words)
        self._show_indicator()

    def _show_indicator(self) -> None:
        head, by = self.view.horizontalHeader(), self.model.sorted_by
        heads = self.model.frame.heads
        head.setSortIndicatorShown(by is not None and by[0] in heads)
        if by is not None and by[0] in heads:
            order = Qt.SortOrder.DescendingOrder if by[1] else Qt.SortOrder.AscendingOrder
            head.setSortIndicator(heads.index(by[0]), order)

    def _sort(self, section: int) -> None:
        column, was = self.model.frame.columns[section], self.model.sorted_by
        down = not was[1] if was is not None and was[0] == column.head else column.kind != TEXT
        self.set_order(column.head, down)
        self.sorted_by.emit(column.head, down)

    def _fit_columns(self) -> None:
        """Columns as wide as their texts; the first takes what is left."""
        model, view = self.model, self.view
        metrics, head = view.fontMetrics(), view.horizontalHeader().fontMetrics()
        rest = 0
        for c, column in enumerate(model.frame.columns):
            if not c:
                continue
            rows = model.order[:_SAMPLE].tolist()
            texts = [column.shown(r) for r in rows] + ["1,234.5 ms"]
            widths = [metrics.horizontalAdvance(text) for text in texts] + [head.horizontalAdvance(column.head)]
            if self.totals.texts:
                widths.append(metrics.horizontalAdvance(self.totals.texts[c]) * 11 // 10)  # it is bold
            width = max(widths) + _PAD
            view.setColumnWidth(c, width)
            rest += width
        if model.frame.columns:
            room = view.viewport().width() - rest
            view.setColumnWidth(0, min(max(room, self._first_least + CHIP), _FIRST_MOST))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The first column follows the width."""
        super().resizeEvent(event)
        self._fit_columns()
