"""Orders in linear time: rows grouped by a small key, and what flow ends point at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@kernel
def group_stable(keys: I64, groups: int) -> Any:
    """Counting sort: (order, begin).

    ``order`` int64[n] lists rows by key, rows of one key in their own order; ``begin`` int64[groups + 1] says where
    each key's rows lie in it. Keys are in [0, groups).
    """
    n = len(keys)
    begin = np.zeros(groups + 1, np.int64)
    for i in range(n):
        begin[keys[i] + 1] += 1
    for g in range(groups):
        begin[g + 1] += begin[g]
    following = begin[:groups].copy()
    order = np.empty(n, np.int64)
    for i in range(n):
        k = keys[i]
        order[following[k]] = i
        following[k] += 1
    return order, begin


@kernel
def count_levels(lane: I32, depth: I32, lanes: int) -> Any:
    """Levels of each lane, int64[lanes]: its largest depth + 1, 0 for a lane without slices."""
    levels = np.zeros(lanes, np.int64)
    for i in range(len(lane)):
        levels[lane[i]] = max(levels[lane[i]], depth[i] + 1)
    return levels


@kernel
def is_in_time_order(order: I64, start: I64, dur: I64) -> Any:
    """Whether the rows of ``order`` begin one after another, the longer first where two begin together."""
    for i in range(1, len(order)):
        a, b = order[i - 1], order[i]
        if start[a] > start[b] or (start[a] == start[b] and dur[a] < dur[b]):
            return False
    return True


@kernel
def bind_to_slices(
    time: I64,
    track: I32,
    lanes_begin: I64,
    lanes_of: I64,
    lane_begin: I64,
    start: I64,
    end: I64,
    parent: I64,
    bound: I64,
) -> None:
    """The deepest slice that encloses each instant on the lanes of its track.

    ``lanes_of[lanes_begin[t] : lanes_begin[t + 1]]`` are the lanes of track t, tried in that order. Slices are sorted
    by (lane, start), lane l holds [lane_begin[l], lane_begin[l + 1]); ``parent`` is -1 at the top. Writes the row of
    the slice to ``bound``, -1 where none encloses the instant.
    """
    for i in range(len(time)):
        bound[i] = -1
        t = track[i]
        for k in range(lanes_begin[t], lanes_begin[t + 1]):
            lane = lanes_of[k]
            low = lane_begin[lane]
            first = low
            high = lane_begin[lane + 1]
            while low < high:
                middle = (low + high) // 2
                if start[middle] <= time[i]:
                    low = middle + 1
                else:
                    high = middle
            j = low - 1
            while j >= first and end[j] < time[i]:
                j = parent[j] if parent[j] >= 0 else -1
            if j >= first:
                bound[i] = j
                break
