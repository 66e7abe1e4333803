"""Streams that ran one after the other although they could have overlapped, and what forced the order if it is known.

Two works follow each other when the second begins at most :data:`SOON_NS` after the first, which ended last of all
that began before it on the device. What forced it: a recorded wait of the second's stream for an event; a
synchronisation that held its launch back until the first was over; the order of launches (its call began only when the
first was over); a wait for an event that the host queued between both launches (which event is not recorded, so this is
likely, not sure); one stream for both (then only communication or a copy beside compute counts: those use other units).
Else it is not proven: one kernel may fill the device, or the wait is not recorded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host_time import blocking_calls
from viewer.analyses.idleness.split import event_waits
from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import rows_named
from viewer.base.ids import Paint
from viewer.jit.intervals import running_end
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

SOON_NS: Final = 30_000
_WAITS_FOR_EVENT: Final = re.compile(r"^(?:cuda|cu|hip)StreamWaitEvent", re.IGNORECASE)
EVENT, SYNCHRONISED, LATE, SAME_STREAM = "event", "synchronisation", "launch order", "same stream"
QUEUED_WAIT, UNPROVEN = "queued wait", "unproven"
FORCED: Final = (EVENT, SYNCHRONISED, LATE, SAME_STREAM, QUEUED_WAIT, UNPROVEN)


@dataclass(frozen=True, slots=True)
class Serial:
    """Works of two streams (lane ids, equal for one stream) that followed each other for one reason.

    ``count`` times; ``possible_ns`` adds the shorter duration of each two: what overlapping could hide at most.
    ``first_row`` and ``second_row`` are the two (rows of ``slices``) of which most could be hidden.
    """

    device: int
    first_lane: int
    second_lane: int
    forced: str
    count: int
    possible_ns: int
    first_row: int
    second_row: int


def serial_streams(trace: Trace, device: int) -> tuple[Serial, ...]:
    """What ran one after the other on a device, by streams and reason, most to hide first. Built once."""
    return trace.memo(("serial_streams", device), lambda: _build(trace, device))


def _build(trace: Trace, device: int) -> tuple[Serial, ...]:
    work = gpu_work(trace)
    part = work.of_device(device)
    start, end = work.start_ns[part], work.end_ns[part]
    if len(start) < 2:
        return ()
    second = np.flatnonzero(start > start[0])
    # Works that begin together stand side by side: each follows what began before them all.
    first = running_end(start, end)[np.searchsorted(start, start[second], "left") - 1]
    follows = (end[first] <= start[second]) & (start[second] - end[first] <= SOON_NS)
    first, second = first[follows] + part.start, second[follows] + part.start
    same = work.lane[first] == work.lane[second]
    kept = ~same | (work.paint[first] != work.paint[second])
    first, second, same = first[kept], second[kept], same[kept]
    forced = _forced(trace, device, first, second, same)
    hidden = np.minimum(work.end_ns[first] - work.start_ns[first], work.end_ns[second] - work.start_ns[second])
    known = np.flatnonzero((forced >= 0) & (hidden > 0))
    if not len(known):
        return ()
    first, second, forced, hidden = first[known], second[known], forced[known], hidden[known]
    key = (work.lane[first].astype(np.int64) << 36) | (work.lane[second].astype(np.int64) << 8) | forced
    order = np.lexsort((hidden, key))
    _, begin, count = np.unique(key[order], return_index=True, return_counts=True)
    sums = np.add.reduceat(hidden[order], begin)
    largest = order[begin + count - 1]
    out = [
        Serial(
            device,
            int(work.lane[first[i]]),
            int(work.lane[second[i]]),
            FORCED[int(forced[i])],
            int(n),
            int(ns),
            int(work.index[first[i]]),
            int(work.index[second[i]]),
        )
        for i, n, ns in zip(largest, count, sums, strict=True)
    ]
    return tuple(sorted(out, key=lambda s: (-s.possible_ns, s.first_lane, s.second_lane, s.forced)))


def _forced(trace: Trace, device: int, first: I64, second: I64, same: NDArray[np.bool_]) -> I64:
    """Index into FORCED for each two works; -1 where they are no pair that could overlap (two works of one call)."""
    work, call_of = gpu_work(trace), links(trace).call_of
    call = call_of[second]
    out = np.full(len(first), FORCED.index(UNPROVEN), np.int64)
    begun = np.where(call >= 0, trace.slices.start_ns[np.maximum(call, 0)], np.iinfo(np.int64).min)
    over = work.end_ns[first]
    out[_wait_queued(trace, call_of[first], call)] = FORCED.index(QUEUED_WAIT)
    late = begun >= over
    out[late] = FORCED.index(LATE)
    out[late & _synchronised(trace, call, begun, work.start_ns[first], over)] = FORCED.index(SYNCHRONISED)
    for lane in np.unique(work.lane[second]):
        found = event_waits(trace).get((device, trace.lanes[int(lane)].stream or 0))
        if found is None:
            continue
        mine = np.flatnonzero(work.lane[second] == lane)
        i = np.searchsorted(found[0], work.start_ns[second[mine]], "right") - 1
        waited = (i >= 0) & (found[1][np.maximum(i, 0)] >= over[mine]) & ~late[mine]
        out[mine[waited]] = FORCED.index(EVENT)
    out[same & ~late] = FORCED.index(SAME_STREAM)
    out[(call >= 0) & (call == call_of[first])] = -1
    return out


def _wait_queued(trace: Trace, before: I64, call: I64) -> NDArray[np.bool_]:
    """Whether the thread of the second launch made a stream wait for an event after the first launch."""
    s = trace.slices
    out = np.zeros(len(call), np.bool_)
    rows = rows_named(trace, (Paint.RUNTIME,), _WAITS_FOR_EVENT.match)
    lanes, of_rows = lanes_of_rows(trace, np.maximum(call, 0)), lanes_of_rows(trace, rows)
    for lane in np.unique(of_rows):
        made = np.sort(s.start_ns[rows[of_rows == lane]])
        mine = np.flatnonzero((call >= 0) & (before >= 0) & (lanes == lane))
        since, until = s.start_ns[before[mine]], s.start_ns[call[mine]]
        out[mine] = np.searchsorted(made, until, "left") > np.searchsorted(made, since, "right")
    return out


def _synchronised(trace: Trace, call: I64, begun: I64, since: I64, over: I64) -> NDArray[np.bool_]:
    """Whether the launching thread's last blocking call before each launch waited until the first work was over."""
    out = np.zeros(len(call), np.bool_)
    blocking, s = blocking_calls(trace), trace.slices
    lanes, of_blocking = lanes_of_rows(trace, np.maximum(call, 0)), lanes_of_rows(trace, blocking)
    for lane in np.unique(of_blocking):
        rows = blocking[of_blocking == lane]
        start, end = s.start_ns[rows], s.start_ns[rows] + s.dur_ns[rows]
        mine = np.flatnonzero((call >= 0) & (lanes == lane))
        i = np.searchsorted(start, begun[mine], "left") - 1
        j = np.maximum(i, 0)
        out[mine] = (i >= 0) & (start[j] < over[mine]) & (end[j] >= over[mine]) & (end[j] <= begun[mine])
        out[mine] &= end[j] >= since[mine]
    return out
