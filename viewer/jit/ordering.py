"""Orders in linear time: rows grouped by a small key, and what flow ends point at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@kernel
def group_stable(keys: I32, groups: int) -> Any:
    """Counting sort: (order, begin).

    ``order`` int32[n] lists rows by key, rows of one key in their own order; ``begin`` int64[groups + 1] says where
    each key's rows lie in it. Keys are in [0, groups).
    """
    n = len(keys)
    begin = np.zeros(groups + 1, np.int64)
    for i in range(n):
        begin[keys[i] + 1] += 1
    for g in range(groups):
        begin[g + 1] += begin[g]
    following = begin[:groups].copy()
    order = np.empty(n, np.int32)
    for i in range(n):
        k = keys[i]
        order[following[k]] = i
        following[k] += 1
    return order, begin


@kernel
def sort_by_time(order: I32, begin: I64, start: I64, dur: I64) -> None:
    """Sort the rows of each group by start, the longer first, else as they stand.

    ``order[begin[g] : begin[g + 1]]`` are the rows of group g; ``start`` and ``dur`` are by row. Runs that are in
    order already are merged, so what a profiler wrote nearly in order costs little more than a look.
    """
    other = np.empty(len(order), np.int32)
    runs = np.empty(len(order) + 2, np.int64)
    for g in range(len(begin) - 1):
        first, last = begin[g], begin[g + 1]
        count = 0
        runs[0] = first
        for i in range(first + 1, last):
            a, b = order[i - 1], order[i]
            if start[b] < start[a] or (start[b] == start[a] and dur[b] > dur[a]):
                count += 1
                runs[count] = i
        count += 1
        runs[count] = last
        while count > 1:
            merged = 0
            for r in range(0, count, 2):
                low, middle, high = runs[r], runs[min(r + 1, count)], runs[min(r + 2, count)]
                i, j = low, middle
                for k in range(low, high):
                    take_right = i == middle
                    if not take_right and j < high:
                        a, b = order[i], order[j]
                        take_right = start[b] < start[a] or (start[b] == start[a] and dur[b] > dur[a])
                    if take_right:
                        other[k] = order[j]
                        j += 1
                    else:
                        other[k] = order[i]
                        i += 1
                runs[merged] = low
                merged += 1
            runs[merged] = last
            count = merged
            for k in range(first, last):
                order[k] = other[k]


@kernel
def bind_to_slices(
    time: I64,
    track: I32,
    lanes_begin: I64,
    lanes_of: I64,
    order: I32,
    lane_begin: I64,
    start: I64,
    dur: I64,
    parent: I32,
    bound: I32,
) -> None:
    """The deepest slice that encloses each instant on the lanes of its track.

    ``lanes_of[lanes_begin[t] : lanes_begin[t + 1]]`` are the lanes of track t, tried in that order. ``order`` lists
    rows of ``start`` and ``dur`` by (lane, start), lane l holds [lane_begin[l], lane_begin[l + 1]) of it; ``parent``
    goes with it and is -1 at the top. Writes the place in ``order`` to ``bound``, -1 where none encloses the instant.
    Instants in order of time cost little more than a step each.
    """
    hints = lane_begin.copy()
    for i in range(len(time)):
        bound[i] = -1
        t = track[i]
        for k in range(lanes_begin[t], lanes_begin[t + 1]):
            lane = lanes_of[k]
            first, last = lane_begin[lane], lane_begin[lane + 1]
            low = hints[lane]
            if low > first and start[order[low - 1]] > time[i]:
                high = low - 1
                low = first
            else:
                step = 1
                while low + step <= last and start[order[low + step - 1]] <= time[i]:
                    low += step
                    step *= 2
                high = min(last, low + step - 1)
            while low < high:
                middle = (low + high) // 2
                if start[order[middle]] <= time[i]:
                    low = middle + 1
                else:
                    high = middle
            hints[lane] = low
            j = low - 1
            while j >= first and start[order[j]] + dur[order[j]] < time[i]:
                j = np.int64(parent[j])
            if j >= first:
                bound[i] = j
                break
