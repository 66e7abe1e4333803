"""The views that a user rested at, to go back and forth between them as a browser does between pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.base.selection import TimeRange

MOST: Final = 200
"""Views that are kept."""
_SAME: Final = 16
"""Views whose borders differ by less than 1/16 of their length are one view."""


@dataclass(frozen=True, slots=True)
class ViewState:
    """A place: the visible range of session time, and how far the lanes are scrolled (logical px)."""

    window: TimeRange
    top: int = 0


class ViewHistory:
    """Where the user was. A view counts when it *settles*: the caller says so after a moment of rest."""

    def __init__(self) -> None:
        self._views: list[ViewState] = []
        self._at = -1

    def clear(self) -> None:
        """Another job: nothing to go back to."""
        self._views, self._at = [], -1

    @property
    def can_go_back(self) -> bool:
        """Whether there is an earlier view."""
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        """Whether there is a later view that one came back from."""
        return self._at < len(self._views) - 1

    def settle(self, view: ViewState) -> None:
        """The user rests at this view. A nudge of the current one replaces it; anything else becomes the newest."""
        if self._at >= 0:
            current = self._views[self._at]
            if view == current:
                return
            if _alike(view, current):
                self._views[self._at] = view
                return
        self._views = [*self._views[: self._at + 1], view][-MOST:]
        self._at = len(self._views) - 1

    def replace(self, view: ViewState) -> None:
        """The current view became another without the user's doing (more files of the job arrived)."""
        if self._at < 0:
            self.settle(view)
        else:
            self._views[self._at] = view

    def go(self, step: int, now: ViewState) -> ViewState | None:
        """Go back (-1) or forward (1) from what shows now, settled or not; None when there is nothing that way."""
        self.settle(now)
        at = self._at + step
        if not 0 <= at < len(self._views):
            return None
        self._at = at
        return self._views[at]


def _alike(a: ViewState, b: ViewState) -> bool:
    """Whether two views show the same, give or take a nudge; scrolling the lanes alone is no new view."""
    slack = max(a.window.length_ns, b.window.length_ns) // _SAME
    near = max(abs(a.window.start_ns - b.window.start_ns), abs(a.window.end_ns - b.window.end_ns))
    return near <= slack and abs(a.top - b.top) < 400
