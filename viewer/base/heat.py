"""Plain data of a heat map: rows by columns of values, and how they read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.base.time import format_duration


@dataclass(frozen=True, eq=False)
class HeatFrame:
    """What a heat map shows.

    ``values`` is float64[rows, columns] in ``unit`` ("ns" or "GB/s"), NaN for none. ``low`` and ``high`` are the ends
    of the ramp; with ``diverging`` they lie around 0 (the median of peers), where the ramp's middle is. ``what`` names
    the value, ``marked`` are rows that stand out (stragglers).
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    unit: str
    what: str
    low: float
    high: float
    diverging: bool = False
    marked: frozenset[int] = frozenset()

    def text(self, value: float) -> str:
        """A value as it reads; one beside 0 has a sign where the ramp diverges."""
        if np.isnan(value):
            return "no value"
        sign = "+" if self.diverging and value > 0 else ""
        if self.unit == "ns":
            return sign + format_duration(round(value))
        return f"{sign}{value:,.1f} {self.unit}"

    def cell(self, row: int, column: int) -> str:
        """One cell in words."""
        return f"{self.rows[row]}, {self.columns[column]}: {self.what} {self.text(float(self.values[row, column]))}"

    def share(self) -> NDArray[np.float64]:
        """float64[rows, columns]: place of each value on the ramp, 0..1; NaN for none."""
        span = self.high - self.low
        if not span > 0:
            return np.where(np.isnan(self.values), np.nan, 0.5 if self.diverging else 0.0)
        out: NDArray[np.float64] = np.clip((self.values - self.low) / span, 0.0, 1.0)
        return out


def ramp_of(values: NDArray[np.float64], *, diverging: bool) -> tuple[float, float]:
    """The ends of the ramp for values: from 0 (or symmetric about it) to the largest one."""
    known = values[~np.isnan(values)]
    if not len(known):
        return (-1.0, 1.0) if diverging else (0.0, 1.0)
    if diverging:
        most = float(np.abs(known).max()) or 1.0
        return -most, most
    return 0.0, max(float(known.max()), 0.0) or 1.0
