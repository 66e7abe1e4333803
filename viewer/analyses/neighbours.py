"""What surrounds a slice: the one before and after it on its lane, and what ran at the same time on the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work, unions
from viewer.base.ids import LaneKind, Paint
from viewer.jit.intervals import clip, gaps, total, union
from viewer.store.trace import Trace


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A slice beside another. ``gap_ns`` is the time between the two, negative when they overlap."""

    row: int
    name: str
    start_ns: int
    end_ns: int
    gap_ns: int


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Neighbours on the same stream (all its sub-rows), or on the same level of a thread; None at the lane's ends.

    ``before``: of the slices that start earlier, the one that ends last; its gap = this start - that end. ``after``:
    the first to start next; its gap = that start - this end.
    """

    before: Neighbour | None
    after: Neighbour | None


def before_after(trace: Trace, row: int) -> BeforeAfter:
    """The neighbours of a slice on its lane."""
    s = trace.slices
    lane = trace.lane_of(row)
    start, end = int(s.start_ns[row]), int(s.start_ns[row]) + int(s.dur_ns[row])
    own = trace.row_of(row)
    overlapping = lane.kind in (LaneKind.STREAM, LaneKind.ASYNC)
    rows = range(lane.row_begin, lane.row_end) if overlapping else (own,)
    before = after = -1
    for r in rows:
        a, b = int(trace.rows.begin[r]), int(trace.rows.end[r])
        # Slices of a row are disjoint; of equal starts on two rows the upper one came first.
        at = row if r == own else a + int(np.searchsorted(s.start_ns[a:b], start, "right" if r < own else "left"))
        left, right = at - 1, at + 1 if r == own else at
        if left >= a and (before < 0 or _end(trace, left) >= _end(trace, before)):
            before = left
        if right < b and (after < 0 or int(s.start_ns[right]) < int(s.start_ns[after])):
            after = right
    return BeforeAfter(
        _neighbour(trace, before, start - _end(trace, before)) if before >= 0 else None,
        _neighbour(trace, after, int(s.start_ns[after]) - end) if after >= 0 else None,
    )


def _end(trace: Trace, row: int) -> int:
    return int(trace.slices.start_ns[row]) + int(trace.slices.dur_ns[row])


def _neighbour(trace: Trace, row: int, gap: int) -> Neighbour:
    return Neighbour(row, trace.name(row), int(trace.slices.start_ns[row]), _end(trace, row), gap)


@dataclass(frozen=True, slots=True)
class Concurrent:
    """Other GPU work of one name that ran during a slice.

    ``overlap_ns`` is the length of the union of its overlaps; ``row`` the run with the longest one.
    """

    name: str
    paint: Paint
    count: int
    overlap_ns: int
    row: int


@dataclass(frozen=True, slots=True)
class Company:
    """What ran on the device while a slice did, longest overlap first.

    ``exposed_ns``: the part of the slice that no compute covers (communication), or no compute and no communication
    (memory); None for compute, which nothing hides. ``alone_ns``: the part in which nothing else ran on the device.
    Exposed times of slices that run at once share instants: they do not add up to the device's figure.
    """

    others: tuple[Concurrent, ...]
    exposed_ns: int | None
    alone_ns: int


def concurrent(trace: Trace, row: int) -> Company | None:
    """What ran at the same time as a piece of GPU work on its device, on any stream; None for other slices."""
    work = gpu_work(trace)
    own = work.position(row)
    if own < 0:
        return None
    device = int(work.device[own])
    part = work.of_device(device)
    start, end = int(work.start_ns[own]), int(work.end_ns[own])
    reach = work.end_ns[work.latest[part]]
    first = part.start + int(np.searchsorted(reach, start, "right"))
    last = part.start + int(np.searchsorted(work.start_ns[part], end, "left"))
    at = np.arange(first, max(first, last))
    at = at[(work.end_ns[at] > start) & (work.end_ns[at] > work.start_ns[at]) & (at != own)]
    lo, hi = np.maximum(work.start_ns[at], start), np.minimum(work.end_ns[at], end)
    merged = union(lo, hi)
    by_name: dict[tuple[int, int], NDArray[np.int64]] = {}
    keys = trace.slices.name[work.index[at]].astype(np.int64) * 16 + work.paint[at]
    for key in np.unique(keys):
        by_name[int(key) // 16, int(key) % 16] = np.flatnonzero(keys == key)
    others = []
    for (name, paint), members in by_name.items():
        longest = members[int(np.argmax(hi[members] - lo[members]))]
        covered = total(*union(lo[members], hi[members]))
        others.append(Concurrent(trace.text(name), Paint(paint), len(members), covered, int(work.index[at[longest]])))
    others.sort(key=lambda c: (-c.overlap_ns, c.name))
    return Company(
        tuple(others), _exposed(trace, device, int(work.paint[own]), start, end), end - start - total(*merged)
    )


def _exposed(trace: Trace, device: int, paint: int, start: int, end: int) -> int | None:
    if paint == Paint.COMPUTE:
        return None
    whole = unions(trace, device)
    hiding = whole.compute if paint == Paint.COMM else whole.work
    return total(*gaps(*clip(*hiding, start, end), start, end)) if end > start else 0
