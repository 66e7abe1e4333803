"""Where slices go on their lane: depth by nesting, sub-rows for overlaps, parents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@kernel
def nest(order: I32, begin: I64, first: int, last: int, start: I64, dur: I64, depth: I32, parent: I32) -> None:
    """Depth and parent of the slices of some lanes.

    ``order`` lists rows of ``start`` and ``dur`` by (lane, start, longer first, file order); lane l, of
    [first, last), holds [begin[l], begin[l + 1]) of it. A slice opens one level below the last slice still open
    at its start. A child that overruns its parent is kept one level below it; the slices of one (lane, depth) never
    overlap. Writes int32 ``depth`` and ``parent`` (a place in ``order``, -1 at the top), which go with ``order``.
    """
    # One stack as deep as it could ever get: pages that are not touched cost nothing, and a stack that grows inside
    # the loop takes three times as long to compile.
    open_end = np.empty(len(order), np.int64)
    open_row = np.empty(len(order), np.int32)
    for lane in range(first, last):
        top = 0
        for i in range(begin[lane], begin[lane + 1]):
            at = start[order[i]]
            while top > 0 and open_end[top - 1] <= at:
                top -= 1
            depth[i] = top
            parent[i] = open_row[top - 1] if top > 0 else np.int32(-1)
            open_end[top] = at + dur[order[i]]
            open_row[top] = i
            top += 1


NEVER = np.int64(-(2**63))
"""End of a sub-row that was never used."""

FEW = 32
"""Sub-rows that are tried one by one; above them a tree finds the lowest free one."""


@kernel
def pack(order: I32, begin: I64, first: int, last: int, start: I64, dur: I64, depth: I32) -> None:
    """Sub-row of the slices of some lanes, see :func:`nest`: the lowest one that is free at the slice's start.

    For lanes where overlap is no nesting (GPU streams, async).
    """
    row_end = np.empty(FEW, np.int64)
    tree = np.empty(1, np.int64)
    for lane in range(first, last):
        rows = 0
        size = 0
        stop = begin[lane + 1]
        for i in range(begin[lane], stop):
            at = start[order[i]]
            end = at + dur[order[i]]
            r = 0
            while r < rows and r < FEW and row_end[r] > at:
                r += 1
            if r < FEW:
                row_end[r] = end
            else:
                if size == 0:  # the lane's first slice above the few: leaves for as many rows as it could need
                    size = 1
                    while size < stop - i:
                        size *= 2
                    if len(tree) < 2 * size:
                        tree = np.empty(2 * size, np.int64)
                    tree[: 2 * size] = NEVER
                k = 1
                while k < size:  # tree[k] is the earliest end below k: the leftmost leaf that is free
                    k = 2 * k if tree[2 * k] <= at else 2 * k + 1
                r = FEW + k - size
                tree[k] = end
                k //= 2
                while k > 0:
                    tree[k] = min(tree[2 * k], tree[2 * k + 1])
                    k //= 2
            rows = max(rows, r + 1)
            depth[i] = r
