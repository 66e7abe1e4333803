"""Clocks that are set step by step: the offset stands still through a burst of operations and jumps between two."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.robust import deviation
from viewer.analyses.steps import step_table
from viewer.store.session import RankGroup, Session

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

FEWEST: Final = 3
"""Bursts without which the two kinds of clock cannot be told apart."""
HALF: Final = 0.5
CLEAR: Final = 0.1
"""Error of the share above which further witnesses are asked."""
COVER: Final = 3.0
GAP: Final = 4.0
"""A pause of this many times the mean distance begins another burst."""
SURE: Final = 2.0
"""How many standard errors the share must lie below 1. Taking one kind of clock for the other moves offsets by what the
drift makes of half a burst, which is little: the likelier one is taken, and an even one where they are alike."""


def bursts(times: F64) -> F64:
    """Where each burst of operations begins, ascending; one entry when they come evenly."""
    ordered = np.unique(times)
    if len(ordered) < 2:
        return ordered[:1]
    distance = np.diff(ordered)
    return np.concatenate((ordered[:1], ordered[1:][distance > GAP * distance.mean()]))


def step_bursts(session: Session, group: RankGroup) -> I64:
    """Where the GPU work of each step of a rank begins, raw + base time, ascending: amid the pause before."""
    found = []
    for index in group.inputs:
        item = session.inputs[index]
        s = item.trace.slices
        for step in step_table(item.trace).steps:
            if len(step.rows):
                start = s.start_ns[step.rows]
                found.append((int(start.min()) + item.base_ns, int((start + s.dur_ns[step.rows]).max()) + item.base_ns))
    found.sort()
    begins = [b for b, _ in found[:1]] + [
        max(e, b) - max(b - e, 0) // 2 for (_, e), (b, _) in itertools.pairwise(found)
    ]
    return np.array(begins, np.int64)


def hold(times: F64, begins: F64) -> F64:
    """The begin of the burst that each time lies in (a time before the first one: that of the first)."""
    return begins[np.maximum(np.searchsorted(begins, times, "right") - 1, 0)]


def moving_share(pairs: Sequence[tuple[F64, F64, float]], begins: F64) -> tuple[float, float]:
    """How much of their drift clocks show inside bursts, and its standard error; (1, inf) where nothing tells.

    Args:
        pairs: (time, difference of two clocks, drift of one against the other) of matches.
        begins: from :func:`bursts`.

    The differences inside the bursts are held against drift x time: an even clock shows all of it (share 1), one that
    is set between the bursts none of it (share 0).
    """
    if len(begins) < FEWEST or not any(len(x) for x, _, _ in pairs):
        return 1.0, np.inf
    which, run, seen = (np.concatenate(parts) for parts in zip(*_by_burst(pairs, begins), strict=True))
    count = np.bincount(which).astype(np.float64)
    several = count[which] > 1

    def within(values: F64) -> F64:
        """Values against the mean of their pair and burst; those that are alone there are left out."""
        means = np.bincount(which, weights=values) / np.maximum(count, 1.0)
        out: F64 = (values - means[which])[several]
        return out

    expected, seen = within(run), within(seen)
    width = float((expected**2).sum())
    if width <= 0:
        return 1.0, np.inf
    share = float((expected * seen).sum()) / width
    rest = seen - share * expected
    return share, (deviation(rest, 0.0) + 1.0) / width**0.5


def _by_burst(pairs: Sequence[tuple[F64, F64, float]], begins: F64) -> Iterator[tuple[I64, F64, F64]]:
    """Of each pair: a number for itself and the burst per match, drift x time, and the difference."""
    first = 0
    for x, y, slope in pairs:
        if not len(x):
            continue
        yield first + np.searchsorted(begins, x, "right"), slope * (x - x.mean()), y - y.mean()
        first += len(begins) + 1


def stand_still(share: float, error: float) -> bool:
    """Whether clocks stand still inside bursts although they drift from burst to burst: 1 is unlikely."""
    return share < HALF and (1.0 - share) > SURE * error


def may_stand_still(share: float, error: float) -> bool:
    """Whether it cannot be excluded that they do."""
    return share < COVER * error
