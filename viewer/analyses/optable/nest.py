"""Calls of one kind on threads (operators, modules) as a forest, and sums over what each of them encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import nearest
from viewer.jit.grouping import add_upwards, depths, inside_own_group, sum_by_group
from viewer.jit.ordering import group_stable
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nest:
    """The slices of one kind: ``rows`` of ``slices``, ascending; ``parent`` the place of the next one around, or -1.

    ``around`` says for every slice the place of the nearest one at or around it, -1 without.
    """

    rows: I64
    parent: I64
    around: NDArray[np.int32]
    depth: I64

    @classmethod
    def of(cls, trace: Trace, flagged: NDArray[np.bool_]) -> Nest:
        """The forest of the flagged slices of a file (one entry per row of ``slices``)."""
        rows = np.flatnonzero(flagged).astype(np.int64)
        place = np.full(len(flagged) + 1, -1, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        at = nearest(trace, flagged)
        around = place[at]
        above = trace.slices.parent[rows]
        parent = np.where(above >= 0, around[np.maximum(above, 0)], -1).astype(np.int64)
        depth = np.empty(len(rows), np.int64)
        depths(parent, depth)
        return cls(rows, parent, around, depth)

    def __len__(self) -> int:
        return len(self.rows)

    def inclusive(self, whole: I64, real: NDArray[np.float64]) -> None:
        """Add to each call what it encloses, in place: rows of whole numbers and of others, one per call."""
        # Levels from below, each in order.
        deepest = int(self.depth.max(initial=0))
        order = group_stable((deepest - self.depth).astype(np.int32), deepest + 1)[0].astype(np.int64)
        add_upwards(order, self.parent, whole, real)

    def of_children(self, values: I64) -> I64:
        """Per call the sum of ``values`` over the calls directly inside it."""
        out = np.zeros(len(self), np.int64)
        sum_by_group(self.parent, values, out)
        return out

    def inside_own_group(self, group: I64) -> NDArray[np.bool_]:
        """Whether a call lies inside another one of its group: then the outer one's sums hold it already."""
        out = np.empty(len(self), np.bool_)
        inside_own_group(self.parent, group, out)
        return out
