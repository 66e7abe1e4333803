"""The GPU work of a trace in time order: the arrays that every other analysis starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.jit.intervals import running_end, union_of
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]
Intervals = tuple[I64, I64]

ALL_BITS = 0xFF
FAR_NS = 60_000_000_000
"""A file whose other GPU work starts later than this does not count from 0: work at 0 without a duration is untimed."""


@dataclass(frozen=True, eq=False)
class GpuWork:
    """GPU work sorted by (device, start, end, row); all arrays have one length. Times are raw ns of the file.

    ``index`` are rows of ``slices``; ``lane`` is the lane id; ``paint`` the class (COMPUTE, COMM or MEMORY);
    ``device`` is ABSENT where the file states none. ``latest`` gives for each position the position in the same device
    of the slice that ends last among those up to here. ``untimed`` counts GPU work that was left out because it has
    neither a time nor a duration.
    """

    index: I64
    start_ns: I64
    end_ns: I64
    paint: U8
    lane: I32
    device: I64
    latest: I64
    devices: tuple[int, ...]
    untimed: int
    _begin: dict[int, tuple[int, int]]
    _position: I64

    def __len__(self) -> int:
        return len(self.index)

    def of_device(self, device: int) -> slice:
        """Where the work of one device lies in the arrays; an empty slice for an unknown device."""
        return slice(*self._begin.get(device, (0, 0)))

    def position(self, row: int) -> int:
        """Where a row of ``slices`` lies in the arrays; -1 when it is no (timed) GPU work."""
        return int(self._position[row]) if 0 <= row < len(self._position) else -1

    def positions(self, rows: I64) -> I64:
        """As :meth:`position` for rows of ``slices`` that exist."""
        out: I64 = self._position[rows]
        return out


def gpu_work(trace: Trace) -> GpuWork:
    """The GPU work of a trace: every slice on a STREAM lane. Built once per trace."""
    return trace.memo("gpu_work", lambda: _build(trace))


def _build(trace: Trace) -> GpuWork:
    rows, s = trace.rows, trace.slices
    kinds = np.array([lane.kind == LaneKind.STREAM for lane in trace.lanes], np.bool_)
    on_stream = kinds[rows.lane] if len(rows) else np.empty(0, np.bool_)
    counts = (rows.end - rows.begin)[on_stream]
    row_lane = np.repeat(rows.lane[on_stream], counts).astype(np.int32)
    first = (
        np.repeat(rows.begin[on_stream] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if len(counts) else 0
    )
    index = np.arange(int(counts.sum()), dtype=np.int64) + first
    start = s.start_ns[index]
    length = s.dur_ns[index]
    untimed = (start == 0) & (length == 0)
    left_out = 0
    if untimed.any() and not untimed.all() and int(np.abs(start[~untimed]).min()) > FAR_NS:
        left_out = int(untimed.sum())
        index, row_lane, start, length = index[~untimed], row_lane[~untimed], start[~untimed], length[~untimed]
    lane_device = np.array([ABSENT if lane.device is None else lane.device for lane in trace.lanes], np.int64)
    device = lane_device[row_lane] if len(index) else np.empty(0, np.int64)

    # Lanes are runs sorted by start, so a stable sort by start alone merges them; ties by end are rare.
    order = np.argsort(start, kind="stable")
    devices = tuple(int(d) for d in np.unique(device))
    if len(devices) > 1:
        order = order[np.argsort(device[order], kind="stable")]
    end = start + length
    st, en = start[order], end[order]
    if bool(((st[1:] == st[:-1]) & (en[1:] < en[:-1])).any()):
        order = np.lexsort((index, end, start, device))
        st, en = start[order], end[order]
    index, device = index[order], device[order]
    begin: dict[int, tuple[int, int]] = {}
    latest = np.empty(len(index), np.int64)
    for d in devices:
        a, b = (int(x) for x in np.searchsorted(device, (d, d), "left"))
        b = int(np.searchsorted(device, d, "right"))
        begin[d] = (a, b)
        latest[a:b] = running_end(st[a:b], en[a:b]) + a
    position = np.full(len(trace), -1, np.int64)
    position[index] = np.arange(len(index))
    return GpuWork(index, st, en, s.paint[index], row_lane[order], device, latest, devices, left_out, begin, position)


@dataclass(frozen=True, eq=False)
class Unions:
    """Disjoint intervals (start, end) of GPU work by class; ``busy`` is all of it, ``work`` is compute and comm."""

    comm: Intervals
    compute: Intervals
    memory: Intervals
    work: Intervals
    busy: Intervals


def unions(trace: Trace, device: int) -> Unions:
    """Unions by class of all the work of one device, raw ns. Built once per trace and device."""

    def build() -> Unions:
        work = gpu_work(trace)
        part = work.of_device(device)
        comm, compute, memory = 1 << Paint.COMM, 1 << Paint.COMPUTE, 1 << Paint.MEMORY
        masks = (comm, compute, memory, comm | compute, comm | compute | memory)
        return Unions(*(union_of(work.start_ns[part], work.end_ns[part], work.paint[part], mask) for mask in masks))

    return trace.memo(("unions", device), build)
