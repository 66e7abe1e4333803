"""Memory below the lanes: its panel, the instant that was clicked on a memory lane, and the peak at one key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.base.frames import LaneRow
    from viewer.panels.memory.panel import MemoryPanel


class Memory(Feature):
    """Makes the Memory panel and leads to it."""

    panel: MemoryPanel | None = None

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"memory": self.show_panel, "memory_peak": self.show_peak}

    def attach(self, workspace: Workspace) -> None:
        """Follow clicks on memory lanes."""
        workspace.context.instant_chosen.connect(self._instant)

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel."""
        from viewer.panels.memory.panel import MemoryPanel

        self.panel = MemoryPanel(workspace.context, self.window)
        self.panel.window_wanted.connect(workspace.timeline.set_window)
        self.window.docks.fill({"memory": self.panel})

    def show_panel(self) -> None:
        """Show the panel and go to it."""
        if self.panel is not None and self.window.has_job:
            self.window.docks.show_panel("memory")
            self.panel.canvas.setFocus()

    def show_peak(self) -> None:
        """Show the instant at which most is allocated."""
        if self.panel is not None and self.window.has_job:
            self.window.docks.show_panel("memory")
            self.panel.show_peak()

    def _instant(self, lane: LaneRow, time_ns: int) -> None:
        if self.panel is not None and self.window.has_job:
            self.window.docks.show_panel("memory")
            self.panel.show_instant(lane, time_ns)
