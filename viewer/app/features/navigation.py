"""Moving about: back and forth between views, along a lane, along launches, to a time."""

from __future__ import annotations

from collections.abc import Callable

from viewer.app.features.base import Feature


class Navigation(Feature):
    """Binds the Go menu to the timeline."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {
            "back": self.on_job(lambda w: w.timeline.navigation.travel(-1)),
            "forward": self.on_job(lambda w: w.timeline.navigation.travel(1)),
        }
