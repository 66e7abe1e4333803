"""The table of what runs in a selection: its panel below the lanes, and its file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject

from viewer.app.features.base import Feature
from viewer.app.features.saving_rows import save_rows

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.base.selection import Selection
    from viewer.panels.range_table import RangePanel


class SelectionTable(Feature):
    """Shows the Selection panel when a range or several lanes are selected, until the user closes it."""

    panel: RangePanel | None = None
    _closed = False

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"selection_table": self.show_table}

    def attach(self, workspace: Workspace) -> None:
        """Follow the selection."""
        docks = self.window.docks
        docks["range"].installEventFilter(self)
        docks["range"].toggleViewAction().triggered.connect(self._toggled)
        workspace.context.selection_changed.connect(self._selected)

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel."""
        from viewer.panels.range_table import RangePanel

        self.panel = RangePanel(workspace.context, self.window)
        self.window.docks.fill({"range": self.panel})
        self.panel.save_requested.connect(self.save)
        self.panel.emphasis_wanted.connect(workspace.timeline.lane_tools.emphasise)

    def show_table(self) -> None:
        """Show the panel and go to it."""
        if self.panel is not None and self.window.has_job:
            self._closed = False
            self.window.docks.show_below("range", front=True)
            self.window.docks["range"].raise_()
            self.panel.table.setFocus()

    def save(self, records: list[list[str]]) -> None:
        """Ask for a file and write the rows."""
        save_rows(self.window, "selection", records)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A panel that was closed stays closed."""
        if event.type() == QEvent.Type.Close:
            self._closed = True
        return super().eventFilter(watched, event)

    def _toggled(self, shown: bool) -> None:
        self._closed = not shown

    def _selected(self, selection: Selection) -> None:
        if not self._closed and (selection.range is not None or selection.lanes):
            self.window.docks.show_below("range")
