"""Which classes of GPU work run when: one sweep over intervals by start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import Paint
from viewer.jit.config import kernel

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

COMM_BIT, COMPUTE_BIT, MEMORY_BIT = 1, 2, 4
_COMM, _COMPUTE, _MEMORY = np.uint8(Paint.COMM), np.uint8(Paint.COMPUTE), np.uint8(Paint.MEMORY)
_BEFORE = np.int64(-(2**63))


@kernel
def class_states(start: I64, end: I64, paint: U8, time: I64, state: U8) -> int:
    """Write from when on which classes run, and return how many times that changed.

    Args:
        start: int64[n], ascending.
        end: int64[n]; empty intervals are nothing.
        paint: uint8[n], their classes; others than the three are nothing.
        time: int64[2 * n], gets the instants, ascending.
        state: uint8[2 * n], gets the bits of the classes that run from each instant to the next; the last is 0.
    """
    n = len(start)
    comm = compute = memory = at = _BEFORE
    last = 0
    count = 0
    for i in range(n + 1):
        until = np.int64(2**63 - 1)
        if i < n:
            known = paint[i] == _COMM or paint[i] == _COMPUTE or paint[i] == _MEMORY
            if not known or end[i] <= start[i]:
                continue
            until = start[i]
        while at < until or i == n:
            bits = 0
            following = until
            if comm > at:
                bits |= COMM_BIT
                following = min(following, comm)
            if compute > at:
                bits |= COMPUTE_BIT
                following = min(following, compute)
            if memory > at:
                bits |= MEMORY_BIT
                following = min(following, memory)
            if bits != last:
                time[count] = at
                state[count] = bits
                count += 1
                last = bits
            if not bits:
                at = until
                break
            at = following
        if i < n:
            if paint[i] == _COMM:
                comm = max(comm, end[i])
            elif paint[i] == _COMPUTE:
                compute = max(compute, end[i])
            else:
                memory = max(memory, end[i])
    return count


BLOCK = 64
"""Changes between two sums that are kept."""


@kernel
def block_sums(time: I64, state: U8, out: I64) -> None:
    """Write into int64[blocks, 8] how long each state lasted before every :data:`BLOCK`-th change."""
    for b in range(1, len(out)):
        for k in range(8):
            out[b, k] = out[b - 1, k]
        for i in range((b - 1) * BLOCK, b * BLOCK):
            out[b, state[i]] += time[i + 1] - time[i]


@kernel
def sums_before(time: I64, state: U8, blocks: I64, at: I64, out: I64) -> None:
    """Write into int64[instants, 8] how long each state lasted before each of ``at``. ``blocks``: of block_sums."""
    for k in range(len(at)):
        low, high = 0, len(time)
        while low < high:
            middle = (low + high) // 2
            if time[middle] <= at[k]:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            continue
        i = low - 1
        b = i // BLOCK
        for j in range(8):
            out[k, j] = blocks[b, j]
        for j in range(b * BLOCK, i):
            out[k, state[j]] += time[j + 1] - time[j]
        out[k, state[i]] += at[k] - time[i]


@kernel
def sums_by_part(start: I64, end: I64, paint: U8, bounds: I64, time: I64, state: U8, out: I64) -> None:
    """Write into int64[parts, 9] how long each state lasted in each part [bounds[i], bounds[i + 1]), and its last end.

    ``start`` ascends in each part, none is empty; ``time`` and ``state`` are scratch as class_states takes them.
    """
    for p in range(len(out)):
        a, b = bounds[p], bounds[p + 1]
        n = class_states(start[a:b], end[a:b], paint[a:b], time, state)
        for i in range(n - 1):
            out[p, state[i]] += time[i + 1] - time[i]
        out[p, 8] = end[a]
        for i in range(a, b):
            out[p, 8] = max(out[p, 8], end[i])
