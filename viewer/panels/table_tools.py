"""What panels with a large table share: a filter of its rows, copy and save, and a line that says what is shown."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from viewer.analyses.query import QueryError
from viewer.base.column_frame import ColumnFrame
from viewer.base.theme import Theme
from viewer.views.range_table import Bools, matching
from widgets.column_table import ColumnTable
from widgets.elided_label import ElidedLabel
from widgets.theming import color, palette_of, set_tip

FILTER_TIP = "Words are looked for in the first column; a minus before one turns it round"


class RowTools(QObject):
    """Filter, Copy and Save for the rows of a table; whoever makes them lays them out.

    Signals:
        filter_changed(): other rows may match.
        save_requested(list[list[str]]): write these rows, heads first, to a file of the user's choice.
    """

    filter_changed = Signal()
    save_requested = Signal(object)

    def __init__(self, table: ColumnTable, theme: Theme, parent: QWidget, example: str, width: int = 320) -> None:
        """``example`` is a query that makes sense there; ``width`` the most that the filter takes, px."""
        super().__init__(parent)
        self._table, self._theme, self._problem = table, theme, ""
        self.filter = QLineEdit(parent)
        self.filter.setPlaceholderText(f"Filter: {example}")
        self.filter.setAccessibleName("Filter the rows")
        self.filter.setClearButtonEnabled(True)
        self.filter.setMaximumWidth(width)
        self.copy = QPushButton("Copy", parent)
        set_tip(self.copy, "Copy the selected rows, or all, as tab-separated values")
        self.save = QPushButton("Save CSV…", parent)
        set_tip(self.save, "Save the selected rows, or all, as comma-separated values")
        self.filter.textChanged.connect(self.filter_changed)
        self.copy.clicked.connect(table.copy)
        self.save.clicked.connect(self._save)
        self._mark()

    @property
    def parts(self) -> tuple[QLineEdit, QPushButton, QPushButton]:
        """The controls in the order in which they stand."""
        return self.filter, self.copy, self.save

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self._theme = theme
        self._mark()

    def keep(self, frame: ColumnFrame) -> Bools | None:
        """Which rows match the filter; None for all. A filter that makes no sense is marked and keeps all."""
        keep, self._problem = None, ""
        try:
            keep = matching(frame, self.filter.text())
        except QueryError as error:
            self._problem = str(error)
        self._mark()
        return keep

    def _mark(self) -> None:
        palette = palette_of(self._theme)
        if self._problem:
            palette.setColor(palette.ColorRole.Text, color(self._theme, "error"))
        self.filter.setPalette(palette)
        set_tip(self.filter, self._problem or FILTER_TIP)

    def _save(self) -> None:
        self.save_requested.emit(self._table.model.frame.records(self._table.chosen_rows()))


class ScopeLabel(ElidedLabel):
    """One line about what is shown, whole in its tooltip; it never asks for room."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.TextElideMode.ElideRight)
        self._theme, self._token = theme, "muted"
        self._tint()

    def say(self, text: str, token: str = "muted") -> None:
        """Show a text in a colour of the theme."""
        self._token = token
        self.setText(text)
        set_tip(self, text)
        self._tint()

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self._theme = theme
        self._tint()

    def _tint(self) -> None:
        palette = palette_of(self._theme)
        palette.setColor(palette.ColorRole.WindowText, color(self._theme, self._token))
        self.setPalette(palette)


def lay_out(panel: QWidget, tools: list[tuple[QWidget, int]], *below: tuple[QWidget, int]) -> None:
    """A row of tools at the upper edge and the rest of a panel below it, each with its share of room (0: its own)."""
    row = QHBoxLayout()
    row.setContentsMargins(6, 4, 6, 4)
    row.setSpacing(6)
    for part, stretch in tools:
        row.addWidget(part, stretch)
    layout = QVBoxLayout(panel)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addLayout(row)
    for part, stretch in below:
        layout.addWidget(part, stretch)
