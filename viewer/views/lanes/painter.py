"""The timeline as a view model: which lanes there are, where they lie, their pixels, and what lies under a point.

The painter turns (session, placement, theme) and a window into an image and boxes; it knows no widget. Times that come
in and go out are session time; each input's raw clock is used inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.frames import Arrow, Box, Hit, LaneFrame, Pixels, PlacedRow, Placement
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.jit.compose import compose
from viewer.jit.raster import mark
from viewer.jit.stamp import hatch
from viewer.store.session import Session
from viewer.views.lanes import hit as lane_hit
from viewer.views.lanes.arrows import find_arrows
from viewer.views.lanes.counter_paint import axis_names, draw_counters
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.looks import Look, Matched
from viewer.views.lanes.names import EMPTY_NAMES, MOST_BOXES, find_boxes, find_names
from viewer.views.lanes.palette import DIM, INKS, palette, rgb
from viewer.views.lanes.plan import NO_LINES, Line, Plan, SourceRows, plan, summary_rows
from viewer.views.lanes.tree import LANE_PAD, RowHeight, build_tree, default_row_height, full_row_height, place, shrinks
from viewer.views.lanes.warm import draw_rows, is_warm, stamp_names, wait_until_warm, warm_up, warming

__all__ = [
    "LANE_PAD",
    "LanePainter",
    "LodStore",
    "RowHeight",
    "build_tree",
    "default_row_height",
    "full_row_height",
    "is_warm",
    "place",
    "shrinks",
    "stamp_names",
    "wait_until_warm",
    "warm_up",
    "warming",
]

Sampled = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]
"""Paint, coverage, left borders and marks of the sampled lines."""
EDGE_FROM_PX: Final = 5.0
"""Slices at least this wide get a darker left border."""


class LanePainter:
    """Pixels, boxes and hits of one placement of a session.

    Args:
        session: the job.
        placement: from :func:`place` of its tree.
        theme: colours.
        lods: levels of detail built so far; without them everything is drawn slice by slice, only slower.
    """

    def __init__(self, session: Session, placement: Placement, theme: Theme, lods: LodStore | None = None) -> None:
        self.session = session
        self.placement = placement
        self._lods = lods if lods is not None else LodStore()
        self._plans: dict[tuple[int, int, float], Plan] = {}
        self._picked: dict[int, NDArray[np.int64]] = {}
        self._looks: Mapping[int, Look] = {}
        self._matched: Mapping[int, Matched] = {}
        self._patterns: NDArray[np.uint8] | None = None
        self._over = np.zeros((4, 1, 1), np.uint8)
        self.text_scale = 1.0
        self._refs: dict[tuple[int, int], SliceRef] = {}
        self._image = np.zeros((1, 1), np.uint32)
        self._lines = np.zeros((4, 1, 1), np.uint8)
        self._row_of_lane = {
            part: row for row in placement.rows if row.lane is not None for part in row.lane.parts
        }  # (input, lane id) -> placed row
        self._row_of_key = {row.lane.key: row for row in placement.rows if row.lane is not None}
        self.set_theme(theme)

    def row_of(self, key: str) -> PlacedRow | None:
        """Where the lane of that key lies; None when it is not placed."""
        return self._row_of_key.get(key)

    def row_of_lane(self, source: int, lane: int) -> PlacedRow | None:
        """Where a lane of an input lies; None when it is not placed."""
        return self._row_of_lane.get((source, lane))

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.theme = theme
        self._palette = palette(theme)
        r, g, b = rgb(theme["accent"])
        self._mark_color = 0xFF000000 | r << 16 | g << 8 | b

    def emphasise(self, picked: dict[int, NDArray[np.int64]]) -> None:
        """Underline slices: ascending rows of ``slices`` per input; {} for none. See ``lane_hit.same_name``."""
        self._picked = picked

    def colour(self, looks: Mapping[int, Look]) -> None:
        """Draw inputs in other colours than those of classes: their looks by input; {} for classes."""
        self._looks = looks

    def brighten(self, matched: Mapping[int, Matched]) -> None:
        """Draw slices pale that a filter does not match: what it matches by input; {} draws all as ever."""
        self._matched = matched

    def set_patterns(self, patterns: Mapping[int, int]) -> None:
        """Lay patterns over inks: 1 and 2 stripes, 3 dots; {} for none."""
        self._patterns = None
        if patterns:
            self._patterns = np.zeros(INKS, np.uint8)
            for ink, pattern in patterns.items():
                self._patterns[ink] = pattern

    def frame(
        self,
        window: TimeRange,
        width: int,
        top: int,
        height: int,
        dpr: float = 1.0,
        *,
        grid: Sequence[float] = (),
        labels: bool = True,
    ) -> LaneFrame:
        """Draw what shows between ``top`` and ``top + height`` of the content.

        Args:
            window: session time, at least 1 ns; spread over the whole width.
            width: logical px.
            top: logical px of the content that lies at the frame's upper border.
            height: logical px.
            dpr: device pixels per logical px.
            grid: x (logical px) of thin lines on the background.
            labels: whether to collect what is named.

        Returns:
            A frame that is good until the next call.
        """
        wide, tall, hair = max(1, round(width * dpr)), max(1, round(height * dpr)), max(1, round(dpr))
        current = self._plan(top, height, dpr)
        lines = self._sample(current, window, wide, dpr)
        grounds = self._grounds(wide, grid, dpr)
        args = (self.session, self._lods, self._looks, self._matched)
        names = (
            find_names(*args, current, window, wide, dpr, self._palette.texts, self.text_scale)
            if labels
            else EMPTY_NAMES
        )
        if labels and current.counters:
            names = names.joined(axis_names(self.session, current, wide, dpr, self.theme, self._lods))

        def draw(pixels: Pixels) -> None:
            if current.counters and pixels.pitch != pixels.columns:
                pixels.array[...] = frame.image
                return
            self._compose(pixels, current, grounds, lines, hair)
            if self._patterns is not None:
                inks = self._palette.patterns
                hatch(*pixels[:3], current.line_of, *lines[:2], self._patterns, inks, 6 * hair, hair)
            if current.counters:
                draw_counters(pixels.array, self.session, current, window, dpr, self.theme)

        frame = LaneFrame((tall, wide), dpr, window, top, names, draw, self._room)
        return frame

    def _room(self, shape: tuple[int, int]) -> NDArray[np.uint32]:
        if self._image.shape != shape:
            self._image = np.zeros(shape, np.uint32)
        return self._image

    def _compose(self, pixels: Pixels, current: Plan, grounds: NDArray[np.uint32], lines: Sampled, hair: int) -> None:
        compose(
            *pixels[:3],
            current.line_of,
            current.ground_of,
            current.under_of,
            grounds,
            self._palette.fills,
            self._palette.edges,
            hair,
            self._mark_color,
            *lines,
        )

    def boxes(self, window: TimeRange, width: int, min_px: float, top: int = 0, height: int | None = None) -> list[Box]:
        """Slices that show for at least ``min_px`` logical px, at most 20,000.

        ``y`` is relative to ``top``; by default the whole content is searched. Slices of summary strips are left out.
        """
        tall = self.placement.height - top if height is None else height
        self._refs = refs = self._refs if len(self._refs) < 4 * MOST_BOXES else {}
        current = self._plan(top, max(1, tall), 1.0)
        return list(find_boxes(self.session, self._lods, refs, current, window, width, min_px, top, 0))

    def hit(self, window: TimeRange, width: int, x: float, y_content: float) -> Hit | None:
        """What lies under a point: the slice at x (or the nearest within 3 px), else a stream's gap, else the row.

        None below the last row.
        """
        return lane_hit.hit(self.session, self.placement, window, width, x, y_content)

    def locate(self, ref: SliceRef) -> tuple[TimeRange, str, int]:
        """Session time, lane key and depth of a slice. KeyError when its lane is not placed (a collapsed group)."""
        item = self.session.inputs[ref.input]
        row = item.trace.row_of(ref.index)
        lane = item.trace.lanes[int(item.trace.rows.lane[row])]
        placed = self._row_of_lane.get((ref.input, lane.id))
        if placed is None or placed.lane is None:
            raise KeyError(f"the lane of slice {ref.index} of input {ref.input} is not placed")
        return lane_hit.time_of(item, ref.index), placed.lane.key, int(item.trace.rows.depth[row])

    def box_of(self, ref: SliceRef, window: TimeRange, width: int) -> Box | None:
        """The box of one slice with y from the top of the content, at least 1 px wide; None outside the window.

        A slice of a collapsed group lies on its summary strip.
        """
        return lane_hit.box_of(self.session, self.placement, ref, window, width)

    def arrows(self, selection: Selection, most: int = 32) -> list[Arrow]:
        """Arrows from a launch call to its GPU work, for a selected call or piece of GPU work; nearest first.

        The first call on a trace joins its launches, so it belongs off the GUI thread.
        """
        return find_arrows(self.session, self._row_of_lane, selection, most)

    def overview(self, extent: TimeRange, width: int, height: int, dpr: float = 1.0) -> NDArray[np.uint32]:
        """GPU work of every group over ``extent``: one band per group, groups sharing bands when there are many.

        Returns:
            A fresh uint32[height * dpr, width * dpr] of 0xffRRGGBB.
        """
        wide, tall = max(1, round(width * dpr)), max(1, round(height * dpr))
        groups = {row.group.id: row for row in self.placement.rows if row.lane is None and not row.section}
        bands = max(1, min(len(groups), tall // 2))
        image = np.zeros((tall, wide), np.uint32)
        rows: dict[int, list[int]] = {}
        lines: dict[int, list[int]] = {}
        for number, header in enumerate(groups.values()):
            for source, row in summary_rows(self.session, header):
                rows.setdefault(source, []).append(row)
                lines.setdefault(source, []).append(number * bands // len(groups))
        sources = {s: SourceRows(np.array(rows[s], np.int64), np.array(lines[s], np.int64)) for s in rows}
        line_of = (np.arange(tall) * bands // tall).astype(np.int32)
        ground = np.zeros(tall, np.uint8)
        whole = Plan((Line(0, 0, None),) * bands, line_of, ground, ground, sources, (NO_LINES, NO_LINES, NO_LINES))
        sampled = self._sample_into(whole, extent, np.zeros((4, bands, wide), np.uint8), np.inf, {})
        self._compose(Pixels.of(image), whole, self._grounds(wide, (), dpr), sampled, 1)
        return image

    def _plan(self, top: int, height: int, dpr: float) -> Plan:
        key = (top, height, dpr)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= 8:
                self._plans.clear()
            found = self._plans[key] = plan(self.session, self.placement, top, height, dpr)
        return found

    def _grounds(self, wide: int, grid: Sequence[float], dpr: float) -> NDArray[np.uint32]:
        grounds = np.repeat(self._palette.grounds[:, None], wide, axis=1)
        for x in grid:
            at = round(x * dpr)
            grounds[:, max(at, 0) : max(at + max(1, round(dpr)), 0)] = self._palette.grid[:, None]
        return grounds

    def _sample(self, current: Plan, window: TimeRange, wide: int, dpr: float) -> Sampled:
        count = max(len(current.lines), 1)
        if self._lines.shape[1] < count or self._lines.shape[2] != wide:
            self._lines = np.zeros((4, count, wide), np.uint8)
        lines = self._lines[:, :count]
        lines[1:].fill(0)
        sampled = self._sample_into(current, window, lines, EDGE_FROM_PX * dpr, self._picked)
        if self._matched:
            self._overlay_matched(current, window, lines, EDGE_FROM_PX * dpr)
        return sampled

    def _overlay_matched(self, current: Plan, window: TimeRange, lines: NDArray[np.uint8], edge_from: float) -> None:
        """Make what is drawn pale, and put what the filter matches upon it: no match hides behind other slices."""
        lines[0] |= DIM
        if self._over.shape != lines.shape:
            self._over = np.zeros(lines.shape, np.uint8)
        over = self._over
        over[1:].fill(0)
        for source, where in current.sources.items():
            m = self._matched.get(source)
            if m is not None:
                item = self.session.inputs[source]
                t0 = item.clock.to_raw(window.start_ns)
                draw_rows(
                    m.starts,
                    m.durs,
                    m.look.ink,
                    m.begin,
                    m.end,
                    where.rows,
                    where.lines,
                    m.look.lod,
                    t0,
                    window.length_ns,
                    edge_from,
                    over,
                )
        bright = over[1] > 0
        for k in range(3):
            np.copyto(lines[k], over[k], where=bright)

    def _sample_into(
        self,
        current: Plan,
        window: TimeRange,
        lines: NDArray[np.uint8],
        edge_from: float,
        picked: dict[int, NDArray[np.int64]],
    ) -> Sampled:
        for source, where in current.sources.items():
            item = self.session.inputs[source]
            trace = item.trace
            look = self._looks.get(source)
            t0 = item.clock.to_raw(window.start_ns)
            draw_rows(
                trace.slices.start_ns,
                trace.slices.dur_ns,
                trace.slices.paint if look is None else look.ink,
                trace.rows.begin,
                trace.rows.end,
                where.rows,
                where.lines,
                self._lods.get(trace) if look is None else look.lod,
                t0,
                window.length_ns,
                edge_from,
                lines,
            )
            if source in picked:
                mark(
                    trace.slices.start_ns,
                    trace.slices.dur_ns,
                    trace.rows.begin,
                    trace.rows.end,
                    where.rows,
                    where.lines,
                    picked[source],
                    t0,
                    window.length_ns,
                    lines[3],
                )
        return lines[0], lines[1], lines[2], lines[3]
