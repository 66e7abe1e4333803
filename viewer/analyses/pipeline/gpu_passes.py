"""Passes of a rank from its GPU work: by ranges that name them, else by autograd threads between sends and receives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.rank_steps import RankStep, rank_steps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import flags_where
from viewer.analyses.pipeline.marks import marks
from viewer.analyses.pipeline.model import CommKind, Communication, Passes, PassKind
from viewer.analyses.steps import step_of_work
from viewer.base.ids import Paint
from viewer.jit.grouping import covered_by_group
from viewer.jit.intervals import total, union
from viewer.store.session import RankGroup, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

FRAGMENT: Final = 0.05
"""Compute between two sends or receives that is shorter than this share of the longest pass of its kind is no pass:
helpers (scaling of a loss, a clean-up) that belong to the pass beside them."""
_EVALUATES: Final = "autograd::engine::evaluate_function"
_AUTOGRAD: Final = re.compile(r"autograd", re.IGNORECASE)
_OPTIMIZER: Final = re.compile(r"^Optimizer\.(?:step|zero_grad)#", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Segments:
    """Compute kernels of one step, each with the number of its pass (-1: of none); passes by number.

    ``start`` and ``end`` are raw ns, ``row`` rows of ``slices``, ``of`` int64[n]; ``kind``, ``micro``, ``stage`` per
    pass (stage among all virtual ones), -1 where not known.
    """

    start: I64
    end: I64
    row: I64
    of: I64
    kind: I64
    micro: I64
    stage: I64


def told_by(trace: Trace) -> str:
    """From what the passes of a trace are told: "ranges", "autograd threads", or "" when they cannot be."""
    if marks(trace) is not None:
        return "ranges"
    return "autograd threads" if len(_autograd(trace)[0]) or _autograd_lanes(trace).any() else ""


def rank_passes(session: Session, group: RankGroup, along: dict[int, Bools]) -> dict[int, Passes]:
    """The passes of a rank by step number; steps without a forward and a backward pass have no entry.

    Args:
        session: the job.
        group: the rank.
        along: by input, which of its operations are sends and receives along the pipeline.
    """
    out: dict[int, Passes] = {}
    for step in rank_steps(session, group):
        trace = session.inputs[step.input].trace
        found = segments(trace, step, along[step.input])
        kinds = set(found.kind.tolist()) if found is not None else set()
        if found is not None and {PassKind.FORWARD, PassKind.BACKWARD} <= kinds and step.number not in out:
            out[step.number] = _passes(session, step, found, along[step.input])
    return out


def segments(trace: Trace, step: RankStep, along: Bools) -> Segments | None:
    """The compute kernels of a step and their passes; None where nothing tells forward from backward."""
    work = gpu_work(trace)
    at = work.positions(step.rows)
    at = at[work.paint[at] == Paint.COMPUTE]
    at = at[np.argsort(work.start_ns[at], kind="stable")]
    call = links(trace).call_of[at]
    began = np.where(call >= 0, trace.slices.start_ns[np.maximum(call, 0)], work.start_ns[at])
    named = marks(trace)
    if named is not None:
        inside = np.searchsorted(named.start, began, "right") - 1
        hit = (inside >= 0) & (began < named.end[np.maximum(inside, 0)]) & (call >= 0)
        used, of = np.unique(np.where(hit, inside, -1), return_inverse=True)
        of = of.reshape(-1) - int(len(used) > 0 and used[0] < 0)
        used = used[used >= 0]
        return Segments(
            work.start_ns[at],
            work.end_ns[at],
            work.index[at],
            of.astype(np.int64),
            named.kind[used],
            named.micro[used],
            named.stage[used],
        )
    if not told_by(trace):
        return None
    keep = ~_inside(_spans(trace, _OPTIMIZER), began)
    at, call, began = at[keep], call[keep], began[keep]
    backward = _backward(trace)[at]
    cuts = _cuts(trace, step, along, work.start_ns[at], call, began, backward)
    of, kind = _split(work.start_ns[at], work.end_ns[at], backward, cuts)
    none = np.full(len(kind), -1, np.int64)
    return Segments(work.start_ns[at], work.end_ns[at], work.index[at], of, kind, none, none)


def _autograd(trace: Trace) -> tuple[I64, I64, NDArray[np.int32]]:
    """When a thread evaluated a function of the backward graph: start, end, lane; by (lane, start)."""

    def build() -> tuple[I64, I64, NDArray[np.int32]]:
        s = trace.slices
        rows = np.flatnonzero(s.paint == Paint.OPERATOR)
        rows = rows[flags_where(trace, s.name[rows], lambda t: t.startswith(_EVALUATES))[s.name[rows]]]
        lane = lanes_of_rows(trace, rows)
        order = np.lexsort((s.start_ns[rows], lane))
        rows, lane = rows[order], lane[order]
        return s.start_ns[rows], s.start_ns[rows] + s.dur_ns[rows], lane

    return trace.memo("autograd_spans", build)


def _autograd_lanes(trace: Trace) -> Bools:
    """Bool per lane: threads named as autograd's, and those most of whose launches lie in the backward graph."""

    def build() -> Bools:
        out = np.array([bool(_AUTOGRAD.search(lane.thread_name[:200])) for lane in trace.lanes], np.bool_)
        calls = links(trace).calls
        lane = lanes_of_rows(trace, calls)
        inside = _in_autograd(trace, lane, trace.slices.start_ns[calls])
        count = np.bincount(lane, minlength=len(out))
        hits = np.bincount(lane[inside], minlength=len(out))
        out |= (count > 0) & (2 * hits > count)
        return out

    return trace.memo("autograd_lanes", build)


def _in_autograd(trace: Trace, lane: NDArray[np.int32], time: I64) -> Bools:
    """Whether instants lie in a function of the backward graph that their lane evaluates.

    Spans of a lane are by start and none overlaps the next partly.
    """
    start, end, of = _autograd(trace)
    out = np.zeros(len(time), np.bool_)
    for number in np.unique(of).tolist():
        a, b = (int(x) for x in (np.searchsorted(of, number, "left"), np.searchsorted(of, number, "right")))
        mine = np.flatnonzero(lane == number)
        latest = np.maximum.accumulate(end[a:b])
        at = np.searchsorted(start[a:b], time[mine], "right") - 1
        out[mine] = (at >= 0) & (time[mine] < latest[np.maximum(at, 0)])
    return out


def _backward(trace: Trace) -> Bools:
    """Which of ``gpu_work`` was launched in a backward pass. Built once."""

    def build() -> Bools:
        call = links(trace).call_of
        linked = np.flatnonzero(call >= 0)
        lane = lanes_of_rows(trace, call[linked])
        out = np.zeros(len(call), np.bool_)
        out[linked] = _autograd_lanes(trace)[lane] | _in_autograd(trace, lane, trace.slices.start_ns[call[linked]])
        return out

    return trace.memo("launched_backward", build)


def _operations_of(trace: Trace, step: RankStep) -> I64:
    """Places in ``operations`` of what a step launched."""
    work, step_of = gpu_work(trace), step_of_work(trace)

    def build() -> I64:
        at = work.positions(operations(trace).row)
        return np.where(at >= 0, step_of[at], -1)

    of = trace.memo("steps_of_operations", build)
    return np.flatnonzero(of == step_of[work.position(int(step.rows[0]))])


def _spans(trace: Trace, names: re.Pattern[str]) -> tuple[I64, I64]:
    def build() -> tuple[I64, I64]:
        s = trace.slices
        rows = np.flatnonzero(s.paint == Paint.ANNOTATION)
        rows = rows[flags_where(trace, s.name[rows], names.match)[s.name[rows]]]
        rows = rows[np.argsort(s.start_ns[rows], kind="stable")]
        start, end = union(s.start_ns[rows], s.start_ns[rows] + s.dur_ns[rows])
        return start, end

    return trace.memo(("pipeline_spans", names.pattern), build)


def _inside(spans: tuple[I64, I64], time: I64) -> Bools:
    at = np.searchsorted(spans[0], time, "right") - 1
    if not len(spans[0]):
        return np.zeros(len(time), np.bool_)
    out: Bools = (at >= 0) & (time < spans[1][np.maximum(at, 0)])
    return out


def _cuts(trace: Trace, step: RankStep, along: Bools, start: I64, call: I64, began: I64, backward: Bools) -> I64:
    """Places in the kernels of a step (by start) where a send or a receive separates passes.

    Sends and receives that the thread of the forward passes launched lie in its order. Those of other threads lie where
    they are on the GPU: a send begins after the pass that made its data, a receive ends before the pass that needs it.
    """
    table = operations(trace)
    mine = _operations_of(trace, step)
    mine = mine[along[mine]]
    if not len(mine) or not len(start):
        return np.empty(0, np.int64)
    own = links(trace).call_of[gpu_work(trace).positions(table.row[mine])]
    forward = call[(call >= 0) & ~backward]
    threads = np.unique(lanes_of_rows(trace, forward))
    lane = np.where(own >= 0, lanes_of_rows(trace, np.maximum(own, 0)), -1)
    ordered = np.isin(lane, threads)
    on_gpu = np.where(table.kind[mine] == Kind.RECV, table.end_ns[mine], table.start_ns[mine])
    latest = np.maximum.accumulate(began)
    by_host = np.searchsorted(latest, trace.slices.start_ns[np.maximum(own, 0)], "left")
    by_gpu = np.searchsorted(start, on_gpu, "left")
    return np.unique(np.where(ordered, by_host, by_gpu)).astype(np.int64)


def _split(start: I64, end: I64, backward: Bools, cuts: I64) -> tuple[I64, I64]:
    """Number the passes: runs of one kind, cut. Forward kernels behind the last backward one are of no pass."""
    count = len(start)
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    new = np.zeros(count + 1, np.bool_)
    new[0] = True
    new[1:count] = backward[1:] != backward[:-1]
    new[cuts] = True
    piece = np.cumsum(new[:count]) - 1
    pieces = int(piece[-1]) + 1
    first = np.flatnonzero(new[:count])
    kind = backward[first].astype(np.int64)
    length = np.zeros(pieces, np.int64)
    np.add.at(length, piece, end - start)
    behind = np.arange(pieces) > (int(np.flatnonzero(kind)[-1]) if kind.any() else pieces)
    whole = np.zeros(pieces, np.bool_)
    for k in (0, 1):
        mine = (kind == k) & ~behind
        if mine.any():
            whole |= mine & (length >= FRAGMENT * length[mine].max())
    number = np.full(pieces, -1, np.int64)
    at_cut = np.zeros(count, np.bool_)
    at_cut[cuts[cuts < count]] = True
    parted = at_cut[first]
    kinds: list[int] = []
    cut_since = False
    for i in range(pieces):
        cut_since |= bool(parted[i])
        if not whole[i]:
            continue
        if not kinds or kinds[-1] != kind[i] or cut_since:  # else a helper ran in the middle of a pass
            kinds.append(int(kind[i]))
        number[i] = len(kinds) - 1
        cut_since = False
    for i in np.flatnonzero(~whole & ~behind).tolist():  # a helper belongs to what follows it, else to what is before
        after, before = number[i + 1 :][whole[i + 1 :]], number[:i][whole[:i]]
        number[i] = after[0] if len(after) else before[-1] if len(before) else -1
    return number[piece], np.array(kinds, np.int64)


def _passes(session: Session, step: RankStep, found: Segments, along: Bools) -> Passes:
    item = session.inputs[step.input]
    count = len(found.kind)
    used = np.flatnonzero(found.of >= 0)
    order = used[np.lexsort((found.start[used], found.of[used]))]
    of = found.of[order]
    bounds = np.searchsorted(of, np.arange(count + 1))
    first = found.start[order][bounds[:-1]]
    last = np.maximum.reduceat(found.end[order], bounds[:-1])
    row = found.row[order][bounds[:-1]]
    busy = np.empty(count, np.int64)
    covered_by_group(found.start[order], found.end[order], bounds, busy)
    by_start = np.lexsort((last, first))
    alone = np.sort(used)
    compute = total(*union(found.start[alone], found.end[alone]))
    kind, stage = found.kind[by_start], found.stage[by_start]
    chunk = np.full(count, 0 if (stage < 0).all() else -1, np.int64)
    if (stage >= 0).all() and count:
        chunk = np.searchsorted(np.unique(stage), stage).astype(np.int64)
    micro = found.micro[by_start]
    return Passes(
        input=step.input,
        kind=kind.astype(np.uint8),
        micro=micro if (micro >= 0).all() else _in_order(kind, chunk),
        chunk=chunk,
        start=item.clock.many_to_session(first[by_start]),
        end=item.clock.many_to_session(last[by_start]),
        length=(last - first)[by_start],
        busy=busy[by_start],
        row=row[by_start],
        compute_ns=int(compute),
        comm=_communication(session, step, along),
        virtual=stage if count and (stage >= 0).all() else None,
    )


def _in_order(kind: I64, chunk: I64) -> I64:
    """Micro-batches in the order in which each kind of pass ran per chunk."""
    out = np.empty(len(kind), np.int64)
    for k in np.unique(kind).tolist():
        for c in np.unique(chunk).tolist():
            mine = (kind == k) & (chunk == c)
            out[mine] = np.arange(int(mine.sum()))
    return out


def _communication(session: Session, step: RankStep, along: Bools) -> Communication:
    item = session.inputs[step.input]
    table = operations(item.trace)
    mine = _operations_of(item.trace, step)
    kind = np.full(len(mine), CommKind.OTHER, np.uint8)
    kind[along[mine] & (table.kind[mine] == Kind.SEND)] = CommKind.SEND
    # A batch of sends and receives ends when what it receives is there.
    kind[along[mine] & (table.kind[mine] != Kind.SEND)] = CommKind.RECEIVE
    return Communication(
        item.clock.many_to_session(table.start_ns[mine]),
        item.clock.many_to_session(table.end_ns[mine]),
        kind,
        table.row[mine],
    )
