"""The GPU work of both runs in the form that the tables of a comparison are summed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.pairing import Pairing, Unit
from viewer.analyses.gpu_work import gpu_work
from viewer.base.selection import SliceRef
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chunk:
    """The GPU work of one device in a file: ``at`` positions in ``gpu_work``, ``k`` the span of each (-1)."""

    unit: int
    input: int
    trace: Trace
    at: I64
    k: I64
    device: int

    @property
    def rows(self) -> I64:
        """Rows of ``slices``."""
        return gpu_work(self.trace).index[self.at]

    @property
    def length_ns(self) -> I64:
        """Durations."""
        work = gpu_work(self.trace)
        out: I64 = work.end_ns[self.at] - work.start_ns[self.at]
        return out


@dataclass(frozen=True, eq=False)
class Side:
    """One run as it is compared."""

    session: Session
    units: tuple[Unit, ...]
    chunks: tuple[Chunk, ...]

    @property
    def step_ns(self) -> float:
        """Mean length of its spans."""
        every = [s.length_ns for u in self.units for s in u.spans]
        return sum(every) / max(len(every), 1)

    @property
    def spans(self) -> list[int]:
        """Number of spans per unit."""
        return [len(u.spans) for u in self.units]


def sides(base: Session, test: Session, pairing: Pairing, cancel: CancelToken | None = None) -> tuple[Side, Side]:
    """Both runs' work. Raises Cancelled."""
    one = tuple(p.base for p in pairing.pairs)
    other = tuple(p.test for p in pairing.pairs)
    return _side(base, one, cancel), _side(test, other, cancel)


def _side(session: Session, units: tuple[Unit, ...], cancel: CancelToken | None) -> Side:
    chunks = tuple(_chunks(session, units, cancel))
    return Side(session, units, chunks)


def _chunks(session: Session, units: tuple[Unit, ...], cancel: CancelToken | None) -> Iterator[Chunk]:
    for number, unit in enumerate(units):
        for index in unit.group.inputs:
            if cancel is not None:
                cancel.check()
            trace = session.inputs[index].trace
            work = gpu_work(trace)
            part = work.of_device(unit.device)
            if part.start == part.stop:
                continue
            k = np.full(part.stop - part.start, -1, np.int64)
            for place, span in enumerate(unit.spans):
                if span.input == index:
                    k[span.at - part.start] = place
            yield Chunk(number, index, trace, np.arange(part.start, part.stop), k, unit.device)


MOST_UNITS: Final = 64
"""Ranks of which the longest slices are kept apart."""


class Longest:
    """The longest slice of each key of one run, and of each of its first ranks."""

    def __init__(self) -> None:
        self._best: dict[tuple[int, int], tuple[int, SliceRef]] = {}

    def see(self, chunk: Chunk, key: I64, length: I64, rows: I64) -> None:
        """Look at the slices of one chunk."""
        if not len(key):
            return
        order = np.lexsort((-rows, length, key))
        last = np.flatnonzero(np.diff(key[order], append=key[order[-1]] + 1))
        for i in order[last].tolist():
            number, ns = int(key[i]), int(length[i])
            for unit in (-1, chunk.unit) if chunk.unit < MOST_UNITS else (-1,):
                if (number, unit) not in self._best or ns > self._best[number, unit][0]:
                    self._best[number, unit] = (ns, SliceRef(chunk.input, int(rows[i])))

    def of(self, keys: list[int], unit: int | None = None) -> SliceRef | None:
        """The longest of several keys, of one unit where it has one; None when the run has none of them."""
        for which in (unit, -1):
            found = [self._best[k, which] for k in keys if which is not None and (k, which) in self._best]
            if found:
                return max(found, key=lambda f: f[0])[1]
        return None
