"""The runs of one kernel over time, as a plot shows them: plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.base.selection import SliceRef


@dataclass(frozen=True, eq=False)
class PaceFrame:
    """Runs by time, arrays of one length: ``x`` ns since the start of the job's GPU work, ``y`` duration in ns.

    ``outlier`` marks runs far above the others. ``median``, ``low`` and ``high`` (quartiles) are of all runs, ns.
    ``title`` says what runs these are, ``note`` what is to be said of them.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    outlier: NDArray[np.bool_]
    input: NDArray[np.int64]
    row: NDArray[np.int64]
    median: int
    low: int
    high: int
    title: str
    note: str

    def ref(self, at: int) -> SliceRef:
        """The run at a place."""
        return SliceRef(int(self.input[at]), int(self.row[at]))
