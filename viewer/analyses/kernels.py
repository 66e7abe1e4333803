"""Kernels by name: counts and durations over a job, and all runs of one kernel in a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import Paint
from viewer.jit.intervals import group_stats
from viewer.store.rules import COLLECTIVE_METADATA, ClassRule, RuleTable
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
_NO_WINDOW = (-(2**62), 2**62)


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


def kernel_table(session: Session, windows: dict[int, tuple[int, int]] | None = None) -> list[KernelRow]:
    """The kernel table of a job, largest sum first, ties by name.

    Args:
        session: the job.
        windows: per input index a window of that file's raw ns; inputs that are missing in it are left out. None: all.
    """
    merged: dict[tuple[str, Paint, str], list[int]] = {}
    fused: dict[str, bool] = {}
    for item in session.inputs:
        if windows is not None and item.index not in windows:
            continue
        window = windows[item.index] if windows is not None else None
        for name, paint, rule, stats in _rows_of(item.trace, session.rules, window):
            key = (name, paint, rule.id)
            fused[rule.id] = rule.fused
            old = merged.get(key)
            if old is None:
                merged[key] = list(stats)
            else:
                count, cut, full, least, most = stats
                old[0] += count
                old[1] += cut
                old[2] += full
                old[3] = min(old[3], least)
                old[4] = max(old[4], most)
    table = [
        KernelRow(name, paint, rule, fused[rule], count, cut, least, most, mean_half_even(full, count))
        for (name, paint, rule), (count, cut, full, least, most) in merged.items()
    ]
    return sorted(table, key=lambda k: (-k.sum_ns, k.name, k.rule))


def _keys(trace: Trace) -> tuple[I64, I64]:
    """Distinct (name, category, class, described by metadata) of the GPU work as numbers, and each event's place."""
    work, s = gpu_work(trace), trace.slices
    rows = work.index
    described = np.zeros(len(trace) + 1, np.bool_)
    described[trace.collectives.slice] = True
    flags = work.paint.astype(np.int64) * 2 + described[rows]
    key = (s.name[rows].astype(np.int64) << 29) ^ (s.cat[rows].astype(np.int64) << 5) ^ flags
    distinct, inverse = np.unique(key, return_inverse=True)
    return distinct, inverse.astype(np.int64)


def _rows_of(
    trace: Trace, rules: RuleTable, window: tuple[int, int] | None
) -> list[tuple[str, Paint, ClassRule, tuple[int, int, int, int, int]]]:
    work = gpu_work(trace)
    if not len(work):
        return []
    distinct, place = trace.memo("kernel_keys", lambda: _keys(trace))
    lo, hi = window or _NO_WINDOW
    stats = group_stats(place, work.start_ns, work.end_ns, len(distinct), lo, hi)
    out = []
    for g in np.flatnonzero(stats[:, 0]):
        count, cut, _, full, least, most, longest = (int(x) for x in stats[g])
        row = int(work.index[longest])
        paint = Paint(int(work.paint[longest]))
        out.append((trace.name(row), paint, rule_of(trace, rules, row), (count, cut, full, least, most)))
    return out


def runs_of(trace: Trace, row: int) -> I64:
    """Rows of all GPU work with the name of this one (itself included), by start; empty when it is no GPU work."""
    if gpu_work(trace).position(row) < 0:
        return np.empty(0, np.int64)
    return runs_of_name(trace, int(trace.slices.name[row]))


def runs_of_name(trace: Trace, name: int) -> I64:
    """Rows of all GPU work whose name is this index into strings, by start."""
    work = gpu_work(trace)
    at = np.flatnonzero(trace.slices.name[work.index] == name)
    if len(work.devices) > 1:
        at = at[np.argsort(work.start_ns[at], kind="stable")]
    return work.index[at]


def runs_with_text(trace: Trace, name: str) -> I64:
    """As :func:`runs_of_name` by text: the same kernel in another file. Empty when the file does not know the name."""
    code = trace.memo("name_codes", lambda: {text: i for i, text in enumerate(trace.strings.to_pylist())}).get(name)
    return np.empty(0, np.int64) if code is None else runs_of_name(trace, code)
