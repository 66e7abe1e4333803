"""Host jitter: operators and calls that now and then take many times their usual own time, and idle time in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps
from viewer.analyses.host_time import allocates, blocks_host, special_cause, thread_time
from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import flags_where
from viewer.analyses.steps import step_table
from viewer.base.ids import Paint
from viewer.jit.grouping import sum_by_group
from viewer.jit.intervals import intersect, union
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

LEAST_NS: Final = 500_000
"""A thread that a scheduler took off its core is away for a time slice, 1 to 10 ms and more; interrupts and page faults
take some ten microseconds."""
TIMES: Final = 20
"""The own time of one operator differs with its shapes by a few times; beyond this it was held up."""
LEAST_RUNS: Final = 10
"""What is usual needs that many runs of a name."""


@dataclass(frozen=True, eq=False)
class Jitter:
    """Held-up slices of the threads that launch work, and the idle time of a device inside them.

    ``rows`` are rows of ``slices`` by start, ``usual_ns`` the median own time of their names, ``own_ns`` theirs.
    [start, end) raw ns, disjoint and ascending: when the device idled meanwhile. ``inside`` int64[steps]: the sum
    of that by step, by the CPU mark in which it began.
    """

    rows: I64
    own_ns: I64
    usual_ns: I64
    start: I64
    end: I64
    inside: I64


def jitter(trace: Trace, device: int) -> Jitter:
    """The host jitter that a device felt. Built once."""
    return trace.memo(("jitter", device), lambda: _build(trace, device))


def held_up(trace: Trace) -> tuple[I64, I64, I64]:
    """(rows, own time, usual own time of their names), ns, of the held-up slices, by row. Built once."""
    return trace.memo("held_up", lambda: _held_up(trace))


def _held_up(trace: Trace) -> tuple[I64, I64, I64]:
    s = trace.slices
    rows, own = [], []
    for lane in np.unique(lanes_of_rows(trace, links(trace).calls)):
        time = thread_time(trace, int(lane))
        if len(time.start) < LEAST_RUNS:
            continue
        length = np.diff(time.start)
        row = time.row[:-1].astype(np.int64)
        known = row >= 0
        low = int(row[known].min()) if known.any() else 0
        sums = np.zeros(int(row.max(initial=low)) - low + 1, np.int64)
        sum_by_group(np.where(known, row - low, -1), length, sums)
        here = np.flatnonzero(sums)
        rows.append(here + low)
        own.append(sums[here])
    if not rows:
        none = np.empty(0, np.int64)
        return none, none, none
    row, ns = np.concatenate(rows), np.concatenate(own)
    paint = s.paint[row]
    fits = (paint == Paint.OPERATOR) | (paint == Paint.RUNTIME)
    row, ns = row[fits], ns[fits]
    long = np.zeros(len(trace.strings), np.bool_)  # only a name with such a run needs to know what is usual for it
    long[s.name[row[ns > LEAST_NS]]] = True
    fits = long[s.name[row]]
    row, ns = row[fits], ns[fits]
    names = s.name[row]
    other = flags_where(trace, names, _other_reason)
    keep = ~other[names]
    row, ns, names = row[keep], ns[keep], names[keep]
    order = np.lexsort((ns, names))
    code, first, count = np.unique(names[order], return_index=True, return_counts=True)
    median = ns[order][first + count // 2] if len(code) else ns
    at = np.searchsorted(code, names)
    usual = median[at]
    slow = (count[at] >= LEAST_RUNS) & (ns > LEAST_NS) & (ns > TIMES * usual)
    chosen = np.flatnonzero(slow)
    chosen = chosen[np.argsort(row[chosen])]
    return row[chosen], ns[chosen], usual[chosen]


def _other_reason(name: str) -> bool:
    """Whether a slice of this name may take long by itself: it waits, allocates, compiles, copies pageable memory."""
    return blocks_host(name) or allocates(name) or "memcpy" in name.lower() or bool(special_cause(name))


def _build(trace: Trace, device: int) -> Jitter:
    s = trace.slices
    rows, own, usual = held_up(trace)
    pieces = []
    for lane in np.unique(lanes_of_rows(trace, rows)):
        time = thread_time(trace, int(lane))
        mine = np.flatnonzero(np.isin(time.row[:-1], rows))
        pieces.append((time.start[mine], time.start[mine + 1]))
    begin, end = (np.concatenate(c) for c in zip(*pieces, strict=True)) if pieces else (own, own)
    order = np.argsort(begin, kind="stable")
    held, idle = union(begin[order], end[order]), device_gaps(trace, device)
    lo, hi = intersect(held[0], held[1], idle[0], idle[1])
    steps = step_table(trace).steps
    inside = np.zeros(len(steps), np.int64)
    starts = np.array([x.start_ns for x in steps], np.int64)
    ends = np.array([x.end_ns for x in steps], np.int64)
    at = np.searchsorted(starts, lo, "right") - 1
    within = (at >= 0) & (lo < ends[np.maximum(at, 0)]) if len(steps) else np.zeros(len(lo), np.bool_)
    np.add.at(inside, at[within], (hi - lo)[within])
    by_time = np.argsort(s.start_ns[rows], kind="stable")
    return Jitter(rows[by_time], own[by_time], usual[by_time], lo, hi, inside)
