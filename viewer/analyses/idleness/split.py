"""Gaps split by the launch of the work after them: host, launch, dependency, unknown; what queued work waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.base.ids import LaneKind, Paint
from viewer.jit.intervals import running_end
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

TURNAROUND_NS = 3_000
"""A gap up to this length between two pieces of queued work on one stream is the device's own turnaround."""

DEPENDENCY_CAUSES = ("turnaround", "event", "copy", "other stream", "unproven", "launch in flight")
"""What queued work waited for. "launch in flight": its call had begun before the gap but had not returned by then, so
the work was not surely queued."""


@dataclass(frozen=True, eq=False)
class Split:
    """Per gap: cut borders, the four parts' lengths, positions of the neighbours in gpu_work, the next work's call.

    For a gap [a, b) with L = begin of the call of the first GPU work that starts at b: host = [a, min(L, b)); launch =
    [L, b) when L > a; dependency = all of it when L <= a; unknown = no link, or no next work. ``whole_start`` is where
    the gap began before a window cut it.
    """

    start: I64
    end: I64
    whole_start: I64
    before: I64
    after: I64
    call: I64
    host: I64
    launch: I64
    dependency: I64
    unknown: I64

    def of(self, which: I64) -> Split:
        """The split of some of the gaps."""
        return Split(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def device_split(trace: Trace, device: int, start: I64, end: I64) -> Split:
    """The split of gaps in which the whole device is idle."""
    work, call_of = gpu_work(trace), links(trace).call_of
    part = work.of_device(device)
    after = part.start + np.searchsorted(work.start_ns[part], end, "left")
    before = np.where(after > part.start, work.latest[np.maximum(after - 1, 0)], -1)

    # Of several that start at the same instant the one queued first ends the gap.
    chosen = np.where(after < part.stop, after, -1)
    first_begin = _begin_of_call(trace, chosen)
    at = chosen.copy()
    while True:
        at = np.where((at >= 0) & (at + 1 < part.stop), at + 1, -1)
        at = np.where((at >= 0) & (work.start_ns[at] == work.start_ns[chosen]), at, -1)
        if not (at >= 0).any():
            break
        begin = _begin_of_call(trace, at)
        better = (at >= 0) & (call_of[at] >= 0) & (begin < first_begin)
        chosen, first_begin = np.where(better, at, chosen), np.where(better, begin, first_begin)
    return _parts(trace, start, end, before, chosen)


def lane_split(trace: Trace, lane: int, start: I64, end: I64) -> Split:
    """The split of gaps of one stream: the next work is the stream's own, the device may run other work."""
    return split_among(trace, np.flatnonzero(gpu_work(trace).lane == lane), start, end)


def split_among(trace: Trace, mine: I64, start: I64, end: I64) -> Split:
    """The split of gaps between some of the work: ``mine`` are positions in gpu_work by start, of one device."""
    work = gpu_work(trace)
    i = np.searchsorted(work.start_ns[mine], end, "left")
    latest = running_end(work.start_ns[mine], work.end_ns[mine])
    before = np.where(i > 0, mine[latest[np.maximum(i - 1, 0)]], -1)
    after = np.where(i < len(mine), mine[np.minimum(i, len(mine) - 1)], -1)
    return _parts(trace, start, end, before, after)


def _begin_of_call(trace: Trace, at: I64) -> I64:
    """When the calls of positions in gpu_work began; the largest int64 where there is none."""
    call = np.where(at >= 0, links(trace).call_of[at], -1)
    begin: I64 = np.where(call >= 0, trace.slices.start_ns[call], np.iinfo(np.int64).max)
    return begin


def _parts(trace: Trace, start: I64, end: I64, before: I64, after: I64) -> Split:
    work, call_of = gpu_work(trace), links(trace).call_of
    whole_start = np.where(before >= 0, np.minimum(start, work.end_ns[before]), start)
    call = np.where(after >= 0, call_of[after], -1)
    known = call >= 0
    began = np.where(known, trace.slices.start_ns[call], start)
    late = known & (began > whole_start)
    length = end - start
    host = np.where(late, np.clip(began, start, end) - start, 0)
    return Split(
        start,
        end,
        whole_start,
        before,
        after,
        call,
        host,
        np.where(late, length - host, 0),
        np.where(known & ~late, length, 0),
        np.where(known, 0, length),
    )


def has_sync_events(trace: Trace) -> bool:
    """Whether the file records what streams waited for."""
    return trace.memo("has_sync", lambda: bool((trace.slices.paint == Paint.SYNC).any()))


def event_waits(trace: Trace) -> dict[tuple[int, int], tuple[I64, I64]]:
    """(device, stream) -> starts and ends of the stream's recorded waits for events, by start. Built once."""

    def build() -> dict[tuple[int, int], tuple[I64, I64]]:
        s = trace.slices
        out: dict[tuple[int, int], tuple[I64, I64]] = {}
        for lane in trace.lanes:
            if lane.kind is not LaneKind.STREAM_MARKS or lane.device is None or lane.stream is None:
                continue
            if lane.row_begin == lane.row_end:
                continue
            a = int(trace.rows.begin[lane.row_begin])
            b = int(trace.rows.end[lane.row_end - 1])
            rows = a + np.flatnonzero(s.paint[a:b] == Paint.SYNC)
            rows = (
                rows[[trace.name(int(r)).lower().startswith("stream wait event") for r in rows]] if len(rows) else rows
            )
            if len(rows):
                rows = rows[np.argsort(s.start_ns[rows], kind="stable")]
                out[lane.device, lane.stream] = (s.start_ns[rows], s.start_ns[rows] + s.dur_ns[rows])
        return out

    return trace.memo("event_waits", build)


def dependency_kind(trace: Trace, device: int, split: Split, which: I64) -> I64:
    """Index into DEPENDENCY_CAUSES for each of the gaps ``which`` whose next work's call began before them."""
    work, call_of = gpu_work(trace), links(trace).call_of
    before, after, call = split.before[which], split.after[which], split.call[which]
    safe = np.maximum(before, 0)
    same_lane = (before >= 0) & (work.lane[safe] == work.lane[after])
    same_call = (before >= 0) & (call_of[safe] >= 0) & (call_of[safe] == call_of[after])
    whole = work.start_ns[after] - split.whole_start[which]
    kind = np.full(len(which), 4, np.int64)
    kind[(before >= 0) & ~same_lane] = 3
    kind[(before >= 0) & (work.paint[safe] == Paint.MEMORY)] = 2
    waits = event_waits(trace)
    if waits:
        for lane in np.unique(work.lane[after]):
            found = waits.get((device, trace.lanes[int(lane)].stream or 0))
            if found is None:
                continue
            mine = np.flatnonzero(work.lane[after] == lane)
            i = np.searchsorted(found[0], work.start_ns[after[mine]], "right") - 1
            waited = (i >= 0) & (found[1][np.maximum(i, 0)] >= split.whole_start[which[mine]])
            kind[mine[waited]] = 1
    kind[same_lane & (whole <= TURNAROUND_NS)] = 0
    returned = trace.slices.start_ns[call] + trace.slices.dur_ns[call]
    kind[returned > split.whole_start[which]] = 5
    kind[same_call] = 0
    return kind
