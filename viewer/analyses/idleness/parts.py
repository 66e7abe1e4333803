"""Gaps cut into parts, in order: from when until when the device was idle for which cause, and which slice tells it.

The parts of a gap cover it exactly. Host time goes to what the launching thread was at (its deepest open slice, or the
data loader, collection, compilation or allocation around it); where nothing was open there, to what the thread that
launched the work before was at. What else follows a drained queue belongs to the blocking call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host_time import (
    ALLOCATOR,
    FIRST_SPECIAL,
    HOST_CAUSES,
    SYNC_DRAIN,
    UNTRACED,
    ThreadTime,
    allocates,
    draining_call,
    thread_time,
)
from viewer.analyses.idleness.split import DEPENDENCY_CAUSES, Split, dependency_kind, device_split, split_among
from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import flags_where
from viewer.base.ids import Paint
from viewer.jit.grouping import sum_by_group
from viewer.jit.intervals import union
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

LAUNCH, SLOW_START, UNKNOWN = "launch", "slow start", "unknown"
CAUSES: Final = (*HOST_CAUSES, UNTRACED, SYNC_DRAIN, LAUNCH, SLOW_START, *DEPENDENCY_CAUSES, UNKNOWN)
"""Every cause of idle time. The first ones, to sync-drain, are the host's. A launch that takes much longer than the
file's others after its call returned is a slow start: the work was queued, and what it waited for is not recorded."""
LEAST_LATENCY_NS: Final = 20_000
TIMES_LATENCY: Final = 4
CODE: Final = {name: i for i, name in enumerate(CAUSES)}
HOST: Final = (*HOST_CAUSES, UNTRACED, SYNC_DRAIN)
_UNTRACED, _DRAIN = CODE[UNTRACED], CODE[SYNC_DRAIN]
_FIRST_DEPENDENCY = CODE[DEPENDENCY_CAUSES[0]]


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of gaps by (gap, start); arrays of one length.

    ``gap`` is the position of the gap in its split, [start, end) raw ns, ``cause`` an index into :data:`CAUSES`,
    ``row`` the slice that tells it: the blocking call that drained the queue, the data loader's range, the operator,
    the launch call, the work that was waited for; -1 where nothing is recorded.
    """

    gap: I64
    start: I64
    end: I64
    cause: I64
    row: I64

    def sums(self) -> I64:
        """int64[len(CAUSES)]: ns by cause."""
        out = np.zeros(len(CAUSES), np.int64)
        sum_by_group(self.cause, self.end - self.start, out)
        return out

    def by_gap(self, gaps: int, among: Sequence[str]) -> I64:
        """int64[gaps]: ns of the given causes in each gap."""
        out = np.zeros(gaps, np.int64)
        wanted = np.zeros(len(CAUSES), np.bool_)
        wanted[[CODE[name] for name in among]] = True
        sum_by_group(np.where(wanted[self.cause], self.gap, -1), self.end - self.start, out)
        return out


def gap_parts(trace: Trace, device: int, split: Split) -> Parts:
    """The parts of the gaps of a split."""
    pieces = [*_host_parts(trace, split)]
    which = np.flatnonzero(split.launch > 0)
    if len(which):
        pieces += _launch_parts(trace, device, split, which)
    which = np.flatnonzero(split.dependency > 0)
    if len(which):
        kind = _FIRST_DEPENDENCY + dependency_kind(trace, device, split, which)
        pieces.append(Parts(which, split.start[which], split.end[which], kind, _awaited(trace, split, which, kind)))
    which = np.flatnonzero(split.unknown > 0)
    if len(which):
        pieces.append(_piece(split, which, split.start[which], UNKNOWN, np.full(len(which), -1, np.int64)))
    if not pieces:
        none = np.empty(0, np.int64)
        return Parts(none, none, none, none, none)
    gap, start, end, cause, row = (
        np.concatenate([getattr(p, name) for p in pieces]) for name in ("gap", "start", "end", "cause", "row")
    )
    order = np.lexsort((start, gap))
    return _joined(Parts(gap[order], start[order], end[order], cause[order], row[order]))


def whole_split(trace: Trace, device: int) -> Split:
    """The split of all gaps of a device. Built once."""
    return trace.memo(("whole_split", device), lambda: device_split(trace, device, *device_gaps(trace, device)))


def idle_parts(trace: Trace, device: int) -> tuple[Split, Parts]:
    """All gaps of a device and their parts. Built once."""

    def build() -> tuple[Split, Parts]:
        split = whole_split(trace, device)
        return split, gap_parts(trace, device, split)

    return trace.memo(("idle_parts", device), build)


def starving_parts(trace: Trace, device: int) -> tuple[I64, Split, Parts] | None:
    """The work of a device's computing streams, all gaps between it, and their parts; None without such work.

    The work is positions in ``gpu_work`` by start. Built once.
    """

    def build() -> tuple[I64, Split, Parts] | None:
        work = gpu_work(trace)
        part = work.of_device(device)
        lanes = np.unique(work.lane[part][work.paint[part] == Paint.COMPUTE])
        mine = part.start + np.flatnonzero(np.isin(work.lane[part], lanes))
        if not len(mine):
            return None
        busy = union(work.start_ns[mine], work.end_ns[mine])
        split = split_among(trace, mine, busy[1][:-1].copy(), busy[0][1:].copy())
        return mine, split, gap_parts(trace, device, split)

    return trace.memo(("starving_parts", device), build)


def launch_latency(trace: Trace, device: int) -> int:
    """How long after its call's return work may start and still count as launched without waiting, ns.

    :data:`TIMES_LATENCY` times the median over the work that found the device idle, at least
    :data:`LEAST_LATENCY_NS` (launches take 2 to 10 us; a graph, a slow host or a tracer add to that). Built once.
    """

    def build() -> int:
        split = whole_split(trace, device)
        which = np.flatnonzero(split.launch > 0)
        if not len(which):
            return LEAST_LATENCY_NS
        waited = np.maximum(split.end[which] - _returned(trace, split.call[which]), 0)
        return max(LEAST_LATENCY_NS, TIMES_LATENCY * int(np.median(waited)))

    return trace.memo(("launch_latency", device), build)


def _returned(trace: Trace, calls: I64) -> I64:
    end: I64 = trace.slices.start_ns[calls] + trace.slices.dur_ns[calls]
    return end


def _launch_parts(trace: Trace, device: int, split: Split, which: I64) -> list[Parts]:
    """Launching, and what is left when the work starts long after its call returned."""
    start, end = split.start[which] + split.host[which], split.end[which]
    call = split.call[which]
    begun = gpu_work(trace).start_ns[split.after[which]]
    due = _returned(trace, call) + launch_latency(trace, device)
    until = np.where(begun > due, np.clip(due, start, end), end)
    out = []
    for name, lo, hi in ((LAUNCH, start, until), (SLOW_START, until, end)):
        here = np.flatnonzero(hi > lo)
        out.append(Parts(which[here], lo[here], hi[here], np.full(len(here), CODE[name], np.int64), call[here]))
    return out


def _piece(split: Split, which: I64, start: I64, cause: str, row: I64) -> Parts:
    return Parts(which, start, split.end[which], np.full(len(which), CODE[cause], np.int64), row)


def _awaited(trace: Trace, split: Split, which: I64, kind: I64) -> I64:
    """The slice that tells a dependency: the launch call in flight, else the work before."""
    index, before = gpu_work(trace).index, split.before[which]
    row: I64 = np.where(before >= 0, index[np.maximum(before, 0)], -1) if len(index) else before
    return np.where(kind == CODE["launch in flight"], split.call[which], row)


def _joined(parts: Parts) -> Parts:
    """Neighbouring parts of one cause as one, told by the longest of them."""
    if not len(parts.gap):
        return parts
    same = (parts.gap[1:] == parts.gap[:-1]) & (parts.cause[1:] == parts.cause[:-1])
    first = np.flatnonzero(np.concatenate(([True], ~same)))
    if len(first) == len(parts.gap):
        return parts
    last = np.append(first[1:], len(parts.gap)) - 1
    # Pieces of one slice inside a run count together: the slice with the largest sum tells the cause.
    told = parts.row[first].copy()
    several = np.flatnonzero(last > first)
    count = (last - first + 1)[several]
    run = np.repeat(np.arange(len(several)), count)
    at = np.arange(len(run)) + np.repeat(first[several] - (np.cumsum(count) - count), count)
    order = np.lexsort((parts.row[at], run))
    at, run = at[order], run[order]
    row = parts.row[at]
    begin = np.flatnonzero(np.concatenate(([True], (run[1:] != run[:-1]) | (row[1:] != row[:-1]))))
    sums = np.add.reduceat((parts.end - parts.start)[at], begin)
    by_size = np.lexsort((sums, run[begin]))
    told[several] = row[begin][by_size[np.searchsorted(run[begin][by_size], np.arange(len(several)), "right") - 1]]
    return Parts(parts.gap[first], parts.start[first], parts.end[last], parts.cause[first], told)


def _host_parts(trace: Trace, split: Split) -> list[Parts]:
    hosted = np.flatnonzero(split.host > 0)
    if not len(hosted):
        return []
    lanes = lanes_of_rows(trace, split.call[hosted])
    call_before = np.where(split.before[hosted] >= 0, links(trace).call_of[np.maximum(split.before[hosted], 0)], -1)
    lane_before = np.where(call_before >= 0, lanes_of_rows(trace, np.maximum(call_before, 0)), -1)
    out = []
    for lane in np.unique(lanes):
        mine = np.flatnonzero(lanes == lane)
        gaps = hosted[mine]
        lo = split.start[gaps]
        at, start, end, kind, row = segments(thread_time(trace, int(lane)), lo, lo + split.host[gaps])
        at, start, end, kind, row = _filled(trace, int(lane), lane_before[mine], at, start, end, kind, row)
        kind = np.where(kind < 0, _UNTRACED, kind)
        began = trace.slices.start_ns[split.call[gaps]]
        drain = draining_call(trace, int(lane), split.whole_start[gaps], began)[at]
        drained = (drain >= 0) & ((kind < FIRST_SPECIAL) | (kind == _UNTRACED))
        kind = np.where(drained, np.where(_frees(trace, drain), CODE[ALLOCATOR], _DRAIN), kind)
        out.append(Parts(gaps[at], start, end, kind, np.where(drained, drain, row)))
    return out


def _frees(trace: Trace, rows: I64) -> NDArray[np.bool_]:
    """Whether a blocking call is one of the allocator's."""
    names = trace.slices.name[np.maximum(rows, 0)]
    found: NDArray[np.bool_] = flags_where(trace, names, allocates)[names] & (rows >= 0)
    return found


def _filled(
    trace: Trace, lane: int, lane_before: I64, at: I64, start: I64, end: I64, kind: I64, row: I64
) -> tuple[I64, I64, I64, I64, I64]:
    """Segments where nothing was open on a thread, replaced by what the thread was at that launched the work before."""
    other = lane_before[at]
    empty = (kind < 0) & (other >= 0) & (other != lane)
    if not empty.any():
        return at, start, end, kind, row
    kept = ~empty
    pieces = [(at[kept], start[kept], end[kept], kind[kept], row[kept])]
    for number in np.unique(other[empty]):
        which = np.flatnonzero(empty & (other == number))
        i, lo, hi, k, r = segments(thread_time(trace, int(number)), start[which], end[which])
        pieces.append((at[which][i], lo, hi, k, r))
    a, s, e, k, r = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return a, s, e, k, r


def segments(time: ThreadTime, lo: I64, hi: I64) -> tuple[I64, I64, I64, I64, I64]:
    """What a thread was at in some intervals, lo < hi: (interval, start, end, kind, slice that tells it) in order.

    The pieces of an interval cover it; kind is -1 where nothing was open.
    """
    n = len(time.start)
    a = np.searchsorted(time.start, lo, "right") - 1
    b = np.maximum(np.searchsorted(time.start, hi, "left"), a + 1)
    count = b - a
    which = np.repeat(np.arange(len(lo)), count)
    at = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(a, count)
    if not n:
        nothing = np.full(len(which), -1, np.int64)
        return which, lo.copy(), hi.copy(), nothing, nothing
    safe, following = np.maximum(at, 0), np.minimum(at + 1, n - 1)
    start = np.where(at >= 0, np.maximum(time.start[safe], lo[which]), lo[which])
    end = np.where(at + 1 < n, np.minimum(time.start[following], hi[which]), hi[which])
    kind = np.where(at >= 0, time.kind[safe], -1).astype(np.int64)
    return which, start, end, kind, np.where(at >= 0, time.told_by[safe], -1).astype(np.int64)
