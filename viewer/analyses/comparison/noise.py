"""Whether a difference of two runs is more than the scatter of their own steps."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.robust import TO_SIGMA, few
from viewer.base.units import percent

F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST: Final = 3
"""Steps of each run without which nothing is said of noise: two values have no spread to speak of."""
CHANCE: Final = 1 / 2_000
"""How often noise may pass for a change, two-sided: a table has hundreds of rows."""
PRIOR: Final = 3.0
"""A row's own spread is drawn to that of all rows as if those had been seen in so many further steps."""
LEAST_SHARE: Final = 0.005
"""Changes below this share of the base are within what clocks of a device do by themselves, however steady a row is."""
LEAST_OF_STEP: Final = 1e-5
"""Below this share of the step rows are too rare to have a scatter: a gap of 40 ns that comes and goes."""
_OF_MEDIAN: Final = 1.2533
"""The median of n normal values scatters this many times as much as their mean."""

HOW: Final = (
    "a change counts as one where the difference of the medians over the steps and that of the means both go beyond "
    "the band: quantile (1 in 2,000, Student's with the steps' degrees of freedom) x standard error from the median "
    "absolute deviation of either run's steps, drawn towards that of all rows, and at least "
    f"{percent(LEAST_SHARE, 1)} of the base and {LEAST_OF_STEP:g} of the step. Where one rank has most of a change, "
    f"its own steps are held against each other too. Fewer than {FEWEST} steps: not known. The band knows the scatter "
    "inside the two runs, not that from run to run"
)


@dataclass(frozen=True, eq=False)
class Noise:
    """Per row: ``band`` in ns (differences inside it are noise) and ``significant``."""

    band: F64
    significant: Bools


def judge(base: F64, test: F64, least_ns: float = 0.0, chosen_of: int = 1) -> Noise | None:
    """Hold rows of two runs against each other.

    Args:
        base: float64[rows, steps], ns per step.
        test: float64[rows, steps], as many rows.
        least_ns: what is smaller is no change whatever its scatter.
        chosen_of: the rows are those of the one of so many ranks that changed most: chance had as many tries.

    Returns:
        None with fewer than FEWEST steps on either side.
    """
    n, m = base.shape[1], test.shape[1]
    if min(n, m) < FEWEST:
        return None
    middle, other = np.median(base, axis=1), np.median(test, axis=1)
    level = np.maximum(np.maximum(np.abs(middle), np.abs(other)), 1.0)
    spread, spread_test = _spread(base, middle), _spread(test, other)
    seen = np.concatenate((spread / level, spread_test / level))
    usual = float(np.median(seen)) if len(seen) else 0.0

    def drawn(own: F64, count: int) -> F64:
        out: F64 = np.sqrt((PRIOR * (usual * level) ** 2 + (count - 1) * own**2) / (PRIOR + count - 1))
        return out

    error = _OF_MEDIAN * np.sqrt(drawn(spread, n) ** 2 / n + drawn(spread_test, m) ** 2 / m)
    z = NormalDist().inv_cdf(1 - CHANCE / 2 / chosen_of)
    band = np.maximum(_student(n + m - 2 + PRIOR, z) * error, np.maximum(LEAST_SHARE * np.abs(middle), least_ns))
    by_median = other - middle
    by_mean = test.mean(axis=1) - base.mean(axis=1)
    beyond = (np.abs(by_median) > band) & (np.abs(by_mean) > band) & (np.sign(by_median) == np.sign(by_mean))
    return Noise(band, beyond)


def _spread(values: F64, middle: F64) -> F64:
    count = values.shape[1]
    out: F64 = np.median(np.abs(values - middle[:, None]), axis=1) * TO_SIGMA
    return out * few(count)


def _student(freedom: float, z: float) -> float:
    """Student's quantile from the normal one (expansion of Cornish and Fisher, within 2 % from 7 degrees on)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
