"""Starts and ends of slices near a point of the timeline: what measuring and dragging snap to. Binary searches only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.base.frames import PlacedRow, Placement
from viewer.base.selection import SliceRef
from viewer.base.selection import TimeRange as Window
from viewer.jit.row_search import first_from
from viewer.store.session import Session
from viewer.views.lanes.hit import time_at, x_of
from viewer.views.lanes.plan import rows_at
from viewer.views.lanes.tree import LANE_PAD

NEAR_PX: Final = 8.0
"""An edge of the lane under the pointer is taken from this close, one of another lane from half of it."""
EDGES_MOST: Final = 400
"""So many rows in sight are looked through at most."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An instant to measure from: an edge of a slice, or none (``slice`` is None) where nothing was near.

    ``time_ns`` is in the time of the session that was asked; ``y`` is the middle of its sub-row, px of the content.
    """

    time_ns: int
    y: float
    slice: SliceRef | None = None
    at_end: bool = False

    def text(self, session: Session) -> str:
        """``"end of gemm"``; "" for no edge."""
        if self.slice is None:
            return ""
        name = session.inputs[self.slice.input].trace.name(self.slice.index) or "(no name)"
        return f"{'end' if self.at_end else 'start'} of {name}"


def edge_at(
    session: Session,
    placement: Placement,
    window: Window,
    width: int,
    x: float,
    y_content: float,
    *,
    sight: tuple[int, int] | None = None,
) -> Edge:
    """The nearest edge: of the sub-row under the point, then of its lane, then of any lane in ``sight`` (top, bottom).

    Without one that is near enough the instant itself.
    """
    here = placement.at(y_content)
    at = time_at(window, width, x)
    if here is not None and here.lane is not None:
        depth = min(max(int((y_content - here.y - LANE_PAD) // here.row_height), 0), here.lane.sub_rows - 1)
        found = _nearest(session, here, [depth], window, width, at, NEAR_PX)
        if found is None:
            found = _nearest(session, here, range(here.lane.sub_rows), window, width, at, NEAR_PX)
        if found is not None:
            return found
    if sight is not None:
        best: Edge | None = None
        looked = 0
        for row in placement.rows:
            if row.lane is None or row.y + row.height <= sight[0] or row.y >= sight[1] or looked > EDGES_MOST:
                continue
            looked += row.lane.sub_rows
            found = _nearest(session, row, range(row.lane.sub_rows), window, width, at, NEAR_PX / 2)
            if found is not None and (best is None or _away(found, at, y_content) < _away(best, at, y_content)):
                best = found
        if best is not None:
            return best
    return Edge(at, y_content)


def _away(edge: Edge, at: int, y: float) -> tuple[int, float]:
    return abs(edge.time_ns - at), abs(edge.y - y)


def _nearest(
    session: Session, row: PlacedRow, depths: list[int] | range, window: Window, width: int, at: int, near_px: float
) -> Edge | None:
    """The nearest edge among some sub-rows of a lane, within so many px."""
    assert row.lane is not None
    best: Edge | None = None
    for depth in depths:
        y = row.y + LANE_PAD + (depth + 0.5) * row.row_height
        for source, table_row in rows_at(session, row.lane, depth):
            item = session.inputs[source]
            s, rows = item.trace.slices, item.trace.rows
            begin, end = int(rows.begin[table_row]), int(rows.end[table_row])
            k = int(first_from(s.start_ns, begin, end, item.clock.to_raw(at)))
            for i in (k - 1, k):
                if not begin <= i < end:
                    continue
                start = item.clock.to_session(int(s.start_ns[i]))
                for time, at_end in ((start, False), (start + int(s.dur_ns[i]), True)):
                    if best is None or abs(time - at) < abs(best.time_ns - at):
                        best = Edge(time, y, SliceRef(source, i), at_end)
    if best is None or abs(x_of(window, width, best.time_ns) - x_of(window, width, at)) > near_px:
        return None
    return best
