"""Figures of slices by group inside a window: one pass in time order."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

BLOCK: Final = 4096
"""So many slices in time order share one latest end: windows late in a trace skip what ended long before."""
COUNT, CUT, UNION, OWN, FULL, LEAST, MOST, LONGEST = range(8)
"""Columns of :func:`range_stats`."""


@kernel
def range_stats(
    order: I32,
    block_end: I64,
    start: I64,
    dur: I64,
    parent: I32,
    kind: I32,
    group_of: I32,
    groups: int,
    lo: int,
    hi: int,
) -> Any:
    """Per group what touches [lo, hi): int64[groups + 1, 8]; the last row is all groups together.

    Columns: count; sum of lengths cut to the window; length of the union cut to the window; own time (length cut to the
    window, less what direct children take of it); sum, least and greatest full length; row of the longest (the
    earliest of equals). An empty slice touches the window when it starts inside it. Groups without a member hold zeros
    and row -1.

    Args:
        order: rows of slices by start.
        block_end: latest end among each BLOCK of ``order``.
        start: of slices.
        dur: of slices.
        parent: of slices.
        kind: of each slice, an index into ``group_of``.
        group_of: group of each kind, -1 for those that are left out. A slice's children are left out with it.
        groups: how many groups there are.
        lo: start of the window, on the clock of ``start``.
        hi: end of the window.
    """
    out = np.zeros((groups + 1, 8), np.int64)
    reach = np.empty(groups + 1, np.int64)
    for g in range(groups + 1):
        reach[g] = lo
        out[g, 7] = -1
    n = len(order)
    k = 0
    while k < n:
        if k % BLOCK == 0 and block_end[k // BLOCK] < lo:
            k += BLOCK
            continue
        i = order[k]
        k += 1
        s = start[i]
        if s >= hi:
            break
        e = s + dur[i]
        if e < lo or (e == lo and s < lo):
            continue
        g = group_of[kind[i]]
        if g < 0:
            continue
        a, b = max(s, lo), min(e, hi)
        length = e - s
        out[g, 0] += 1
        out[g, 1] += b - a
        out[g, 3] += b - a
        out[g, 4] += length
        if b > reach[g]:
            out[g, 2] += b - max(a, reach[g])
            reach[g] = b
        if b > reach[groups]:
            out[groups, 2] += b - max(a, reach[groups])
            reach[groups] = b
        if out[g, 7] < 0:
            out[g, 5] = length
            out[g, 6] = length
            out[g, 7] = i
        elif length > out[g, 6]:
            out[g, 6] = length
            out[g, 7] = i
        elif length < out[g, 5]:
            out[g, 5] = length
        p = parent[i]
        if p >= 0:
            h = group_of[kind[p]]
            if h >= 0:
                out[h, 3] -= max(0, min(b, start[p] + dur[p]) - a)
    for g in range(groups):
        if out[g, 7] < 0:
            continue
        for c in (0, 1, 3, 4):
            out[groups, c] += out[g, c]
        if out[groups, 7] < 0 or out[g, 5] < out[groups, 5]:
            out[groups, 5] = out[g, 5]
        if out[groups, 7] < 0 or out[g, 6] > out[groups, 6]:
            out[groups, 6] = out[g, 6]
            out[groups, 7] = out[g, 7]
    return out
