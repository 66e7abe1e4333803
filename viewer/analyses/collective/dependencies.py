"""What had to happen before what, over all ranks of a job: the graph in which lateness is replayed.

Events of a rank: the end of a compute kernel before which a communication could not begin, the begin of one that waited
for a communication, and each communication's begin and end. Of several ranks: an operation is ready when its last
member began. Edges carry the time between their events. Along a rank's compute it is that rank's *own* time (kernels,
launches, Python); what follows a communication or an operation is not.

Times are ns on the session's clock. Steps are replayed apart: an edge out of an earlier step starts at what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.lost import Whole, whole
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.rank_times import computing, step_starts
from viewer.analyses.collective.unseen import answers
from viewer.analyses.numbering import numbered_rows
from viewer.store.session import RankGroup, Session

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bools = NDArray[np.bool_]

SOON_NS: Final = 30_000
"""A kernel that begins this soon after a communication ended, while the compute stood still, waited for it."""
POSTED_NS: Final = 300_000
"""A receive that begins so shortly before its send, after its rank stood still, was posted when the send was due."""
LOST: Final = -2
WAITED: Final = 1.5
"""A receive of so many times the shortest one waited for its send."""
GAP_NS: Final = 3_000
"""What lies between two pieces of work that follow each other without a wait."""


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The graph. Per event: ``time`` as seen, ``rank`` (RankGroup id, -1 for an operation), ``step`` (-1: before all).

    Edges: ``source``, ``target``, ``lag``, and ``own``: whose own time the lag is (RankGroup id, else -1). ``begin``,
    ``end`` and ``ready`` are the events of the begin and the end of each kernel of ``whole`` (first those of
    ``everything``) and of its operation (-1 without one).
    """

    time: I64
    rank: I32
    step: I32
    source: I64
    target: I64
    lag: I64
    own: I32
    begin: I64
    end: I64
    ready: I64
    needs_all: Bools
    """Per kernel: whether its operation waits for all its members."""
    fixed: I64
    """Events that nothing makes earlier: begins of receives whose sender is not opened, nor what it waited for."""
    unseen: I64
    """Begins of all receives that waited for a sender that is not opened."""
    chain_heads: I64
    """The first event of each rank's compute."""


class _Builder:
    def __init__(self) -> None:
        self.count = 0
        self.heads: list[int] = []
        self.parts: dict[str, list[NDArray[np.generic]]] = {k: [] for k in ("time", "rank", "step")}
        self.edges: dict[str, list[NDArray[np.generic]]] = {k: [] for k in ("source", "target", "lag", "own")}

    def events(self, time: I64, rank: int, step: I64) -> I64:
        first = self.count
        self.count += len(time)
        self.parts["time"].append(time)
        self.parts["rank"].append(np.full(len(time), rank, np.int32))
        self.parts["step"].append(step.astype(np.int32))
        return np.arange(first, self.count)

    def join(self, source: I64, target: I64, lag: I64, own: int = -1) -> None:
        self.edges["source"].append(source)
        self.edges["target"].append(target)
        self.edges["lag"].append(lag)
        self.edges["own"].append(np.full(len(source), own, np.int32))


def dependencies(session: Session) -> Dependencies:
    """The graph of a job on the session's clocks. Built once per session."""
    return session.clocked_memo("dependencies", lambda: _build(session))


@dataclass(frozen=True, eq=False)
class _Kernels:
    """Per kernel of ``whole``: its time on the session's clock, its lane, and where its events go (-1 so far)."""

    start: I64
    end: I64
    lane: I64
    begin_event: I64
    end_event: I64
    posted: I64
    """For a receive that was posted when its send was due: that send; LOST when its sender is not opened; else -1."""


def _kernels(seen: Whole) -> _Kernels:
    count = len(seen.start)
    posted = np.full(count, -1, np.int64)
    ahead = seen.start[seen.send] - seen.start[seen.receive]
    due = (ahead >= 0) & (ahead <= POSTED_NS)
    posted[(seen.every.kind == Kind.RECV) | (seen.every.kind == Kind.SEND_RECV)] = LOST
    posted[seen.receive] = -1
    posted[seen.receive[due]] = seen.send[due]
    none = np.full(count, -1, np.int64)
    return _Kernels(seen.start, seen.end, seen.lane, none, none.copy(), posted)


def _build(session: Session) -> Dependencies:
    seen = whole(session)
    every, build, kernels = seen.every, _Builder(), _kernels(seen)
    for group in session.groups:
        mine = np.flatnonzero(every.node == group.id)
        if len(mine):
            _rank(session, group, mine, build, kernels, every.kind)
    unseen = kernels.begin_event[(kernels.posted == LOST) & (kernels.begin_event >= 0)]
    ready, needs_all = _operations(session, seen, build, kernels)

    def joined(parts: dict[str, list[NDArray[Any]]], name: str) -> NDArray[Any]:
        return np.concatenate(parts[name]) if parts[name] else np.empty(0, np.int64)

    return Dependencies(
        time=joined(build.parts, "time"),
        rank=joined(build.parts, "rank"),
        step=joined(build.parts, "step"),
        source=joined(build.edges, "source"),
        target=joined(build.edges, "target"),
        lag=joined(build.edges, "lag"),
        own=joined(build.edges, "own"),
        begin=kernels.begin_event,
        end=kernels.end_event,
        ready=ready,
        needs_all=needs_all,
        fixed=kernels.begin_event[(kernels.posted == LOST) & (kernels.begin_event >= 0)],
        unseen=unseen,
        chain_heads=np.array(build.heads, np.int64),
    )


def _rank(
    session: Session, group: RankGroup, mine: I64, build: _Builder, kernels: _Kernels, kind: NDArray[np.uint8]
) -> None:
    """The events of one rank: its communication, and the points of its compute that touch it."""
    busy_from, busy_to = computing(session, group)
    steps = step_starts(session, group)
    s, e, lane = kernels.start[mine], kernels.end[mine], kernels.lane[mine]

    def step_of(time: I64) -> I64:
        return np.searchsorted(steps, time, "right") - 1

    comm_begin = build.events(s, group.id, step_of(s))
    comm_end = build.events(e, group.id, step_of(s))
    kernels.begin_event[mine], kernels.end_event[mine] = comm_begin, comm_end
    # Points of the compute: ends before which a communication could not begin, and begins that waited for one.
    before = np.searchsorted(busy_to, s, "right") - 1
    consumer = np.searchsorted(busy_from, e, "left")
    has = consumer < len(busy_from)
    resumed = busy_from[np.minimum(consumer, max(len(busy_from) - 1, 0))] if len(busy_from) else e
    last_end = np.searchsorted(busy_to, resumed, "right") - 1
    idle = (last_end < 0) | (busy_to[np.maximum(last_end, 0)] <= e if len(busy_to) else True)
    stood = resumed - busy_to[np.maximum(last_end, 0)] > GAP_NS if len(busy_to) else True
    waited = has & idle & (resumed - e <= SOON_NS) & ((last_end < 0) | stood)
    needs = has & (waited | (kind[mine] == Kind.RECV))
    end_points = np.unique(np.concatenate((busy_to[before[before >= 0]], busy_to[last_end[needs & (last_end >= 0)]])))
    begin_points = np.unique(resumed[needs])
    points = np.concatenate((end_points, begin_points))
    order = np.lexsort((np.repeat([0, 1], [len(end_points), len(begin_points)]), points))
    number = build.events(points[order], group.id, step_of(points[order]))
    place = np.empty(len(points), np.int64)
    place[order] = number
    end_event, begin_event = place[: len(end_points)], place[len(end_points) :]
    _chain(build, number, points[order], group.id, begin_event, resumed[waited], begin_points)
    at = np.flatnonzero(before >= 0)
    ended = busy_to[before[at]]
    previous = _previous(lane, s)
    never = np.iinfo(np.int64).min
    last = np.where(previous >= 0, e[np.maximum(previous, 0)], never)
    # A receive whose sender is not seen, posted right after other work, was held up by that work.
    free = np.maximum(last, busy_to[np.maximum(before, 0)] if len(busy_to) else never)
    kernels.posted[mine[(kernels.posted[mine] == LOST) & (s - free <= SOON_NS)]] = -1
    posted = kernels.posted[mine] != -1
    first = np.searchsorted(end_points, ended)
    lag = np.where((ended >= last[at]) & ~posted[at], s[at] - ended, np.minimum(s[at] - ended, GAP_NS))
    build.join(end_event[first], comm_begin[at], lag, group.id)
    then = np.flatnonzero(previous >= 0)
    after_end = np.where(before[then] >= 0, busy_to[np.maximum(before[then], 0)], never)
    build.join(
        comm_end[previous[then]],
        comm_begin[then],
        np.where(
            (last[then] > after_end) & ~posted[then], s[then] - last[then], np.minimum(s[then] - last[then], GAP_NS)
        ),
    )
    to = np.flatnonzero(needs)
    build.join(
        comm_end[to],
        begin_event[np.searchsorted(begin_points, resumed[to])],
        np.where(waited[to], resumed[to] - e[to], np.minimum(resumed[to] - e[to], GAP_NS)),
    )


def _chain(
    build: _Builder, number: I64, points: I64, rank: int, begin_event: I64, waited: I64, begin_points: I64
) -> None:
    """A rank's compute from point to point: its own time, but for the waits that ended at a begin."""
    build.heads += number[:1].tolist()
    if len(number) < 2:
        return
    lag = np.diff(points)
    waiting = np.zeros(len(number), np.bool_)
    waiting[begin_event[np.searchsorted(begin_points, waited)] - number[0]] = True
    lag = np.where(waiting[1:], np.minimum(lag, GAP_NS), lag)
    build.join(number[:-1], number[1:], lag, rank)


def _previous(lane: I64, start: I64) -> I64:
    """The position of the communication before each on its stream, -1 for the first."""
    order = np.lexsort((start, lane))
    out = np.full(len(lane), -1, np.int64)
    same = lane[order][1:] == lane[order][:-1]
    out[order[1:][same]] = order[:-1][same]
    return out


def _transfers(seen: Whole) -> tuple[I64, I64]:
    """Per pair how long after its send's begin, and after its own, a receive ends at least, ns.

    One that waited ends with its send, one that came late when it has taken what is there already. Which of the two
    it is may be otherwise when a rank is faster, so both hold: of one that came late what those that waited took since
    their send (the median), of one that waited the shortest transfer. Of a pair of ranks in which none waited nothing
    more is known than what was seen.
    """
    every, send, receive = seen.every, seen.send, seen.receive
    since_send, length = seen.end[receive] - seen.start[send], seen.end[receive] - seen.start[receive]
    waited = seen.start[receive] <= seen.start[send]
    keys = np.stack((every.node[send].astype(np.int64), every.node[receive].astype(np.int64), every.size[send]), axis=1)
    which = numbered_rows(keys).number
    taken, shortest = since_send.copy(), length.copy()
    order = np.argsort(which, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        for_it, late = mine[waited[mine]], mine[~waited[mine]]
        if len(for_it):
            taken[late] = int(np.median(since_send[for_it]))
            shortest[for_it] = min(int(length[mine].min()), int(since_send[for_it].min()))
    return taken, shortest


def _operations(session: Session, seen: Whole, build: _Builder, k: _Kernels) -> tuple[I64, Bools]:
    """Operations are ready when their last member began; members end some time after that."""
    begin, end, start_ns, end_ns = k.begin_event, k.end_event, k.start, k.end
    kernels, member, op = len(start_ns), seen.member, seen.op
    ready = np.full(kernels, -1, np.int64)
    steps = np.concatenate(build.parts["step"]) if build.parts["step"] else np.empty(0, np.int32)
    needs_all = np.zeros(kernels, np.bool_)
    needs_all[member] = True

    def add(kernel: I64, number: I64) -> None:
        """One event per number, behind the begins of its kernels."""
        if not len(kernel):
            return
        order = np.argsort(number, kind="stable")
        kernel, number = kernel[order], number[order]
        edge = np.flatnonzero(np.concatenate(([True], number[1:] != number[:-1])))
        size = np.diff(np.concatenate((edge, [len(number)])))
        time = np.maximum.reduceat(start_ns[kernel], edge)
        step = np.maximum.reduceat(steps[begin[kernel]].astype(np.int64), edge)
        event = np.repeat(build.events(time, -1, step), size)
        ready[kernel] = event
        build.join(begin[kernel], event, np.zeros(len(kernel), np.int64))

    add(member, op)
    times = np.concatenate(build.parts["time"]) if build.parts["time"] else np.empty(0, np.int64)
    if len(member):
        build.join(ready[member], end[member], np.maximum(end_ns[member] - times[ready[member]], 0))
    send, receive = seen.send, seen.receive
    if len(send):
        add(np.concatenate((send, receive)), np.tile(np.arange(len(send)), 2))
        ready[send] = -1  # buffered: a send does not wait
        taken, shortest = _transfers(seen)
        build.join(begin[send], end[receive], np.minimum(end_ns[receive] - start_ns[send], taken))
        build.join(begin[receive], end[receive], shortest)
    due = np.flatnonzero((k.posted >= 0) & (begin >= 0))
    build.join(begin[k.posted[due]], begin[due], start_ns[due] - start_ns[k.posted[due]])
    alone = np.flatnonzero((ready < 0) & (begin >= 0))
    length = end_ns[alone] - start_ns[alone]
    recorded = len(everything(session).kind)  # what was put back has a counterpart that is opened
    told = answers(session, start_ns[:recorded], end_ns[:recorded], steps[np.maximum(begin[:recorded], 0)])
    receives, sends = told.receive, told.send
    # What was there before it was asked for holds nobody up.
    held = (k.posted[receives] == LOST) | (end_ns[receives] - start_ns[receives] > WAITED * told.shortest)
    waited = np.zeros(kernels, np.bool_)
    waited[receives[held]] = True
    held &= (begin[receives] >= 0) & (begin[sends] >= 0)
    follows = held & (told.follows >= 0) & waited[told.follows]
    one, other = told.follows[follows], receives[follows]
    build.join(end[one], end[other], np.minimum(told.least[follows], end_ns[other] - end_ns[one]))
    receives, sends = receives[held], sends[held]
    length[np.searchsorted(alone, receives)] = told.shortest[held]
    build.join(begin[sends], end[receives], end_ns[receives] - start_ns[sends])
    late = k.posted[receives] == LOST
    build.join(begin[sends[late]], begin[receives[late]], (start_ns[receives] - start_ns[sends])[late])
    k.posted[receives] = -1
    build.join(begin[alone], end[alone], length)
    return ready, needs_all
