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
    table = np.full(size, -1, np.int32)
    first = np.empty(32, np.int64)
    count = 0
    for i in range(n):
        if i > 0:
            same = True
            for k in range(width):
                if keys[i, k] != keys[i - 1, k]:
                    same = False
                    break
            if same:
                out[i] = out[i - 1]
                continue
        h = np.uint64(0x9E3779B97F4A7C15)
        for k in range(width):
            h = (h ^ np.uint64(keys[i, k])) * np.uint64(0xFF51AFD7ED558CCD)
            h ^= h >> np.uint64(32)
        slot = np.int64(h & np.uint64(size - 1))
        found = -1
        while table[slot] >= 0:
            j = first[table[slot]]
            same = True
            for k in range(width):
                if keys[i, k] != keys[j, k]:
                    same = False
                    break
            if same:
                found = table[slot]
                break
            slot = (slot + 1) & (size - 1)
        if found < 0:
            if count == len(first):
                grown = np.empty(2 * count, np.int64)
                grown[:count] = first
                first = grown
            first[count] = i
            table[slot] = count
            found = count
            count += 1
            if 2 * count > size:
                size *= 4
                table = np.full(size, -1, np.int32)
                for c in range(count):
                    h = np.uint64(0x9E3779B97F4A7C15)
                    for k in range(width):
                        h = (h ^ np.uint64(keys[first[c], k])) * np.uint64(0xFF51AFD7ED558CCD)
                        h ^= h >> np.uint64(32)
                    slot = np.int64(h & np.uint64(size - 1))
                    while table[slot] >= 0:
                        slot = (slot + 1) & (size - 1)
                    table[slot] = c
        out[i] = found
    return first[:count].copy()
