"""Where the time of spans went, every instant charged to one cause, so that the causes of a span add up to its length.

Compute goes before communication, communication before memory; of several kernels of one class that run at once the one
that started first is charged. So compute + exposed communication + exposed memory + idle = span, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything, matches
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.waits import members, sent_waits, waits
from viewer.analyses.comparison.pairing import Span, Unit
from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.host_time import HOST_CAUSES, UNTRACED, draining_call, thread_time
from viewer.analyses.idle import idle
from viewer.analyses.links import lanes_of_rows, links
from viewer.base.ids import ABSENT, Paint
from viewer.base.work import CancelToken
from viewer.jit.intervals import charge
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

FIGURES: Final = ("span_ns", "compute_ns", "comm_exposed_ns", "memory_exposed_ns", "idle_ns")
COMM_PARTS: Final = ("wait", "pipeline wait", "transfer", "not separable")
"""Waiting for the last member of a collective, a receive's waiting for its send, moving data, and what only further
ranks (or aligned clocks) would tell apart."""
WAIT, PIPELINE_WAIT, TRANSFER, NOT_SEPARABLE = range(4)
BETWEEN: Final = "between steps, "
"""What idle causes begin with that lie before the first work of a step."""
BEFORE_COMM: Final = "untraced, before communication"
"""Idle before a communication kernel while its thread did nothing that was traced: late by itself, or since it waited
for what another rank does (a pipeline's schedule)."""


@dataclass(frozen=True, eq=False)
class Waiting:
    """Per position of ``gpu_work``: raw ns at which waiting ended (ABSENT: unknown), and whether it is a receive."""

    until: I64
    receives: NDArray[np.bool_]

    def waited(self, trace: Trace) -> I64:
        """Waiting of each position inside its own kernel, ns; 0 where it is not known."""
        start = gpu_work(trace).start_ns
        out: I64 = np.where(self.until == ABSENT, 0, np.where(self.until == ABSENT, start, self.until) - start)
        return out


@dataclass(frozen=True, eq=False)
class SpanParts:
    """The time of a unit's spans, ns; K spans.

    ``figures`` int64[K, 5] as FIGURES; ``comm`` int64[K, 4] as COMM_PARTS, they sum to the exposed communication;
    ``idle`` int64[K] by cause, they sum to idle. Compute charged to kernels, one entry per piece: ``at`` position in
    gpu_work of the span's trace, ``k`` its span, ``ns``; they sum to compute.
    """

    figures: I64
    comm: I64
    idle: dict[str, I64]
    at: I64
    k: I64
    ns: I64


def waiting(session: Session, index: int) -> Waiting:
    """When the communication kernels of an input stopped waiting for others. Built once per session."""
    return session.clocked_memo("compared_waiting", lambda: _waiting(session))[index]


def _waiting(session: Session) -> tuple[Waiting, ...]:
    out = []
    for item in session.inputs:
        count = len(gpu_work(item.trace))
        out.append(Waiting(np.full(count, ABSENT, np.int64), np.zeros(count, np.bool_)))
    found, waited = matches(session), waits(session)
    knows = waited.waits[members(session)] if len(found.node) else np.empty(0, np.bool_)
    every, pairs, sent = everything(session), align(session).pairs, sent_waits(session)
    known = sent.wait != ABSENT
    for item in session.inputs:
        work, table, mine = gpu_work(item.trace), operations(item.trace), out[item.index]
        if not len(table):
            continue
        at = work.positions(table.row)
        here = np.flatnonzero((found.input == item.index) & knows)
        place = at[found.at[here]]
        mine.until[place] = work.start_ns[place] + waited.wait[here]
        for which, wait in ((pairs.receive, sent.wait), (pairs.send, np.zeros(len(pairs), np.int64))):
            here = np.flatnonzero((every.input[which] == item.index) & known)
            place = at[every.at[which[here]]]
            mine.until[place] = np.minimum(work.start_ns[place] + wait[here], work.end_ns[place])
        mine.receives[at] = table.kind == Kind.RECV
    return tuple(out)


def span_parts(session: Session, unit: Unit, cancel: CancelToken | None = None) -> SpanParts:
    """Where the time of a unit's spans went. Raises Cancelled."""
    count = len(unit.spans)
    figures, comm = np.zeros((count, len(FIGURES)), np.int64), np.zeros((count, len(COMM_PARTS)), np.int64)
    causes: dict[str, I64] = {}
    pieces: list[tuple[I64, I64, I64]] = []
    for index in unit.inputs:
        which = np.array([k for k, s in enumerate(unit.spans) if s.input == index], np.int64)
        spans = [unit.spans[k] for k in which]
        trace = spans[0].trace
        at, k, start, end = _pieces(trace, unit.device, Paint.COMPUTE, spans)
        pieces.append((at, which[k], end - start))
        np.add.at(figures[:, 1], which[k], end - start)
        _charge_comm(session, index, unit.device, spans, which, figures, comm)
        busy = unions(trace, unit.device).work
        _, k, start, end = _pieces(trace, unit.device, Paint.MEMORY, spans)
        np.add.at(figures[:, 3], which[k], end - start - covered(busy, end) + covered(busy, start))
    for place, span in enumerate(unit.spans):
        if cancel is not None:
            cancel.check()
        figures[place, 0] = span.length_ns
        for low, high, where in ((span.start_ns, span.work_ns, BETWEEN), (span.work_ns, span.end_ns, "")):
            for name, ns in _idle_causes(span.trace, unit.device, low, high):
                figures[place, 4] += ns
                causes.setdefault(where + name, np.zeros(count, np.int64))[place] += ns
    if (figures[:, 1:].sum(axis=1) != figures[:, 0]).any() or (comm.sum(axis=1) != figures[:, 2]).any():
        raise AssertionError("the parts of a span do not add up to its length")
    joined = [np.concatenate([p[i] for p in pieces]) if pieces else np.empty(0, np.int64) for i in range(3)]
    return SpanParts(figures, comm, causes, *joined)


def _idle_causes(trace: Trace, device: int, low: int, high: int) -> list[tuple[str, int]]:
    """The idle time of [low, high) by cause."""
    split = idle(trace, device, (low, high)) if high > low else None
    if split is None:
        return []
    hosts = dict(split.host_causes)
    if hosts.get(UNTRACED):
        early = min(hosts[UNTRACED], untraced_before_communication(trace, device, low, high))
        hosts[UNTRACED], hosts[BEFORE_COMM] = hosts[UNTRACED] - early, early
    parts = [(f"host: {name}", ns) for name, ns in hosts.items()]
    parts += [(f"queued: {name}", ns) for name, ns in split.dependency_causes.items()]
    return [(name, ns) for name, ns in (*parts, ("launch", split.launch_ns), ("unknown", split.unknown_ns)) if ns]


def _charge_comm(
    session: Session, index: int, device: int, spans: Sequence[Span], which: I64, figures: I64, comm: I64
) -> None:
    trace = spans[0].trace
    compute = unions(trace, device).compute
    at, k, start, end = _pieces(trace, device, Paint.COMM, spans)
    known = waiting(session, index)
    until = known.until[at]
    cut = np.where(until == ABSENT, end, np.clip(until, start, end))
    head = cut - start - covered(compute, cut) + covered(compute, start)
    tail = end - cut - covered(compute, end) + covered(compute, cut)
    receives = known.receives[at]
    part = np.where(until == ABSENT, NOT_SEPARABLE, np.where(receives, PIPELINE_WAIT, WAIT))
    np.add.at(comm, (which[k], part), head)
    np.add.at(comm, (which[k], np.full(len(k), TRANSFER)), tail)
    np.add.at(figures[:, 2], which[k], head + tail)


def _pieces(trace: Trace, device: int, paint: Paint, spans: Sequence[Span]) -> tuple[I64, I64, I64, I64]:
    """What each piece of GPU work of a class is charged, cut at the spans: (position, span, start, end), disjoint."""
    at, start, end = _charged(trace, device, paint)
    # Spans ascend and do not overlap; so do the pieces: each piece touches a run of spans.
    low = np.array([s.start_ns for s in spans], np.int64)
    high = np.array([s.end_ns for s in spans], np.int64)
    first = np.searchsorted(high, start, "right")
    last = np.searchsorted(low, end, "left")
    counts = np.maximum(last - first, 0)
    piece = np.repeat(np.arange(len(at)), counts)
    k = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    begin, until = np.maximum(start[piece], low[k]), np.minimum(end[piece], high[k])
    real = until > begin
    return at[piece][real], k[real].astype(np.int64), begin[real], until[real]


def _charged(trace: Trace, device: int, paint: Paint) -> tuple[I64, I64, I64]:
    """(position, start, end) of what each piece of a class is charged among its class: disjoint, ascending."""
    work = gpu_work(trace)
    part = work.of_device(device)
    at = part.start + np.flatnonzero(work.paint[part] == paint)
    start, end = work.start_ns[at], work.end_ns[at]
    if len(at):
        before = np.maximum.accumulate(end)
        start = np.maximum(start, np.concatenate((start[:1], before[:-1])))
    kept = end > start
    return at[kept], start[kept], end[kept]


def exposed_transfer(session: Session, index: int) -> I64:
    """Exposed ns of each position of ``gpu_work`` after it stopped waiting (all of it where that is unknown)."""

    def build() -> I64:
        trace = session.inputs[index].trace
        out = np.zeros(len(gpu_work(trace)), np.int64)
        for device in gpu_work(trace).devices:
            at, start, end = _charged(trace, device, Paint.COMM)
            until = waiting(session, index).until[at]
            cut = np.where(until == ABSENT, start, np.clip(until, start, end))
            compute = unions(trace, device).compute
            out[at] = end - cut - covered(compute, end) + covered(compute, cut)
        return out

    return session.clocked_memo(("exposed_transfer", index), build)


def untraced_before_communication(trace: Trace, device: int, low: int, high: int) -> int:
    """Idle of a range of raw ns before communication while its thread was inside nothing that was traced, ns."""
    work, calls = gpu_work(trace), links(trace).call_of
    part = work.of_device(device)
    start, end = device_gaps(trace, device, (low, high))
    after = part.start + np.searchsorted(work.start_ns[part], end, "left")
    inside = after < part.stop
    start, after = start[inside], after[inside]
    call = np.where(work.paint[after] == Paint.COMM, calls[after], -1)
    start, end, call = start[call >= 0], work.start_ns[after][call >= 0], call[call >= 0]
    until = np.minimum(trace.slices.start_ns[call], end)
    idle_host = (until > start) & (draining_call(trace, start) < 0)
    start, until, call = start[idle_host], until[idle_host], call[idle_host]
    lanes, total = lanes_of_rows(trace, call), 0
    for lane in np.unique(lanes):
        time, mine = thread_time(trace, int(lane)), lanes == lane
        total += int(charge(time.start, time.kind, start[mine], until[mine], len(HOST_CAUSES))[:, -1].sum())
    return total


def covered(union: tuple[I64, I64], until: I64) -> I64:
    """How much of disjoint, ascending intervals lies before each instant, ns."""
    start, end = union
    if not len(start):
        return np.zeros(len(until), np.int64)
    whole = np.concatenate(([0], np.cumsum(end - start)))
    at = np.searchsorted(start, until, "right")
    over = np.where(at > 0, np.maximum(end[np.maximum(at - 1, 0)] - until, 0), 0)
    out: I64 = whole[at] - over
    return out
