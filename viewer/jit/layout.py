"""Where slices go on their lane: depth by nesting, sub-rows for overlaps, parents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@kernel
def nest(lane: I32, start: I64, end: I64, depth: I32, parent: I64) -> Any:
    """Depth and parent of slices sorted by (lane, start, longer first, file order).

    A slice opens one level below the last slice still open at its start. A child that overruns its parent is kept
    one level below it; the slices of one (lane, depth) never overlap. Writes int32 ``depth[n]`` and int64
    ``parent[n]`` (row of the parent, -1 at the top); returns the number of levels of the deepest lane.
    """
    n = len(start)
    # One stack as deep as it could ever get: pages that are not touched cost nothing, and a stack that grows inside
    # the loop takes three times as long to compile.
    open_end = np.empty(n, np.int64)
    open_row = np.empty(n, np.int64)
    top = 0
    deepest = 0
    current = np.int64(-1)
    for i in range(n):
        if lane[i] != current:
            current = np.int64(lane[i])
            top = 0
        while top > 0 and open_end[top - 1] <= start[i]:
            top -= 1
        depth[i] = top
        parent[i] = open_row[top - 1] if top > 0 else -1
        open_end[top] = end[i]
        open_row[top] = i
        top += 1
        deepest = max(deepest, top)
    return deepest


NEVER = np.int64(-(2**63))
"""End of a sub-row that was never used."""

FEW = 32
"""Sub-rows that are tried one by one; above them a tree finds the lowest free one."""


@kernel
def pack(lane: I32, start: I64, end: I64, depth: I32) -> Any:
    """Sub-row of slices sorted by (lane, start): the lowest one that is free at the slice's start.

    For lanes where overlap is no nesting (GPU streams, async). Writes int32 ``depth[n]``; returns the number of rows
    of the tallest lane.
    """
    n = len(start)
    row_end = np.empty(FEW, np.int64)
    tree = np.empty(1, np.int64)
    size = 0
    rows = 0
    tallest = 0
    for i in range(n):
        if i == 0 or lane[i] != lane[i - 1]:
            rows = 0
            size = 0
        r = 0
        while r < rows and r < FEW and row_end[r] > start[i]:
            r += 1
        if r < FEW:
            row_end[r] = end[i]
        else:
            if size == 0:  # the lane's first slice above the few: leaves for as many rows as it could need
                last = i
                while last < n and lane[last] == lane[i]:
                    last += 1
                size = 1
                while size < last - i:
                    size *= 2
                if len(tree) < 2 * size:
                    tree = np.empty(2 * size, np.int64)
                tree[: 2 * size] = NEVER
            k = 1
            while k < size:  # tree[k] is the earliest end below k: the leftmost leaf that is free
                k = 2 * k if tree[2 * k] <= start[i] else 2 * k + 1
            r = FEW + k - size
            tree[k] = end[i]
            k //= 2
            while k > 0:
                tree[k] = min(tree[2 * k], tree[2 * k + 1])
                k //= 2
        rows = max(rows, r + 1)
        depth[i] = r
        tallest = max(tallest, rows)
    return tallest
