"""What runs in the background, by name, and stopping it from the status bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.base.theme import Theme

STOPPABLE: Final = {
    "attribution": "Attribution",
    "breakdown": "Breakdown",
    "range": "Selection table",
    "range runs": "Runs of a row",
    "find": "Find",
    "lane filter": "Filter",
    "lane order": "Order of ranks",
    "go": "Other runs",
    "follow": "Follow",
    "copy picture": "Copying the picture",
}
"""Keys of work that a person can do without, and what it is called."""
OTHERS: Final = {
    "timeline loops": "Preparing the lanes",
    "lane colours": "Colours",
    "steps": "Steps",
    "save pack": "Saving the pack",
}
"""Work that the window needs, or that has a dialog of its own to stop it."""
LEVELS: Final = "levels "


class Running(Feature):
    """Names the work of the panels in the status bar."""

    def attach(self, workspace: Workspace) -> None:
        """Follow what runs."""
        workspace.busy_changed.connect(self._show)
        self.window.status.stop_wanted.connect(self.stop)
        self.window.status.set_theme(self.window.theme)

    def set_theme(self, theme: Theme) -> None:
        """Colour the cross."""
        self.window.status.set_theme(theme)

    def stop(self) -> None:
        """Stop everything that can be done without."""
        workspace = self.window.workspace
        if workspace is None:
            return
        for key in workspace.work.running:
            if key in STOPPABLE:
                workspace.work.stop(key)
        self._show()
        self.window.status.tell("Stopped")

    def _show(self, _: int = 0) -> None:
        workspace = self.window.workspace
        running = workspace.work.running if workspace is not None else ()
        names = [STOPPABLE.get(key) or OTHERS.get(key) for key in running]
        if any(key.startswith(LEVELS) for key in running):
            names.append("Levels of detail")
        self.window.status.show_busy(
            tuple(name for name in names if name), stoppable=any(key in STOPPABLE for key in running)
        )
