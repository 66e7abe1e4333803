"""Robust statistics: spreads, slopes, trends and levels that a few far values do not move.

All arrays are float64[n] (or integers); none of them holds NaN.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

TO_SIGMA: Final = 1.4826
"""Median absolute deviation -> standard deviation, for normal noise."""
_FEW: Final = (1.0, 1.0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
MOST_PAIRS: Final = 2_000_000
"""Slopes of at most so many pairs are looked at; longer series are thinned to medians first."""


def median(values: NDArray[Any]) -> float:
    """As ``np.median`` of values of which there are some: several times as fast where there are few hundred."""
    half = len(values) // 2
    parted = np.partition(values, half)
    upper = float(parted[half])
    return upper if len(values) % 2 else (float(parted[:half].max()) + upper) / 2.0


def deviation(values: NDArray[Any], centre: float | None = None) -> float:
    """1.4826 * the median absolute deviation from the median (or another centre); 0.0 without values."""
    if not len(values):
        return 0.0
    middle = median(values) if centre is None else centre
    return TO_SIGMA * median(np.abs(values - middle))


def few(count: int) -> float:
    """By how much :func:`deviation` of few values is too small.

    Croux and Rousseeuw (1992), "Time-efficient algorithms for two highly robust estimators of scale": their table up to
    9 values, n / (n - 0.8) beyond.
    """
    return _FEW[count] if count < len(_FEW) else count / (count - 0.8)


def spread(values: NDArray[Any]) -> float:
    """Standard deviation of the bulk: :func:`deviation` with the correction for few values; 0.0 for fewer than two."""
    return deviation(values) * few(len(values)) if len(values) > 1 else 0.0


def thin(times: F64, values: F64, most: int) -> tuple[F64, F64]:
    """At most ``most`` points: medians of equal numbers of neighbours, so that outliers do not survive."""
    n = len(values)
    if n <= most:
        return times, values
    edges = np.linspace(0, n, most + 1).astype(np.int64)
    t = np.array([median(times[a:b]) for a, b in itertools.pairwise(edges)])
    v = np.array([median(values[a:b]) for a, b in itertools.pairwise(edges)])
    return t, v


def theil_sen(times: F64, values: F64) -> float:
    """Median of the slopes of all pairs (Theil 1950, Sen 1968), value per unit of time; 0.0 where no time passes."""
    slopes = pair_slopes(*thin(times, values, int(math.sqrt(2 * MOST_PAIRS))))
    return median(slopes) if len(slopes) else 0.0


def pair_slopes(times: NDArray[Any], values: NDArray[Any]) -> F64:
    """The slopes of all pairs between which time passes, value per unit of time; times ascend."""
    i, j = np.triu_indices(len(values), 1)
    apart = times[j] - times[i]
    some = apart > 0
    return np.asarray((values[j] - values[i])[some] / apart[some])


def mann_kendall_p(values: F64) -> float:
    """Two-sided probability of a trend at least so strong where there is none (Mann 1945, Kendall 1975), with ties.

    Neighbours that are alike (a machine that is busy for an hour) make trends look real: the variance is inflated by
    the effective number of values after Hamed and Rao (1998), from the autocorrelation of the ranks of what is left
    when the robust slope is taken off, significant lags only. 1.0 for fewer than four values.
    """
    _, values = thin(np.arange(len(values), dtype=np.float64), values, 1_500)
    n = len(values)
    if n < 4:
        return 1.0
    i, j = np.triu_indices(n, 1)
    s = float(np.sign(values[j] - values[i]).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18.0
    if variance <= 0.0 or s == 0.0:
        return 1.0
    variance *= _inflation(values)
    z = (abs(s) - 1.0) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2.0))


def _inflation(values: F64) -> float:
    """How many times the variance of Kendall's S grows by autocorrelation (at least 1)."""
    n = len(values)
    line = np.arange(n, dtype=np.float64)
    left = values - theil_sen(line, values) * line
    ranks = np.argsort(np.argsort(left, kind="stable"), kind="stable").astype(np.float64)
    ranks -= ranks.mean()
    total = float((ranks * ranks).sum())
    if total == 0.0:
        return 1.0
    lags = min(n - 2, max(1, n // 4))
    edge = 1.96 / math.sqrt(n)
    extra = 0.0
    for lag in range(1, lags + 1):
        rho = float((ranks[:-lag] * ranks[lag:]).sum()) / total
        if abs(rho) > edge:
            extra += (n - lag) * (n - lag - 1) * (n - lag - 2) * rho
    return max(1.0, 1.0 + 2.0 / (n * (n - 1) * (n - 2)) * extra)


def slope_interval(times: F64, values: F64, inflation: float | None = None) -> tuple[float, float]:
    """The 95 % interval of :func:`theil_sen` (Sen 1968), widened by the autocorrelation of the values."""
    times, values = thin(times, values, int(math.sqrt(2 * MOST_PAIRS)))
    n = len(values)
    slopes = np.sort(pair_slopes(times, values))
    if not len(slopes):
        return 0.0, 0.0
    grown = _inflation(values) if inflation is None else inflation
    half = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0 * grown) / 2.0
    middle = len(slopes) / 2.0
    low, high = max(0, math.floor(middle - half)), min(len(slopes) - 1, math.ceil(middle + half))
    return float(slopes[low]), float(slopes[high])


def change_points(values: F64, penalty: float = 12.0, least: int = 3) -> list[int]:
    """Where the level of a series changes: the index of the first value of each new level.

    Binary segmentation on the sum of absolute deviations from the median (robust against single outliers), each split
    worth at least ``penalty`` spreads; ``least`` values on each side. The spread is that of differences of neighbours,
    which a change of level leaves alone.
    """
    n = len(values)
    if n < 2 * least:
        return []
    scale = spread(np.diff(values)) / math.sqrt(2.0)
    if scale <= 0.0:
        scale = max(float(np.abs(values).max()) * 1e-9, 1e-300)
    found: list[int] = []
    waiting = [(0, n)]
    while waiting:
        a, b = waiting.pop()
        at, gain = _best_split(values[a:b], least)
        if at and gain > penalty * scale:
            found.append(a + at)
            waiting += [(a, a + at), (a + at, b)]
    return sorted(found)


def _best_split(values: F64, least: int) -> tuple[int, float]:
    """Where a split takes most off the sum of absolute deviations, and how much; 0 for nowhere."""
    n = len(values)
    if n < 2 * least:
        return 0, 0.0
    whole = float(np.abs(values - median(values)).sum())
    stride = max(1, n // 400)
    best, gain = 0, 0.0
    for at in range(least, n - least + 1, stride):
        got = whole - _cost(values[:at]) - _cost(values[at:])
        if got > gain:
            best, gain = at, got
    if stride > 1 and best:
        for at in range(max(least, best - stride), min(n - least, best + stride) + 1):
            got = whole - _cost(values[:at]) - _cost(values[at:])
            if got > gain:
                best, gain = at, got
    return best, gain


def _cost(values: F64) -> float:
    return float(np.abs(values - median(values)).sum())
