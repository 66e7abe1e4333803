"""Whether a rank is late all the time, now and then, or from some step on: its own lateness over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

PERSISTENT, ROTATING, ONCE = "persistent", "rotating", "once"
MOSTLY: Final = 0.9
"""On either side of a change at least this share of the steps is late, or is not."""


@dataclass(frozen=True, slots=True)
class Persistence:
    """How late steps lie among a rank's steps.

    ``kind``: "" no step is late; "persistent" most are; "once" they are one run of steps, or begin at a change and go
    on; "rotating" they come and go (jitter). ``first`` and ``last`` are the late steps (from 0) of "once", and of
    "persistent" when it began or ended at a change; -1 otherwise. ``late`` of ``known`` steps are late.
    """

    kind: str
    first: int
    last: int
    late: int
    known: int

    def words(self, numbers: Sequence[int] = ()) -> str:
        """For people, without a subject; ``numbers`` are the steps' numbers as they are shown (from 0 by default)."""

        def number(step: int) -> int:
            return numbers[step] if step < len(numbers) else step

        if not self.kind:
            return "in no step" if self.known else "unknown"
        count = f"{self.late} of {self.known} steps"
        if self.kind == ROTATING:
            return f"comes and goes ({count})"
        if self.first < 0:
            return f"persistent ({count})"
        if self.last < 0:
            return f"{'persistent' if self.kind == PERSISTENT else 'once'} from step {number(self.first)} on ({count})"
        if self.first == self.last:
            return f"once, in step {number(self.first)}"
        return f"once, steps {number(self.first)} to {number(self.last)}"


def persistence(own: F64, least: float) -> Persistence:
    """The pattern of a rank's late steps.

    Args:
        own: float64[steps], own lateness in ns, NaN where unknown.
        least: from which own lateness a step is late, ns; NaN where that is unknown.
    """
    steps = np.flatnonzero(~np.isnan(own))
    limited = not np.isnan(least)
    late = own[steps] >= least if limited else np.zeros(len(steps), np.bool_)
    count = int(late.sum())
    if not count:
        return Persistence("", -1, -1, 0, len(steps) if limited else 0)
    at = np.flatnonzero(late)
    began = _change(late)
    mostly = count > len(late) / 2
    if began > 0:
        kind = PERSISTENT if mostly else ONCE
        return Persistence(kind, int(steps[began]), -1, count, len(late))
    if mostly:
        return Persistence(PERSISTENT, -1, -1, count, len(late))
    if int(at[-1] - at[0]) + 1 == count:
        return Persistence(ONCE, int(steps[at[0]]), int(steps[at[-1]]), count, len(late))
    return Persistence(ROTATING, -1, -1, count, len(late))


def _change(late: NDArray[np.bool_]) -> int:
    """From which place on steps are late that were not before; -1 for none (two late steps are needed)."""
    total, n = int(late.sum()), len(late)
    before = np.concatenate(([0], np.cumsum(late)))[:-1]
    place = np.arange(n)
    after = (total - before) / (n - place)
    clean = 1.0 - before / np.maximum(place, 1)
    good = (place >= 1) & (n - place >= 2) & late & (after >= MOSTLY) & (clean >= MOSTLY)
    return int(np.argmax(np.where(good, after + clean, -1.0))) if good.any() else -1
