"""What a picture marks: the selected slice or gap, the selected range, launch arrows, and notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.base.frames import LaneGroup, PlacedRow
from viewer.base.ids import Paint
from viewer.base.kept import Note
from viewer.base.scene import (
    Bounds,
    Font,
    Role,
    SceneLine,
    ScenePolygon,
    SceneRect,
)
from viewer.base.selection import Selection, TimeRange
from viewer.base.theme import PAINT_NAMES
from viewer.base.time import format_duration
from viewer.store.session import Session
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.tree import LANE_PAD
from viewer.views.picture.callouts import Wanted, place_callouts
from viewer.views.picture.canvas import Canvas
from viewer.views.picture.rows import Chosen
from viewer.views.text import one_line

MOST_NOTE_LINES = 6


@dataclass(frozen=True, slots=True)
class _Callout:
    """A callout before it has a place: anchor, offset asked for, lines as (text, font), colours."""

    x: float
    y: float
    dx: float
    dy: float
    lines: tuple[tuple[str, Font], ...]
    fill: str
    ink: str
    edge: str
    role: Role
    target: Bounds | None = None
    """The marked rectangle; the leader goes to its nearest point instead of to (x, y)."""


class Marks:
    """The marks of one picture."""

    def __init__(self, session: Session, window: TimeRange, selection: Selection, notes: Sequence[Note]) -> None:
        self.session, self.window, self.selection = session, window, selection
        self.notes = [n for n in notes if window.start_ns <= n.time_ns <= window.end_ns]
        self.notes_outside = len(notes) - len(self.notes)

    def selected(self) -> tuple[TimeRange, int, int] | None:
        """(range, input, lane id) of the selected slice or gap."""
        if self.selection.slice is not None:
            ref = self.selection.slice
            item = self.session.inputs[ref.input]
            start = item.clock.to_session(int(item.trace.slices.start_ns[ref.index]))
            span = TimeRange(start, start + int(item.trace.slices.dur_ns[ref.index]))
            return span, ref.input, item.trace.lane_of(ref.index).id
        if self.selection.gap is not None:
            gap = self.selection.gap
            return gap.range, gap.input, gap.lane
        return None

    def lanes_needed(self, groups: Sequence[LaneGroup]) -> set[str]:
        """Keys of the lanes that carry a mark inside the window."""
        keys = {x.key for g in groups for x in g.lanes}
        needed = {n.lane for n in self.notes} & keys
        found = self.selected()
        if found is not None and self._inside(found[0]):
            needed |= {x.key for g in groups for x in g.lanes if found[1:] in x.parts}
        return needed

    def outside(self, chosen: Chosen) -> list[str]:
        """What is marked and cannot be seen, in words."""
        words = []
        found = self.selected()
        if found is not None:
            if not self._inside(found[0]):
                words.append("the selection lies outside this window")
            elif not any(r.lane is not None and found[1:] in r.lane.parts for r in chosen.placement.rows):
                words.append("the lane of the selection is not shown")
        if self.notes_outside:
            plural = "1 note lies" if self.notes_outside == 1 else f"{self.notes_outside} notes lie"
            words.append(f"{plural} outside this window")
        return words

    def draw(
        self, canvas: Canvas, painter: LanePainter, chosen: Chosen, area: Bounds, headers: Sequence[Bounds]
    ) -> list[Bounds]:
        """Add all marks but the range to the canvas; returns what they cover with boxes."""
        if area.height <= 0:
            return []
        self._arrows(canvas, painter, chosen, area)
        keep = list(headers)
        callouts = []
        selected = self._selected(canvas, painter, chosen, area)
        if selected is not None:
            keep.append(selected[0])
            callouts.append(selected[1])
        callouts += [self._note(canvas, n, chosen, area) for n in self.notes]
        return _draw_callouts(canvas, callouts, area, keep)

    def _inside(self, span: TimeRange) -> bool:
        if span.length_ns == 0:
            return self.window.contains(span.start_ns)
        return span.start_ns < self.window.end_ns and self.window.start_ns < span.end_ns

    def draw_range(self, canvas: Canvas, area: Bounds, strip: int) -> None:
        """Shade the selected range; above it a dimension line with its length."""
        span = self.selection.range
        if not strip or span is None or area.height <= 0:
            return
        accent = canvas.theme["accent"]
        x0, x1 = max(area.x, canvas.x(area, span.start_ns)), min(area.right, canvas.x(area, span.end_ns))
        canvas.items.append(SceneRect(x0, area.y, max(1.0, x1 - x0), area.height, accent, opacity=0.14))
        middle, font = area.y - strip / 2, canvas.sized(11, bold=True)
        words = format_duration(span.length_ns)
        width, gap = canvas.fit.width(words, font), canvas.px(6)
        for x, open_end in ((x0, span.start_ns < self.window.start_ns), (x1, span.end_ns > self.window.end_ns)):
            if not open_end:
                canvas.items.append(SceneLine(x, area.y - strip + canvas.px(2), x, area.bottom, accent, 1.0))
        if width + 2 * gap + canvas.px(16) <= x1 - x0:
            center = (x0 + x1) / 2
            canvas.items.append(SceneLine(x0, middle, center - width / 2 - gap, middle, accent))
            canvas.items.append(SceneLine(center + width / 2 + gap, middle, x1, middle, accent))
            canvas.text(center - width / 2, middle, words, font, accent, "range")
        else:
            canvas.items.append(SceneLine(x0, middle, x1, middle, accent))
            fits = x1 + gap + width <= area.right
            canvas.text(x1 + gap if fits else max(area.x, x0 - gap - width), middle, words, font, accent, "range")

    def _arrows(self, canvas: Canvas, painter: LanePainter, chosen: Chosen, area: Bounds) -> None:
        color = canvas.theme["accent"]
        for arrow in painter.arrows(self.selection):
            ends = []
            for time, key, depth in (
                (arrow.start_ns, arrow.start_lane, arrow.start_depth),
                (arrow.end_ns, arrow.end_lane, arrow.end_depth),
            ):
                row = chosen.placement.find(key)
                if row is not None and self.window.start_ns <= time <= self.window.end_ns:
                    top, height = _sub_row(row, depth, chosen, area)
                    if area.y + chosen.least(row) <= top + height / 2 <= area.bottom:
                        ends.append((canvas.x(area, time), top + height / 2))
            if len(ends) == 2:
                (x0, y0), (x1, y1) = ends
                canvas.items.append(SceneLine(x0, y0, x1, y1, color, canvas.px(1.4)))
                canvas.items.append(_arrow_head(x0, y0, x1, y1, canvas.px(7), color))

    def _selected(
        self, canvas: Canvas, painter: LanePainter, chosen: Chosen, area: Bounds
    ) -> tuple[Bounds, _Callout] | None:
        found = self.selected()
        if found is None or not self._inside(found[0]):
            return None
        span, part, lane_id = found
        row = next((r for r in chosen.placement.rows if r.lane is not None and (part, lane_id) in r.lane.parts), None)
        if row is None:
            return None
        ref = self.selection.slice
        if ref is not None:
            _, _, depth = painter.locate(ref)
            top, height = _sub_row(row, depth, chosen, area)
        else:
            top, height = area.y + chosen.y(row), float(row.height)
        least = area.y + chosen.least(row)
        if top + height <= least or top >= area.bottom:
            return None
        theme, wide = canvas.theme, canvas.px(3)
        x0, x1 = max(area.x, canvas.x(area, span.start_ns)), min(area.right, canvas.x(area, span.end_ns))
        if x1 - x0 < wide:
            x0 = min(max(area.x, (x0 + x1 - wide) / 2), area.right - wide)
            x1 = x0 + wide
        y0, y1 = max(least, top), min(area.bottom, top + height)
        line = canvas.px(2)
        canvas.items.append(
            SceneRect(
                x0 - line, y0 - line, x1 - x0 + 2 * line, y1 - y0 + 2 * line, stroke=theme["base"], stroke_width=line
            )
        )
        canvas.items.append(
            SceneRect(x0 - 1, y0 - 1, x1 - x0 + 2, y1 - y0 + 2, stroke=theme["accent"], stroke_width=line, crisp=False)
        )
        where = f"{row.group.title}, {row.lane.label}" if row.lane is not None else row.group.title
        if ref is not None:
            trace = self.session.inputs[part].trace
            name = one_line(trace.name(ref.index)) or "(no name)"
            kind = PAINT_NAMES[Paint(int(trace.slices.paint[ref.index]))]
        else:
            name, kind = "Gap", "nothing runs on this lane"
        room = min(area.width - canvas.px(24), max(0.5 * area.width, canvas.px(240)), canvas.px(600))
        bold, plain = canvas.sized(12, bold=True), canvas.sized(11)
        details = canvas.fit.flow([format_duration(span.length_ns), kind, one_line(where)], plain, room)
        lines = ((canvas.fit.name(name, bold, room), bold), *((d, plain) for d in details))
        # The callout points at the middle of what is visible, or near its start when that is wide.
        x = min((x0 + x1) / 2, x0 + canvas.px(60))
        box = Bounds(x0, y0, x1 - x0, y1 - y0)
        tall = _box_size(canvas, lines)[1]
        callout = _Callout(
            x,
            y0 if y0 - area.y > tall + canvas.px(24) else y1,
            canvas.px(16),
            -tall - canvas.px(18) if y0 - area.y > tall + canvas.px(24) else canvas.px(18),
            lines,
            theme["window"],
            theme["text"],
            theme["accent"],
            "callout",
            box,
        )
        return box, callout

    def _note(self, canvas: Canvas, note: Note, chosen: Chosen, area: Bounds) -> _Callout:
        theme, x = canvas.theme, canvas.x(area, note.time_ns)
        row = chosen.placement.find(note.lane) if note.lane else None
        y = None
        if row is not None:
            span, top = chosen.span(row, area), area.y + chosen.y(row)
            if span is not None:
                y = (span[0] + max(span[0], min(span[1], top + LANE_PAD * 2 + row.row_height))) / 2
                if note.depth:
                    sub, tall = _sub_row(row, note.depth, chosen, area)
                    y = min(max(sub + tall / 2, span[0]), area.bottom)
        lines = canvas.fit.wrap(
            note.text, canvas.sized(12), min(canvas.px(230), area.width - canvas.px(24)), MOST_NOTE_LINES
        )
        if note.lane and y is None:
            lines.append("(its lane is not shown)")
        if y is None:
            # No lane: the note speaks of the instant, a line through all lanes shows it.
            dash = (float(canvas.px(4)), float(canvas.px(3)))
            canvas.items.append(
                SceneLine(x, area.y, x, area.bottom, theme["note_text"], canvas.px(1.2), dash, opacity=0.8)
            )
            y = area.y + canvas.px(6)
        font = canvas.sized(12)
        styled = tuple((line, font) for line in lines)
        return _Callout(
            x,
            y,
            note.dx * canvas.px(10) / 10,
            note.dy * canvas.px(10) / 10,
            styled,
            theme["note"],
            theme["note_text"],
            theme["note_text"],
            "note",
        )


def _sub_row(row: PlacedRow, depth: int, chosen: Chosen, area: Bounds) -> tuple[float, float]:
    """Top and height of a level of a placed lane on the picture."""
    return area.y + chosen.y(row) + LANE_PAD + depth * row.row_height, row.row_height


def _box_size(canvas: Canvas, lines: Sequence[tuple[str, Font]]) -> tuple[float, float]:
    pad = canvas.px(8)
    width = max(canvas.fit.width(text, font) for text, font in lines)
    return math.ceil(width) + 2 * pad, math.ceil(sum(1.34 * font.size for _, font in lines)) + 2 * canvas.px(5)


def _draw_callouts(canvas: Canvas, callouts: Sequence[_Callout], area: Bounds, keep: Sequence[Bounds]) -> list[Bounds]:
    sizes = [_box_size(canvas, c.lines) for c in callouts]
    wanted = [Wanted(c.x, c.y, w, h, c.dx, c.dy, c.target) for c, (w, h) in zip(callouts, sizes, strict=True)]
    room = Bounds(area.x + 4, area.y + 4, area.width - 8, area.height - 8)
    boxes = place_callouts(wanted, room, keep, canvas.px(10) / 10)
    for c, item, box in zip(callouts, wanted, boxes, strict=True):
        dot = canvas.px(3)
        canvas.items.append(SceneLine(*item.line(box), c.edge, canvas.px(1.3)))
        if c.role == "note":
            canvas.items.append(
                SceneRect(c.x - dot, c.y - dot, 2 * dot, 2 * dot, c.edge, c.fill, radius=dot, crisp=False)
            )
    for c, box in zip(callouts, boxes, strict=True):
        canvas.items.append(
            SceneRect(box.x, box.y, box.width, box.height, c.fill, c.edge, radius=canvas.px(5), crisp=False)
        )
        y = box.y + canvas.px(5)
        for words, font in c.lines:
            canvas.text(box.x + canvas.px(8), y + 0.67 * font.size, words, font, c.ink, c.role)
            y += 1.34 * font.size
    return boxes


def _arrow_head(x0: float, y0: float, x1: float, y1: float, size: float, color: str) -> ScenePolygon:
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    bx, by = x1 - ux * size, y1 - uy * size
    side = size * 0.45
    return ScenePolygon(((x1, y1), (bx - uy * side, by + ux * side), (bx + uy * side, by - ux * side)), fill=color)
