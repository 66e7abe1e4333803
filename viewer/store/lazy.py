"""Columns that are made piece by piece when they are written, so that no table has to be in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

PIECE: Final = 1 << 16
"""Rows that are made at a time."""


class LazyColumn:
    """A column whose rows [a, b) are ``make(a, b)``."""

    def __init__(self, length: int, kind: DTypeLike, make: Callable[[int, int], NDArray[Any]]) -> None:
        self._length, self._make = length, make
        self.dtype = np.dtype(kind)

    def __len__(self) -> int:
        return self._length

    def part(self, begin: int, end: int) -> NDArray[Any]:
        """Rows [begin, end)."""
        return self._make(begin, end)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.empty(self._length, self.dtype)
        for begin in range(0, self._length, PIECE):
            end = min(begin + PIECE, self._length)
            whole[begin:end] = self._make(begin, end)
        return whole if dtype is None else whole.astype(dtype, copy=False)


def gather(source: NDArray[Any], order: NDArray[np.int32]) -> NDArray[Any]:
    """``source[order]``, by compiled code. The compiler is loaded for it, so it comes when it is needed."""
    from viewer.jit.gather import gather as rows

    return rows(source, order)


def taken(source: NDArray[Any], order: NDArray[np.int32]) -> LazyColumn:
    """``source[order]``."""
    return LazyColumn(len(order), source.dtype, lambda a, b: gather(source, order[a:b]))
