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
from viewer.analyses.host_time import UNTRACED
from viewer.analyses.idleness.parts import CAUSES, CODE, HOST, LAUNCH, SLOW_START, gap_parts
from viewer.analyses.idleness.split import DEPENDENCY_CAUSES, device_split
from viewer.base.ids import ABSENT, Paint
from viewer.base.work import CancelToken
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
    figures[:, 0] = [s.length_ns for s in unit.spans]
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
        if cancel is not None:
            cancel.check()
        _charge_idle(trace, unit.device, spans, which, figures, causes)
    if (figures[:, 1:].sum(axis=1) != figures[:, 0]).any() or (comm.sum(axis=1) != figures[:, 2]).any():
        raise AssertionError("the parts of a span do not add up to its length")
    joined = [np.concatenate([p[i] for p in pieces]) if pieces else np.empty(0, np.int64) for i in range(3)]
    return SpanParts(figures, comm, causes, *joined)


def _charge_idle(
    trace: Trace, device: int, spans: Sequence[Span], which: I64, figures: I64, causes: dict[str, I64]
) -> None:
    """The idle time of spans by cause, that before the step's first work apart."""
    start, end = device_gaps(trace, device, (spans[0].start_ns, max(s.end_ns for s in spans)))
    split = device_split(trace, device, start, end)
    parts = gap_parts(trace, device, split)
    # Two windows per span: before its work began, and from then on.
    borders = [(s.start_ns, s.work_ns, s.end_ns) for s in spans]
    low = np.array([b for a, m, _ in borders for b in (a, m)], np.int64)
    high = np.array([b for _, m, e in borders for b in (m, e)], np.int64)
    piece, window, begin, until = cut(parts.start, parts.end, low, high)
    after = split.after[parts.gap[piece]]
    paints = gpu_work(trace).paint
    before_comm = (after >= 0) & (paints[np.maximum(after, 0)] == Paint.COMM) if len(paints) else after >= 0
    code = parts.cause[piece].astype(np.int64)
    code = np.where((code == CODE[UNTRACED]) & before_comm, len(CAUSES), code)
    np.add.at(figures[:, 4], which[window // 2], until - begin)
    for one in np.unique(code).tolist():
        for inside in (0, 1):
            mine = (code == one) & (window % 2 == inside)
            if mine.any():
                name = ("" if inside else BETWEEN) + _cause_name(one)
                sums = causes.setdefault(name, np.zeros(len(figures), np.int64))
                np.add.at(sums, which[window[mine] // 2], (until - begin)[mine])


def _cause_name(code: int) -> str:
    if code == len(CAUSES):
        return f"host: {BEFORE_COMM}"
    # What is a slow start is told from the file's own launches: from run to run it may fall to the other side.
    name = LAUNCH if CAUSES[code] == SLOW_START else CAUSES[code]
    return f"host: {name}" if name in HOST else f"queued: {name}" if name in DEPENDENCY_CAUSES else name


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
    low = np.array([s.start_ns for s in spans], np.int64)
    high = np.array([s.end_ns for s in spans], np.int64)
    piece, k, begin, until = cut(start, end, low, high)
    return at[piece], k, begin, until


def cut(start: I64, end: I64, low: I64, high: I64) -> tuple[I64, I64, I64, I64]:
    """Cut pieces at windows: (piece, window, start, end) of what lies in them.

    Both are disjoint and ascend, so each piece touches a run of windows.
    """
    first = np.searchsorted(high, start, "right")
    last = np.searchsorted(low, end, "left")
    counts = np.maximum(last - first, 0)
    piece = np.repeat(np.arange(len(start)), counts)
    k = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    begin, until = np.maximum(start[piece], low[k]), np.minimum(end[piece], high[k])
    real = until > begin
    return piece[real], k[real].astype(np.int64), begin[real], until[real]


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
