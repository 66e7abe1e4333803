"""A table of texts that sorts by keys, jumps on a click, and copies as tab-separated values."""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
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
from viewer.base.names import short_name
from viewer.base.theme import Theme
from widgets.keys import wants_copy
from widgets.table_model import CHIP_ROLE, Index, TableModel
from widgets.theming import palette_of

NAME_WIDTH = 130
"""The column that takes what is left never gets narrower than this; the table scrolls sideways instead."""
COLUMN_MOST = 220
CHIP = 9
_TEXT_MARGIN = 4


def fitted(text: str, metrics: QFontMetrics, room: int) -> str:
    """A name as it is shown in so much room: whole, or only its telling part (which the view elides if need be)."""
    name = text.lstrip()  # a word stands a space away from the number before it
    code = name.endswith((")", ">")) or "::" in name or name.startswith("nccl")
    if not code or metrics.horizontalAdvance(text) <= room:
        return text
    return text[: len(text) - len(name)] + short_name(name)


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

    As high as its rows, at most ``max_rows`` of them; with ``min_rows`` it gives way where there is less room.

    A header click sorts (numbers: largest first); Ctrl+C copies the selected rows, or all when none is.

    Signals:
        jump_requested(object): the jump of a row that was clicked, or chosen with Return.
        row_chosen(int): the row of the frame that was clicked or chosen, with or without a jump.
    """

    jump_requested = Signal(object)
    row_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, max_rows: int = 10, min_rows: int | None = None) -> None:
        super().__init__(parent)
        self._max_rows, self._min_rows = max_rows, min_rows
        self._fitting = False
        self._model = TableModel(self)
        self.setModel(self._model)
        self.setAccessibleName("Table without rows")
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
        tall = head + rows * height + scroll + 2
        # Nothing is set twice: layouts and scroll bars answer by another size, and this to that, without end.
        gives_way = self._min_rows is not None and rows > self._min_rows
        least = head + (self._min_rows or 0) * height + scroll + 2 if gives_way else tall
        policy = Qt.ScrollBarPolicy
        always = policy.ScrollBarAlwaysOff if count <= self._max_rows else policy.ScrollBarAlwaysOn
        self.setVerticalScrollBarPolicy(policy.ScrollBarAsNeeded if gives_way else always)
        if (self.minimumHeight(), self.maximumHeight()) != (least, tall):
            self.setMaximumHeight(tall)
            self.setMinimumHeight(least)

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
        if event.size().width() != event.oldSize().width() and not self._fitting:
            self._fitting = True  # a scroll bar that comes or goes changes the width once more
            try:
                self._fit_columns()
                self._fit_rows()
            finally:
                self._fitting = False

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
        return wants_copy(event) or super().event(event)

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
