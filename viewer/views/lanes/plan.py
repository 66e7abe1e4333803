"""Which sampled line each pixel row of the canvas shows: the vertical half of a frame.

It depends on scroll position and size alone, so panning and zooming in time reuse it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.frames import LaneRow, PlacedRow, Placement
from viewer.base.ids import LaneKind
from viewer.store.session import Session
from viewer.views.lanes.tree import HEADER_PAD, LANE_PAD, is_collapsed


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Rows of one input that are in sight: row r of its tables goes to a line. int64[q] each."""

    rows: NDArray[np.int64]
    lines: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Line:
    """One sampled line: its place in logical px from the top of the content. ``lane`` is None for a summary strip.

    For a pinned row it is the place that it would have if it scrolled: ``y - top`` is where it shows.
    """

    y: int
    height: int
    lane: LaneRow | None


NO_LINES: Final = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Plan:
    """Pixel rows of a canvas in device pixels; see viewer.jit.compose.compose for the arrays.

    ``line_px`` are int64[lines] each: the first pixel row of every line, how many it would fill, uncut, and the
    first one of those that show (the others lie behind pinned rows).
    """

    lines: tuple[Line, ...]
    line_of: NDArray[np.int32]
    ground_of: NDArray[np.uint8]
    under_of: NDArray[np.uint8]
    sources: dict[int, SourceRows]
    line_px: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    counters: tuple[int, ...] = ()
    """Which lines are counters."""
    _named: dict[int, dict[int, SourceRows]] = field(default_factory=dict)

    def named(self, min_height: int) -> dict[int, SourceRows]:
        """The part of ``sources`` on lines of lanes that are at least so tall."""
        found = self._named.get(min_height)
        if found is None:
            tall = np.array([line.lane is not None and line.height >= min_height for line in self.lines], np.bool_)
            kept = {s: (where, tall[where.lines]) for s, where in self.sources.items()}
            found = {s: SourceRows(w.rows[keep], w.lines[keep]) for s, (w, keep) in kept.items() if keep.any()}
            self._named[min_height] = found
        return found


def plan(session: Session, placement: Placement, top: int, height: int, dpr: float) -> Plan:
    """Plan the rows that show between ``top`` and ``top + height`` (logical px of the content)."""
    tall = max(1, round(height * dpr))
    line_of = np.full(tall, -1, np.int32)
    ground_of = np.zeros(tall, np.uint8)
    under_of = np.zeros(tall, np.uint8)
    lines: list[Line] = []
    rows: dict[int, list[int]] = {}
    targets: dict[int, list[int]] = {}
    above: list[int] = []
    hair = max(1, round(dpr))
    behind = placement.pinned_height

    def device(y: float, least: int) -> int:
        return min(max(round(y * dpr), least), tall)

    def add_line(y: int, sub: int, lane: LaneRow | None, members: list[tuple[int, int]], least: int) -> None:
        ya, yb = device(y - top, least), device(y - top + sub, least)
        if sub >= 6 and lane is not None and yb < tall:
            yb = max(yb - hair, ya)  # sub-rows stay apart
        if ya >= yb:
            return
        line_of[ya:yb] = len(lines)
        under_of[max(ya, yb - (2 if sub >= 8 else 1) * hair) : yb] = 1
        for source, row in members:
            rows.setdefault(source, []).append(row)
            targets.setdefault(source, []).append(len(lines))
        lines.append(Line(y, sub, lane))
        above.append(least)

    for index in placement.in_sight(top, height):
        placed = placement.rows[index]
        shift = top if placed.pinned else 0  # pinned rows do not scroll
        least = 0 if placed.pinned else round(behind * dpr)
        begin = placed.y + shift
        if begin + placed.height <= top + (0 if placed.pinned else behind) or begin >= top + height:
            continue
        ground = 2 if placed.lane is None and not placed.section else index & 1
        ground_of[device(begin - top, least) : device(begin - top + placed.height, least)] = ground
        if placed.lane is None:
            if is_collapsed(placement, index):
                add_line(begin + HEADER_PAD, placed.row_height, None, summary_rows(session, placed), least)
            continue
        for depth in range(placed.lane.sub_rows):
            y = begin + LANE_PAD + depth * placed.row_height
            if y + placed.row_height > top and y < top + height:
                add_line(y, placed.row_height, placed.lane, rows_at(session, placed.lane, depth), least)
    sources = {
        source: SourceRows(np.array(rows[source], np.int64), np.array(targets[source], np.int64)) for source in rows
    }
    first = np.array([round((line.y - top) * dpr) for line in lines], np.int64)
    tall_px = np.array([round(line.height * dpr) for line in lines], np.int64)
    counters = tuple(i for i, line in enumerate(lines) if line.lane is not None and line.lane.sampled)
    line_px = (first, tall_px, np.array(above, np.int64))
    return Plan(tuple(lines), line_of, ground_of, under_of, sources, line_px, counters)


def rows_at(session: Session, lane: LaneRow, depth: int) -> list[tuple[int, int]]:
    """(input, row of its ``rows`` table) of every part of a lane that is that deep."""
    out = []
    for source, lane_id in lane.parts:
        part = session.inputs[source].trace.lanes[lane_id]
        if part.row_begin + depth < part.row_end:
            out.append((source, part.row_begin + depth))
    return out


def summary_rows(session: Session, header: PlacedRow) -> list[tuple[int, int]]:
    """(input, row) of all GPU work of a group or folded section; of everything else at depth 0 when it has none."""
    inside = [lane for lane in header.group.lanes if not header.section or lane.section == header.section]
    lanes = [lane for lane in inside if lane.kind is LaneKind.STREAM]
    if lanes:
        return [pair for lane in lanes for depth in range(lane.sub_rows) for pair in rows_at(session, lane, depth)]
    return [pair for lane in inside for pair in rows_at(session, lane, 0)]
