"""Late ranks: their panel below the lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.panels.stragglers import StragglersPanel


class Stragglers(Feature):
    """Makes the Stragglers panel and shows it when asked."""

    panel: StragglersPanel | None = None

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"stragglers": self.show_panel}

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel."""
        from viewer.panels.stragglers import StragglersPanel

        self.panel = StragglersPanel(workspace.context, self.window)
        self.window.docks.fill({"stragglers": self.panel})

    def show_panel(self) -> None:
        """Show the panel and go to it."""
        if self.panel is not None and self.window.has_job:
            self.window.docks.show_panel("stragglers")
            self.panel.map.setFocus()
