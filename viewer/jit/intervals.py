"""Algebra of half-open intervals [start, end) over plain int64 arrays.

Inputs are sorted by start. "Disjoint" inputs are what :func:`union` returns: sorted, non-empty, neither overlapping
nor touching. Empty intervals (end <= start) cover nothing and vanish in every union. Lengths must fit int64, so ends
may lie up to 2^63 - 1 apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Intervals = tuple[I64, I64]


@kernel
def union(start: I64, end: I64) -> Any:
    """Disjoint (start, end) that cover what the given intervals cover; touching ones are joined."""
    n = len(start)
    s = np.empty(n, np.int64)
    e = np.empty(n, np.int64)
    k = 0
    for i in range(n):
        if end[i] <= start[i]:
            continue
        if k > 0 and start[i] <= e[k - 1]:
            e[k - 1] = max(e[k - 1], end[i])
        else:
            s[k] = start[i]
            e[k] = end[i]
            k += 1
    return s[:k].copy(), e[:k].copy()


@kernel
def union_of(start: I64, end: I64, paint: U8, mask: int) -> Any:
    """As :func:`union`, of those intervals whose class is in ``mask`` (bit ``1 << paint``): several classes at once."""
    n = len(start)
    s = np.empty(n, np.int64)
    e = np.empty(n, np.int64)
    k = 0
    for i in range(n):
        if end[i] <= start[i] or (mask >> paint[i]) & 1 == 0:
            continue
        if k > 0 and start[i] <= e[k - 1]:
            e[k - 1] = max(e[k - 1], end[i])
        else:
            s[k] = start[i]
            e[k] = end[i]
            k += 1
    return s[:k].copy(), e[:k].copy()


@kernel
def intersect(a_start: I64, a_end: I64, b_start: I64, b_end: I64) -> Any:
    """What two disjoint sets both cover, disjoint."""
    n, m = len(a_start), len(b_start)
    s = np.empty(n + m, np.int64)
    e = np.empty(n + m, np.int64)
    i = j = k = 0
    while i < n and j < m:
        lo = max(a_start[i], b_start[j])
        hi = min(a_end[i], b_end[j])
        if lo < hi:
            s[k] = lo
            e[k] = hi
            k += 1
        if a_end[i] < b_end[j]:
            i += 1
        else:
            j += 1
    return s[:k].copy(), e[:k].copy()


@kernel
def subtract(a_start: I64, a_end: I64, b_start: I64, b_end: I64) -> Any:
    """What the disjoint set a covers and the disjoint set b does not, disjoint."""
    n, m = len(a_start), len(b_start)
    s = np.empty(n + m, np.int64)
    e = np.empty(n + m, np.int64)
    j = k = 0
    for i in range(n):
        at = a_start[i]
        while j < m and b_end[j] <= at:
            j += 1
        t = j
        while t < m and b_start[t] < a_end[i]:
            if b_start[t] > at:
                s[k] = at
                e[k] = b_start[t]
                k += 1
            at = max(at, b_end[t])
            t += 1
        if at < a_end[i]:
            s[k] = at
            e[k] = a_end[i]
            k += 1
        j = max(j, t - 1)
    return s[:k].copy(), e[:k].copy()


@kernel
def gaps(start: I64, end: I64, lo: int, hi: int) -> Any:
    """The parts of [lo, hi) that a disjoint set leaves uncovered, disjoint."""
    n = len(start)
    s = np.empty(n + 1, np.int64)
    e = np.empty(n + 1, np.int64)
    k = 0
    at = np.int64(lo)
    i = np.searchsorted(end, lo, "right")
    while i < n and start[i] < hi:
        if start[i] > at:
            s[k] = at
            e[k] = start[i]
            k += 1
        at = end[i]
        i += 1
    if at < hi:
        s[k] = at
        e[k] = hi
        k += 1
    return s[:k].copy(), e[:k].copy()


def clip(start: I64, end: I64, lo: int, hi: int) -> Intervals:
    """A disjoint set cut to [lo, hi): two binary searches and a copy of what is left."""
    a = int(np.searchsorted(end, lo, "right"))
    b = int(np.searchsorted(start, hi, "left"))
    if a >= b or hi <= lo:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    s, e = start[a:b].copy(), end[a:b].copy()
    s[0] = max(int(s[0]), lo)
    e[-1] = min(int(e[-1]), hi)
    return s, e


def total(start: I64, end: I64) -> int:
    """Length of a disjoint set (of any set: the plain sum of lengths)."""
    return int((end - start).sum())


@kernel
def running_end(start: I64, end: I64) -> Any:
    """For each i the index j <= i of the interval with the largest end so far; the later one of equal ends."""
    n = len(start)
    out = np.empty(n, np.int64)
    best = 0
    for i in range(n):
        if end[i] >= end[best]:
            best = i
        out[i] = best
    return out


@kernel
def group_stats(key: I64, start: I64, end: I64, groups: int, lo: int, hi: int) -> Any:
    """Per group of intervals (sorted by start) what touches [lo, hi): int64[groups, 7].

    Columns: count; sum of lengths cut to the window; length of the union cut to the window; sum, least and greatest
    full length; index of the longest. An empty interval touches the window when it starts inside it. Rows without a
    member hold zeros and index -1.
    """
    out = np.zeros((groups, 7), np.int64)
    reach = np.empty(groups, np.int64)
    for g in range(groups):
        reach[g] = lo
        out[g, 6] = -1
    for i in range(len(start)):
        s, e = start[i], end[i]
        if s >= hi or e < lo or (e == lo and s < lo):
            continue
        g = key[i]
        length = e - s
        a, b = max(s, lo), min(e, hi)
        out[g, 1] += b - a
        out[g, 2] += max(0, b - max(a, reach[g]))
        reach[g] = max(reach[g], b)
        out[g, 3] += length
        if out[g, 0] == 0:
            out[g, 4] = length
            out[g, 5] = length
            out[g, 6] = i
        else:
            out[g, 4] = min(out[g, 4], length)
            if length > out[g, 5]:
                out[g, 5] = length
                out[g, 6] = i
        out[g, 0] += 1
    return out


@kernel
def deepest(start: I64, end: I64, seg_start: I64, seg_slice: I64) -> Any:
    """Flatten nested slices of one thread: which slice is the deepest open one, from when on.

    Slices are sorted by (start, depth). Writes segments (begin, position of the slice or -1 where none is open), which
    end where the next begins; both outputs need room for ``2 * n``. Returns how many segments there are. A child that
    overruns its parent stays the deepest until it ends.
    """
    n = len(start)
    stack = np.empty(n, np.int64)  # as deep as it can get: growing it on the way takes 7 s longer to compile
    top = 0
    k = 0
    for i in range(n + 1):
        # Close what ends before the next slice starts, deepest first; a parent that ended meanwhile is skipped.
        while top > 0 and (i == n or end[stack[top - 1]] <= start[i]):
            at = end[stack[top - 1]]
            top -= 1
            while top > 0 and end[stack[top - 1]] <= at:
                top -= 1
            seg_start[k] = at
            seg_slice[k] = stack[top - 1] if top > 0 else -1
            k += 1
        if i == n:
            break
        if end[i] <= start[i]:
            continue
        if k > 0 and seg_start[k - 1] == start[i]:
            k -= 1
        seg_start[k] = start[i]
        seg_slice[k] = i
        k += 1
        stack[top] = i
        top += 1
    return k
