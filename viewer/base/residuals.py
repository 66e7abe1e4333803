"""How far the ends of shared operations lie apart before and after an alignment, as a plot shows it: plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResidualFrame:
    """Points of one rank or of all: ``x`` ns after ``zero``'s text, ``before`` and ``after`` ns, all of one length.

    ``focus`` bool: the points of the chosen rank (all where none is chosen). ``band_ns`` is the uncertainty, None where
    there is none. ``label`` says whose points these are.
    """

    x: F64
    before: F64
    after: F64
    focus: NDArray[np.bool_]
    band_ns: int | None
    label: str
    before_label: str = "before: base times"
    after_label: str = "after: aligned"
