"""How much shorter a step would be if some communication were faster, or held nothing up: an estimate by replay.

The steps are replayed with the dependencies that were seen (``dependencies``), twice: as they were and changed. What
the last shared operation of a step gains is the saving; so what a change only moves into another wait is not counted.
The replay knows no queue of the host and no shared link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.dependencies import Dependencies, dependencies
from viewer.analyses.collective.engine import Replay
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.waits import doubt
from viewer.analyses.findings.steady import SteadySteps, steady_steps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.base.ids import ABSENT, Paint
from viewer.store.session import Session

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]


def saved_by_faster(session: Session, less: I64) -> int | None:
    """Ns per step that are saved when transfers take less.

    Args:
        session: the job.
        less: int64 per kernel of ``everything``: by how much its transfer gets shorter, ns.

    Returns:
        The median over the steady steps; None where the clocks of a rank are not aligned, there are no steps,
        or no two ranks get all their messages from ranks that are open.
    """

    def change(graph: Dependencies) -> Dependencies:
        graph = _by_launch(session, graph, less > 0)
        gain = _by_event(graph, less)
        of_transfer = (graph.rank[graph.source] < 0) | np.isin(graph.source, graph.begin[graph.ready < 0])
        cut = np.where(of_transfer, gain[graph.target], 0)
        return replace(graph, lag=np.maximum(graph.lag - cut, 0))

    return _saved(session, change)


def saved_by_detaching(session: Session, which: Bools) -> int | None:
    """Ns per step that are saved when compute no longer waits for some kernels of ``everything``; None as above."""

    def change(graph: Dependencies) -> Dependencies:
        ends = np.zeros(len(graph.time), np.bool_)
        chosen = graph.end[which & (graph.end >= 0)]
        ends[chosen] = True
        # From the end of communication to a point of compute: neither a begin of a communication nor an operation.
        begins = np.zeros(len(graph.time), np.bool_)
        begins[graph.begin[graph.begin >= 0]] = True
        cut = ends[graph.source] & ~begins[graph.target]
        kept = ~cut
        return replace(
            graph, source=graph.source[kept], target=graph.target[kept], lag=graph.lag[kept], own=graph.own[kept]
        )

    return _saved(session, change)


def saved_by_leaving_out(session: Session, away: Mapping[int, tuple[I64, I64]]) -> int | None:
    """Ns per step that are saved when ranks spend some of their own time no longer; None as above.

    Args:
        session: the job.
        away: per rank (RankGroup id) disjoint intervals (start, end) of session time, ascending, that go away. Only
            what lies in the rank's own time counts (between two events of its compute).
    """

    def change(graph: Dependencies) -> Dependencies:
        lag = graph.lag.copy()
        for rank, (start, end) in away.items():
            mine = np.flatnonzero(graph.own == rank)
            if len(mine) and len(start):
                cut = _before(start, end, graph.time[graph.target[mine]])
                cut -= _before(start, end, graph.time[graph.source[mine]])
                lag[mine] = np.maximum(lag[mine] - np.maximum(cut, 0), 0)
        return replace(graph, lag=lag)

    return _saved(session, change)


def _before(start: I64, end: I64, at: I64) -> I64:
    """How much of disjoint intervals lies before each instant."""
    sums = np.concatenate(([0], np.cumsum(end - start)))
    i = np.searchsorted(start, at, "right")
    inside = np.maximum(i - 1, 0)
    over = np.where(i > 0, np.maximum(end[inside] - at, 0), 0)
    out: I64 = sums[i] - over
    return out


def _by_launch(session: Session, graph: Dependencies, which: Bools) -> Dependencies:
    """The graph with what some kernels wait for told by launches.

    A kernel that stood in the queue of its stream began after compute that it does not need. It needs what was launched
    before it: an edge from there takes the place of those from compute.
    """
    every = everything(session)
    source, target, lag = [], [], []
    drop = np.zeros(len(graph.time), np.bool_)
    chains = {
        int(r): np.flatnonzero((graph.rank == r) & ~_flags(graph, graph.begin) & ~_flags(graph, graph.end))
        for r in np.unique(graph.rank)
        if r >= 0
    }
    for item in session.inputs:
        mine = np.flatnonzero(which & (every.input == item.index) & (graph.begin >= 0))
        if not len(mine):
            continue
        trace = item.trace
        table, work, call_of = operations(trace), gpu_work(trace), links(trace).call_of
        compute = np.flatnonzero((work.paint != Paint.COMM) & (call_of >= 0))
        called = trace.slices.start_ns[call_of[compute]]
        order = np.argsort(called, kind="stable")
        called, ended = called[order], np.maximum.accumulate(work.end_ns[compute][order])
        call = call_of[work.positions(table.row[every.at[mine]])]
        begun = np.where(call >= 0, trace.slices.start_ns[np.maximum(call, 0)], np.iinfo(np.int64).min)
        i = np.searchsorted(called, begun, "left") - 1
        known = np.flatnonzero((i >= 0) & (call >= 0))
        mine, needed = mine[known], item.clock.many_to_session(ended[i[known]])
        event = graph.begin[mine]
        points = chains.get(int(session.group_of(item.index).id), np.empty(0, np.int64))
        points = points[np.argsort(graph.time[points], kind="stable")]
        at = np.searchsorted(graph.time[points], needed, "right") - 1
        # In another step's compute, or later than the kernel began (the clocks of two threads): as it was seen.
        fits = (at >= 0) & (needed <= graph.time[event])
        fits &= graph.step[points[np.maximum(at, 0)]] == graph.step[event] if len(points) else False
        mine, event, needed, at = mine[fits], event[fits], needed[fits], at[fits]
        drop[event] = True
        source.append(points[at])
        target.append(event)
        lag.append(needed - graph.time[points[at]])
    chain = np.zeros(len(graph.time), np.bool_)
    for points in chains.values():
        chain[points] = True
    kept = ~(drop[graph.target] & chain[graph.source])
    added = sum(len(t) for t in target)
    return replace(
        graph,
        source=np.concatenate((graph.source[kept], *source)),
        target=np.concatenate((graph.target[kept], *target)),
        lag=np.concatenate((graph.lag[kept], *lag)),
        own=np.concatenate((graph.own[kept], np.full(added, -1, graph.own.dtype))),
    )


def _flags(graph: Dependencies, events: I64) -> Bools:
    out = np.zeros(len(graph.time), np.bool_)
    out[events[events >= 0]] = True
    return out


def _by_event(graph: Dependencies, less: I64) -> I64:
    out = np.zeros(len(graph.time), np.int64)
    known = graph.end >= 0
    out[graph.end[known]] = less[known]
    return out


@dataclass(frozen=True, eq=False)
class _Seen:
    """The steps as they were: the graph, its replay, and per step when its last shared operation was ready."""

    graph: Dependencies
    replay: Replay
    ends: I64
    steady: SteadySteps


def _seen(session: Session) -> _Seen | None:
    """What changes are held against; None where they tell nothing. Built once."""

    def build() -> _Seen | None:
        if session.clock_method != "collectives":
            return None
        if (doubt(session)[np.unique(everything(session).node)] == ABSENT).any():
            return None  # a rank that is not connected would hold nobody up
        graph = _whole_pipelines(session, dependencies(session))
        steady = steady_steps(session)
        if len(set(np.unique(graph.rank[graph.rank >= 0]).tolist())) < 2 or not steady.count:
            return None
        found = Replay(graph, steady.count)
        return _Seen(graph, found, found.ends(found.replayed(graph.lag)), steady)

    return session.clocked_memo("steps_replayed", build)


def _saved(session: Session, change: Callable[[Dependencies], Dependencies]) -> int | None:
    seen = _seen(session)
    if seen is None:
        return None
    other = change(seen.graph)
    same = other.source is seen.graph.source and other.target is seen.graph.target
    engine = seen.replay if same else Replay(other, seen.steady.count)
    gain = (seen.ends - engine.ends(engine.replayed(other.lag)))[seen.steady.first :]
    return max(0, round(float(np.median(gain)))) if len(gain) else None


def _whole_pipelines(session: Session, graph: Dependencies) -> Dependencies:
    """The graph without the ranks that depend on messages of ranks that are not open.

    What a change does to such a message cannot be said, and seen as it was it would hold everything up. The other
    replicas of the pipeline stand for it.
    """
    if not len(graph.unseen):
        return graph
    every, pairs = everything(session), align(session).pairs
    out = np.zeros(len(session.groups), np.bool_)
    out[graph.rank[graph.unseen]] = True
    source, target = every.node[pairs.send], every.node[pairs.receive]
    while (spread := np.unique(target[out[source] & ~out[target]])).size:
        out[spread] = True
    gone = (graph.rank >= 0) & out[graph.rank]
    kept = ~(gone[graph.source] | gone[graph.target])
    met = np.zeros(len(graph.time), np.bool_)
    met[graph.target[kept]] = True
    gone |= (graph.rank < 0) & ~met  # operations of which no member is left

    def without(events: I64) -> I64:
        left: I64 = np.where((events >= 0) & ~gone[events], events, -1)
        return left

    return replace(
        graph,
        rank=np.where(gone, -1, graph.rank).astype(graph.rank.dtype),
        step=np.where(gone, -1, graph.step).astype(graph.step.dtype),
        source=graph.source[kept],
        target=graph.target[kept],
        lag=graph.lag[kept],
        own=graph.own[kept],
        begin=without(graph.begin),
        end=without(graph.end),
        ready=without(graph.ready),
        fixed=graph.fixed[:0],
        unseen=graph.unseen[:0],
        chain_heads=graph.chain_heads[~gone[graph.chain_heads]],
    )
