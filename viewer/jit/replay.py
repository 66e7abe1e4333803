"""Replaying a graph of dependencies: when each event happens if some of the lags between them were shorter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]


@kernel
def replay(offset: I64, target: I64, lag: I64, waiting: I64, queue: I64, value: I64) -> int:
    """Latest of (source + lag) for every event, in an order of their dependencies; how many events were settled.

    Args:
        offset: int64[events + 1]; edges of source e are [offset[e], offset[e + 1]).
        target: int64[edges].
        lag: int64[edges], ns.
        waiting: int64[events], the number of edges into each event; used up.
        queue: int64[events], scratch.
        value: int64[events], the earliest instant of each event; raised in place. Events of a circle keep theirs.
    """
    head = 0
    tail = 0
    for e in range(len(waiting)):
        if waiting[e] == 0:
            queue[tail] = e
            tail += 1
    while head < tail:
        e = queue[head]
        head += 1
        for k in range(offset[e], offset[e + 1]):
            t = target[k]
            reached = value[e] + lag[k]
            value[t] = max(value[t], reached)
            waiting[t] -= 1
            if waiting[t] == 0:
                queue[tail] = t
                tail += 1
    return tail


@kernel
def replay_in_order(order: I64, offset: I64, target: I64, lag: I64, value: I64) -> None:
    """As :func:`replay` in an order that it found: ``order`` are the events of its queue that were settled."""
    for k in range(len(order)):
        e = order[k]
        for j in range(offset[e], offset[e + 1]):
            value[target[j]] = max(value[target[j]], value[e] + lag[j])


@kernel
def places_before(bounds: I64, values: I64, group: I64, wanted: I64, out: I64) -> None:
    """Write how many values of its group lie before each wanted one; those of group g ascend in [bounds[g], ...)."""
    for i in range(len(group)):
        low = bounds[group[i]]
        high = bounds[group[i] + 1]
        while low < high:
            middle = (low + high) // 2
            if values[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low - bounds[group[i]]
