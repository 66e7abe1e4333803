"""What is recorded of the operators that launched GPU work by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import operator_of_work
from viewer.analyses.flops.shapes import Recorded, recorded
from viewer.analyses.numbering import numbered_values
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Launchers:
    """``rows`` of ``slices`` of those operators, ascending; ``number`` of each the place of its args in ``entries``.

    ``place`` says for each position of ``gpu_work`` which of ``rows`` launched it, -1 for none.
    """

    rows: I64
    number: I64
    entries: list[Recorded]
    place: I64

    def of(self, trace: Trace, rows: I64) -> tuple[I64, list[Recorded]]:
        """As ``shapes.recorded`` for other rows; only those that are no launchers are read."""
        at = np.minimum(np.searchsorted(self.rows, rows), max(0, len(self.rows) - 1))
        known = self.rows[at] == rows if len(self.rows) else np.zeros(len(rows), np.bool_)
        if known.all():
            return self.number[at], self.entries
        more, entries = recorded(trace, rows[~known])
        number = np.empty(len(rows), np.int64)
        number[~known] = more + len(self.entries)
        if known.any():
            number[known] = self.number[at[known]]
        return number, self.entries + entries


def recorded_launchers(trace: Trace) -> Launchers:
    """The launchers of a file. Built once."""

    def build() -> Launchers:
        inner = operator_of_work(trace)
        has = inner >= 0
        rows, _, number = numbered_values(inner[has])
        place = np.full(len(inner), -1, np.int64)
        place[has] = number
        return Launchers(rows, *recorded(trace, rows), place)

    return trace.memo("recorded_launchers", build)
