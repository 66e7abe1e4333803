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
    capacity = 64
    open_end = np.empty(capacity, np.int64)
    open_row = np.empty(capacity, np.int64)
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
        if top == capacity:
            grown_end = np.empty(2 * capacity, np.int64)
            grown_row = np.empty(2 * capacity, np.int64)
            grown_end[:capacity] = open_end
            grown_row[:capacity] = open_row
            open_end = grown_end
            open_row = grown_row
            capacity *= 2
        open_end[top] = end[i]
        open_row[top] = i
        top += 1
        deepest = max(deepest, top)
    return deepest


@kernel
def pack(lane: I32, start: I64, end: I64, depth: I32) -> Any:
    """Sub-row of slices sorted by (lane, start): the lowest one that is free at the slice's start.

    For lanes where overlap is no nesting (GPU streams, async). Writes int32 ``depth[n]``; returns the number of rows
    of the tallest lane.
    """
    n = len(start)
    capacity = 16
    row_end = np.empty(capacity, np.int64)
    rows = 0
    tallest = 0
    current = np.int64(-1)
    for i in range(n):
        if lane[i] != current:
            current = np.int64(lane[i])
            rows = 0
        r = 0
        while r < rows and row_end[r] > start[i]:
            r += 1
        if r == rows:
            if rows == capacity:
                grown = np.empty(2 * capacity, np.int64)
                grown[:capacity] = row_end
                row_end = grown
                capacity *= 2
            rows += 1
        row_end[r] = end[i]
        depth[i] = r
        tallest = max(tallest, rows)
    return tallest
