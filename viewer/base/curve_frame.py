"""Points over a logarithmic axis of sizes with curves beside them, as a plot shows them: plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CurveFrame:
    """Rates by size.

    ``x`` bytes and ``y`` rates of the points, ``low`` where their spread begins, ``tips`` what each is, ``rows`` the
    row of the table that each stands for, ``current`` the marked one (-1 for none). ``curve_x`` and ``curve_y`` are the
    baseline (empty for none), ``curve`` its name. ``title`` and ``note`` stand above, ``unit`` at the axis of rates.
    """

    x: F64
    y: F64
    low: F64
    tips: tuple[str, ...]
    rows: tuple[int, ...]
    current: int
    curve_x: F64
    curve_y: F64
    curve: str
    title: str
    note: str
    unit: str = "GB/s"
