"""Findings: the home page beside the lanes, and which findings a person put aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.panels.findings import FindingsPanel


class Findings(Feature):
    """Makes the panel; what is dismissed there goes on the undo stack and into the session file."""

    home = True
    panel: FindingsPanel | None = None

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel."""
        from viewer.panels.findings import FindingsPanel

        panel = self.panel = FindingsPanel(workspace.context, self.window)
        dismissed = self.window.kept.dismissed
        panel.dismiss_toggled.connect(dismissed.toggle)
        dismissed.changed.connect(panel.set_dismissed)
        panel.set_dismissed(dismissed.book)
        self.window.docks.fill({"findings": panel})
