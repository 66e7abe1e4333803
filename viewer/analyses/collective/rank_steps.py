"""What each rank did in each step, in a form that compares with its peers: kernels by name, idle by cause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps, device_span
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host_time import LOADING as LOADING_CAUSE
from viewer.analyses.idle import idle
from viewer.analyses.idleness.parts import CODE, HOST, idle_parts
from viewer.analyses.links import lanes_of_rows
from viewer.analyses.names import rows_named
from viewer.analyses.numbering import numbered_values
from viewer.analyses.steps import step_table
from viewer.base.ids import LaneKind, Paint
from viewer.base.selection import Selection, TimeRange
from viewer.jit.grouping import sum_by_group
from viewer.jit.intervals import clip, intersect, total, union
from viewer.store.session import RankGroup, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
Intervals = tuple[I64, I64]
Range = tuple[int, int]

COLLECTION: Final = re.compile(
    r"garbage.?collect|\bpython gc\b|^gc(?:$|[ :(])|\bgc[._](?:collect|gen)|\bgc\.py\(\d+\): collect", re.IGNORECASE
)
"""Names of garbage collection: the profiler's records of Python's collector, ``gc.collect``."""
LOADING: Final = re.compile(r"dataloader", re.IGNORECASE)
_HOST_PAINTS: Final = (Paint.PYTHON, Paint.ANNOTATION, Paint.OPERATOR, Paint.OTHER, Paint.OVERHEAD, Paint.RUNTIME)


@dataclass(frozen=True, eq=False)
class KernelSums:
    """GPU work without communication of one step by name: count, sum in ns."""

    count: dict[str, int]
    sum_ns: dict[str, int]
    rows: dict[str, int]
    """The longest run of each name, a row of ``slices``."""


@dataclass(frozen=True, slots=True)
class HostTime:
    """Idle of one step while the launch of the next work had not begun, ns, and what of it was what.

    ``loading_ns`` is data loading, ``collection_ns`` garbage collection. The ranges (raw ns of the input, None for
    none) are the longest of their kind: ``gap`` the longest idle before work that is no communication, where there is
    such a gap.
    """

    late_ns: int
    loading_ns: int
    collection_ns: int
    gap: Range | None
    loading: Range | None
    collection: Range | None


@dataclass(frozen=True, slots=True)
class RankStep:
    """One step of a rank: its number as shown, its file, and its GPU work's rows.

    Raw ns of the file: its GPU work spans [begin_ns, end_ns); ``start_ns`` is the end of the step before.
    """

    number: int
    input: int
    rows: I64
    start_ns: int
    begin_ns: int
    end_ns: int


def rank_steps(session: Session, group: RankGroup) -> list[RankStep]:
    """The steps of a rank that have GPU work, by start: numbered as ``lateness`` numbers them. Built once."""
    return session.clocked_memo(("rank_steps", group.id), lambda: _steps(session, group))


def _steps(session: Session, group: RankGroup) -> list[RankStep]:
    found: list[tuple[int, RankStep]] = []
    for index in group.inputs:
        item = session.inputs[index]
        s, before = item.trace.slices, None
        for step in step_table(item.trace).steps:
            if not len(step.rows):
                continue
            start = s.start_ns[step.rows]
            first, last = int(start.min()), int((start + s.dur_ns[step.rows]).max())
            begin = first if before is None else min(before, first)
            if before is None:
                # Nothing tells when the step before ended. It takes as long as its mark or its work, whichever is
                # longer: a host that runs far ahead, or long before its first launch, makes no step longer.
                begin = min(first, max(step.start_ns, last - max(step.cpu_ns, last - first)))
            found.append((item.clock.to_session(first), RankStep(step.index, index, step.rows, begin, first, last)))
            before = last
    found.sort(key=lambda f: f[0])
    out: list[RankStep] = []
    for k, (at, step_) in enumerate(found):
        if not k or at != found[k - 1][0]:
            out.append(step_)
    return out


def step_selection(session: Session, group: int, step: int) -> Selection | None:
    """A rank and the range of one of its steps (its GPU work); None where the rank has no such step."""
    steps = rank_steps(session, session.groups[group])
    if step >= len(steps):
        return None
    to = session.inputs[steps[step].input].clock.to_session
    return Selection(range=TimeRange(to(steps[step].begin_ns), to(steps[step].end_ns)), group=group)


def kernel_sums(session: Session, step: RankStep) -> KernelSums:
    """The kernels, copies and fills that a step launched, by name."""
    trace = session.inputs[step.input].trace
    s = trace.slices
    rows = step.rows[s.paint[step.rows] != Paint.COMM]
    codes, _, number = numbered_values(s.name[rows])
    length = s.dur_ns[rows]
    counts = np.bincount(number, minlength=len(codes))
    sums = np.zeros(len(codes), np.int64)
    sum_by_group(number, length, sums)
    order = np.lexsort((length, number))
    last = np.cumsum(counts) - 1
    names = [trace.text(c) for c in codes.tolist()]
    return KernelSums(
        dict(zip(names, counts.tolist(), strict=True)),
        dict(zip(names, sums.tolist(), strict=True)),
        dict(zip(names, rows[order[last]].tolist(), strict=True)) if len(codes) else {},
    )


def host_time(session: Session, step: RankStep) -> HostTime:
    """How long the devices of a step were idle for their host's sake, over all devices that the step used."""
    item = session.inputs[step.input]
    trace, window = item.trace, (step.start_ns, step.end_ns)
    late = loading = collected = 0
    gap: Range | None = None
    work = gpu_work(trace)
    for device in np.unique(work.device[work.positions(step.rows)]):
        hosted = host_idle(trace, int(device), window)
        if hosted is None:
            continue
        late += hosted[0]
        loading += hosted[1]
        start, end = device_gaps(trace, int(device), window)
        collected += _shared(host_spans(trace, COLLECTION), (start, end))
        part = work.of_device(int(device))
        after = np.searchsorted(work.start_ns[part], end, "left")
        inside = after < part.stop - part.start
        alone = inside & (work.paint[part][np.where(inside, after, 0)] != Paint.COMM)
        gap = _longest((start[alone], end[alone]), window, gap) or _longest((start, end), window, gap)
    return HostTime(
        late,
        loading,
        min(collected, late),
        gap,
        _longest(host_spans(trace, LOADING), window),
        _longest(host_spans(trace, COLLECTION), window),
    )


def host_idle(trace: Trace, device: int, window: Range) -> tuple[int, int] | None:
    """(idle time for the host's sake, what of it was data loading) of a device in a window of raw ns; None without any.

    As :func:`idle` tells it: a window inside the device's span cuts gaps, and their parts with them.
    """

    def build() -> tuple[Intervals, Intervals] | None:
        work, (split, parts) = gpu_work(trace), idle_parts(trace, device)
        part = work.of_device(device)
        if not len(split.start) or (work.start_ns[part] >= work.end_ns[part]).any():
            return None  # work without a duration inside a gap: a window that cuts the gap before it knows it alone
        host = np.isin(parts.cause, [CODE[c] for c in HOST])
        data = parts.cause == CODE[LOADING_CAUSE]
        return (parts.start[host], parts.end[host]), (parts.start[data], parts.end[data])

    span = device_span(trace, device)
    found = trace.memo(("host_idle", device), build) if span is not None else None
    if span is not None and found is not None and span[0] <= window[0] < window[1] <= span[1]:
        return total(*clip(*found[0], *window)), total(*clip(*found[1], *window))
    split = idle(trace, device, window)
    return None if split is None else (split.host_ns, split.host_causes.get(LOADING_CAUSE, 0))


def _longest(spans: Intervals, window: Range, known: Range | None = None) -> Range | None:
    """The longest of intervals, and of one that is known, inside a window."""
    start, end = np.maximum(spans[0], window[0]), np.minimum(spans[1], window[1])
    if not len(start) or int((end - start).max()) <= 0:
        return known
    at = int(np.argmax(end - start))
    if known is not None and known[1] - known[0] >= end[at] - start[at]:
        return known
    return int(start[at]), int(end[at])


def host_spans(trace: Trace, names: re.Pattern[str]) -> Intervals:
    """When any thread was inside a slice of such a name: disjoint intervals of raw ns, ascending. Built once."""
    return trace.memo(("host_spans", names.pattern), lambda: _spans(trace, names))


def _spans(trace: Trace, names: re.Pattern[str]) -> Intervals:
    s = trace.slices
    rows = rows_named(trace, _HOST_PAINTS, names.search)
    if not len(rows):
        return rows, rows
    on_thread = np.array([lane.kind is LaneKind.THREAD for lane in trace.lanes], np.bool_)
    rows = rows[on_thread[lanes_of_rows(trace, rows)]]
    rows = rows[np.argsort(s.start_ns[rows], kind="stable")]
    start = s.start_ns[rows]
    found: Intervals = union(start, start + s.dur_ns[rows])
    return found


def _shared(a: Intervals, b: Intervals) -> int:
    """Length of what two lists of disjoint ascending intervals share."""
    if not len(a[0]) or not len(b[0]):
        return 0
    return int(total(*intersect(*a, *b)))
