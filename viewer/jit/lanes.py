"""Numbering of lanes and look-ups along them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@kernel
def number_keys(keys: I64, out: I32) -> Any:
    """Number the distinct rows of int64 ``keys[n, k]`` in order of first appearance.

    Writes int32 ``out[n]`` and returns the int64 indices of each key's first row.
    """
    n, width = keys.shape
    size = 64
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int32)
    first = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        found = np.int32(-1)
        if i > 0 and _equal(keys, i, i - 1):
            found = out[i - 1]
        else:
            h = np.uint64(0x9E3779B97F4A7C15)
            for k in range(width):
                h = (h ^ np.uint64(keys[i, k])) * np.uint64(0xFF51AFD7ED558CCD)
                h ^= h >> np.uint64(32)
            slot = np.int64(h & np.uint64(size - 1))
            while table[slot] >= 0 and not _equal(keys, i, first[table[slot]]):
                slot = (slot + 1) & (size - 1)
            found = table[slot]
            if found < 0:
                first[count] = i
                table[slot] = count
                found = np.int32(count)
                count += 1
        out[i] = found
    return first[:count].copy()


@kernel
def _equal(keys: I64, i: int, j: int) -> Any:
    for k in range(keys.shape[1]):
        if keys[i, k] != keys[j, k]:
            return False
    return True
