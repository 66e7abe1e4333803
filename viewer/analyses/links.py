"""Which call launched which GPU work: (process, correlation) equal and correlation not 0, whatever the call's name."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.names import named_where, remembered
from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.jit.join import AMBIGUOUS, join
from viewer.jit.ordering import group_stable
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

_QUEUES_WORK = re.compile(
    r"""^(
      (cuda|cu|hip)(Module|Ext|ExtModule|ExtMultiKernel|MultiKernel)?Launch(?!HostFunc)\w*  # kernels
    | (cuda|cu|hip)GraphLaunch\w*
    | (cuda|cu|hip)(Drv)?Mem(cpy|set)\w*
    | hccl\w*Launch\w* | aclrt(Launch|Memcpy|Memset)\w* | aclnn\w*Launch\w*
    | zeCommandListAppend(LaunchKernel|LaunchCooperativeKernel|MemoryCopy|MemoryFill)\w*
    | (ur|pi)Enqueue(KernelLaunch|USMMemcpy|USMFill)\w*
    )$""",
    re.VERBOSE | re.IGNORECASE,
)


@remembered
def queues_work(name: str) -> bool:
    """Whether a call of this name launches a kernel or a graph, copies or fills (no query, wait or event call)."""
    return _QUEUES_WORK.match(name) is not None


@dataclass(frozen=True, eq=False)
class Links:
    """Calls and the GPU work they launched. Rows are rows of ``slices``.

    ``call_of[i]`` is the row of the call of ``gpu_work(trace).index[i]``, -1 without one. ``calls`` are the host calls
    in row order (calls linked to GPU work, or named as a launch, copy, fill or graph launch); ``first_gpu_of_call`` is
    aligned with it: the row of the call's GPU work that starts first, -1 without any.
    """

    call_of: I64
    calls: I64
    first_gpu_of_call: I64
    linked: int
    """GPU events with a call."""
    gpu_without_call: int
    calls_without_gpu: int
    """Host calls without GPU work in the file."""
    started_before_call: int
    """GPU events that start before their call begins (clock trouble; kept out of averages by their users)."""
    ambiguous: int
    """GPU events whose correlation id belongs to calls of several processes: the file does not say whose they are."""
    host_call_ns: int
    """Sum of the durations of the host calls, each once."""
    _offset: I64
    _gpu: I64
    _by_time: I64
    _time_lane: NDArray[np.int32]
    _time_start: I64

    def gpu_of(self, call_row: int) -> I64:
        """GPU work that a call launched: rows ordered by start; empty for anything that is no linked call."""
        at = int(np.searchsorted(self.calls, call_row))
        if at >= len(self.calls) or self.calls[at] != call_row:
            return np.empty(0, np.int64)
        return self._gpu[self._offset[at] : self._offset[at + 1]]

    def calls_between(self, lane: int, start_ns: int, end_ns: int) -> I64:
        """Rows of the host calls of one lane that begin in [start, end), by time."""
        a = int(np.searchsorted(self._time_lane, lane, "left"))
        b = int(np.searchsorted(self._time_lane, lane, "right"))
        first, last = np.searchsorted(self._time_start[a:b], (start_ns, end_ns), "left")
        return self.calls[self._by_time[a + int(first) : a + int(last)]]

    def last_ends(self, trace: Trace) -> tuple[I64, I64]:
        """(rows of the calls that launched GPU work, when the last work of each ended in raw ns), in row order."""
        owners = np.flatnonzero(self._offset[1:] > self._offset[:-1])
        if not len(owners):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        end = trace.slices.start_ns[self._gpu] + trace.slices.dur_ns[self._gpu]
        return self.calls[owners], np.maximum.reduceat(end, self._offset[owners])


def links(trace: Trace) -> Links:
    """The links of a trace. Built once."""
    return trace.memo("links", lambda: _build(trace))


def lanes_of_rows(trace: Trace, rows: I64) -> NDArray[np.int32]:
    """The lane id of each row of ``slices``."""
    if not len(rows):
        return np.empty(0, np.int32)
    lanes: NDArray[np.int32] = trace.rows.lane[np.searchsorted(trace.rows.begin, rows, "right") - 1]
    return lanes


def process_numbers(trace: Trace) -> I64:
    """A number per lane that is equal for lanes of one process (lanes of the GPU have none of their own: -1)."""
    numbers: dict[str, int] = {}
    on_gpu = (LaneKind.STREAM, LaneKind.STREAM_MARKS)
    return np.array(
        [-1 if lane.kind in on_gpu else numbers.setdefault(lane.pid, len(numbers)) for lane in trace.lanes], np.int64
    )


def _build(trace: Trace) -> Links:
    s, work = trace.slices, gpu_work(trace)
    rows = np.flatnonzero(s.paint == Paint.RUNTIME)
    named = named_where(trace, (Paint.RUNTIME,), queues_work)
    corr = s.corr[rows]
    keyed = rows[(corr != ABSENT) & (corr != 0)]
    lane = lanes_of_rows(trace, keyed)
    process = process_numbers(trace)[lane] if len(keyed) else np.empty(0, np.int64)
    start = s.start_ns[keyed]
    gpu_corr = s.corr[work.index]
    linkable = np.flatnonzero((gpu_corr != ABSENT) & (gpu_corr != 0))
    found = join(s.corr[keyed], start, start + s.dur_ns[keyed], process, gpu_corr[linkable], work.start_ns[linkable])
    has = found >= 0
    call_of = np.full(len(work), -1, np.int64)
    call_of[linkable[has]] = keyed[found[has]]

    is_call = np.zeros(len(trace), np.bool_)
    is_call[rows[named[s.name[rows]]]] = True
    is_call[call_of[call_of >= 0]] = True
    calls = np.flatnonzero(is_call)

    gpu_at = np.flatnonzero(call_of >= 0)
    slot = (np.cumsum(is_call, dtype=np.int32) - 1)[call_of[gpu_at]]
    order, offset = group_stable(slot, len(calls))
    if len(work.devices) > 1:  # positions follow (device, start): a call may own work on several devices
        order = np.lexsort((gpu_at, work.start_ns[gpu_at], slot))
    gpu = work.index[gpu_at[order]]
    first = np.full(len(calls), -1, np.int64)
    owners = np.flatnonzero(offset[1:] > offset[:-1])
    first[owners] = gpu[offset[owners]]

    call_lane, call_start = lanes_of_rows(trace, calls), s.start_ns[calls]
    by_time = np.lexsort((call_start, call_lane))
    return Links(
        call_of=call_of,
        calls=calls,
        first_gpu_of_call=first,
        linked=len(gpu_at),
        gpu_without_call=len(work) - len(gpu_at),
        calls_without_gpu=int(len(calls) - len(owners)),
        started_before_call=int((work.start_ns[gpu_at] < s.start_ns[call_of[gpu_at]]).sum()),
        ambiguous=int((found == AMBIGUOUS).sum()),
        host_call_ns=int(s.dur_ns[calls].sum()),
        _offset=offset,
        _gpu=gpu,
        _by_time=by_time,
        _time_lane=call_lane[by_time],
        _time_start=call_start[by_time],
    )


def call_of_gpu(trace: Trace, row: int) -> int:
    """The row of the call that launched a piece of GPU work, -1 without one."""
    at = gpu_work(trace).position(row)
    return int(links(trace).call_of[at]) if at >= 0 else -1


def launched_under(trace: Trace, row: int) -> I64:
    """GPU work launched by calls that begin inside a CPU slice, on its thread (a call: its own work); by start."""
    s, found = trace.slices, links(trace)
    lane = trace.lane_of(row)
    if lane.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS):
        return np.empty(0, np.int64)
    if s.paint[row] == Paint.RUNTIME:
        return found.gpu_of(row)
    start = int(s.start_ns[row])
    calls = found.calls_between(lane.id, start, start + int(s.dur_ns[row]))
    parts = [found.gpu_of(int(call)) for call in calls] if len(calls) < 64 else [_gpu_of_many(found, calls)]
    rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return rows[np.argsort(s.start_ns[rows], kind="stable")]


def _gpu_of_many(found: Links, calls: I64) -> I64:
    at = np.searchsorted(found.calls, calls)
    counts = found._offset[at + 1] - found._offset[at]
    shift = np.repeat(found._offset[at] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    gpu: I64 = found._gpu[np.arange(int(counts.sum())) + shift]
    return gpu
