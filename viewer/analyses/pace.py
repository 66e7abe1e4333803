"""How even the runs of one kernel are: their middle, their spread, and which lie far above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.robust import deviation

I64 = NDArray[np.int64]

FAR: Final = 5.0
"""Robust deviations above the median from which on a run is an outlier: one in millions of an even kernel."""
LEAST: Final = 1.2
"""And so many times the median: below that nobody looks, however even the others are."""


@dataclass(frozen=True, eq=False)
class Pace:
    """Durations of runs, ns: median, quartiles, and bool per run whether it lies far above."""

    median: int
    low: int
    high: int
    outlier: NDArray[np.bool_]
    limit: int
    """From here on a run is an outlier."""


def pace(durations: I64) -> Pace | None:
    """The pace of some runs; None without any."""
    if not len(durations):
        return None
    at = [(len(durations) - 1) * quarter // 4 for quarter in (1, 2, 3)]
    low, median, high = np.partition(durations, at)[at].tolist()
    limit = int(max(median + FAR * deviation(durations, median), LEAST * median)) + 1
    return Pace(median, low, high, durations >= limit, limit)
