"""Rows of a column in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel
from viewer.jit.scan_load import load8, load_id, load_int, store8, store_id, store_int

WIDTHS = (1, 4, 8)
"""Bytes of a value."""


@kernel
def _gather(source: int, size: int, order: int, count: int, width: int, out: int) -> Any:
    """Addresses; ``order`` is int32. How many were written before the first one that is out of range."""
    for i in range(count):
        k = load_id(order + 4 * i)
        if k >= size:
            return np.int64(i)
        if width == 8:
            store_int(out + 8 * i, load_int(source + 8 * k))
        elif width == 4:
            store_id(out + 4 * i, load_id(source + 4 * k))
        else:
            store8(out + i, load8(source + k))
    return np.int64(count)


def gather(source: NDArray[Any], order: NDArray[np.int32]) -> NDArray[Any]:
    """``source[order]``, without numpy's detour over int64.

    Args:
        source: [n], of one of WIDTHS.
        order: int32[m], in [0, n).

    Raises:
        IndexError: one is out of range.
    """
    width = source.dtype.itemsize
    if width not in WIDTHS or not source.flags.c_contiguous or source.dtype.hasobject:
        out: NDArray[Any] = source[order]
        return out
    assert order.dtype == np.int32
    order = np.ascontiguousarray(order)
    out = np.empty(len(order), source.dtype)
    done = _gather(source.ctypes.data, len(source), order.ctypes.data, len(order), width, out.ctypes.data)
    if done < len(order):
        raise IndexError(f"row {order[done]} of {len(source)}")
    return out


@kernel
def paint_rows(
    cat: int,
    name: int,
    number: NDArray[np.int64],
    flat: NDArray[np.uint8],
    pairs: NDArray[np.uint8],
    seen: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> None:
    """Give each slice a paint by its category, or by category and name.

    Args:
        cat: address of int32[n], categories in [-1, width - 1).
        name: address of int32[n], names in the same range.
        number: int64[width], which row of ``pairs`` a category has, -1 for none; the last is that of -1.
        flat: uint8[width], paint of categories without a row.
        pairs: uint8[rows * width], paint by row and name.
        seen: uint8[rows * width], 1 is written for each pair that is met.
        out: uint8[n].
    """
    width = len(number)
    for i in range(len(out)):
        c = min(load_id(cat + 4 * i), np.int64(width - 1))  # read without a sign: -1 is beyond all
        row = number[c]
        if row < 0:
            out[i] = flat[c]
            continue
        pair = row * width + min(load_id(name + 4 * i), np.int64(width - 1))
        out[i] = pairs[pair]
        seen[pair] = 1
