"""How far held keys move the view: a tap is one step, a held key glides at a constant speed whatever the frame rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Way = Literal["closer", "wider", "earlier", "later", "up", "down"]

STEP_SECONDS: Final = 0.11
"""A held key makes one step in this time."""
_FIRST_SECONDS: Final = 1 / 60
"""The frame after the press shows as much as one frame of gliding."""
ZOOM_STEP: Final = 1.35
"""Factor of one step of zoom."""
PAN_STEP: Final = 0.12
"""Share of the window that one step moves it."""
SCROLL_STEP: Final = 48.0
"""Logical px that one step scrolls the lanes."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What to do now: zoom by a factor (> 1 closer), pan by a share of the window, scroll by px."""

    zoom: float = 1.0
    pan: float = 0.0
    scroll: float = 0.0


@dataclass(slots=True)
class _Held:
    since: float
    steps: float = 0.0


class Glide:
    """Keys that are held. Times are seconds of one monotonic clock, given by the caller."""

    def __init__(self) -> None:
        self._held: dict[Way, _Held] = {}

    @property
    def moving(self) -> bool:
        """Whether any key is held."""
        return bool(self._held)

    def press(self, way: Way, now: float) -> Motion:
        """A key went down; one that is down already changes nothing."""
        if way not in self._held:
            self._held[way] = _Held(now - _FIRST_SECONDS)
        return self.advance(now)

    def release(self, way: Way, now: float) -> Motion:
        """A key went up: what a tap still lacks of one step is done at once."""
        before = self._held.get(way)
        if before is None:
            return Motion()
        rest = max(self._due(before, now), 1.0 - before.steps)
        del self._held[way]
        return _motion({way: rest})

    def stop(self) -> None:
        """Forget all keys, as when the focus goes elsewhere."""
        self._held.clear()

    def advance(self, now: float) -> Motion:
        """What the keys moved since the last call."""
        steps = {way: self._due(held, now) for way, held in self._held.items()}
        for way, due in steps.items():
            self._held[way].steps += due
        return _motion(steps)

    @staticmethod
    def _due(held: _Held, now: float) -> float:
        return max(0.0, (now - held.since) / STEP_SECONDS - held.steps)


def _motion(steps: dict[Way, float]) -> Motion:
    def net(more: Way, less: Way) -> float:
        return steps.get(more, 0.0) - steps.get(less, 0.0)

    zoom = ZOOM_STEP ** net("closer", "wider")
    return Motion(zoom, PAN_STEP * net("later", "earlier"), SCROLL_STEP * net("down", "up"))
