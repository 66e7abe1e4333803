"""Why nothing hid a communication kernel: the next compute needed it, or independent work stood behind it.

*Structural*: the next compute was queued, began right after the kernel, and was held by it: on the same stream,
behind a wait for an event, or because a receive or a gather of parameters or activations is what it works on. Also
where the host blocked until the kernel ended, and gradients that the optimizer reads next. *Serialised*: as before,
but the kernel only reduces gradients of a data-parallel group and what it held belongs to the backward pass, which
never reads them: stream order or an event made it wait without need. Everything else is *unknown*.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.exposed_parts import Hiding
from viewer.analyses.collective.groups import JobGroup, job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.operations import operations
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host_time import blocks_host
from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import named_where, rows_named
from viewer.analyses.numbering import numbered_values
from viewer.base.ids import LaneKind, Paint
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Bools = NDArray[np.bool_]

SOON_NS: Final = 30_000
"""Compute that was queued and begins this soon after a communication, with nothing between, was held by it."""
DEEPEST: Final = 64
MOST_PARSED: Final = 20_000
"""Waits whose arguments are read one by one to say for which stream they were."""
DELIVERS: Final = (
    Kind.RECV,
    Kind.ALL_GATHER,
    Kind.ALL_TO_ALL,
    Kind.ALL_TO_ALL_V,
    Kind.BROADCAST,
    Kind.SCATTER,
)
"""Kinds that bring what is worked on next: parameters, activations, tokens. A reduction may be for later."""
REDUCES: Final = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.REDUCE)
_BACKWARD: Final = re.compile(
    r"autograd::engine::evaluate_function|Backward\d*$|\.backward$|^backward\b", re.IGNORECASE
)
_OPTIMIZER: Final = re.compile(r"^Optimizer\.|optimizer.?step|clip_grad", re.IGNORECASE)
_QUEUED_WAIT: Final = re.compile(r"^(cuda|cu|hip)StreamWaitEvent", re.IGNORECASE)
_WAIT_EVENT: Final = re.compile(r"^stream wait event", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Held:
    """Per communication kernel of one trace (the order of ``operations``).

    ``hiding`` is a Hiding; ``next`` the position in ``gpu_work`` of the compute that begins first after it (-1 for
    none); ``by`` how it was held: 0 not shown, 1 the same stream, 2 an event, 3 the host waited, 4 the program queued a
    wait for an event between the two launches (inferred: a file without sync events does not say for which).
    """

    hiding: U8
    next: I64
    by: U8


def held(session: Session, item: Input) -> Held:
    """Why nothing hid the communication of an input. Built once per card (the plan says what a group is for)."""
    return session.card_memo(("held", item.index), lambda: _build(session, item))


def gradient_groups(session: Session) -> Bools:
    """Per group of the job (a last entry for "none"): whether it is data-parallel by its description or the card."""
    plan = session.card.plan
    only_dp = plan.dp is not None and all(n in (None, 1) for n in (plan.tp, plan.cp, plan.ep)) and plan.tp == 1

    def is_dp(group: JobGroup) -> bool:
        return group.purpose == "dp" or bool(only_dp and group.size == plan.dp and group.purpose in ("world", ""))

    return np.array([*map(is_dp, job_groups(session).groups), False], np.bool_)


def _build(session: Session, item: Input) -> Held:
    trace = item.trace
    table, work = operations(trace), gpu_work(trace)
    count = len(table)
    hiding, by = np.zeros(count, np.uint8), np.zeros(count, np.uint8)
    following = np.full(count, -1, np.int64)
    if not count:
        return Held(hiding, following, by)
    at = work.positions(table.row)
    lane, device, end = work.lane[at].astype(np.int64), work.device[at], table.end_ns
    call_of = links(trace).call_of
    for d in work.devices:
        part = work.of_device(d)
        compute = part.start + np.flatnonzero(work.paint[part] == Paint.COMPUTE)
        mine = np.flatnonzero(device == d)
        if len(compute) and len(mine):
            i = np.searchsorted(work.start_ns[compute], end[mine], "left")
            inside = i < len(compute)
            following[mine[inside]] = compute[i[inside]]
    has = following >= 0
    safe = np.maximum(following, 0)
    call = np.where(has, call_of[safe], -1)
    begun = np.where(call >= 0, trace.slices.start_ns[np.maximum(call, 0)], np.iinfo(np.int64).max)
    soon = has & (work.start_ns[safe] - end <= SOON_NS)
    queued = soon & (begun < end)
    same = queued & (work.lane[safe] == lane)
    waiting = np.where(queued & ~same, _waiting(trace, safe, end), -1)
    event = waiting >= 0
    blocked = has & (call >= 0) & (begun >= end) & _host_waited(trace, end, begun)
    inferred = queued & ~same & ~event & _queued_wait(trace, call_of[at], call)
    by[same], by[event], by[blocked], by[inferred] = 1, 2, 3, 4
    groups = job_groups(session)
    group = groups.of_local[item.index][table.group]
    gradient = gradient_groups(session)[group] & np.isin(table.kind, [int(k) for k in REDUCES])
    purposes = np.array([g.purpose in ("tp", "cp", "ep", "pp") for g in groups.groups] + [False], np.bool_)
    needed = np.isin(table.kind, [int(k) for k in DELIVERS]) | (purposes[group] & ~gradient)
    backward = np.zeros(count, np.bool_)
    backward[queued] = _launched_under(trace, call[queued])
    free = (same | event) & gradient & backward
    for k in np.flatnonzero(free & event)[:MOST_PARSED].tolist():
        free[k] = _waits_for(trace, int(waiting[k]), trace.lanes[int(lane[k])].stream)
    free[np.flatnonzero(free & event)[MOST_PARSED:]] = False
    structural = ((same | event) & ~gradient) | (gradient & ~backward & _optimises(trace, call))
    structural |= (queued & needed) | blocked | (inferred & ~gradient)
    hiding[structural] = Hiding.STRUCTURAL
    hiding[free] = Hiding.SERIALISED
    return Held(hiding, following, by)


def _enclosing(trace: Trace, rows: I64, pattern: re.Pattern[str]) -> Bools:
    """Whether each row of ``slices`` lies in a slice whose name matches."""
    s = trace.slices
    wanted = named_where(trace, Paint, pattern.search)
    out = np.zeros(len(rows), np.bool_)
    open_at = np.flatnonzero(rows >= 0)
    current = rows[open_at]
    for _ in range(DEEPEST):
        if not len(open_at):
            break
        hit = wanted[s.name[current]]
        out[open_at[hit]] = True
        open_at, current = open_at[~hit], s.parent[current[~hit]].astype(np.int64)
        inside = current >= 0
        open_at, current = open_at[inside], current[inside]
    return out


def _launched_under(trace: Trace, call: I64) -> Bools:
    """Whether each call belongs to the backward pass."""
    calls, _, number = numbered_values(call)
    out: Bools = _enclosing(trace, calls, _BACKWARD)[number]
    return out


def _optimises(trace: Trace, call: I64) -> Bools:
    calls, _, number = numbered_values(call)
    out: Bools = _enclosing(trace, calls, _OPTIMIZER)[number]
    return out


def _waiting(trace: Trace, following: I64, end: I64) -> I64:
    """The wait for an event that held the stream of each piece of work until a communication ended; -1 for none."""
    work = gpu_work(trace)
    out = np.full(len(following), -1, np.int64)
    for (device, stream), (start, stop, rows) in _event_waits(trace).items():
        lanes = [
            lane.id
            for lane in trace.lanes
            if lane.kind is LaneKind.STREAM and lane.device == device and lane.stream == stream
        ]
        mine = np.flatnonzero(np.isin(work.lane[following], lanes))
        if len(mine):
            # The last wait that began before the work did; it ends with the communication, or covers that.
            i = np.searchsorted(start, work.start_ns[following[mine]], "right") - 1
            fits = (i >= 0) & (stop[np.maximum(i, 0)] >= end[mine] - SOON_NS)
            out[mine[fits]] = rows[i[fits]]
    return out


def _waits_for(trace: Trace, row: int, stream: int | None) -> bool:
    """Whether a recorded wait says that it was for work of a stream."""
    told = trace.args(row).get("wait_on_stream")
    if isinstance(told, str) and told.strip().isdecimal() and len(told) < 20:
        told = int(told)
    return isinstance(told, int) and not isinstance(told, bool) and told == stream


def _queued_wait(trace: Trace, launched: I64, following: I64) -> Bools:
    """Whether a thread queued a wait for an event between the launch of a communication and that of the next compute.

    Only in files without sync events.
    """
    s = trace.slices
    out = np.zeros(len(launched), np.bool_)
    if (s.paint == Paint.SYNC).any():
        return out
    rows = rows_named(trace, (Paint.RUNTIME,), _QUEUED_WAIT.search)
    both = np.flatnonzero((launched >= 0) & (following >= 0))
    if not len(rows) or not len(both):
        return out
    lanes = lanes_of_rows(trace, rows)
    first, second = launched[both], following[both]
    lane, other = lanes_of_rows(trace, first), lanes_of_rows(trace, second)
    for number in np.unique(lane[lane == other]).tolist():
        mine = np.flatnonzero((lane == number) & (other == number))
        times = np.sort(s.start_ns[rows[lanes == number]])
        a = np.searchsorted(times, s.start_ns[first[mine]], "right")
        b = np.searchsorted(times, s.start_ns[second[mine]], "left")
        out[both[mine]] = b > a
    return out


def _event_waits(trace: Trace) -> dict[tuple[int, int], tuple[I64, I64, I64]]:
    """(device, stream) -> starts, ends and rows of the stream's waits for events, by start."""

    def build() -> dict[tuple[int, int], tuple[I64, I64, I64]]:
        s = trace.slices
        rows = rows_named(trace, (Paint.SYNC,), _WAIT_EVENT.search)
        if not len(rows):
            return {}
        lanes = lanes_of_rows(trace, rows)
        out: dict[tuple[int, int], tuple[I64, I64, I64]] = {}
        for number in np.unique(lanes).tolist():
            lane = trace.lanes[number]
            if lane.device is None or lane.stream is None:
                continue
            mine = rows[lanes == number]
            mine = mine[np.argsort(s.start_ns[mine], kind="stable")]
            out[lane.device, lane.stream] = s.start_ns[mine], s.start_ns[mine] + s.dur_ns[mine], mine
        return out

    return trace.memo("communication_event_waits", build)


def _host_waited(trace: Trace, end: I64, begun: I64) -> Bools:
    """Whether a blocking call began before a communication ended and returned after it, before the next launch."""
    s = trace.slices
    rows = rows_named(trace, (Paint.RUNTIME,), blocks_host)
    if not len(rows):
        return np.zeros(len(end), np.bool_)
    start = s.start_ns[rows]
    order = np.argsort(start, kind="stable")
    start, stop = start[order], (start + s.dur_ns[rows])[order]
    latest = np.maximum.accumulate(stop)
    i = np.searchsorted(start, end, "left") - 1
    out: Bools = (i >= 0) & (latest[np.maximum(i, 0)] >= end) & (latest[np.maximum(i, 0)] <= begun)
    return out
