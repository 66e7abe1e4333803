"""What lies under a point of the timeline, and where a slice lies on it. Binary searches only."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.base.frames import Box, Hit, PlacedRow, Placement
from viewer.base.ids import LaneKind, Paint
from viewer.base.selection import GapRef, SliceRef, TimeRange
from viewer.jit.row_search import first_from, first_touching
from viewer.store.session import Input, Session
from viewer.store.trace import Trace
from viewer.views.lanes.plan import rows_at, summary_rows
from viewer.views.lanes.tree import HEADER_PAD, LANE_PAD, is_collapsed

NEAR_PX: Final = 3.0
"""A slice that is this close to the point counts as hit."""
_MOST_IN_PIXEL: Final = 4096
"""Slices of one pixel that are compared; beyond, the pixel is a blur and any of them will do."""


def time_of(item: Input, index: int) -> TimeRange:
    """Session time of a slice."""
    s = item.trace.slices
    start = item.clock.to_session(int(s.start_ns[index]))
    return TimeRange(start, start + int(s.dur_ns[index]))


def time_at(window: TimeRange, width: int, x: float) -> int:
    """The instant (session ns) that contains the point x of a canvas ``width`` px wide."""
    return window.start_ns + int(np.floor(x * window.length_ns / width))


def x_of(window: TimeRange, width: int, time_ns: int) -> float:
    """Logical px of an instant; the difference is exact before it becomes a float."""
    return (time_ns - window.start_ns) * width / window.length_ns


def hit(
    session: Session, placement: Placement, window: TimeRange, width: int, x: float, y_content: float
) -> Hit | None:
    """See LanePainter.hit."""
    index = bisect_right(placement.rows, y_content, key=lambda r: r.y) - 1
    placed = placement.at(y_content)
    if placed is None:
        return None
    if placed.lane is None:
        if not is_collapsed(placement, index):
            return Hit(placed)
        rows, y = summary_rows(session, placed), placed.y + HEADER_PAD
    else:
        depth = int((y_content - placed.y - LANE_PAD) // placed.row_height)
        depth = min(max(depth, 0), placed.lane.sub_rows - 1)
        rows, y = rows_at(session, placed.lane, depth), placed.y + LANE_PAD + depth * placed.row_height
    found = _nearest(session, rows, window, width, x)
    if found is not None:
        return Hit(placed, slice=found, box=_box(session, found, placed, y, window, width))
    if placed.lane is not None and placed.lane.sampled:
        return Hit(placed, time_ns=time_at(window, width, x))
    if placed.lane is not None and placed.lane.kind is LaneKind.STREAM:
        return Hit(placed, gap=_gap(session, placed, time_at(window, width, x)))
    return Hit(placed)


def _nearest(session: Session, rows: list[tuple[int, int]], window: TimeRange, width: int, x: float) -> SliceRef | None:
    """The slice with the most time in the pixel around x, else the nearest within NEAR_PX."""
    pixel = max(1, window.length_ns // width)
    at = time_at(window, width, x)
    near = int(np.ceil(NEAR_PX * window.length_ns / width))
    best: SliceRef | None = None
    best_key = (near + 1, 0)  # (distance from the instant, -time inside its pixel)
    for source, row in rows:
        item = session.inputs[source]
        s, table = item.trace.slices, item.trace.rows
        lo, hi = int(table.begin[row]), int(table.end[row])
        raw = item.clock.to_raw(at)
        a = int(first_touching(s.start_ns, s.dur_ns, lo, hi, raw - near))
        b = int(first_from(s.start_ns, a, hi, raw + near + 1))
        if b - a > _MOST_IN_PIXEL:
            a = int(first_touching(s.start_ns, s.dur_ns, a, b, raw - pixel // 2))
            b = min(max(int(first_from(s.start_ns, a, b, raw + pixel // 2 + 1)), a + 1), a + _MOST_IN_PIXEL)
        starts = s.start_ns[a:b]
        ends = starts + s.dur_ns[a:b]
        inside = np.minimum(ends, raw + pixel - pixel // 2) - np.maximum(starts, raw - pixel // 2)
        away = np.maximum(np.maximum(starts - raw, raw + 1 - ends), 0)
        # All that touch the pixel are equally near: the longest of them is what its colour shows.
        away[inside > 0] = 0
        if not len(starts):
            continue
        k = int(np.lexsort((-inside, away))[0])
        key = (int(away[k]), -int(inside[k]))
        if key < best_key:
            best_key, best = key, SliceRef(source, a + k)
    return best


def _gap(session: Session, placed: PlacedRow, at: int) -> GapRef | None:
    """The gap around an instant: from the last end before it, over all sub-rows of one input, to the next start."""
    assert placed.lane is not None
    for source, lane_id in placed.lane.parts:
        item = session.inputs[source]
        s, table = item.trace.slices, item.trace.rows
        lane = item.trace.lanes[lane_id]
        raw = item.clock.to_raw(at)
        last_end: int | None = None
        next_start: int | None = None
        for row in range(lane.row_begin, lane.row_end):
            lo, hi = int(table.begin[row]), int(table.end[row])
            k = int(first_from(s.start_ns, lo, hi, raw + 1))
            if k > lo:
                end = int(s.start_ns[k - 1] + s.dur_ns[k - 1])
                last_end = end if last_end is None else max(last_end, end)
            if k < hi:
                start = int(s.start_ns[k])
                next_start = start if next_start is None else min(next_start, start)
        if last_end is not None and next_start is not None and last_end <= raw < next_start:
            return GapRef(
                source, lane_id, TimeRange(item.clock.to_session(last_end), item.clock.to_session(next_start))
            )
    return None


def box_of(session: Session, placement: Placement, ref: SliceRef, window: TimeRange, width: int) -> Box | None:
    """See LanePainter.box_of."""
    item = session.inputs[ref.input]
    row = item.trace.row_of(ref.index)
    lane_id = int(item.trace.rows.lane[row])
    depth = int(item.trace.rows.depth[row])
    group = session.group_of(ref.input).id
    for index, placed in enumerate(placement.rows):
        if placed.group.id != group:
            continue
        if placed.lane is None:
            if is_collapsed(placement, index) and (ref.input, row) in summary_rows(session, placed):
                return _box(session, ref, placed, placed.y + HEADER_PAD, window, width)
        elif (ref.input, lane_id) in placed.lane.parts:
            return _box(session, ref, placed, placed.y + LANE_PAD + depth * placed.row_height, window, width)
    return None


def _box(session: Session, ref: SliceRef, placed: PlacedRow, y: int, window: TimeRange, width: int) -> Box | None:
    item = session.inputs[ref.input]
    time = time_of(item, ref.index)
    if time.end_ns < window.start_ns or time.start_ns > window.end_ns:
        return None
    x0 = max(x_of(window, width, time.start_ns), -4.0)
    x1 = min(x_of(window, width, time.end_ns), width + 4.0)
    paint = Paint(int(item.trace.slices.paint[ref.index]))
    return Box(x0, y, max(x1 - x0, 1.0), placed.row_height, item.trace.name(ref.index), paint, ref)


def same_name(session: Session, ref: SliceRef) -> dict[int, NDArray[np.int64]]:
    """Rows of ``slices`` with the name of a slice, ascending, per input that has any. Scans names: for a worker."""
    name = session.inputs[ref.input].trace.name(ref.index)
    out = {}
    for item in session.inputs:
        string = _string_of(item.trace, name)
        if string < 0:
            continue
        rows = np.flatnonzero(item.trace.slices.name == string)
        if len(rows):
            out[item.index] = rows.astype(np.int64)
    return out


def _string_of(trace: Trace, name: str) -> int:
    import pyarrow.compute as pc

    return int(pc.index(trace.strings, pa.scalar(name, trace.strings.type)).as_py())
