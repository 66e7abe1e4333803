"""Sums of both runs by key (a kernel's name, an operator, an operation, a gap), per run, per step and per rank."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.names import distinct
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

MOST_CELLS: Final = 1 << 24
"""Keys times steps whose scatter is looked at; beyond it no row says whether it is noise."""


class Keys:
    """Keys as numbers, the same for both runs."""

    def __init__(self) -> None:
        self.known: list[Any] = []
        self._number: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.known)

    def number(self, key: Hashable) -> int:
        """The number of a key, a new one at its first use."""
        found = self._number.setdefault(key, len(self.known))
        if found == len(self.known):
            self.known.append(key)
        return found

    def of_names(self, trace: Trace, codes: NDArray[np.int32], key: Callable[[str], Hashable] = str) -> I64:
        """The numbers of names given as indexes into the strings of a trace; what has no name (-1) is one more."""
        table = np.full(len(trace.strings) + 1, -1, np.int64)
        without = [-1] if len(codes) and int(codes.min()) < 0 else []
        for code in (*distinct(codes), *without):
            table[code] = self.number(key(trace.text(code)))
        out: I64 = table[codes]
        return out

    def of_rows(self, columns: I64, key: Callable[[tuple[int, ...]], Hashable]) -> I64:
        """The numbers of rows int64[n, c]; ``key`` makes the key of each distinct one."""
        if not len(columns):
            return np.empty(0, np.int64)
        rows, inverse = np.unique(columns, axis=0, return_inverse=True)
        table = np.array([self.number(key(tuple(row))) for row in rows.tolist()], np.int64)
        out: I64 = table[inverse.reshape(-1)]
        return out


@dataclass(frozen=True, slots=True)
class Part:
    """What one unit adds: key, span (-1: outside the compared ones) and value of each entry."""

    unit: int
    key: I64
    k: I64
    value: I64


class Amounts:
    """Sums of one quantity of one run. Give everything with :meth:`add`, then ask."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(self, unit: int, key: I64, k: I64, value: I64) -> None:
        """Add entries of one unit."""
        self._parts.append(Part(unit, key, k, value))

    def totals(self, keys: int, *, inside: bool = False) -> I64:
        """int64[keys]: everything, or only what lies in compared spans."""
        out = np.zeros(keys, np.int64)
        for p in self._parts:
            chosen = slice(None) if not inside else p.k >= 0
            np.add.at(out, p.key[chosen], p.value[chosen])
        return out

    def by_span(self, spans: list[int]) -> Callable[[int], F64 | None]:
        """A function of the number of keys that gives float64[keys, steps]: the mean over the units that have step k.

        Args:
            spans: per unit how many spans it has.
        """

        def build(keys: int) -> F64 | None:
            most = max(spans, default=0)
            if keys * most > MOST_CELLS:
                return None
            sums = np.zeros((keys, most), np.int64)
            for p in self._parts:
                inside = p.k >= 0
                # Step k counts from the last: ranks whose files hold fewer steps lack the first ones.
                np.add.at(sums, (p.key[inside], p.k[inside] + most - spans[p.unit]), p.value[inside])
            having = np.array([sum(n >= most - k for n in spans) for k in range(most)], np.float64)
            out: F64 = sums / having
            return out

        return build

    def of_unit(self, unit: I64, spans: list[int]) -> F64 | None:
        """float64[keys, steps]: of each key what the unit ``unit[key]`` adds; None where units hold different counts.

        Keys whose unit is -1 have zeros.
        """
        most = max(spans, default=0)
        if len(set(spans)) != 1 or len(unit) * most > MOST_CELLS:
            return None
        sums = np.zeros((len(unit), most), np.int64)
        for p in self._parts:
            mine = (p.k >= 0) & (unit[p.key] == p.unit)
            np.add.at(sums, (p.key[mine], p.k[mine]), p.value[mine])
        return sums.astype(np.float64)

    def by_unit(self, keys: int, units: int) -> I64:
        """int64[units, keys]: what lies in compared spans; zeros where that would be too many cells."""
        if keys * units > MOST_CELLS:
            return np.zeros((1, keys), np.int64)
        out = np.zeros((units, keys), np.int64)
        for p in self._parts:
            inside = p.k >= 0
            np.add.at(out[p.unit], p.key[inside], p.value[inside])
        return out


def apportioned(totals: list[int], count: int) -> list[int]:
    """``totals`` divided by ``count`` in whole numbers that sum to their sum divided by it (rounded half to even).

    The largest remainders are rounded up (ties: the first), so no part is off by 1 or more.
    """
    whole = [t // count for t in totals]
    rest = [t % count for t in totals]
    total, over = divmod(sum(totals), count)
    total += 2 * over > count or (2 * over == count and total % 2 == 1)
    missing = total - sum(whole)
    for i in sorted(range(len(totals)), key=lambda i: (-rest[i], i))[:missing]:
        whole[i] += 1
    return whole
