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
