"""Finding names: opens the find bar of the timeline and walks its hits from anywhere in the window."""

from __future__ import annotations

from collections.abc import Callable

from viewer.app.features.base import Feature


class Find(Feature):
    """Binds the find actions to the timeline's find bar."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {
            "find": self.on_job(lambda w: w.timeline.finder.open()),
            "find_next": self.on_job(lambda w: w.timeline.finder.step(1)),
            "find_previous": self.on_job(lambda w: w.timeline.finder.step(-1)),
        }
