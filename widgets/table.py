"""A table of texts that sorts by keys, jumps on a click, and copies as tab-separated values."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from viewer.base.frames import TableFrame
from viewer.base.theme import PAINT_NAMES, Theme
from widgets.labels import short_name
from widgets.theming import color, palette_of, safe_tip

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
NAME_WIDTH = 130
"""The column that takes what is left never gets narrower than this; the table scrolls sideways instead."""
COLUMN_MOST = 220
INDENT = "\u2002"
"""Before texts that follow a column of numbers, which end where they begin."""
CHIP = 9
CHIP_ROLE = Qt.ItemDataRole.UserRole + 1
"""The colour of a row's class; None without one."""
_TEXT_MARGIN = 4
_NUMBER = (int, float, type(None))
_UNITS = (" ns", " us", " ms", " s")


def _sort_key(value: Any) -> tuple[int, Any]:
    """Numbers before texts before nothing, so that mixed columns still have an order."""
    if value is None:
        return (2, 0)
    return (1, value.lower()) if isinstance(value, str) else (0, value)


class TableModel(QAbstractTableModel):
    """A :class:`TableFrame` behind Qt's interface; ``order`` maps shown rows to rows of the frame."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame = TableFrame((), [], [])
        self.order: list[int] = []
        self.sorted_by: tuple[int, Qt.SortOrder] | None = None
        self.numeric: list[bool] = []
        self.exact: list[bool] = []
        self.theme: Theme | None = None

    def set_frame(self, frame: TableFrame) -> None:
        """Show other rows; the order chosen by the user is kept while the headers stay."""
        self.beginResetModel()
        if frame.headers != self.frame.headers:
            self.sorted_by = None
        self.frame = frame
        columns = range(len(frame.headers))
        self.numeric = [
            any(k[c] is not None for k in frame.keys) and all(isinstance(k[c], _NUMBER) for k in frame.keys)
            for c in columns
        ]
        self.exact = [self._holds_ns(c) for c in columns]
        self._reorder()
        self.endResetModel()

    def _holds_ns(self, column: int) -> bool:
        """Whether a column shows durations whose keys are whole nanoseconds."""
        seen = False
        for row, keys in zip(self.frame.rows, self.frame.keys, strict=True):
            if keys[column] is None:
                continue
            if not isinstance(keys[column], int) or not row[column].endswith(_UNITS):
                return False
            seen = True
        return seen

    def _reorder(self) -> None:
        self.order = list(range(len(self.frame.rows)))
        if self.sorted_by is not None:
            column, direction = self.sorted_by
            down = direction == Qt.SortOrder.DescendingOrder
            keys = [_sort_key(k[column]) for k in self.frame.keys]
            present = [i for i in self.order if keys[i][0] != 2]
            absent = [i for i in self.order if keys[i][0] == 2]
            self.order = sorted(present, key=keys.__getitem__, reverse=down) + absent

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by the keys of a column; rows without a value stay at the end."""
        if not 0 <= column < len(self.frame.headers):
            return
        self.layoutAboutToBeChanged.emit()
        self.sorted_by = (column, order)
        self._reorder()
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Number of rows."""
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(self.frame.headers)

    def class_name(self, row: int) -> str:
        """Name of the class of a row of the frame, "" without one."""
        paint = self.frame.paints[row] if row < len(self.frame.paints) else None
        return PAINT_NAMES[paint] if paint is not None else ""

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, alignment, tooltip and colour of a cell."""
        row, column = self.order[index.row()], index.column()
        text = self.frame.rows[row][column]
        if role == Qt.ItemDataRole.DisplayRole:
            return text if self.numeric[column] or not column else INDENT + text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if self.numeric[column] else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            return safe_tip(self._tip(row, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            named = self.class_name(row)
            return f"{text}, {named}" if column == 0 and named else text
        if role == Qt.ItemDataRole.ForegroundRole and self.theme is not None and text == "–":
            return color(self.theme, "muted")
        if role == CHIP_ROLE and self.theme is not None:
            paint = self.frame.paints[row] if row < len(self.frame.paints) else None
            return None if paint is None else QColor(self.theme.paints[paint])
        return None

    def _tip(self, row: int, column: int) -> str:
        text, key = self.frame.rows[row][column], self.frame.keys[row][column]
        if self.exact[column] and key is not None:
            return f"{int(key):,} ns"
        named = self.class_name(row)
        return f"{text}\n{named}" if column == 0 and named else text

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, tooltip and alignment of a header."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self.frame.headers):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            head = self.frame.headers[section]
            return head if self.numeric[section] or not section else INDENT + head
        if role == Qt.ItemDataRole.ToolTipRole and section < len(self.frame.how):
            return safe_tip(self.frame.how[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if self.numeric[section] else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def tsv(self, rows: list[int]) -> str:
        """Shown rows with headers as tab-separated values; durations as whole ns, the class as a last column."""
        classes = any(p is not None for p in self.frame.paints)
        heads = [f"{h} (ns)" if e else h for h, e in zip(self.frame.headers, self.exact, strict=True)]
        lines = [[*heads, "class"] if classes else heads]
        for shown in rows:
            row = self.order[shown]
            cells = []
            for c, text in enumerate(self.frame.rows[row]):
                key = self.frame.keys[row][c]
                cells.append(str(int(key)) if self.exact[c] and key is not None else "" if text == "–" else text)
            lines.append([*cells, self.class_name(row)] if classes else cells)
        return "\n".join("\t".join(" ".join(cell.split()) for cell in line) for line in lines) + "\n"


def fitted(text: str, metrics: QFontMetrics, room: int) -> str:
    """A name as it is shown in so much room: whole, or only its telling part (which the view elides if need be)."""
    code = text.endswith((")", ">")) or "::" in text or text.startswith("nccl")
    return text if not code or metrics.horizontalAdvance(text) <= room else short_name(text)


class NameDelegate(QStyledItemDelegate):
    """Shows the telling part of names that do not fit: many kernels begin and end alike."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Set what is painted."""
        super().initStyleOption(option, index)
        rect: QRect = option.rect
        option.text = fitted(option.text, option.fontMetrics, rect.width() - 2 * _TEXT_MARGIN)


class ChipDelegate(NameDelegate):
    """Draws a chip in the colour of the row's class before the first column's text."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint a cell."""
        chip_color = index.data(CHIP_ROLE)
        if chip_color is not None:
            shifted = QStyleOptionViewItem(option)
            rect: QRect = option.rect
            if option.state & QStyle.StateFlag.State_Selected:
                painter.fillRect(rect, option.palette.highlight())
            chip = QRect(rect.left() + 4, rect.center().y() - CHIP // 2, CHIP, CHIP)
            painter.fillRect(chip, chip_color)
            shifted.rect = rect.adjusted(CHIP + 6, 0, 0, 0)
            super().paint(painter, shifted, index)
        else:
            super().paint(painter, option, index)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Preferred size."""
        size = super().sizeHint(option, index)
        return QSize(size.width() + CHIP + 6, size.height())


class DataTable(QTableView):
    """Shows a :class:`TableFrame`.

    A header click sorts (numbers: largest first); Ctrl+C copies the selected rows, or all when none is.

    Signals:
        jump_requested(object): the jump of a row that was clicked, or chosen with Return.
        row_chosen(int): the row of the frame that was clicked or chosen, with or without a jump.
    """

    jump_requested = Signal(object)
    row_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, max_rows: int = 10) -> None:
        super().__init__(parent)
        self._max_rows = max_rows
        self._model = TableModel(self)
        self.setModel(self._model)
        self.setItemDelegate(NameDelegate(self))
        self.setItemDelegateForColumn(0, ChipDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(1)
        head = self.horizontalHeader()
        head.setSectionsClickable(True)
        head.setSortIndicatorShown(False)
        head.setHighlightSections(False)
        head.setMinimumSectionSize(24)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        head.sectionClicked.connect(self._sort)
        self.clicked.connect(self._jump)
        self._fit_rows()

    def model(self) -> TableModel:
        """The model, with ``order`` and ``frame``."""
        return self._model

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._model.theme = theme
        palette = palette_of(theme)
        self.setPalette(palette)
        self.horizontalHeader().setPalette(palette)
        self.viewport().update()

    def set_frame(self, frame: TableFrame) -> None:
        """Show other rows."""
        if frame == self._model.frame:
            return
        self._model.set_frame(frame)
        self.horizontalHeader().setSortIndicatorShown(self._model.sorted_by is not None)
        jumps = any(j is not None for j in frame.jumps)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if jumps else Qt.CursorShape.ArrowCursor)
        self.setAccessibleName(f"Table of {', '.join(frame.headers)}: {len(frame.rows)} rows")
        self._fit_rows()
        self._fit_columns()
        self._fit_rows()

    def copy(self) -> None:
        """Put the selected rows, or all when none is, on the clipboard."""
        rows = sorted(i.row() for i in self.selectionModel().selectedRows()) or list(range(self._model.rowCount()))
        QGuiApplication.clipboard().setText(self._model.tsv(rows))

    def _sort(self, column: int) -> None:
        was = self._model.sorted_by
        down, up = Qt.SortOrder.DescendingOrder, Qt.SortOrder.AscendingOrder
        first = down if self._model.numeric[column] else up
        order = (up if was[1] == down else down) if was is not None and was[0] == column else first
        head = self.horizontalHeader()
        head.setSortIndicatorShown(True)
        head.setSortIndicator(column, order)
        self.clearSelection()
        self._model.sort(column, order)

    def _jump(self, index: Index) -> None:
        row = self._model.order[index.row()]
        self.row_chosen.emit(row)
        jumps = self._model.frame.jumps
        if row < len(jumps) and jumps[row] is not None:
            self.jump_requested.emit(jumps[row])

    def _fit_rows(self) -> None:
        height = self.fontMetrics().height() + 6
        self.verticalHeader().setDefaultSectionSize(height)
        head = self.horizontalHeader().sizeHint().height()
        scroll = self.horizontalScrollBar().sizeHint().height() if self._too_wide() else 0
        count = self._model.rowCount()
        rows = min(max(1, count), self._max_rows)
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOff if count <= self._max_rows else policy.ScrollBarAlwaysOn
        )
        self.setFixedHeight(head + rows * height + scroll + 2)

    def _too_wide(self) -> bool:
        return self.horizontalHeader().length() > self.viewport().width()

    def _fit_columns(self) -> None:
        """Columns as wide as their texts; the column with the longest texts takes what is left, and elides them."""
        count = self._model.columnCount()
        if not count:
            return
        metrics, head = self.fontMetrics(), self.horizontalHeader().fontMetrics()
        needs = []
        for c in range(count):
            pad = 14 + (CHIP + 6 if c == 0 and any(p is not None for p in self._model.frame.paints) else 0)
            title = head.horizontalAdvance(self._model.frame.headers[c]) + 16
            texts = max((metrics.horizontalAdvance(r[c]) for r in self._model.frame.rows[:300]), default=0) + pad
            needs.append(max(title, texts))
        words = [c for c in range(count) if not self._model.numeric[c]] or [0]
        elastic = max(words, key=needs.__getitem__)
        rest = 0
        for c in range(count):
            if c != elastic:
                width = min(needs[c], COLUMN_MOST)
                self.setColumnWidth(c, width)
                rest += width
        self.setColumnWidth(elastic, max(min(NAME_WIDTH, needs[elastic]), self.viewport().width() - rest))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the new width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit_columns()
            self._fit_rows()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy, and choose by keyboard."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._jump(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Take Ctrl+C before a shortcut of the window does."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Copy)
        ):
            event.accept()
            return True
        return super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the panel, unless this table has rows of its own to scroll."""
        bar = self.verticalScrollBar()
        up = event.angleDelta().y() > 0
        stuck = bar.maximum() == 0 or (up and bar.value() == 0) or (not up and bar.value() == bar.maximum())
        if stuck and not event.angleDelta().x():
            event.ignore()
        else:
            super().wheelEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to copy."""
        menu = QMenu(self)
        menu.addAction("Copy selected rows" if self.selectionModel().hasSelection() else "Copy table", self.copy)
        menu.exec(event.globalPos() if event.globalPos() != QPoint() else self.mapToGlobal(QPoint(0, 0)))
        menu.deleteLater()
