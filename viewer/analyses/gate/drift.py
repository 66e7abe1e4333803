"""Slow drift of a figure over hours or weeks: what minute-long loads cannot show.

A series is told apart into a warm-up, steps of its level (something changed at one moment) and drift (it creeps). The
slope is that of Theil and Sen, its significance that of Mann and Kendall with the autocorrelation of the noise
(``viewer.analyses.robust``).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from viewer.analyses.robust import F64, change_points, mann_kendall_p, slope_interval, spread, theil_sen, thin

LEAST_VALUES: Final = 12
MOST_POINTS: Final = 180
"""Longer series are thinned to medians of neighbours: slow change does not need every step, and the noise of
points that lie further apart is less alike."""
LASTING: Final = 0.05
"""A level lasts at least this share of the series."""
SIGNIFICANT: Final = 0.001
WARM_UP: Final = 0.1
"""A first level that ends within this share of the series, and is left for good, is the warm-up."""
HOUR_SECONDS: Final = 3600.0

Kind = Literal["steady", "drift", "level", "too short"]


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level: time in s after the first value, the medians before and after it."""

    time: float
    before: float
    after: float

    @property
    def change(self) -> float | None:
        """(after - before) / before; None for a level of zero."""
        return (self.after - self.before) / abs(self.before) if self.before else None


@dataclass(frozen=True, slots=True)
class Drift:
    """What a series does over time.

    Attributes:
        kind: "drift" when it creeps, "level" when its level changed at moments, else "steady"; "too short" with fewer
            than 12 values.
        worse: whether a drift or the sum of the level changes is for the worse.
        values: how many values; ``hours``: how long they span.
        median: of all values after the warm-up.
        per_hour: the slope, share of the median per hour; None for a median of zero or no time.
        low, high: its 95 % interval.
        p: probability of such a trend where there is none.
        total: the slope times the span, as a share of the median.
        spread: relative noise around the line.
        warm_up: so many first values are set apart.
        changes: of the level, in time order.
    """

    kind: Kind
    worse: bool
    values: int
    hours: float
    median: float | None
    per_hour: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    total: float | None = None
    spread: float | None = None
    warm_up: int = 0
    changes: tuple[LevelChange, ...] = ()


def drift(times: F64, values: F64, better: Literal["lower", "higher"], least: float = 0.005) -> Drift:
    """Judge a series.

    Args:
        times: float64[n] seconds, ascending.
        values: float64[n], finite.
        better: what is better.
        least: the smallest total change that counts, as a share of the median: the nearer end of the slope's interval
            must reach it.
    """
    count = len(values)
    hours = float(times[-1] - times[0]) / HOUR_SECONDS if count else 0.0
    if count < LEAST_VALUES:
        return Drift("too short", False, count, hours, float(np.median(values)) if count else None)
    t, v = thin(times - times[0], values, MOST_POINTS)
    stride = count / len(v)
    turns = change_points(v, least=max(3, int(len(v) * LASTING)))
    warm = turns[0] if turns and turns[0] <= max(1, int(len(v) * WARM_UP)) else 0
    t, v = t[warm:], v[warm:]
    turns = [at - warm for at in turns if at > warm]
    centre = float(np.median(v))
    if centre == 0.0 or t[-1] <= t[0] or len(v) < LEAST_VALUES:
        return Drift("steady", False, count, hours, centre, warm_up=round(warm * stride))
    slope = theil_sen(t, v)
    scale = abs(centre) / HOUR_SECONDS
    low, high = slope_interval(t, v)
    p = mann_kendall_p(v)
    line = v - slope * t
    total = slope * float(t[-1] - t[0]) / abs(centre)
    noise = spread(line) / abs(centre)
    surely = min(abs(low), abs(high)) * float(t[-1] - t[0]) / abs(centre) if low * high > 0.0 else 0.0
    creeps = p < SIGNIFICANT and surely >= least
    levels = _levels(t, v, turns, least * abs(centre))
    kind: Kind = "steady"
    if levels and (not creeps or _steps_fit_better(v, line, turns)):
        kind = "level"
    elif creeps:
        kind, levels = "drift", ()
    else:
        levels = ()
    moved = total if kind == "drift" else sum(c.after - c.before for c in levels)
    worse = kind != "steady" and (moved > 0.0) == (better == "lower")
    return Drift(
        kind, worse, count, hours, centre, slope / scale, low / scale, high / scale, p, total, noise,
        round(warm * stride), levels,
    )  # fmt: skip


def _levels(t: F64, v: F64, turns: list[int], least: float) -> tuple[LevelChange, ...]:
    """The changes of level that are large enough: ``least``, and three spreads of what is left within the levels."""
    edges = [0, *turns, len(v)]
    parts = [v[a:b] for a, b in itertools.pairwise(edges)]
    medians = [float(np.median(part)) for part in parts]
    left = np.concatenate([part - middle for part, middle in zip(parts, medians, strict=True)])
    least = max(least, 3.0 * spread(left))
    return tuple(
        LevelChange(float(t[at]), before, after)
        for at, before, after in zip(turns, medians[:-1], medians[1:], strict=True)
        if abs(after - before) >= least
    )


def _steps_fit_better(v: F64, line: F64, turns: list[int]) -> bool:
    """Whether constant levels describe the series better than one line, each level counted against it.

    Compared by the sum of absolute deviations with a penalty of two spreads per level more than the line's two
    parameters: a creep is cut into many small levels, one moment of change into two.
    """
    edges = [0, *turns, len(v)]
    parts = [v[a:b] for a, b in itertools.pairwise(edges)]
    steps = sum(float(np.abs(part - np.median(part)).sum()) for part in parts)
    straight = float(np.abs(line - np.median(line)).sum())
    noise = spread(np.diff(v)) / math.sqrt(2.0)
    penalty = noise * max(0, 2 * len(parts) - 3) * math.log2(max(2, len(v)))
    return steps + penalty < straight
