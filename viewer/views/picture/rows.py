"""Which lanes a picture shows, how tall they are, and what occurs in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from viewer.base.frames import LaneGroup, LaneRow, PlacedRow, Placement
from viewer.base.ids import LaneKind, Paint
from viewer.base.scene import Bounds
from viewer.base.selection import TimeRange
from viewer.store.session import Session
from viewer.views.lanes.counters import has_values
from viewer.views.lanes.tree import place

LEAST_ROW: Final = 8
LEAST_DEEP_ROW: Final = 5
HEADER: Final = 21
LEAST_COUNTER: Final = 18
LEAST_MEMORY: Final = 36
DEEP_LANE: Final = 130
"""Plain px that a deep lane takes at most, unless its sub-rows would get too low."""
READABLE_ROW: Final = 15
MOST_ROW: Final = 40
_ORDER: Final = (
    LaneKind.STREAM,
    LaneKind.COUNTER,
    LaneKind.THREAD,
    LaneKind.STREAM_MARKS,
    LaneKind.ASYNC,
    LaneKind.OTHER,
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of a picture.

    Attributes:
        placement: what is drawn, from the top of the lanes on.
        top: scroll position in it.
        hidden: lanes that have something in the window and are not shown.
        quiet: lanes that have nothing in the window and are not shown.
        hidden_groups: rank groups of which no lane is shown.
    """

    placement: Placement
    top: int = 0
    hidden: int = 0
    quiet: int = 0
    hidden_groups: int = 0

    def y(self, row: PlacedRow) -> int:
        """Where a row lies, from the upper border of the lanes; a pinned one does not scroll."""
        return row.y if row.pinned else row.y - self.top

    def least(self, row: PlacedRow) -> int:
        """From where on a row shows: the others lie behind the pinned ones."""
        return 0 if row.pinned else self.placement.pinned_height

    def span(self, row: PlacedRow, area: Bounds) -> tuple[float, float] | None:
        """Upper and lower border of what shows of a row in the area of the lanes; None when nothing does."""
        top = max(area.y + self.least(row), area.y + self.y(row))
        bottom = min(area.bottom, area.y + self.y(row) + row.height)
        return (top, bottom) if bottom > top else None


def levels_used(session: Session, lane: LaneRow, window: TimeRange) -> int:
    """Levels of a lane down to the deepest that has a slice (a value) in the window; 0 when none has."""
    if lane.sampled:
        return int(has_values(session, lane, window))
    deepest = 0
    for part, lane_id in lane.parts:
        item = session.inputs[part]
        home = item.trace.lanes[lane_id]
        start, end = item.clock.to_raw(window.start_ns), item.clock.to_raw(window.end_ns)
        for row in range(home.row_end - 1, home.row_begin - 1 + deepest, -1):
            a, b = item.trace.window_rows(row, start, end)
            if b > a:
                deepest = row - home.row_begin + 1
                break
    return deepest


def paints_in(session: Session, rows: Sequence[tuple[LaneRow, int, int]], window: TimeRange) -> set[Paint]:
    """The paints that occur in the window on (lane, first level, one past the last level)."""
    seen = np.zeros(len(Paint), bool)
    for lane, first, last in rows:
        for part, lane_id in lane.parts:
            item = session.inputs[part]
            home = item.trace.lanes[lane_id]
            start, end = item.clock.to_raw(window.start_ns), item.clock.to_raw(window.end_ns)
            for row in range(home.row_begin + first, min(home.row_end, home.row_begin + last)):
                a, b = item.trace.window_rows(row, start, end)
                if b > a:
                    seen[np.unique(item.trace.slices.paint[a:b])] = True
    return {p for p in Paint if seen[p]}


def choose_rows(
    session: Session,
    groups: Sequence[LaneGroup],
    window: TimeRange,
    needed: set[str],
    height: int,
    factor: float,
) -> Chosen:
    """As many lanes as fit into ``height``, taller when there is room.

    Lanes without a slice in the window are left out, unless the same stream works on another rank. If the others do
    not all fit, GPU streams go first, over all ranks, in rows in which names can be read if possible; then threads.
    Lanes in ``needed`` (keys) go before everything. The order on the picture stays the job's.
    """
    levels = {lane.key: levels_used(session, lane, window) for g in groups for lane in g.lanes}
    shrunk = [replace(g, lanes=tuple(replace(x, sub_rows=max(1, levels[x.key])) for x in g.lanes)) for g in groups]
    busy = {key for key, n in levels.items() if n} | needed
    streams = [x for g in groups for x in g.lanes if x.kind is LaneKind.STREAM]
    at_work = {x.label for x in streams if x.key in busy}
    # A stream that is idle here while the same stream of another rank works is what a comparison is about.
    busy |= {x.key for x in streams if x.label in at_work}
    first = {x.key for x in streams} & busy | needed
    row = LEAST_ROW
    for row in range(READABLE_ROW, LEAST_ROW - 1, -1):
        if place_scaled(_only(shrunk, first), row, row, factor).height <= height:
            break
    # Low sub-rows of threads rather than no threads.
    tries = [
        (deep, _greedy(shrunk, busy, needed, height, row, deep, factor)) for deep in range(row, LEAST_DEEP_ROW, -2)
    ]
    deep, chosen = max(tries, key=lambda t: (len(t[1]), t[0]))
    shown = _only(shrunk, chosen)
    heights = [(n, n) for n in range(MOST_ROW, row, -1)] + [(n, deep) for n in range(MOST_ROW, row, -1)]
    placement = next(
        (p for n, d in heights if (p := place_scaled(shown, n, d, factor)).height <= height),
        place_scaled(shown, row, deep, factor),
    )
    return Chosen(
        placement,
        hidden=len(busy - chosen),
        quiet=len(levels) - len(busy | chosen),
        hidden_groups=len(groups) - len(shown),
    )


def view_rows(placement: Placement, top: int, viewport: int, height: int, largest: float) -> Chosen:
    """The rows of a scrolled view, scaled so that they fill ``height`` px but no more than ``largest`` times.

    A ``viewport`` of 0 is one that is as high as the picture allows: the rows are ``largest`` times as high.
    """
    factor = min(largest, height / viewport) if viewport > 0 else largest
    scaled = scale_placement(placement, factor)
    seen = top + placement.pinned_height  # the upper border of what scrolls
    first = next((i for i, r in enumerate(placement.rows) if not r.pinned and r.y + r.height > seen), None)
    if first is None:
        return Chosen(scaled)
    row, new = placement.rows[first], scaled.rows[first]
    begin = new.y + round((seen - row.y) * new.height / row.height) if seen > row.y else new.y
    new_top = begin - scaled.pinned_height
    visible = {
        r.lane.key for r in scaled.rows if r.lane and (r.pinned or (r.y < new_top + height and r.y + r.height > begin))
    }
    lanes = {r.lane.key for r in scaled.rows if r.lane}
    return Chosen(scaled, new_top, hidden=len(lanes - visible))


def scale_placement(placement: Placement, factor: float, header: int | None = None) -> Placement:
    """The same rows with other heights of sub-rows and headers; the free px around sub-rows stay the painter's.

    Heights are whole px and rows touch as before. ``header`` is the height of group headers before scaling.
    """
    rows, y = [], 0
    for row in placement.rows:
        sub = max(1, round(row.row_height * factor))
        if row.lane is None:
            height = max(1, round((header or row.height) * factor))
        else:
            height = row.height + row.lane.sub_rows * (sub - row.row_height)
        rows.append(replace(row, y=y, height=height, row_height=sub))
        y += height
    return Placement(tuple(rows), y, max((r.y + r.height for r in rows if r.pinned), default=0))


def place_scaled(groups: Sequence[LaneGroup], row_height: int, deep: int, factor: float) -> Placement:
    """Streams with sub-rows of ``row_height`` plain px, others with ``deep`` or lower ones, all times ``factor``."""

    def height_of(lane: LaneRow) -> int:
        if lane.kind is LaneKind.STREAM:
            return row_height
        if lane.memory:
            return max(row_height, LEAST_MEMORY)
        if lane.kind is LaneKind.COUNTER:
            return max(row_height, LEAST_COUNTER)
        return min(deep, max(LEAST_DEEP_ROW, DEEP_LANE // max(1, lane.sub_rows)))

    return scale_placement(place(groups, row_height=height_of), factor, HEADER)


def _only(groups: Sequence[LaneGroup], keys: set[str]) -> list[LaneGroup]:
    kept = (replace(g, lanes=tuple(x for x in g.lanes if x.key in keys)) for g in groups)
    return [g for g in kept if g.lanes]


def _greedy(
    groups: Sequence[LaneGroup],
    busy: set[str],
    needed: set[str],
    height: int,
    row_height: int,
    deep: int,
    factor: float,
) -> set[str]:
    """Keys of the lanes that fit: needed ones and streams one by one, other lanes only for all ranks alike."""
    full = place_scaled(_only(groups, busy), row_height, deep, factor)
    tall = {r.lane.key: r.height for r in full.rows if r.lane is not None}
    head = {r.group.id: r.height for r in full.rows if r.lane is None}
    tiers: dict[tuple[bool, int, int, int], list[tuple[int, str]]] = {}
    for order, group in enumerate(groups):
        seen: dict[LaneKind, int] = {}
        for lane in group.lanes:
            if lane.key not in busy:
                continue
            nth = seen[lane.kind] = seen.get(lane.kind, -1) + 1
            alone = lane.key in needed or lane.kind is LaneKind.STREAM
            tier = (lane.key not in needed, _ORDER.index(lane.kind), nth, order if alone else 0)
            tiers.setdefault(tier, []).append((group.id, lane.key))
    chosen: set[str] = set()
    headed: set[int] = set()
    left, full_up = height, False
    for (extra, kind, _, _), members in sorted(tiers.items()):
        shared = extra and kind > 0
        if shared and full_up:
            continue
        cost = sum(tall[key] for _, key in members) + sum(head[g] for g in {g for g, _ in members} - headed)
        if cost <= left:
            left -= cost
            chosen.update(key for _, key in members)
            headed.update(g for g, _ in members)
        else:
            # Lanes come busiest first: an idle thread does not stand in for the main one.
            full_up = full_up or shared
    return chosen
