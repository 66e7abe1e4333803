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
            "back": self._with(lambda w: w.timeline.navigation.travel(-1)),
            "forward": self._with(lambda w: w.timeline.navigation.travel(1)),
        }

    def _with(self, run: Callable[[Workspace], None]) -> Callable[[], None]:
        def handler() -> None:
            if self.window.workspace is not None and self.window.has_job:
                run(self.window.workspace)

        return handler
