"""The lanes of a picture: image, shapes and names of slices, headers and labels, and where nothing was recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from viewer.base.frames import Box, PlacedRow
from viewer.base.ids import Paint
from viewer.base.scene import Bounds, Font, SceneHatch, SceneImage, SceneLine, SceneRect
from viewer.base.time import format_duration
from viewer.store.session import Session
from viewer.views.lanes.counters import value_axis
from viewer.views.lanes.names import MOST_BOXES
from viewer.views.lanes.painter import EDGE_FROM_PX, LanePainter
from viewer.views.lanes.tree import is_collapsed
from viewer.views.picture.canvas import Canvas
from viewer.views.picture.colors import Inks
from viewer.views.picture.rows import Chosen, paints_in
from viewer.views.text import one_line

RASTER_LIMIT: Final = 12_000_000
"""Most px of the lane image inside a vector file."""
VECTOR_WIDTH: Final = 2.0
"""Slices at least this wide (px) become shapes in a vector file; the image shows the others."""
LEAST_NAME: Final = 7
"""Fewer letters of a kernel's name say nothing."""
LEAST_FONT: Final = 7
"""Labels and names that would be smaller (px) are left out."""


class LaneArea:
    """Draws the chosen rows into ``area``; labels and headers begin at ``left``.

    Args:
        canvas: gets the items.
        session: the job.
        chosen: rows and scroll position.
        area: the lanes without their labels, whole px.
    """

    def __init__(self, canvas: Canvas, session: Session, chosen: Chosen, area: Bounds) -> None:
        self.canvas, self.session, self.chosen, self.area = canvas, session, chosen, area
        self.left = canvas.margin

    def visible(self) -> list[PlacedRow]:
        """Rows of which something shows."""
        return [r for r in self.chosen.placement.rows if self.chosen.span(r, self.area) is not None]

    def _span(self, row: PlacedRow) -> tuple[float, float]:
        """Upper and lower border of a visible row."""
        return self.chosen.span(row, self.area) or (self.area.y, self.area.y)

    def draw_image(self, painter: LanePainter, grid: Sequence[float], scale: float, *, vector: bool) -> None:
        """All slices as pixels, at the output's scale as far as the bound of vector files allows."""
        if not self.chosen.placement.rows:
            font = self.canvas.font["subtitle"]
            why = "Nothing was recorded in this window."
            if self.chosen.hidden:
                why = "There is no room for a lane in a picture of this size."
            words = self.canvas.fit.elide(why, font, self.area.width)
            if font.size * 1.1 <= self.area.height:
                x, y = self.area.x + self.area.width / 2, self.area.y + self.area.height / 2
                self.canvas.text(x, y, words, font, self.canvas.theme["muted"], "more", "middle")
            return
        if self.area.height <= 0:
            return
        dpr = scale
        if vector:
            dpr = min(dpr, math.sqrt(RASTER_LIMIT / (self.area.width * self.area.height)))
        frame = painter.frame(
            self.canvas.window,
            int(self.area.width),
            self.chosen.top,
            int(self.area.height),
            dpr,
            grid=grid,
            labels=False,
        )
        self.canvas.items.append(SceneImage(self.area, frame.image))

    def draw_unrecorded(self) -> None:
        """Hatch where a rank's files hold nothing because they begin later or end earlier than the window."""
        lanes = [r for r in self.visible() if r.lane is not None]
        for _, together in groupby(lanes, key=lambda r: (r.group.id, r.pinned)):
            members = list(together)
            inputs = {part for r in members if r.lane for part, _ in r.lane.parts}
            extents = [e for i in inputs if (e := self.session.inputs[i].extent()) is not None]
            top, bottom = self._span(members[0])[0], self._span(members[-1])[1]
            first = self.canvas.x(self.area, min((e.start_ns for e in extents), default=self.canvas.window.end_ns))
            last = self.canvas.x(self.area, max((e.end_ns for e in extents), default=self.canvas.window.end_ns))
            for a, b in ((self.area.x, min(first, self.area.right)), (max(last, self.area.x), self.area.right)):
                if b - a > self.canvas.px(3):
                    self.canvas.items.append(
                        SceneHatch(Bounds(a, top, b - a, bottom - top), self.canvas.theme["line"], self.canvas.px(7))
                    )

    def draw_labels(self) -> list[Bounds]:
        """Group headers and lane labels; returns where the words of the headers are."""
        headers = []
        collapsed = {r.y for i, r in enumerate(self.chosen.placement.rows) if is_collapsed(self.chosen.placement, i)}
        for row in self.visible():
            top, bottom = self._span(row)
            height = bottom - top
            if row.lane is None:
                # A collapsed group's strip lies in its header: it stays visible right of the labels.
                right = self.area.x if row.y in collapsed else self.area.right
                headers.append(self._header(row, top, height, right))
            else:
                self._lane_label(row, top, height)
        return headers

    def _header(self, row: PlacedRow, top: float, height: float, right: float) -> Bounds:
        theme, font, detail = self.canvas.theme, self.canvas.font["header"], self.canvas.font["detail"]
        self.canvas.items.append(SceneRect(self.left, top, right - self.left, height, theme["group"]))
        x, middle, room = self.left + self.canvas.px(8), top + height / 2, right - self.left - self.canvas.px(16)
        if font.size > height:
            return Bounds(self.left, top, 0, 0)
        title = self.canvas.text(
            x, middle, self.canvas.fit.elide(one_line(row.group.title), font, room), font, theme["text"], "header"
        )
        words = [row.group.subtitle, row.group.warning]
        more = self.canvas.fit.elide(
            one_line("  ·  ".join(w for w in words if w)), detail, room - title.width - self.canvas.px(12)
        )
        end = title.bounds.right
        if more:
            end = self.canvas.text(
                end + self.canvas.px(12), middle, more, detail, theme["muted"], "header"
            ).bounds.right
        return Bounds(self.left, top, end - self.left, height)

    def _lane_label(self, row: PlacedRow, top: float, height: float) -> None:
        assert row.lane is not None
        base, pad = self.canvas.font["lane"], self.canvas.px(8)
        font = Font(min(base.size, int(height / 1.06)))
        room = self.area.x - self.left - pad - self.canvas.px(6)
        if font.size < LEAST_FONT:
            return
        # The label of a deep lane stands at its top.
        middle = top + (height / 2 if row.lane.sub_rows == 1 else min(height / 2, 1.1 * base.size))
        label = self.canvas.fit.elide(one_line(row.lane.label), font, room)
        if label:
            self.canvas.text(self.left + pad, middle, label, font, self.canvas.theme["text"], "lane")

    def boxes(self, painter: LanePainter, *, vector: bool) -> list[tuple[Box, Bounds]]:
        """Slices to draw as shapes or to name, with their visible part on the picture.

        The painter bounds how many it returns: then only the wider ones become shapes, the image has all.
        """
        least = VECTOR_WIDTH if vector else float(self.canvas.px(26))
        while True:
            found = painter.boxes(
                self.canvas.window, int(self.area.width), least, self.chosen.top, int(self.area.height)
            )
            if len(found) < MOST_BOXES or least > self.area.width:
                break
            least *= 2
        out = []
        for box in found:
            x0, x1 = max(self.area.x, self.area.x + box.x), min(self.area.right, self.area.x + box.x + box.width)
            behind = self.chosen.placement.pinned_height
            y0 = max(self.area.y + (behind if box.y + box.height > behind else 0), self.area.y + box.y)
            # The last px keeps sub-rows apart, as in the image.
            y1 = min(self.area.bottom, self.area.y + box.y + box.height - (1 if box.height >= 4 else 0))
            if x1 > x0 and y1 > y0:
                out.append((box, Bounds(x0, y0, x1 - x0, y1 - y0)))
        return out

    def draw_shapes(self, boxes: Sequence[tuple[Box, Bounds]], inks: Inks) -> None:
        """Slices as shapes with their name and duration as tips."""
        for box, b in boxes:
            trace = self.session.inputs[box.ref.input].trace
            tip = f"{one_line(trace.name(box.ref.index))}, {format_duration(int(trace.slices.dur_ns[box.ref.index]))}"
            if inks.patterned(box):  # the image below shows it, with its pattern
                continue
            self.canvas.items.append(SceneRect(b.x, b.y, b.width, b.height, inks.fill(box), tip=tip))
            if b.width >= EDGE_FROM_PX and box.x >= 0:
                # A darker left border, as in the image: it tells neighbours of one class apart.
                self.canvas.items.append(SceneRect(b.x, b.y, 1.0, b.height, inks.edge(box)))

    def draw_names(self, boxes: Sequence[tuple[Box, Bounds]], covered: Sequence[Bounds], inks: Inks) -> None:
        """Names inside slices, where they fit and no callout lies on them."""
        pad, base = self.canvas.px(4), self.canvas.font["slice"]
        for box, b in boxes:
            font = Font(min(base.size, int(b.height / 1.06)))
            if b.width < self.canvas.px(26) or font.size < LEAST_FONT or b.height < 0.8 * box.height:
                continue
            words = self.canvas.fit.name(one_line(box.text), font, b.width - 2 * pad, LEAST_NAME)
            if not words:
                continue
            item = self.canvas.text(b.x + pad, b.y + b.height / 2, words, font, inks.text(box), "slice")
            if any(item.bounds.overlap(c) for c in covered):
                self.canvas.items.pop()

    def draw_axes(self) -> None:
        """The values at the upper and lower border of counters, where there is room for both."""
        font, pad = self.canvas.font["lane"], self.canvas.px(4)
        for row in self.visible():
            top, bottom = self._span(row)
            if row.lane is None or not row.lane.sampled or row.height < 2.2 * font.size:
                continue
            if bottom - top < row.height:
                continue
            axis, theme = value_axis(self.session, row.lane), self.canvas.theme
            self.canvas.text(self.area.x + pad, top + 0.65 * font.size, axis.high_text, font, theme["text"], "axis")
            self.canvas.text(self.area.x + pad, bottom - 0.65 * font.size, axis.low_text, font, theme["text"], "axis")

    def draw_frame(self) -> None:
        """Border of the lanes, and the line between labels and lanes."""
        line = self.canvas.theme["line"]
        for row in self.visible():
            if row.lane is not None:
                top, bottom = self._span(row)
                self.canvas.items.append(SceneLine(self.area.x, top, self.area.x, bottom, line))
        if self.area.height > 0:
            self.canvas.items.append(
                SceneRect(self.left, self.area.y, self.area.right - self.left, self.area.height, stroke=line)
            )

    def paints(self) -> list[Paint]:
        """What occurs in the visible levels of the lanes, in the order of the legend."""
        rows = []
        for row in self.visible():
            if row.lane is not None:
                top, bottom = (y - self.area.y - self.chosen.y(row) for y in self._span(row))
                first, last = max(0, top // row.row_height), min(row.lane.sub_rows, math.ceil(bottom / row.row_height))
                rows.append((row.lane, int(first), int(last)))
        return sorted(paints_in(self.session, rows, self.canvas.window), key=_legend_order)


def _legend_order(paint: Paint) -> tuple[bool, int]:
    return (paint is Paint.OTHER, int(paint))
