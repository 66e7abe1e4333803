"""Algebra of half-open intervals [start, end) over plain int64 arrays.

Inputs are sorted by start. "Disjoint" inputs are what :func:`union` returns: sorted, non-empty, neither overlapping
nor touching. Empty intervals (end <= start) cover nothing and vanish in every union. Lengths must fit int64, so ends
may lie up to 2^63 - 1 apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.lean import lean

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Intervals = tuple[I64, I64]


def union(start: I64, end: I64) -> Intervals:
    """Disjoint (start, end) that cover what the given intervals cover; touching ones are joined."""
    s, e = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    k = _union(start, end, s, e)
    return s[:k].copy(), e[:k].copy()


@lean
def _union(start: I64, end: I64, s: I64, e: I64) -> Any:
    n = len(start)
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
    return k


def union_of(start: I64, end: I64, paint: U8, mask: int) -> Intervals:
    """As :func:`union`, of those intervals whose class is in ``mask`` (bit ``1 << paint``): several classes at once."""
    s, e = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    k = _union_of(start, end, paint, mask, s, e)
    return s[:k].copy(), e[:k].copy()


@lean
def _union_of(start: I64, end: I64, paint: U8, mask: int, s: I64, e: I64) -> Any:
    n = len(start)
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
    return k


def intersect(a_start: I64, a_end: I64, b_start: I64, b_end: I64) -> Intervals:
    """What two disjoint sets both cover, disjoint."""
    s, e = np.empty(len(a_start) + len(b_start), np.int64), np.empty(len(a_start) + len(b_start), np.int64)
    k = _intersect(a_start, a_end, b_start, b_end, s, e)
    return s[:k].copy(), e[:k].copy()


@lean
def _intersect(a_start: I64, a_end: I64, b_start: I64, b_end: I64, s: I64, e: I64) -> Any:
    n = len(a_start)
    m = len(b_start)
    i = 0
    j = 0
    k = 0
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
    return k


def subtract(a_start: I64, a_end: I64, b_start: I64, b_end: I64) -> Intervals:
    """What the disjoint set a covers and the disjoint set b does not, disjoint."""
    s, e = np.empty(len(a_start) + len(b_start), np.int64), np.empty(len(a_start) + len(b_start), np.int64)
    k = _subtract(a_start, a_end, b_start, b_end, s, e)
    return s[:k].copy(), e[:k].copy()


@lean
def _subtract(a_start: I64, a_end: I64, b_start: I64, b_end: I64, s: I64, e: I64) -> Any:
    n = len(a_start)
    m = len(b_start)
    j = 0
    k = 0
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
    return k


def gaps(start: I64, end: I64, lo: int, hi: int) -> Intervals:
    """The parts of [lo, hi) that a disjoint set leaves uncovered, disjoint."""
    s, e = np.empty(len(start) + 1, np.int64), np.empty(len(start) + 1, np.int64)
    k = _gaps(start, end, lo, hi, int(np.searchsorted(end, lo, "right")), s, e)
    return s[:k].copy(), e[:k].copy()


@lean
def _gaps(start: I64, end: I64, lo: int, hi: int, i: int, s: I64, e: I64) -> Any:
    n = len(start)
    k = 0
    at = lo
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
    return k


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


def running_end(start: I64, end: I64) -> I64:
    """For each i the index j <= i of the interval with the largest end so far; the later one of equal ends."""
    del start
    out = np.empty(len(end), np.int64)
    _running_end(end, out)
    return out


@lean
def _running_end(end: I64, out: I64) -> None:
    best = 0
    for i in range(len(end)):
        if end[i] >= end[best]:
            best = i
        out[i] = best


def group_stats(key: I64, start: I64, end: I64, groups: int, lo: int, hi: int) -> I64:
    """Per group of intervals (sorted by start) what touches [lo, hi): int64[groups, 7].

    Columns: count; sum of lengths cut to the window; length of the union cut to the window; sum, least and greatest
    full length; index of the longest. An empty interval touches the window when it starts inside it. Rows without a
    member hold zeros and index -1.
    """
    out = np.zeros((groups, 7), np.int64)
    out[:, 6] = -1
    _group_stats(key, start, end, lo, hi, np.full(groups, lo, np.int64), out)
    return out


@lean
def _group_stats(key: I64, start: I64, end: I64, lo: int, hi: int, reach: I64, out: I64) -> None:
    for i in range(len(start)):
        s = start[i]
        e = end[i]
        if s >= hi or e < lo or (e == lo and s < lo):
            continue
        g = key[i]
        o = 7 * g
        length = e - s
        a = max(s, lo)
        b = min(e, hi)
        out[o + 1] += b - a
        out[o + 2] += max(0, b - max(a, reach[g]))
        reach[g] = max(reach[g], b)
        out[o + 3] += length
        if out[o] == 0:
            out[o + 4] = length
            out[o + 5] = length
            out[o + 6] = i
        else:
            out[o + 4] = min(out[o + 4], length)
            if length > out[o + 5]:
                out[o + 5] = length
                out[o + 6] = i
        out[o] += 1


def deepest(start: I64, end: I64, seg_start: I64, seg_slice: I64) -> int:
    """Flatten nested slices of one thread: which slice is the deepest open one, from when on.

    Slices are sorted by (start, depth). Writes segments (begin, position of the slice or -1 where none is open), which
    end where the next begins; both outputs need room for ``2 * n``. Returns how many segments there are. A child that
    overruns its parent stays the deepest until it ends.
    """
    # A stack as deep as it can get.
    k: int = _deepest(start, end, seg_start, seg_slice, np.empty(len(start), np.int64))
    return k


@lean
def _deepest(start: I64, end: I64, seg_start: I64, seg_slice: I64, stack: I64) -> Any:
    n = len(start)
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


def charge(seg_start: I64, seg_kind: I64, lo: I64, hi: I64, kinds: int) -> I64:
    """Time of the intervals [lo, hi) by the kind of the segment they fall in: int64[len(lo), kinds + 1].

    Segments end where the next begins; kind -1 and time outside all segments are charged to the last column.
    """
    out = np.zeros((len(lo), kinds + 1), np.int64)
    _charge(seg_start, seg_kind, lo, hi, np.searchsorted(seg_start, lo, "right"), kinds, out)
    return out


@lean
def _charge(seg_start: I64, seg_kind: I64, lo: I64, hi: I64, first: I64, kinds: int, out: I64) -> None:
    n = len(seg_start)
    for i in range(len(lo)):
        if hi[i] <= lo[i]:
            continue
        at = lo[i]
        k = first[i] - 1
        while at < hi[i]:
            until = seg_start[k + 1] if k + 1 < n else hi[i]
            until = min(until, hi[i])
            kind = seg_kind[k] if k >= 0 else -1
            out[i * (kinds + 1) + (kind if kind >= 0 else kinds)] += until - at
            at = until
            k += 1
