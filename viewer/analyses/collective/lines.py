"""Robust straight lines through differences of clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.robust import deviation, median

F64 = NDArray[np.float64]

FLOOR_NS: Final = 50.0
"""No spread is believed to be smaller: stamps are rounded, and three equal ones are no proof."""
FEW: Final = 40
"""Up to so many points all pairs of them vote for the slope."""
SHORTEST_SPAN_NS: Final = 2e7
"""In less time no drift of a clock is seen."""
STEEPEST: Final = 1e-3
"""No clock runs 1,000 ppm wrong: such a slope is a wrong match."""
_KEEP: Final = 4.0
_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Line:
    """y = level + slope * x, ns.

    ``spread`` is the robust standard deviation of one point, the errors are those of the level at x = 0 and of the
    slope. ``count`` points, without those further than four spreads away.
    """

    level: float
    slope: float
    spread: float
    level_error: float
    slope_error: float
    count: int


def spread_of(residuals: F64) -> float:
    """Robust standard deviation around the median, at least FLOOR_NS."""
    return max(FLOOR_NS, deviation(residuals))


def flat(y: F64) -> Line:
    """The line without slope: the median."""
    level = median(y)
    spread = spread_of(y - level)
    count = int((np.abs(y - level) <= _KEEP * spread).sum())
    return Line(level, 0.0, spread, spread / max(count, 1) ** 0.5, 0.0, count)


def fit(x: F64, y: F64, least_spread: float = FLOOR_NS) -> Line:
    """A line through points of which up to some 30 % may be wrong; flat for fewer than three or in too short a time.

    The slope starts as the median of the slopes of all pairs (Theil and Sen), of many points as that between the
    medians of the first and the last third; then least squares without what lies over four spreads off, three times.
    ``least_spread`` is what is known of the scatter otherwise: few points may lie on a line by chance.
    """
    if len(x) < 3 or float(x.max() - x.min()) < SHORTEST_SPAN_NS:
        return flat(y)
    slope = _first_slope(x, y)
    if slope is None:
        return flat(y)
    level = median(y - slope * x)
    spread, count, centre, width = FLOOR_NS, len(x), 0.0, 1.0
    for _ in range(_ROUNDS):
        residual = y - level - slope * x
        spread = max(spread_of(residual), least_spread)
        keep = np.abs(residual - median(residual)) <= _KEEP * spread
        kept_x, kept_y = x[keep], y[keep]
        centre, middle = float(kept_x.mean()), float(kept_y.mean())
        width = float(((kept_x - centre) ** 2).sum())
        count = len(kept_x)
        if count < 3 or width <= 0:
            return flat(y)
        slope = float(((kept_x - centre) * (kept_y - middle)).sum()) / width
        level = middle - slope * centre
    slope_error = spread / width**0.5
    level_error = (spread**2 / count + (slope_error * centre) ** 2) ** 0.5
    return Line(level, slope, spread, float(level_error), float(slope_error), count)


def _first_slope(x: F64, y: F64) -> float | None:
    if len(x) <= FEW:
        a, b = np.triu_indices(len(x), 1)
        run = x[b] - x[a]
        apart = np.abs(run) > SHORTEST_SPAN_NS / 4
        return median((y[b] - y[a])[apart] / run[apart]) if apart.any() else None
    order = np.argsort(x, kind="stable")
    third = len(x) // 3
    first, last = order[:third], order[-third:]
    span = median(x[last]) - median(x[first])
    return (median(y[last]) - median(y[first])) / span if span > 0 else None
