"""Clocks that were set in the middle of a recording: differences of ends stay, jump, and stay at another level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.lines import FLOOR_NS
from viewer.analyses.robust import deviation

F64 = NDArray[np.float64]

LEAST_NS: Final = 10_000.0
"""Smaller steps are not told from noise and from what clocks drift."""
CLEAR: Final = 10.0
"""How many times the noise of a difference the step must be."""
UNIQUE: Final = 3.0
"""How many times as large as every other one: a clock that is set at each step jumps each time."""
WIDTH: Final = 4
"""Operations before and behind a jump that must agree on the two levels."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A difference rose by ``by_ns`` between two operations; ``at_ns`` is amid them, on the axis of the times."""

    at_ns: float
    by_ns: float


def find_jump(x: F64, y: F64) -> Jump | None:
    """The one jump of differences ``y`` at times ``x`` (ns, any order); None for none or several."""
    if len(y) < 2 * WIDTH:
        return None
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    levels = np.sort(np.lib.stride_tricks.sliding_window_view(y, WIDTH), axis=1)
    levels = (levels[:, WIDTH // 2 - 1] + levels[:, WIDTH // 2]) / 2.0
    steps = levels[WIDTH:] - levels[:-WIDTH]  # between the operations k + WIDTH - 1 and k + WIDTH
    steps = steps - float(np.median(steps))  # what clocks drift in that time
    at = int(np.argmax(np.abs(steps)))
    # Of the places at which the windows straddle it the one at which the difference itself changes most.
    near = np.arange(max(at - WIDTH, 0), min(at + WIDTH, len(steps) - 1) + 1)
    single = np.diff(y)
    at = int(near[np.argmax(np.abs(single[near + WIDTH - 1]))])
    by = float(steps[at])
    noise = max(FLOOR_NS, deviation(single))
    others = np.abs(np.delete(steps, np.arange(max(at - WIDTH, 0), min(at + WIDTH + 1, len(steps)))))
    if abs(by) < max(LEAST_NS, CLEAR * noise) or abs(by) < UNIQUE * others.max(initial=0.0):
        return None
    before, behind = at + WIDTH - 1, at + WIDTH
    return Jump(float(x[before] + x[behind]) / 2.0, by)


def whose(found: Sequence[tuple[int, int, Jump]], ranks: int) -> dict[int, Jump]:
    """The rank whose clock jumped, of (hub, member, jump of the member against the hub).

    Columns from ``ranks`` on are medians of groups, which do not jump. Where only two ranks are compared, it is the one
    which jumped against more of the others; of equals the member.
    """
    out: dict[int, Jump] = {}
    for hub, member, jump in found:
        if hub >= ranks:
            out.setdefault(member, jump)
    left = [(h, m, j) for h, m, j in found if h < ranks and h not in out and m not in out]
    while left:
        count: dict[int, int] = {}
        for h, m, _ in left:
            count[h], count[m] = count.get(h, 0) + 1, count.get(m, 0) + 1
        h, m, jump = left[0]
        guilty = max(((m, 1), (h, 0)), key=lambda c: (count[c[0]], c[1]))[0]
        out[guilty] = jump if guilty == m else Jump(jump.at_ns, -jump.by_ns)
        left = [(h, m, j) for h, m, j in left if guilty not in (h, m)]
    return out
