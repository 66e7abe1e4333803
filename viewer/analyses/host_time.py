"""What the threads of the host did when, and which calls waited for the device."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.names import flags_where
from viewer.base.ids import Paint
from viewer.jit.intervals import deepest, running_end
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

HOST_CAUSES = ("python", "operator", "runtime call", "annotation", "profiler overhead", "other", "data loading")
UNTRACED, SYNC_DRAIN = "untraced", "sync-drain"
_KIND_OF_PAINT = {
    Paint.PYTHON: 0,
    Paint.OPERATOR: 1,
    Paint.RUNTIME: 2,
    Paint.ANNOTATION: 3,
    Paint.OVERHEAD: 4,
}
_OTHER_KIND, _LOADING_KIND = 5, 6
_LOADING = re.compile(r"dataloader", re.IGNORECASE)
_BLOCKING = re.compile(
    r"^(?:(?:cuda|hip)(?:Device|Stream|Event|Thread)Synchronize|cu(?:Ctx|Stream|Event)Synchronize"
    r"|(?:cuda|hip)Memcpy(?:2D|3D|ToSymbol|FromSymbol|DtoH|HtoD|DtoD|WithStream)?|cuMemcpy(?:DtoH|HtoD|DtoD)?(?:_v2)?"
    r"|(?:cuda|hip)(?:Free|HostFree|FreeHost)|zeCommandQueueSynchronize|ze(?:Event|Fence)HostSynchronize)(?:_v\d+|_spt|_ptsz)?$",
    re.IGNORECASE,
)


def blocks_host(name: str) -> bool:
    """Whether a call of this name waits for the device (synchronisations, synchronous copies, frees)."""
    return _BLOCKING.match(name) is not None


@dataclass(frozen=True, eq=False)
class ThreadTime:
    """A thread as segments: from ``start`` on, ``row`` is the deepest open slice (-1: none) and ``kind`` its cause."""

    start: I64
    row: I64
    kind: I64


def thread_time(trace: Trace, lane: int) -> ThreadTime:
    """What one thread did when; kinds index :data:`HOST_CAUSES`. Built once per lane."""
    return trace.memo(("thread_time", lane), lambda: _thread_time(trace, lane))


def _thread_time(trace: Trace, lane_id: int) -> ThreadTime:
    s, lane = trace.slices, trace.lanes[lane_id]
    a = int(trace.rows.begin[lane.row_begin])
    b = int(trace.rows.end[lane.row_end - 1])
    # The lane is a run of levels, each sorted by start: a stable sort by start leaves the upper level first.
    order = np.argsort(s.start_ns[a:b], kind="stable")
    rows = a + order
    start = s.start_ns[rows]
    seg_start, seg_at = np.empty(2 * len(rows) + 1, np.int64), np.empty(2 * len(rows) + 1, np.int64)
    n = deepest(start, start + s.dur_ns[rows], seg_start, seg_at)
    seg_start, seg_at = seg_start[:n].copy(), seg_at[:n]
    seg_row = np.where(seg_at >= 0, rows[np.maximum(seg_at, 0)], -1)
    kinds = _kinds(trace, lane_id)
    kind = np.where(seg_row >= 0, kinds[np.maximum(seg_row - a, 0)], -1)
    return ThreadTime(seg_start, seg_row, kind)


def _kinds(trace: Trace, lane_id: int) -> I64:
    """The cause that each slice of a lane stands for; everything inside a data loader's range is data loading."""
    s, lane = trace.slices, trace.lanes[lane_id]
    a = int(trace.rows.begin[lane.row_begin])
    b = int(trace.rows.end[lane.row_end - 1])
    by_paint = np.full(256, _OTHER_KIND, np.int64)
    for paint, kind in _KIND_OF_PAINT.items():
        by_paint[paint] = kind
    kinds = by_paint[s.paint[a:b]]
    names = s.name[a:b]
    inherits = flags_where(trace, names, _LOADING.search)[names]
    if inherits.any():
        for row in range(lane.row_begin, lane.row_end):
            p, q = int(trace.rows.begin[row]) - a, int(trace.rows.end[row]) - a
            parent = s.parent[a + p : a + q].astype(np.int64) - a
            inherits[p:q] |= np.where(parent >= 0, inherits[np.maximum(parent, 0)], False)
        kinds[inherits] = _LOADING_KIND
    out: I64 = kinds
    return out


def _blocking_calls(trace: Trace) -> tuple[I64, I64, I64, I64]:
    """(rows, starts, ends, position of the latest end so far) of the blocking calls of all threads, by start."""

    def build() -> tuple[I64, I64, I64, I64]:
        s = trace.slices
        rows = np.flatnonzero(s.paint == Paint.RUNTIME)
        rows = rows[flags_where(trace, s.name[rows], blocks_host)[s.name[rows]]]
        rows = rows[np.argsort(s.start_ns[rows], kind="stable")]
        start = s.start_ns[rows]
        end = start + s.dur_ns[rows]
        return rows, start, end, running_end(start, end)

    return trace.memo("blocking_calls", build)


def draining_call(trace: Trace, at: I64) -> I64:
    """For each instant at which the device ran dry the blocking call that was waiting then; -1 without one."""
    rows, start, end, latest = _blocking_calls(trace)
    if not len(rows):
        return np.full(len(at), -1, np.int64)
    i = np.searchsorted(start, at, "left") - 1
    j = latest[np.maximum(i, 0)]
    waiting = (i >= 0) & (end[j] >= at)
    out: I64 = np.where(waiting, rows[j], -1)
    return out


@dataclass(frozen=True, slots=True)
class HostSlice:
    """What the host thread did in a gap: a slice and its own time (children excluded) inside the gap, ns.

    ``row`` is -1 for time in which no slice was open.
    """

    row: int
    name: str
    paint: Paint
    self_ns: int


def host_activity(trace: Trace, lane: int, start_ns: int, end_ns: int, top: int = 12) -> tuple[HostSlice, ...]:
    """What a thread did in [start, end) of raw ns, by own time, longest first; runs of one slice are one entry."""
    time = thread_time(trace, lane)
    a = max(0, int(np.searchsorted(time.start, start_ns, "right")) - 1)
    b = int(np.searchsorted(time.start, end_ns, "left"))
    starts = time.start[a:b]
    ends = np.append(starts[1:], end_ns)
    own = np.clip(ends, start_ns, end_ns) - np.clip(starts, start_ns, end_ns)
    sums: dict[int, int] = {}
    for row, ns in zip(time.row[a:b], own, strict=True):
        if ns > 0:
            sums[int(row)] = sums.get(int(row), 0) + int(ns)
    missing = end_ns - start_ns - sum(sums.values())
    if missing > 0:
        sums[-1] = sums.get(-1, 0) + missing
    found = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:top]
    s = trace.slices
    return tuple(
        HostSlice(row, trace.name(row) if row >= 0 else "", Paint(int(s.paint[row])) if row >= 0 else Paint.OTHER, ns)
        for row, ns in found
    )
