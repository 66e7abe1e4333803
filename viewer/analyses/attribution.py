"""Where the time of a device went: compute, exposed communication, exposed memory, idle; its blocks and its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.numbering import numbered_values
from viewer.base.ids import Paint
from viewer.jit.intervals import gaps, group_stats
from viewer.jit.states import BLOCK, block_sums, class_states, sums_before, sums_by_part
from viewer.store.trace import Trace

Window = tuple[int, int]
"""[start, end) in raw ns of the file."""


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """Figures of one device over a window, ns; U(x) is the length of the union of the intervals of x.

    comm, compute, memory, busy = U of each class and of all; overlap = U(comm and compute at once); comm_exposed =
    comm - overlap; memory_exposed = U(memory - compute - comm); span = length of the window, or last end - first start
    of GPU work; idle = span - busy. compute + comm_exposed + memory_exposed + idle = span, asserted when built.
    ``gpu_events`` counts the GPU work that touches the window.
    """

    gpu_events: int
    comm_ns: int
    compute_ns: int
    memory_ns: int
    overlap_ns: int
    comm_exposed_ns: int
    memory_exposed_ns: int
    busy_ns: int
    span_ns: int
    idle_ns: int

    def __post_init__(self) -> None:
        parts = self.compute_ns + self.comm_exposed_ns + self.memory_exposed_ns + self.idle_ns
        if parts != self.span_ns or min(self.idle_ns, self.comm_exposed_ns, self.memory_exposed_ns) < 0:
            raise AssertionError(f"the parts of the span add up to {parts}, not to {self.span_ns} ns")


def _figures(spent: Sequence[int], gpu_events: int, span_ns: int) -> DeviceFigures:
    """The figures of a span: how long each set of classes ran in it, ns, by the bits of ``jit.states``."""
    _, comm, compute, both, memory, comm_memory, compute_memory, all_three = spent
    busy = sum(spent[1:])
    overlap = both + all_three
    return DeviceFigures(
        gpu_events=gpu_events,
        comm_ns=comm + comm_memory + overlap,
        compute_ns=compute + compute_memory + overlap,
        memory_ns=memory + comm_memory + compute_memory + all_three,
        overlap_ns=overlap,
        comm_exposed_ns=comm + comm_memory,
        memory_exposed_ns=memory,
        busy_ns=busy,
        span_ns=span_ns,
        idle_ns=span_ns - busy,
    )


def figures_of(start: NDArray[np.int64], end: NDArray[np.int64], paint: NDArray[np.uint8]) -> DeviceFigures | None:
    """The figures of a set of intervals sorted by start over their own span; None when there are none."""
    return figures_of_parts(start, end, paint, np.array([0, len(start)], np.int64))[0] if len(start) else None


def figures_of_parts(
    start: NDArray[np.int64], end: NDArray[np.int64], paint: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> list[DeviceFigures]:
    """As :func:`figures_of` for the parts [bounds[i], bounds[i + 1]) of the intervals, of which none is empty."""
    found = np.zeros((len(bounds) - 1, 9), np.int64)
    scratch = 2 * int(np.diff(bounds).max(initial=0))
    sums_by_part(start, end, paint, bounds, np.empty(scratch, np.int64), np.empty(scratch, np.uint8), found)
    return [
        _figures(spent[:8], count, spent[8] - first)
        for spent, count, first in zip(
            found.tolist(), np.diff(bounds).tolist(), start[bounds[:-1]].tolist(), strict=True
        )
    ]


@dataclass(frozen=True, eq=False)
class States:
    """Which classes run when: ``state`` uint8[n] (bits of ``jit.states``) from each ``time`` int64[n] to the next.

    Before the first time nothing runs, and after the last.
    """

    time: NDArray[np.int64]
    state: NDArray[np.uint8]
    _blocks: NDArray[np.int64]

    def before(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[len(at), 8]: how long each state lasted before some instants."""
        out = np.zeros((len(at), 8), np.int64)
        sums_before(self.time, self.state, self._blocks, at, out)
        return out

    def whole(self) -> list[int]:
        """How long each state lasted in all."""
        found: list[int] = self.before(self.time[-1:])[0].tolist() if len(self.time) else [0] * 8
        return found


def states(trace: Trace, device: int) -> States:
    """Which classes of a device's work run when, raw ns. Built once per trace and device."""

    def build() -> States:
        work = gpu_work(trace)
        part = work.of_device(device)
        return _states_of(work.start_ns[part], work.end_ns[part], work.paint[part])

    return trace.memo(("states", device), build)


def _states_of(start: NDArray[np.int64], end: NDArray[np.int64], paint: NDArray[np.uint8]) -> States:
    time, state = np.empty(2 * len(start), np.int64), np.empty(2 * len(start), np.uint8)
    n = class_states(start, end, paint, time, state)
    time, state = time[:n].copy(), state[:n].copy()
    blocks = np.zeros((max(0, n - 1) // BLOCK + 1, 8), np.int64)
    block_sums(time, state, blocks)
    return States(time, state, blocks)


def device_span(trace: Trace, device: int) -> Window | None:
    """First start and last end of a device's GPU work, raw ns; None without any."""
    work = gpu_work(trace)
    part = work.of_device(device)
    if part.start == part.stop:
        return None
    return int(work.start_ns[part.start]), int(work.end_ns[work.latest[part.stop - 1]])


def touching(trace: Trace, device: int, window: Window) -> int:
    """How much GPU work of a device touches a window; work without a duration does when it starts inside."""
    lo, hi = window
    work = gpu_work(trace)
    part = work.of_device(device)

    def sorted_ends() -> NDArray[np.int64]:
        return np.sort(work.end_ns[part])

    starts, ends = work.start_ns[part], trace.memo(("sorted_ends", device), sorted_ends)
    a, b = np.searchsorted(starts, lo, "left"), np.searchsorted(starts, lo, "right")
    empty_at_lo = int((work.end_ns[part][a:b] == lo).sum())
    return int(np.searchsorted(starts, hi, "left")) - int(np.searchsorted(ends, lo, "right")) + empty_at_lo


def attribute(trace: Trace, device: int, window: Window | None = None) -> DeviceFigures | None:
    """The figures of one device over a window of raw ns, or over its whole span.

    Intervals are cut at both borders of a window. None when the device has no GPU work at all, or the window is empty.
    """
    span = device_span(trace, device)
    if span is None or (window is not None and window[1] <= window[0]):
        return None
    found = states(trace, device)
    if window is None:
        part = gpu_work(trace).of_device(device)
        return _figures(found.whole(), part.stop - part.start, span[1] - span[0])
    before = found.before(np.array(window, np.int64))
    return _figures((before[1] - before[0]).tolist(), touching(trace, device, window), window[1] - window[0])


def attribute_many(trace: Trace, device: int, start: NDArray[np.int64], end: NDArray[np.int64]) -> ManyFigures | None:
    """Parts of many windows [start, end) of raw ns at once; None when the device has no GPU work at all."""
    if device_span(trace, device) is None:
        return None
    found = states(trace, device)
    spent = found.before(np.ascontiguousarray(end)) - found.before(np.ascontiguousarray(start))
    busy = spent[:, 1:].sum(axis=1)
    compute = spent[:, [2, 3, 6, 7]].sum(axis=1)
    return ManyFigures(end - start, compute, spent[:, [1, 5]].sum(axis=1), spent[:, 4].copy(), end - start - busy)


@dataclass(frozen=True, eq=False)
class ManyFigures:
    """As :class:`DeviceFigures` for many windows; int64[windows] each."""

    span_ns: NDArray[np.int64]
    compute_ns: NDArray[np.int64]
    comm_exposed_ns: NDArray[np.int64]
    memory_exposed_ns: NDArray[np.int64]
    idle_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """All runs of one kernel on a device inside a window.

    ``sum_ns`` adds their durations cut to the window, ``union_ns`` counts instants shared by several runs once;
    ``longest_row`` is the row of ``slices`` of the longest run, with its uncut raw times.
    """

    name: str
    paint: Paint
    count: int
    sum_ns: int
    union_ns: int
    longest_row: int
    longest_start_ns: int
    longest_end_ns: int


def largest_blocks(trace: Trace, device: int, window: Window | None = None, top: int = 10) -> list[Block]:
    """The kernels with the largest sum of durations (cut to the window), largest first, ties by name."""
    work = gpu_work(trace)
    part = work.of_device(device)
    if part.start == part.stop:
        return []
    lo, hi = window or _EVERYTHING
    # One kernel can have two classes (metadata made some of its runs communication): two blocks.
    names = trace.memo(("block_keys", device), lambda: _block_keys(trace, device))
    stats = group_stats(names[1], work.start_ns[part], work.end_ns[part], len(names[0]), lo, hi)
    order = np.argsort(-stats[:, 1], kind="stable")
    blocks: list[Block] = []
    for g in order:
        if not stats[g, 0] or (len(blocks) >= top and int(stats[g, 1]) < blocks[-1].sum_ns):
            break
        at = part.start + int(stats[g, 6])
        row = int(work.index[at])
        blocks.append(
            Block(
                trace.name(row),
                Paint(int(work.paint[at])),
                int(stats[g, 0]),
                int(stats[g, 1]),
                int(stats[g, 2]),
                row,
                int(work.start_ns[at]),
                int(work.end_ns[at]),
            )
        )
        if len(blocks) >= top + _MOST_TIES:
            break
    return sorted(blocks, key=lambda b: (-b.sum_ns, b.name))[:top]


_EVERYTHING = (-(2**62), 2**62)
_MOST_TIES = 1_000


def _block_keys(trace: Trace, device: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    work = gpu_work(trace)
    part = work.of_device(device)
    key = trace.slices.name[work.index[part]].astype(np.int64) * 16 + work.paint[part]
    found = numbered_values(key)
    return found.keys, found.number


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch [start, end) of raw ns in which nothing runs on the device, cut to the window.

    ``before_row`` ended last before it, ``after_row`` starts first after it (rows of ``slices``, -1 when there is none,
    both may lie outside the window). ``whole_start_ns`` and ``whole_end_ns`` are its uncut borders; they equal the
    window's where the GPU work of the file ends.
    """

    start_ns: int
    end_ns: int
    before_row: int
    after_row: int
    whole_start_ns: int
    whole_end_ns: int

    @property
    def length_ns(self) -> int:
        """Length inside the window."""
        return self.end_ns - self.start_ns


def device_gaps(trace: Trace, device: int, window: Window | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All gaps of a device in time order (start, end; raw ns, cut to the window). Their lengths sum to idle_ns."""
    span = window or device_span(trace, device)
    if span is None or span[1] <= span[0]:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    found: tuple[NDArray[np.int64], NDArray[np.int64]] = gaps(*unions(trace, device).busy, *span)
    return found


def gap_at(trace: Trace, device: int, start_ns: int, end_ns: int) -> Gap:
    """The gap that covers [start, end) of raw ns, with its neighbours and its uncut borders."""
    work = gpu_work(trace)
    part = work.of_device(device)
    # Work without a duration is work: it may stand alone at a gap's border or inside it.
    after = part.start + int(np.searchsorted(work.start_ns[part], end_ns, "left"))
    before = int(work.latest[after - 1]) if after > part.start else -1
    whole_start = min(start_ns, int(work.end_ns[before])) if before >= 0 else start_ns
    whole_end = int(work.start_ns[after]) if after < part.stop else end_ns
    return Gap(
        start_ns,
        end_ns,
        int(work.index[before]) if before >= 0 else -1,
        int(work.index[after]) if after < part.stop else -1,
        whole_start,
        whole_end,
    )


def largest(values: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Places of the ``most`` largest, largest first, ties in order."""
    at = np.arange(len(values))
    if len(values) > 2 * most > 0:  # only those are sorted that may be among them
        at = np.flatnonzero(values >= np.partition(values, len(values) - most)[len(values) - most])
    return at[np.argsort(-values[at], kind="stable")[:most]]


def largest_gaps(trace: Trace, device: int, window: Window | None = None, top: int = 10) -> list[Gap]:
    """The longest gaps of a device, longest first, ties in time order."""
    start, end = device_gaps(trace, device, window)
    return [gap_at(trace, device, int(start[i]), int(end[i])) for i in largest(end - start, top)]
