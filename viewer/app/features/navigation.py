"""Moving about: back and forth between views, along a lane, along launches, to a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

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
            "forward": self.on_job(lambda w: w.timeline.navigation.travel(1)),
        }

    def attach(self, workspace: Workspace) -> None:
        """Say in the status bar why nothing moved."""
        workspace.timeline.walk.said.connect(self.window.status.tell)
