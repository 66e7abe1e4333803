"""Why a device did nothing: the host was late, the launch took its time, or queued work had to wait."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import Gap, attribute, device_gaps, device_span
from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.host_time import (
    HOST_CAUSES,
    SYNC_DRAIN,
    UNTRACED,
    HostSlice,
    blocks_host,
    draining_call,
    host_activity,
    thread_time,
)
from viewer.analyses.links import lanes_of_rows, links
from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.jit.intervals import charge, clip, running_end, total
from viewer.store.trace import Trace

__all__ = ["GapCause", "HostSlice", "IdleSplit", "blocks_host", "gap_cause", "host_activity", "idle", "lane_gap_cause"]

I64 = NDArray[np.int64]

TURNAROUND_NS = 3_000
"""A gap up to this length between two pieces of queued work on one stream is the device's own turnaround."""

DEPENDENCY_CAUSES = ("turnaround", "event", "copy", "other stream", "unproven")


@dataclass(frozen=True, slots=True)
class IdleSplit:
    """Idle time of one device by cause, ns; the four parts sum to idle, the causes to their part (asserted).

    For a gap [a, b) with L = begin of the call of the first GPU work that starts at b: host = [a, min(L, b)); launch =
    [L, b) when L > a; dependency = all of it when L <= a (the work was already queued); unknown = no link, or no next
    work. ``host_causes`` charges host time to what the launching thread did (its deepest open slice). "data loading" is
    everything inside a data loader's range; of the rest, a gap that began while a blocking call waited is "sync-drain".
    ``dependency_causes``: see :data:`DEPENDENCY_CAUSES`; without sync events in the file they are inferred.
    """

    host_ns: int
    launch_ns: int
    dependency_ns: int
    unknown_ns: int
    host_causes: dict[str, int] = field(default_factory=dict)
    dependency_causes: dict[str, int] = field(default_factory=dict)
    has_sync_events: bool = False

    @property
    def idle_ns(self) -> int:
        """The sum of the parts."""
        return self.host_ns + self.launch_ns + self.dependency_ns + self.unknown_ns


@dataclass(frozen=True, eq=False)
class _Split:
    """Per gap: cut borders, the four parts' borders, positions of the neighbours in gpu_work, the next work's call."""

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


def idle(trace: Trace, device: int, window: tuple[int, int] | None = None) -> IdleSplit | None:
    """The idle time of a device over a window of raw ns (or its whole span) by cause; None without GPU work."""
    figures = attribute(trace, device, window)
    if figures is None:
        return None
    start, end = device_gaps(trace, device, window)
    split = _split(trace, device, start, end)
    host_causes = _sum_host(trace, split)
    dependency = _dependency_causes(trace, device, split)
    result = IdleSplit(
        int(split.host.sum()),
        int(split.launch.sum()),
        int(split.dependency.sum()),
        int(split.unknown.sum()),
        host_causes,
        dependency,
        _has_sync_events(trace),
    )
    if (
        result.idle_ns != figures.idle_ns
        or sum(host_causes.values()) != result.host_ns
        or sum(dependency.values()) != result.dependency_ns
    ):
        raise AssertionError(f"the causes of idle time add up to {result.idle_ns}, not to {figures.idle_ns} ns")
    return result


def _split(trace: Trace, device: int, start: I64, end: I64) -> _Split:
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


def _lane_split(trace: Trace, lane: int, start: I64, end: I64) -> _Split:
    """The split of gaps of one stream: the next work is the stream's own, the device may run other work."""
    work = gpu_work(trace)
    mine = np.flatnonzero(work.lane == lane)
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


def _parts(trace: Trace, start: I64, end: I64, before: I64, after: I64) -> _Split:
    work, call_of = gpu_work(trace), links(trace).call_of
    whole_start = np.where(before >= 0, np.minimum(start, work.end_ns[before]), start)
    call = np.where(after >= 0, call_of[after], -1)
    known = call >= 0
    began = np.where(known, trace.slices.start_ns[call], start)
    late = known & (began > whole_start)
    length = end - start
    host = np.where(late, np.clip(began, start, end) - start, 0)
    return _Split(
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


def _sum_host(trace: Trace, split: _Split) -> dict[str, int]:
    if not split.host.any():
        return {}
    causes: dict[str, int] = {}
    hosted = np.flatnonzero(split.host > 0)
    drain = draining_call(trace, split.whole_start[hosted])
    lanes = lanes_of_rows(trace, split.call[hosted])
    for lane in np.unique(lanes):
        on_lane = lanes == lane
        time = thread_time(trace, int(lane))
        lo = split.start[hosted[on_lane]]
        charged = charge(time.start, time.kind, lo, lo + split.host[hosted[on_lane]], len(HOST_CAUSES))
        drained = drain[on_lane] >= 0
        # Waiting for data is a cause of its own; whatever else follows a drained queue belongs to the blocking call.
        loading = HOST_CAUSES.index("data loading")
        after_sync = int(charged[drained].sum() - charged[drained, loading].sum())
        sums = charged[~drained].sum(axis=0)
        sums[loading] += charged[drained, loading].sum()
        for name, ns in ((SYNC_DRAIN, after_sync), *zip((*HOST_CAUSES, UNTRACED), sums, strict=True)):
            if ns:
                causes[name] = causes.get(name, 0) + int(ns)
    return causes


def _has_sync_events(trace: Trace) -> bool:
    return trace.memo("has_sync", lambda: bool((trace.slices.paint == Paint.SYNC).any()))


def _event_waits(trace: Trace) -> dict[tuple[int, int], tuple[I64, I64]]:
    """(device, stream) -> starts and ends of the stream's waits for events, by start."""

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


def _dependency_kind(trace: Trace, device: int, split: _Split, which: I64) -> I64:
    """Index into DEPENDENCY_CAUSES for each of the gaps ``which`` whose next work was already queued."""
    work, call_of = gpu_work(trace), links(trace).call_of
    before, after = split.before[which], split.after[which]
    safe = np.maximum(before, 0)
    same_lane = (before >= 0) & (work.lane[safe] == work.lane[after])
    same_call = (before >= 0) & (call_of[safe] >= 0) & (call_of[safe] == call_of[after])
    whole = work.start_ns[after] - split.whole_start[which]
    kind = np.full(len(which), 4, np.int64)
    kind[(before >= 0) & ~same_lane] = 3
    kind[(before >= 0) & (work.paint[safe] == Paint.MEMORY)] = 2
    waits = _event_waits(trace)
    if waits:
        for lane in np.unique(work.lane[after]):
            found = waits.get((device, trace.lanes[int(lane)].stream or 0))
            if found is None:
                continue
            mine = np.flatnonzero(work.lane[after] == lane)
            i = np.searchsorted(found[0], work.start_ns[after[mine]], "right") - 1
            waited = (i >= 0) & (found[1][np.maximum(i, 0)] >= split.whole_start[which[mine]])
            kind[mine[waited]] = 1
    kind[same_call | (same_lane & (whole <= TURNAROUND_NS))] = 0
    return kind


def _dependency_causes(trace: Trace, device: int, split: _Split) -> dict[str, int]:
    which = np.flatnonzero(split.dependency > 0)
    if not len(which):
        return {}
    kind = _dependency_kind(trace, device, split, which)
    sums = np.zeros(len(DEPENDENCY_CAUSES), np.int64)
    np.add.at(sums, kind, split.dependency[which])
    return {name: int(ns) for name, ns in zip(DEPENDENCY_CAUSES, sums, strict=True) if ns}


@dataclass(frozen=True, slots=True)
class GapCause:
    """Why one gap of a device was idle. Raw ns of the file.

    ``gap`` has the neighbours; ``call_row`` is the call that launched the work after it (-1: not linked), on ``lane``
    (-1: unknown). ``drained_by`` is the blocking call that was waiting when the device ran dry (-1: none).
    ``host``: what the launching thread did from the gap's start to its end, longest own time first.
    ``dependency_cause`` is "" unless the next work was already queued; ``inferred`` says that no sync events back it.
    """

    gap: Gap
    split: IdleSplit
    call_row: int
    lane: int
    call_start_ns: int | None
    drained_by: int
    dependency_cause: str
    inferred: bool
    host: tuple[HostSlice, ...]
    busy_elsewhere_ns: int
    """How long the device ran work inside the range: 0 for a gap of the device, not for a gap of one stream."""


def gap_cause(trace: Trace, device: int, start_ns: int, end_ns: int, top: int = 12) -> GapCause | None:
    """Why a device did nothing in [start, end) of raw ns; None when it has work there or the range is empty.

    The range may be a part of a gap (a window cut it).
    """
    lo, hi = device_gaps(trace, device, (start_ns, end_ns))
    if len(lo) != 1 or int(lo[0]) != start_ns or int(hi[0]) != end_ns or device_span(trace, device) is None:
        return None
    return _cause(trace, device, _split(trace, device, lo, hi), top)


def lane_gap_cause(trace: Trace, lane: int, start_ns: int, end_ns: int, top: int = 12) -> GapCause | None:
    """Why one stream did nothing in [start, end) of raw ns: as :func:`gap_cause` for the stream's own next work.

    The device may run other streams meanwhile: ``busy_elsewhere_ns`` says how long. None when the lane is no stream or
    the range is empty.
    """
    item = trace.lanes[lane]
    if item.kind is not LaneKind.STREAM or end_ns <= start_ns or not (gpu_work(trace).lane == lane).any():
        return None
    one = np.array([start_ns], np.int64), np.array([end_ns], np.int64)
    device = ABSENT if item.device is None else item.device
    return _cause(trace, device, _lane_split(trace, lane, *one), top)


def _cause(trace: Trace, device: int, split: _Split, top: int) -> GapCause:
    work = gpu_work(trace)
    start_ns, end_ns = int(split.start[0]), int(split.end[0])
    call, before, after = int(split.call[0]), int(split.before[0]), int(split.after[0])
    which = np.flatnonzero(split.dependency > 0)
    kind = DEPENDENCY_CAUSES[int(_dependency_kind(trace, device, split, which)[0])] if len(which) else ""
    dependency = int(split.dependency[0])
    parts = IdleSplit(
        int(split.host[0]),
        int(split.launch[0]),
        dependency,
        int(split.unknown[0]),
        _sum_host(trace, split),
        {kind: dependency} if kind else {},
        _has_sync_events(trace),
    )
    lane = trace.lane_of(call).id if call >= 0 else -1
    return GapCause(
        gap=Gap(
            start_ns,
            end_ns,
            int(work.index[before]) if before >= 0 else -1,
            int(work.index[after]) if after >= 0 else -1,
            int(split.whole_start[0]),
            int(work.start_ns[after]) if after >= 0 else end_ns,
        ),
        split=parts,
        call_row=call,
        lane=lane,
        call_start_ns=int(trace.slices.start_ns[call]) if call >= 0 else None,
        drained_by=int(draining_call(trace, split.whole_start)[0]) if parts.host_ns else -1,
        dependency_cause=kind,
        inferred=bool(kind) and not parts.has_sync_events,
        host=host_activity(trace, lane, start_ns, end_ns, top) if lane >= 0 else (),
        busy_elsewhere_ns=total(*clip(*unions(trace, device).busy, start_ns, end_ns)),
    )
