"""Clocks that are set step by step: the offset stands still through a burst of operations and jumps between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.robust import deviation

F64 = NDArray[np.float64]

FEWEST: Final = 3
"""Bursts without which the two kinds of clock cannot be told apart."""
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


def hold(times: F64, begins: F64) -> F64:
    """The begin of the burst that each time lies in (a time before the first one: that of the first)."""
    return begins[np.maximum(np.searchsorted(begins, times, "right") - 1, 0)]


def stand_still(pairs: Sequence[tuple[F64, F64, float]], begins: F64) -> bool:
    """Whether clocks stand still inside bursts although they drift from burst to burst.

    Args:
        pairs: (time, difference of two clocks, drift of one against the other) of matches.
        begins: from :func:`bursts`.

    The differences inside the bursts are held against drift x time: an even clock shows all of it (share 1), one that
    is set between the bursts none of it (share 0). True only when the share is nearer to 0 and 1 is unlikely.
    """
    if len(begins) < FEWEST:
        return False
    expected_parts: list[F64] = []
    seen_parts: list[F64] = []
    for x, y, slope in pairs:
        which = np.searchsorted(begins, x, "right")
        order = np.argsort(which, kind="stable")
        edges = np.flatnonzero(np.diff(which[order])) + 1
        for part in np.split(order, edges):
            if len(part) > 1:
                expected_parts.append(slope * (x[part] - x[part].mean()))
                seen_parts.append(y[part] - y[part].mean())
    if not expected_parts:
        return False
    expected, seen = np.concatenate(expected_parts), np.concatenate(seen_parts)
    width = float((expected**2).sum())
    if width <= 0:
        return False
    share = float((expected * seen).sum()) / width
    rest = seen - share * expected
    error = (deviation(rest, 0.0) + 1.0) / width**0.5
    return bool(share < 0.5 and (1.0 - share) > SURE * error)
