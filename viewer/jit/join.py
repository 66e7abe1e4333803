"""Hash join of GPU work with the calls that launched it, by correlation id."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]

NO_CALL = -1
AMBIGUOUS = -2
MOST_CALLS = 32
"""Calls with one correlation id beyond which the id says nothing (and the work stays bounded)."""


@kernel
def join(call_key: I64, call_start: I64, call_end: I64, call_process: I64, key: I64, start: I64) -> Any:
    """For every GPU event the index of its call: int64[len(key)], NO_CALL or AMBIGUOUS where there is none.

    Keys are correlation ids that link (never 0 or absent); one call may own any number of events. Of several calls with
    one key: in different processes the owner is unknown (AMBIGUOUS); in one process a call inside another (a runtime
    call that enters the driver) is the same launch seen twice and the outer one owns it; of successive calls (the id
    was used again) the last that began at or before the event, else the first. More than MOST_CALLS are AMBIGUOUS.
    """
    n = len(call_key)
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)
    following = np.full(n, -1, np.int64)
    mask = np.uint64(size - 1)
    for i in range(n):
        h = np.uint64(call_key[i]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((h ^ (h >> np.uint64(32))) & mask)
        while table[slot] >= 0 and call_key[table[slot]] != call_key[i]:
            slot = (slot + 1) & (size - 1)
        following[i] = table[slot]
        table[slot] = i
    out = np.empty(len(key), np.int64)
    for g in range(len(key)):
        h = np.uint64(key[g]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((h ^ (h >> np.uint64(32))) & mask)
        while table[slot] >= 0 and call_key[table[slot]] != key[g]:
            slot = (slot + 1) & (size - 1)
        head = table[slot]
        if head < 0 or following[head] < 0:
            out[g] = head
            continue
        best = np.int64(-1)
        length = 0
        i = head
        while i >= 0 and length <= MOST_CALLS:
            length += 1
            i = following[i]
        if length > MOST_CALLS:
            out[g] = AMBIGUOUS
            continue
        i = head
        while i >= 0:
            if call_process[i] != call_process[head]:
                best = np.int64(AMBIGUOUS)
                break
            inner = False
            j = head
            while j >= 0 and not inner:
                if j != i and call_start[j] <= call_start[i] and call_end[i] <= call_end[j]:
                    same = call_start[j] == call_start[i] and call_end[i] == call_end[j]
                    inner = not same or j < i
                j = following[j]
            if not inner:
                if best < 0:
                    best = i
                elif call_start[i] <= start[g]:
                    if call_start[best] > start[g] or call_start[i] > call_start[best]:
                        best = i
                elif call_start[i] < call_start[best]:
                    best = i
            i = following[i]
        out[g] = best
    return out
