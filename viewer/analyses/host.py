"""The host side of GPU work: its launch, the stack that launched it, a CPU slice's children and self time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.links import call_of_gpu, links
from viewer.base.ids import LaneKind, Paint
from viewer.jit.intervals import clip, total, union
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
_MODULE = "nn.Module: "


@dataclass(frozen=True, slots=True)
class Launch:
    """The call that launched a piece of GPU work. Raw ns of the file.

    ``delay_ns`` = GPU start - begin of the call; None unless this is the first work that the call started (a graph
    launch owns many), or when the work starts before its call. ``queue_ns`` = GPU start - end of the call, 0 when it
    started while the call still ran: the time from the call to its work. ``behind_ns`` is the part of that in which
    the same stream ran other work. ``siblings`` is how much GPU work the call launched in all.
    """

    call_row: int
    call_name: str
    lane: int
    start_ns: int
    end_ns: int
    delay_ns: int | None
    queue_ns: int
    behind_ns: int
    started_before_call: bool
    first_of_call: bool
    siblings: int


def launch_of(trace: Trace, row: int) -> Launch | None:
    """The launch of a piece of GPU work; None when the file links none to it, or the slice is no GPU work."""
    call = call_of_gpu(trace, row)
    if call < 0:
        return None
    s = trace.slices
    siblings = links(trace).gpu_of(call)
    begin = int(s.start_ns[call])
    end = begin + int(s.dur_ns[call])
    start = int(s.start_ns[row])
    first = int(siblings[0]) == row
    early = start < begin
    return Launch(
        call_row=call,
        call_name=trace.name(call),
        lane=trace.lane_of(call).id,
        start_ns=begin,
        end_ns=end,
        delay_ns=start - begin if first and not early else None,
        queue_ns=max(0, start - end),
        behind_ns=_busy_on_lane(trace, row, end, start),
        started_before_call=early,
        first_of_call=first,
        siblings=len(siblings),
    )


def _busy_on_lane(trace: Trace, row: int, lo: int, hi: int) -> int:
    """Length of [lo, hi) in which the lane of a GPU slice runs other work."""
    if hi <= lo:
        return 0
    lane, s = trace.lane_of(row), trace.slices
    parts = [trace.window_rows(r, lo, hi) for r in range(lane.row_begin, lane.row_end)]
    rows = np.concatenate([np.arange(a, b) for a, b in parts])
    rows = rows[np.argsort(s.start_ns[rows], kind="stable")]
    start = s.start_ns[rows]
    busy_start, busy_end = union(start, start + s.dur_ns[rows])
    return total(*clip(busy_start, busy_end, lo, hi))


@dataclass(frozen=True, slots=True)
class HostStack:
    """Slices of one thread that enclose a slice, outermost first, the slice itself left out: rows of ``slices``.

    ``modules`` are the Python frames that stand for a module ("nn.Module: Name_0"); they are in ``python`` too.
    """

    rows: tuple[int, ...]
    operators: tuple[int, ...]
    python: tuple[int, ...]
    annotations: tuple[int, ...]
    modules: tuple[int, ...]

    @property
    def operator(self) -> int:
        """The innermost operator, -1 without one."""
        return self.operators[-1] if self.operators else -1


def stack_of(trace: Trace, row: int) -> HostStack | None:
    """What encloses a CPU slice on its thread; for GPU work what encloses its launch call. None without a launch."""
    s = trace.slices
    if trace.lane_of(row).kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS):
        row = call_of_gpu(trace, row)
        if row < 0:
            return None
    found: list[int] = []
    at = int(s.parent[row])
    while at >= 0:
        found.append(at)
        at = int(s.parent[at])
    rows = tuple(reversed(found))

    def of(paint: Paint) -> tuple[int, ...]:
        return tuple(r for r in rows if s.paint[r] == paint)

    python = of(Paint.PYTHON)
    return HostStack(
        rows,
        of(Paint.OPERATOR),
        python,
        of(Paint.ANNOTATION),
        tuple(r for r in python if trace.name(r).startswith(_MODULE)),
    )


def children(trace: Trace, row: int) -> I64:
    """Rows of the slices directly inside a CPU slice on its thread, by start."""
    lane, level = trace.lane_of(row), trace.row_of(row) + 1
    if lane.kind is not LaneKind.THREAD or level >= lane.row_end:
        return np.empty(0, np.int64)
    s = trace.slices
    start = int(s.start_ns[row])
    begin, end = int(trace.rows.begin[level]), int(trace.rows.end[level])
    a = begin + int(np.searchsorted(s.start_ns[begin:end], start, "left"))
    b = begin + int(np.searchsorted(s.start_ns[begin:end], start + int(s.dur_ns[row]), "left"))
    return a + np.flatnonzero(s.parent[a:b] == row)


def self_time(trace: Trace, row: int) -> int:
    """Duration of a slice - length of the union of its children inside it, ns."""
    rows, s = children(trace, row), trace.slices
    start, length = int(s.start_ns[row]), int(s.dur_ns[row])
    begins = s.start_ns[rows]
    inner_start, inner_end = union(begins, begins + s.dur_ns[rows])
    return length - total(*clip(inner_start, inner_end, start, start + length))
