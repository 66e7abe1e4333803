"""Calls of one kind on threads (operators, modules) as a forest, and sums over what each of them encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import nearest
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nest:
    """The slices of one kind: ``rows`` of ``slices``, ascending; ``parent`` the place of the next one around, or -1.

    ``around`` says for every slice the place of the nearest one at or around it, -1 without.
    """

    rows: I64
    parent: I64
    around: I64
    depth: I64

    @classmethod
    def of(cls, trace: Trace, flagged: NDArray[np.bool_]) -> Nest:
        """The forest of the flagged slices of a file (one entry per row of ``slices``)."""
        rows = np.flatnonzero(flagged).astype(np.int64)
        place = np.full(len(flagged) + 1, -1, np.int64)
        place[rows] = np.arange(len(rows))
        at = nearest(trace, flagged)
        around = place[at]
        above = trace.slices.parent[rows]
        parent = np.where(above >= 0, around[np.maximum(above, 0)], -1)
        # Slices that enclose others stand before them: one pass from above gives the depth.
        depth = np.zeros(len(rows), np.int64)
        level = np.flatnonzero(parent < 0)
        inner = np.flatnonzero(parent >= 0)
        number = 0
        reached = np.zeros(len(rows), np.bool_)
        reached[level] = True
        while len(inner):
            number += 1
            now = reached[parent[inner]]
            depth[inner[now]] = number
            reached[inner[now]] = True
            if not now.any():
                break
            inner = inner[~now]
        return cls(rows, parent, around, depth)

    def __len__(self) -> int:
        return len(self.rows)

    def inclusive(self, own: NDArray[np.float64] | I64) -> NDArray[np.float64] | I64:
        """Per call the sum of ``own`` (one entry per call, or one row) over itself and all it encloses."""
        out = own.copy()
        if not len(self):
            return out
        order = np.argsort(self.depth, kind="stable")
        begin = np.searchsorted(self.depth[order], np.arange(int(self.depth.max()) + 2))
        for d in range(len(begin) - 2, 0, -1):
            level = order[begin[d] : begin[d + 1]]
            np.add.at(out, self.parent[level], out[level])
        return out

    def of_children(self, values: I64) -> I64:
        """Per call the sum of ``values`` over the calls directly inside it."""
        inner = self.parent >= 0
        out = np.zeros(len(self), np.int64)
        np.add.at(out, self.parent[inner], values[inner])
        return out

    def inside_own_group(self, group: I64) -> NDArray[np.bool_]:
        """Whether a call lies inside another one of its group: then the outer one's sums hold it already."""
        out = np.zeros(len(self), np.bool_)
        mine = np.arange(len(self))
        above = self.parent.copy()
        while len(mine):
            keep = above >= 0
            mine, above = mine[keep], above[keep]
            out[mine] |= group[above] == group[mine]
            open_still = ~out[mine]
            mine, above = mine[open_still], self.parent[above[open_still]]
        return out
