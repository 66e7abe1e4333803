"""Sums and order statistics by group, and walks over slices that enclose each other. Parents stand before children."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import Paint
from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
_BEFORE = np.int64(-(2**63))
_ANNOTATION = np.uint8(Paint.ANNOTATION)


@kernel
def mark_names(paint: NDArray[np.uint8], name: I32, seen: Bools) -> None:
    """Mark which names occur with which paint: bool[paints, names + 1], the last name is none (-1)."""
    none = seen.shape[1] - 1
    for i in range(len(name)):
        seen[paint[i], name[i] if name[i] >= 0 else none] = True


@kernel
def rows_among(paint: NDArray[np.uint8], name: I32, painted: Bools, named: Bools, out: I64) -> int:
    """Write the slices of some paints (bool[256]) and names (bool[names + 1], the last is none); how many they are."""
    none = len(named) - 1
    count = 0
    for i in range(len(name)):
        if painted[paint[i]] and named[name[i] if name[i] >= 0 else none]:
            out[count] = i
            count += 1
    return count


@kernel
def nearest_flagged(flagged: Bools, parent: I32, out: I32) -> None:
    """Write for every slice the nearest flagged one at or around it, -1 without one; ``parent`` is -1 at the top."""
    for i in range(len(flagged)):
        if flagged[i]:
            out[i] = i
        elif parent[i] >= 0:
            out[i] = out[parent[i]]
        else:
            out[i] = -1


@kernel
def mark_around(rows: I64, parent: I32, out: Bools) -> None:
    """Mark slices and all that they lie in; rows of -1 are nothing."""
    for k in range(len(rows)):
        at = rows[k]
        while at >= 0 and not out[at]:
            out[at] = True
            at = parent[at]


@kernel
def spread_down(rows: I64, parent: I32, bits: NDArray[np.uint64]) -> None:
    """Give slices the bits of all that they lie in. ``rows`` ascend and hold the parents of each of them."""
    for k in range(len(rows)):
        above = parent[rows[k]]
        if above >= 0:
            bits[rows[k]] |= bits[above]


@kernel
def thread_kinds(
    begin: int,
    end: int,
    parent: I32,
    name: I32,
    paint: NDArray[np.uint8],
    of_paint: I64,
    special: I64,
    marks: Bools,
    kind: I64,
    told_by: I64,
    inherited: I64,
) -> None:
    """What the slices [begin, end) of a thread, upper levels first, stand for.

    Args:
        begin: first slice.
        end: one past the last.
        parent: of every slice, -1 at the top.
        name: of every slice.
        paint: of every slice.
        of_paint: int64[256], kind by paint.
        special: int64[names + 1], kind of a name that stands for all inside it, -1 for others; the last is for none.
        marks: bool[names + 1], names of marks around others, where they are annotations.
        kind: int64[end - begin], gets the kind: the largest special one at or around it, else -1 for marks, else by
            paint.
        told_by: int64[end - begin], gets the slice that tells it, -1 for marks.
        inherited: int64[end - begin], scratch.
    """
    none = len(special) - 1
    for i in range(begin, end):
        at = i - begin
        code = name[i] if name[i] >= 0 else none
        mark = marks[code] and paint[i] == _ANNOTATION
        own = special[code]
        told_by[at] = -1 if mark else i
        if parent[i] >= 0:
            above = inherited[parent[i] - begin]
            if above >= 0 and above >= own:
                own = above
                told_by[at] = told_by[parent[i] - begin]
        inherited[at] = own
        kind[at] = own if own >= 0 else (-1 if mark else of_paint[paint[i]])


@kernel
def of_segments(
    at: I64, order: I64, kind: I64, told_by: I64, begin: int, row: I32, kinds: NDArray[np.int8], tellers: I32
) -> None:
    """Rows, kinds and tellers of segments: ``at`` are places in ``order``, which holds places behind ``begin``."""
    for k in range(len(at)):
        if at[k] < 0:
            row[k] = -1
            kinds[k] = -1
            tellers[k] = -1
        else:
            place = order[at[k]]
            row[k] = begin + place
            kinds[k] = kind[place]
            tellers[k] = told_by[place]


@kernel
def depths(parent: I64, out: I64) -> None:
    """Write how many others each call lies in."""
    for i in range(len(parent)):
        out[i] = 0 if parent[i] < 0 else out[parent[i]] + 1


@kernel
def add_upwards(order: I64, parent: I64, whole: I64, real: F64) -> None:
    """Add to every call what it encloses: ``whole`` int64[calls, k] and ``real`` float64[calls, m] in place.

    ``order`` lists the calls, those that lie in others before these.
    """
    for k in range(len(order)):
        i = order[k]
        p = parent[i]
        if p >= 0:
            for j in range(whole.shape[1]):
                whole[p, j] += whole[i, j]
            for j in range(real.shape[1]):
                real[p, j] += real[i, j]


@kernel
def inside_own_group(parent: I64, group: I64, out: Bools) -> None:
    """Write whether each call lies inside another one of its group."""
    for i in range(len(parent)):
        at = parent[i]
        while at >= 0 and group[at] != group[i]:
            at = parent[at]
        out[i] = at >= 0


@kernel
def covered_by_group(start: I64, end: I64, bounds: I64, out: I64) -> None:
    """Write how much the intervals of each group cover; those of group g are [bounds[g], bounds[g + 1]), by start."""
    for g in range(len(out)):
        covered = np.int64(0)
        reached = _BEFORE
        for i in range(bounds[g], bounds[g + 1]):
            if end[i] > reached:
                covered += end[i] - max(start[i], reached)
                reached = end[i]
        out[g] = covered


@kernel
def sum_by_group(group: I64, values: I64, out: I64) -> None:
    """Add each value to its group's place in ``out``; groups below 0 are left out."""
    for i in range(len(group)):
        if group[i] >= 0:
            out[group[i]] += values[i]


@kernel
def middles(group: I64, ns: I64, fill: I64, values: I64, full: I64, median: I64, most: I64, longest: I64) -> None:
    """Sum, median, largest and the last of the largest values of each group.

    Args:
        group: int64[n], of each value, 0 <= group < groups.
        ns: int64[n], >= 0.
        fill: int64[groups], where each group's values go in ``values``: bounds of the groups by size; used up.
        values: int64[n], scratch.
        full: int64[groups] of zeros, gets the sums.
        median: int64[groups] of zeros, gets the medians: of two middle ones the mean, halves to the even neighbour.
        most: int64[groups] of zeros, gets the largest.
        longest: int64[groups] of zeros, gets the position of the last of the largest.
    """
    for i in range(len(group)):
        g, v = group[i], ns[i]
        values[fill[g]] = v
        fill[g] += 1
        full[g] += v
        if v >= most[g]:
            most[g] = v
            longest[g] = i
    begin: Any = np.int64(0)
    for g in range(len(fill)):
        end = fill[g]
        count = end - begin
        if count > 0:
            low, high = begin + (count - 1) // 2, begin + count // 2
            _select(values, begin, end, low)
            middle = values[low]
            if high > low:
                other = values[high]
                for i in range(high + 1, end):
                    other = min(other, values[i])
                pair = middle + other
                middle = pair // 2
                if pair % 2 == 1 and middle % 2 == 1:
                    middle += 1
            median[g] = middle
        begin = end


@kernel
def middles_and_spreads(group: I64, values: I64, fill: I64, scratch: I64, twice: I64, fourfold: I64) -> None:
    """Median and median distance from it of each group, as whole numbers.

    Args:
        group: int64[n], of each value, 0 <= group < groups.
        values: int64[n].
        fill: int64[groups], where each group's values go in ``scratch``: bounds of the groups by size; used up.
        scratch: int64[n].
        twice: int64[groups] of zeros, gets twice the medians.
        fourfold: int64[groups] of zeros, gets four times the medians of the distances from the median.
    """
    for i in range(len(group)):
        scratch[fill[group[i]]] = values[i]
        fill[group[i]] += 1
    begin: Any = np.int64(0)
    for g in range(len(fill)):
        end = fill[g]
        if end > begin:
            twice[g] = _middle_sum(scratch, begin, end)
            for i in range(begin, end):
                scratch[i] = abs(2 * scratch[i] - twice[g])
            fourfold[g] = _middle_sum(scratch, begin, end)
        begin = end


@kernel
def _middle_sum(values: I64, begin: int, end: int) -> Any:
    """The sum of the two middle ones of [begin, end), twice the middle one of an odd number; orders them anew."""
    low, high = begin + (end - begin - 1) // 2, begin + (end - begin) // 2
    _select(values, begin, end, low)
    other = values[low]
    if high > low:
        other = values[high]
        for i in range(high + 1, end):
            other = min(other, values[i])
    return values[low] + other


@kernel
def _select(values: I64, begin: int, end: int, at: int) -> None:
    """Put the value that belongs at ``at`` there, smaller ones of [begin, end) before and larger ones behind it."""
    lo, hi = begin, end - 1
    while lo < hi:
        pivot = values[lo + (hi - lo) // 2]
        i, j = lo, hi
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                t = values[i]
                values[i] = values[j]
                values[j] = t
                i += 1
                j -= 1
        if at <= j:
            hi = j
        elif at >= i:
            lo = i
        else:
            return
