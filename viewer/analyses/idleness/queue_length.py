"""How much work waits in the launch queue of each stream: +1 when its launch call begins, -1 when the work starts.

A graph launch adds all its work at once. Work that starts before its call (clocks that disagree) is left out, and so is
work without a launch call in the file.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

MOST_STREAMS: Final = 8
"""Streams of a device that are counted, those with most work first."""


def queue_devices(trace: Trace) -> tuple[int, ...]:
    """Devices that may have launch queues: their streams hold work, and the file holds runtime calls. Cheap."""

    def build() -> tuple[int, ...]:
        if not (trace.slices.paint == Paint.RUNTIME).any():
            return ()
        found = {
            ABSENT if lane.device is None else lane.device
            for lane in trace.lanes
            if lane.kind is LaneKind.STREAM and lane.row_end > lane.row_begin
        }
        return tuple(sorted(found))

    return trace.memo("queue_devices", build)


def queue_lengths(trace: Trace, device: int) -> tuple[tuple[str, I64, I64], ...]:
    """(stream, times, lengths) of each stream of a device, the stream with most work first. Built once.

    Times are int64[n] raw ns, strictly ascending; from each on the queue is as long as ``lengths`` says.
    """
    return trace.memo(("queue_lengths", device), lambda: _build(trace, device))


def _build(trace: Trace, device: int) -> tuple[tuple[str, I64, I64], ...]:
    work, call_of = gpu_work(trace), links(trace).call_of
    part = work.of_device(device)
    at = part.start + np.flatnonzero(call_of[part] >= 0)
    begun = trace.slices.start_ns[call_of[at]]
    fits = begun <= work.start_ns[at]
    at, begun = at[fits], begun[fits]
    lanes, count = np.unique(work.lane[at], return_counts=True)
    out = []
    for lane in lanes[np.argsort(-count, kind="stable")][:MOST_STREAMS]:
        mine = work.lane[at] == lane
        times = np.concatenate((begun[mine], work.start_ns[at][mine]))
        steps = np.concatenate((np.ones(int(mine.sum()), np.int64), np.full(int(mine.sum()), -1, np.int64)))
        when, place = np.unique(times, return_inverse=True)
        change = np.zeros(len(when), np.int64)
        np.add.at(change, place, steps)
        length = np.cumsum(change)
        moved = np.flatnonzero(change != 0)
        stream = trace.lanes[int(lane)].stream
        if len(moved):
            out.append((f"stream {'?' if stream is None else stream}", when[moved], length[moved]))
    return tuple(out)
