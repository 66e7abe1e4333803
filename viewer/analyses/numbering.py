"""Distinct values of columns and their numbers: what ``np.unique`` tells, without sorting the columns."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viewer.jit.lanes import number_keys

I64 = NDArray[np.int64]

_DENSE: Final = 4
"""Values that lie this close together, as many times their count, are looked up in a table instead of a hash."""


class Numbered(NamedTuple):
    """Distinct values, ascending; the place of the first of each; and for each value its number among them."""

    keys: I64
    first: I64
    number: I64


def numbered_values(values: NDArray[Any]) -> Numbered:
    """The distinct values of a column of integers, as ``np.unique`` with its indices and its inverse.

    In time linear in the values, but for sorting the distinct ones.
    """
    column = np.array(values, np.int64)  # a copy: mapped columns are of another type to the compiler
    if not len(column):
        return Numbered(column, np.empty(0, np.int64), np.empty(0, np.int64))
    low, high = int(column.min()), int(column.max())
    if high - low <= _DENSE * len(column):
        place = column - low
        last = np.full(high - low + 1, -1, np.int64)
        last[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # of equal ones the last assignment stays: the first
        present = np.flatnonzero(last >= 0)
        number = np.empty(len(last), np.int64)
        number[present] = np.arange(len(present))
        return Numbered(present + low, last[present], number[place])
    return numbered_rows(column.reshape(-1, 1))


def numbered_rows(columns: I64) -> Numbered:
    """As :func:`numbered_values` for the rows of int64[n, k], in the order of their columns; keys are int64[m, k].

    One column gives keys of one dimension.
    """
    number = np.empty(len(columns), np.int32)
    first = number_keys(columns, number)
    keys = columns[first]
    order = np.lexsort(keys.T[::-1])
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    ordered = keys[order]
    return Numbered(ordered.reshape(-1) if columns.shape[1] == 1 else ordered, first[order], rank[number])
