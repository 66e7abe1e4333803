"""The panel of notes, marks and bookmarks: a click goes there, a text is edited in place."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QStackedLayout,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.kept_model import TEXT, Index, KeptFilter, KeptModel
from viewer.views.kept.kept_list import HEADERS, KeptRow, kept_text
from widgets.keys import wants_copy
from widgets.theming import palette_of

HINT: Final = (
    "Nothing yet.\n\nM marks the instant under the pointer, or the selection.\nShift+M writes a note on what is under "
    "the pointer.\nCtrl+1 to Ctrl+9 keep the view, 1 to 9 come back to it."
)


class KeptTable(QTableView):
    """The table.

    Signals:
        chosen(object): KeptRow that was clicked, or chosen with Return.
        removed(list[KeptRow]), menu_requested(object row, object QPoint)
    """

    chosen = Signal(object)
    removed = Signal(object)
    menu_requested = Signal(object, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kept = KeptModel(theme, self)
        self.filter = KeptFilter(self)
        self.filter.setSourceModel(self.kept)
        self.setModel(self.filter)
        self.setAccessibleName("Notes, marks and bookmarks")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setTabKeyNavigation(False)
        self.setSortingEnabled(True)
        self.sortByColumn(HEADERS.index("Time"), Qt.SortOrder.AscendingOrder)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setStretchLastSection(True)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.clicked.connect(self._clicked)

    def row(self, index: Index) -> KeptRow:
        """The entry of a shown row."""
        return self.kept.rows[self.filter.mapToSource(index).row()]

    def shown(self) -> list[KeptRow]:
        """All entries in the order in which they show."""
        return [self.row(self.filter.index(i, 0)) for i in range(self.filter.rowCount())]

    def picked(self) -> list[KeptRow]:
        """The selected entries, in the order in which they show."""
        return [self.row(i) for i in sorted(self.selectionModel().selectedRows(), key=lambda i: i.row())]

    def copy(self) -> None:
        """Put the selected entries, or all when none is, on the clipboard as text."""
        QGuiApplication.clipboard().setText(kept_text(self.picked() or self.shown()))

    def edit_row(self, row: KeptRow) -> None:
        """Begin to edit the text of an entry."""
        for i in range(self.filter.rowCount()):
            if self.row(self.filter.index(i, 0)) == row:
                self.setCurrentIndex(self.filter.index(i, TEXT))
                self.edit(self.filter.index(i, TEXT))

    def _clicked(self, index: Index) -> None:
        self.chosen.emit(self.row(index))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return goes there, Delete removes, F2 edits, Ctrl+C copies."""
        key = event.key()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.picked():
            self.removed.emit(self.picked())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.chosen.emit(self.row(self.currentIndex()))
        elif key == Qt.Key.Key_F2 and self.currentIndex().isValid():
            self.edit(self.currentIndex().siblingAtColumn(TEXT))
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Take Ctrl+C before a shortcut of the window does."""
        return wants_copy(event) or super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu of an entry."""
        index = self.indexAt(self.viewport().mapFromGlobal(event.globalPos()))
        if not index.isValid():
            index = self.currentIndex()
        if index.isValid():
            self.menu_requested.emit(self.row(index), event.globalPos())


class KeptPanel(QWidget):
    """A filter and the table; a hint while there is nothing.

    Signals:
        chosen(object KeptRow): go there.
        edited(str kind, int id, str text)
        removed(list[KeptRow])
        recolored(int id, str color): of a mark.
        menu_wanted(object KeptRow, QMenu): add entries to the menu before it shows.
    """

    chosen = Signal(object)
    edited = Signal(str, int, str)
    removed = Signal(object)
    menu_wanted = Signal(object, object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Notes and marks")
        self.filter_box = QLineEdit()
        self.filter_box.setPlaceholderText("Filter")
        self.filter_box.setAccessibleName("Filter notes and marks")
        self.filter_box.setClearButtonEnabled(True)
        self.table = KeptTable(context.theme)
        self._hint = QLabel(HINT)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._hint.setWordWrap(True)
        self._hint.setContentsMargins(10, 10, 10, 10)
        full = QWidget()
        column = QVBoxLayout(full)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.filter_box)
        column.addWidget(self.table, 1)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._hint)
        self._stack.addWidget(full)
        self.filter_box.textChanged.connect(self.table.filter.set_words)
        self.table.chosen.connect(self.chosen)
        self.table.kept.edited.connect(self.edited)
        self.table.removed.connect(self.removed)
        self.table.menu_requested.connect(self._menu)
        context.theme_changed.connect(self.set_theme)
        self.set_theme(context.theme)

    def set_rows(self, rows: list[KeptRow]) -> None:
        """Show these entries."""
        other = len(rows) != len(self.table.kept.rows)
        self.table.kept.set_rows(rows)
        self._stack.setCurrentIndex(1 if rows else 0)
        if other:
            self.table.resizeColumnsToContents()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        palette = palette_of(theme)
        self.table.kept.theme = theme
        for part in (self.table, self.table.horizontalHeader(), self._hint):
            part.setPalette(palette)
        self.table.viewport().update()

    def _menu(self, row: KeptRow, at: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("Go There", lambda: self.chosen.emit(row))
        menu.addAction("Edit Text", lambda: self.table.edit_row(row))
        self.menu_wanted.emit(row, menu)
        picked = self.table.picked()
        menu.addAction("Copy as Text", self.table.copy)
        menu.addSeparator()
        menu.addAction("Remove", lambda: self.removed.emit(picked if row in picked else [row]))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)
