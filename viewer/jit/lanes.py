"""Numbering of lanes and look-ups along them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.lean import lean

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


_FACTOR: Final = np.uint64(0xFF51AFD7ED558CCD)


def number_keys(keys: I64, out: I32) -> I64:
    """Number the distinct rows of int64 ``keys[n, k]`` in order of first appearance.

    Writes int32 ``out[n]`` and returns the int64 indices of each key's first row.
    """
    n, width = keys.shape
    flat = np.ascontiguousarray(keys).reshape(-1)
    first = np.empty(1 << 10, np.int64)
    done = 0
    count = 0
    while True:
        table = np.full(4 * len(first), -1, np.int32)
        done, count = _number_keys(flat, width, out, table, first, count, done)
        if done == n:
            return first[:count].copy()
        first = np.concatenate([first, np.empty(3 * len(first), np.int64)])


@lean
def _number_keys(keys: I64, width: int, out: I32, table: I32, first: I64, count: int, done: int) -> Any:
    """Go on from row ``done``; stops before a new key when ``first`` is full: (rows done, keys found)."""
    mask = len(table) - 1
    for number in range(count):  # those found already, into the fresh table
        slot = _slot(keys, width, first[number], table, first, mask)
        table[slot] = number
    for i in range(done, len(out)):
        if i > done and _equal(keys, width, i, i - 1):
            out[i] = out[i - 1]
            continue
        slot = _slot(keys, width, i, table, first, mask)
        found = table[slot]
        if found < 0:
            if count == len(first):
                return i, count
            found = count
            first[count] = i
            table[slot] = count
            count += 1
        out[i] = found
    return len(out), count


@lean
def _slot(keys: I64, width: int, row: int, table: I32, first: I64, mask: int) -> Any:
    """Where the key of ``row`` is in the table, or belongs."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for k in range(width):
        h = (h ^ np.uint64(keys[row * width + k])) * _FACTOR
        h ^= h >> np.uint64(32)
    slot = np.int64(h) & mask
    while table[slot] >= 0 and not _equal(keys, width, row, first[table[slot]]):
        slot = (slot + 1) & mask
    return slot


@lean
def _equal(keys: I64, width: int, i: int, j: int) -> Any:
    for k in range(width):
        if keys[i * width + k] != keys[j * width + k]:
            return False
    return True
