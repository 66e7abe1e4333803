"""Kernels by name: counts and durations over a job, and all runs of one kernel in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.numbering import numbered_values
from viewer.base.ids import Paint
from viewer.jit.intervals import group_stats
from viewer.store.rules import COLLECTIVE_METADATA, ClassRule, RuleTable
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
_NO_WINDOW = (-(2**62), 2**62)
MOST_ROWS: Final = 100_000
"""Kernels of a table; the names of a file may be as many as its events."""


@dataclass(frozen=True, slots=True)
class KernelRow:
    """All runs of one kernel (name, class, rule), ns.

    ``count`` runs touch the window; ``sum_ns`` adds their durations cut to the window. ``min_ns``, ``max_ns`` and
    ``mean_ns`` (rounded half to even) are of full durations.
    """

    name: str
    paint: Paint
    rule: str
    fused: bool
    count: int
    sum_ns: int
    min_ns: int
    max_ns: int
    mean_ns: int


def mean_half_even(total: int, count: int) -> int:
    """``total / count`` in whole numbers, halves to the even neighbour, without a float."""
    quotient, rest = divmod(total, count)
    return quotient + (2 * rest > count or (2 * rest == count and quotient % 2 == 1))


def rule_of(trace: Trace, rules: RuleTable, row: int) -> ClassRule:
    """The rule that gave a piece of GPU work its class: the file's own metadata, else the first rule that matches."""
    rule = rules.class_of(trace.cat(row), trace.name(row))
    if int(trace.slices.paint[row]) == Paint.COMM and _described(trace, row):
        return COLLECTIVE_METADATA
    return rule


def _described(trace: Trace, row: int) -> bool:
    rows = trace.collectives.slice
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and int(rows[at]) == row


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Kernels of a table that has no rows for them: at most ``names`` names, exactly ``runs`` runs of ``sum_ns``."""

    names: int
    runs: int
    sum_ns: int


def kernel_table(session: Session, windows: dict[int, tuple[int, int]] | None = None) -> list[KernelRow]:
    """The kernel table of a job, largest sum first, ties by name; at most MOST_ROWS rows, see :func:`kernel_rows`.

    Args:
        session: the job.
        windows: per input index a window of that file's raw ns; inputs that are missing in it are left out. None: all.
    """
    return kernel_rows(session, windows)[0]


def kernel_rows(
    session: Session, windows: dict[int, tuple[int, int]] | None = None, most: int = MOST_ROWS
) -> tuple[list[KernelRow], LeftOut | None]:
    """The rows of :func:`kernel_table`, the largest ``most`` of them, and what the others sum up to.

    A name that has a row has all its runs of all files in it. Of files with more than ``most`` names, only those are
    candidates that are among the ``most`` largest of some file.
    """
    files = [
        kernel_names(item.trace) if windows is None else _Names.of(item.trace, windows[item.index])
        for item in session.inputs
        if windows is None or item.index in windows
    ]
    chosen = _candidates(files, most)
    merged: dict[tuple[str, Paint, str], list[int]] = {}
    fused: dict[str, bool] = {}
    names = runs = total = 0
    for file in files:
        kept = file.only(chosen) if chosen is not None else file
        names, runs, total = names + len(file) - len(kept), runs + file.runs - kept.runs, total + file.sum - kept.sum
        for name, paint, rule, stats in kept.rows(session.rules):
            key = (name, paint, rule.id)
            fused[rule.id] = rule.fused
            old = merged.get(key)
            if old is None:
                merged[key] = list(stats)
            else:
                count, cut, full, least, longest = stats
                old[0] += count
                old[1] += cut
                old[2] += full
                old[3] = min(old[3], least)
                old[4] = max(old[4], longest)
    table = [
        KernelRow(name, paint, rule, fused[rule], count, cut, least, longest, mean_half_even(full, count))
        for (name, paint, rule), (count, cut, full, least, longest) in merged.items()
    ]
    table.sort(key=lambda k: (-k.sum_ns, k.name, k.rule))
    for row in table[most:]:
        names, runs, total = names + 1, runs + row.count, total + row.sum_ns
    return table[:most], LeftOut(names, runs, total) if names else None


def _candidates(files: Sequence[_Names], most: int) -> pa.LargeStringArray | None:
    """Names that may get a row; None for all."""
    if sum(len(f) for f in files) <= most:
        return None
    return pa.concat_arrays([f.largest(most) for f in files]).unique()


def _keys(trace: Trace) -> tuple[I64, I64]:
    """Distinct (name, category, class, described by metadata) of the GPU work as numbers, and each event's place."""
    work, s = gpu_work(trace), trace.slices
    rows = work.index
    flags = work.paint.astype(np.int64) * 2 + _described_slices(trace)[rows]
    key = (s.name[rows].astype(np.int64) << 29) ^ (s.cat[rows].astype(np.int64) << 5) ^ flags
    found = numbered_values(key)
    return found.keys, found.number


def _described_slices(trace: Trace) -> NDArray[np.bool_]:
    """bool[slices + 1]: which slices metadata describe as communication."""

    def build() -> NDArray[np.bool_]:
        out = np.zeros(len(trace) + 1, np.bool_)
        out[trace.collectives.slice] = True
        return out

    return trace.memo("described", build)


@dataclass(frozen=True, slots=True)
class _Names:
    """The distinct (name, category, class, described) of one file's GPU work; ``stats`` as group_stats gives them.

    ``row`` is one row of slices of each: the longest run.
    """

    trace: Trace
    stats: I64
    row: I64

    @classmethod
    def of(cls, trace: Trace, window: tuple[int, int] | None) -> _Names:
        work = gpu_work(trace)
        if not len(work):
            return cls(trace, np.empty((0, 7), np.int64), np.empty(0, np.int64))
        distinct, place = trace.memo("kernel_keys", lambda: _keys(trace))
        lo, hi = window or _NO_WINDOW
        stats = group_stats(place, work.start_ns, work.end_ns, len(distinct), lo, hi)
        stats = stats[stats[:, 0] > 0]
        return cls(trace, stats, work.index[stats[:, 6]])

    def __len__(self) -> int:
        return len(self.row)

    @property
    def runs(self) -> int:
        return int(self.stats[:, 0].sum())

    @property
    def sum(self) -> int:
        return int(self.stats[:, 1].sum())

    def texts(self) -> pa.LargeStringArray:
        import pyarrow.compute as pc

        codes = self.trace.slices.name[self.row]
        return pc.fill_null(self.trace.strings.take(pa.array(codes, mask=codes < 0)), "")

    def largest(self, most: int) -> pa.LargeStringArray:
        """Names of the ``most`` largest sums."""
        at = np.argsort(-self.stats[:, 1], kind="stable")[:most]
        return self._part(np.sort(at)).texts()

    def only(self, names: pa.LargeStringArray) -> _Names:
        import pyarrow.compute as pc

        return self._part(np.flatnonzero(pc.is_in(self.texts(), value_set=names).to_numpy(zero_copy_only=False)))

    def _part(self, at: I64) -> _Names:
        return _Names(self.trace, self.stats[at], self.row[at])

    def rows(self, rules: RuleTable) -> Iterator[tuple[str, Paint, ClassRule, tuple[int, int, int, int, int]]]:
        s = self.trace.slices
        cats, texts = s.cat[self.row], self.texts()
        numbers = np.empty(len(self), np.int32)
        for cat in np.unique(cats).tolist():
            mine = np.flatnonzero(cats == cat)
            numbers[mine] = rules.classes_of(self.trace.text(cat), texts.take(pa.array(mine)))
        paints = s.paint[self.row]
        stated = (paints == Paint.COMM) & _described_slices(self.trace)[self.row]
        for name, paint, by_metadata, number, stats in zip(
            texts.to_pylist(), paints.tolist(), stated.tolist(), numbers.tolist(), self.stats.tolist(), strict=True
        ):
            count, cut, _, full, least, longest, _ = stats
            rule = COLLECTIVE_METADATA if by_metadata else rules.classes[number]
            yield name, Paint(paint), rule, (count, cut, full, least, longest)


def kernel_names(trace: Trace) -> _Names:
    """The kernels of a whole file. Built once."""
    return trace.memo("kernel_names", lambda: _Names.of(trace, None))


def runs_of(trace: Trace, row: int) -> I64:
    """Rows of all GPU work with the name of this one (itself included), by start; empty when it is no GPU work."""
    if gpu_work(trace).position(row) < 0:
        return np.empty(0, np.int64)
    return runs_of_name(trace, int(trace.slices.name[row]))


def runs_of_name(trace: Trace, name: int) -> I64:
    """Rows of all GPU work whose name is this index into strings, by start."""
    rows, begin = runs_by_name(trace)
    return rows[begin[name] : begin[name + 1]] if 0 <= name < len(begin) - 1 else np.empty(0, np.int64)


def runs_by_name(trace: Trace) -> tuple[I64, I64]:
    """Rows of all GPU work by (name, start), and where each name begins among them: int64[strings + 1]. Built once."""

    def build() -> tuple[I64, I64]:
        work = gpu_work(trace)
        names = trace.slices.name[work.index]
        order = np.lexsort((work.start_ns, names)) if len(work.devices) > 1 else np.argsort(names, kind="stable")
        begin = np.searchsorted(names[order], np.arange(len(trace.strings) + 1))
        return work.index[order], begin.astype(np.int64)

    return trace.memo("runs_by_name", build)


def runs_with_text(trace: Trace, name: str) -> I64:
    """As :func:`runs_of_name` by text: the same kernel in another file. Empty when the file does not know the name."""
    import pyarrow.compute as pc

    return runs_of_name(trace, int(pc.index(trace.strings, pa.scalar(name, trace.strings.type)).as_py()))
