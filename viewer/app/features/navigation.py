"""Moving about: back and forth between views, along a lane, along launches, to a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace


class Navigation(Feature):
    """Binds the Go menu to the timeline."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {
            "back": self.on_job(lambda w: w.timeline.navigation.travel(-1)),
            "next_slice": self.on_job(lambda w: w.timeline.walk.along_lane(1)),
            "previous_slice": self.on_job(lambda w: w.timeline.walk.along_lane(-1)),
            "follow": self.on_job(lambda w: w.timeline.walk.follow(1)),
            "follow_back": self.on_job(lambda w: w.timeline.walk.follow(-1)),
            "go_to": self.go_to,
            "zero_job": self.on_job(lambda w: w.timeline.zero.reset()),
            "zero_selection": self.on_job(lambda w: w.timeline.zero.since_selection()),
            "menu": self.on_job(lambda w: w.timeline.menu.show_at_selection()),
            "forward": self.on_job(lambda w: w.timeline.navigation.travel(1)),
        }

    def attach(self, workspace: Workspace) -> None:
        """Say in the status bar why nothing moved."""
        timeline = workspace.timeline
        timeline.walk.said.connect(self.window.status.tell)
        timeline.zero.said.connect(self.window.status.tell)
        timeline.menu.run_wanted.connect(workspace.go_to_run)
        timeline.menu.breakdown_wanted.connect(self._show_breakdown)

    def _show_breakdown(self) -> None:
        dock = self.window.docks["breakdown"]
        dock.show()
        dock.raise_()

    def go_to(self) -> None:
        """Ask for a time and go there."""
        workspace = self.window.workspace
        if workspace is None or not self.window.has_job:
            return
        from viewer.app.dialogs import GoToDialog
        from viewer.base.errors import UsageError
        from viewer.base.selection import TimeRange
        from viewer.views.timeline.go_to import HINT, read_place

        timeline = workspace.timeline
        window, extent = timeline.window(), timeline.extent
        if window is None or extent is None:
            return
        zero, centre = timeline.zero.at_ns, window.start_ns + window.length_ns // 2
        found: list[int | TimeRange] = []

        def check(text: str) -> str:
            try:
                found[:] = [read_place(text, zero, centre, extent)]
            except UsageError as error:
                return str(error)
            return ""

        def go() -> None:
            place = found[0]
            if isinstance(place, TimeRange):
                timeline.show_range(place)
            else:
                timeline.navigation.show_instant(place)

        dialog = GoToDialog(self.window, HINT, check)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(go)
        dialog.open()
