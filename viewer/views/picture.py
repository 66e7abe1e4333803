"""The annotated picture: a session and a request in, a :class:`PictureScene` out. No Qt.

Everything is laid out in logical px. Fonts, margins and rows grow with the picture (slower than its size, so that a
large picture also shows more), all whole px. What does not fit is said on the picture, never cut in silence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from viewer.base.errors import UsageError
from viewer.base.frames import Box, LaneGroup, Note, PlacedRow, Placement
from viewer.base.ids import Paint
from viewer.base.scene import (
    CAP,
    Anchor,
    Bounds,
    Font,
    Item,
    Measure,
    PictureScene,
    Role,
    SceneHatch,
    SceneImage,
    SceneLine,
    SceneRect,
    SceneText,
    plain_measure,
)
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.base.theme import PAINT_NAMES, Theme
from viewer.base.time import format_duration
from viewer.base.units import format_count
from viewer.store.session import Session
from viewer.views.lane_tree import build_tree, is_collapsed
from viewer.views.lanes import MOST_BOXES, LanePainter
from viewer.views.picture_marks import Marks
from viewer.views.picture_rows import Chosen, choose_rows, paints_in, view_rows
from viewer.views.provenance import provenance, rank_words
from viewer.views.text import Fitter, one_line
from viewer.views.ticks import Axis, exact, ticks

LEAST_SIZE: Final = (320, 200)
MOST_SIDE: Final = 16_384
"""Logical px; the file's px are bounded by the exporter."""
RASTER_LIMIT: Final = 12_000_000
"""Most px of the lane image inside a vector file."""
VECTOR_WIDTH: Final = 2.0
"""Slices at least this wide (px) become shapes in a vector file; the image shows the others."""


@dataclass(frozen=True, slots=True)
class ViewRows:
    """The rows of a scrolled view on the screen: its placement, scroll position and viewport height."""

    placement: Placement
    top: int
    height: int


@dataclass(frozen=True, slots=True)
class PictureRequest:
    """What to draw.

    Attributes:
        window: session time from the left to the right edge.
        width, height: logical px.
        theme: colours.
        scale: output px per logical px.
        vector: the scene is for a vector file: wide slices become shapes, the lane image is bounded.
        title: first line, "" for none.
        subtitle: second line, None for one written from the job, "" for none.
        selection: marked slice or gap, and shaded range.
        notes: callouts.
        view: rows as on the screen; None for all that fit, by importance.
        legend, footer: whether to draw them.
    """

    window: TimeRange
    width: int
    height: int
    theme: Theme
    scale: float = 1.0
    vector: bool = False
    title: str = ""
    subtitle: str | None = None
    selection: Selection = EMPTY
    notes: tuple[Note, ...] = ()
    view: ViewRows | None = None
    legend: bool = True
    footer: bool = True


def picture_scene(session: Session, request: PictureRequest, measure: Measure = plain_measure) -> PictureScene:
    """Compose the picture.

    Args:
        session: the job.
        request: what to draw.
        measure: widths of texts, from whoever will paint; the default errs on the wide side.

    Raises:
        UsageError: the window is empty or the size is out of bounds.
    """
    if request.window.length_ns <= 0:
        raise UsageError("the picture's window is empty: it must end after it begins.")
    if request.width < LEAST_SIZE[0] or request.height < LEAST_SIZE[1]:
        raise UsageError(f"a picture needs at least {LEAST_SIZE[0]}x{LEAST_SIZE[1]} pixels.")
    if max(request.width, request.height) > MOST_SIDE:
        raise UsageError(f"a picture has at most {MOST_SIDE} pixels per side.")
    return _Composer(session, request, Fitter(measure)).compose()


def size_factor(width: int, height: int) -> float:
    """How much larger than at 1280x720 texts are."""
    ratio = min(width / 1280, height / 720)
    return max(0.85, min(4.0, math.pow(ratio, 0.62)))


class _Composer:
    def __init__(self, session: Session, request: PictureRequest, fit: Fitter) -> None:
        self.session, self.request, self.fit, self.theme = session, request, fit, request.theme
        self.factor = size_factor(request.width, request.height)
        self.items: list[Item] = []
        self.margin = self.px(14)
        self.font = {
            "title": self.sized(19, bold=True),
            "subtitle": self.sized(12),
            "axis": self.sized(11),
            "header": self.sized(12, bold=True),
            "detail": self.sized(11),
            "lane": self.sized(11),
            "slice": self.sized(11),
            "legend": self.sized(11),
            "footer": self.sized(10),
        }

    def px(self, size: float) -> int:
        """A length of the plain layout in this picture's px."""
        return max(1, round(size * self.factor))

    def sized(self, size: float, *, bold: bool = False) -> Font:
        return Font(max(9, round(size * self.factor)), bold)

    def text(
        self, x: float, middle: float, text: str, font: Font, color: str, role: Role, anchor: Anchor = "start"
    ) -> SceneText:
        """Add one line of text whose capitals are centred on ``middle``."""
        item = SceneText(
            round(x, 2), round(middle + CAP * font.size, 2), text, font, color, role, self.fit.width(text, font), anchor
        )
        self.items.append(item)
        return item

    def compose(self) -> PictureScene:
        request, theme = self.request, self.theme
        left, right = self.margin, request.width - self.margin
        shown_top = self._heads(left, right)
        groups = build_tree(self.session)
        footer = provenance(self.session, [g.id for g in groups], request.window)
        low = request.height - self.margin
        if request.footer:
            # Room for the words that say which part of the job is shown.
            low -= self._footer_height([*footer[:-1], f"{footer[-1]} (of 9,999 groups)"], right - left)
        gutter = self._gutter(groups, right - left)
        axis = Bounds(left + gutter, shown_top, right - left - gutter, self.px(22))
        ranged = request.selection.range
        strip = self.px(20) if ranged is not None and _touches(ranged, request.window) else 0
        lanes_top = round(axis.bottom) + strip
        marks = Marks(self.session, request.window, request.selection, request.notes)
        # The legend's height depends on what the lanes show, and they on its height: the lowest that suffices.
        for lines in range(1 if request.legend else 0, len(Paint) + 1):
            legend_top = low - (self.px(18) * lines + self.px(6) if lines else 0)
            chosen, remarks = self._choose(groups, marks, legend_top - lanes_top)
            room = legend_top - lanes_top - (self.px(18) if remarks else 0)
            height = max(0, min(room, chosen.placement.height - chosen.top))
            area = Bounds(round(axis.x), lanes_top, round(axis.width), height)
            paints = self._paints(chosen, area) if request.legend else []
            if len(self._legend_parts(paints, right - left)) <= lines:
                break
        painter = LanePainter(self.session, chosen.placement, theme)
        self._lanes(painter, chosen, area, self._axis(axis))
        self._unrecorded(chosen, area)
        headers = self._row_labels(chosen, area, left)
        at = len(self.items)
        covered = marks.draw(self, painter, chosen, area, headers)
        over = self.items[at:]
        del self.items[at:]
        boxes = self._boxes(painter, chosen, area) if area.height > 0 else []
        if request.vector:
            self._shapes(boxes)
        # The range lies on the slices and under their names.
        marks.draw_range(self, area, strip)
        self._names(boxes, covered)
        self._frame(chosen, area, left)
        self.items.extend(over)
        if remarks:
            self._remarks(remarks, left, right, area.bottom)
        shown = [g for g in groups if any(r.group.id == g.id for r in self._visible(chosen, area))]
        if request.legend:
            self._legend(paints, left, right, legend_top)
        if request.footer:
            footer = provenance(self.session, [g.id for g in shown], request.window) if shown else footer
            self._footer(footer, left, right, low)
        return PictureScene(
            request.width,
            request.height,
            request.scale,
            theme["base"],
            tuple(self.items),
            one_line(request.title) or "Rankscope",
            "; ".join(footer),
        )

    # Heads: title and subtitle.

    def _heads(self, left: int, right: int) -> int:
        y: float = self.margin
        lines = [
            ("title", line) for line in self.fit.wrap(one_line(self.request.title), self.font["title"], right - left, 2)
        ]
        subtitle = self._subtitle() if self.request.subtitle is None else one_line(self.request.subtitle)
        lines += [("subtitle", line) for line in self.fit.wrap(subtitle, self.font["subtitle"], right - left, 2)]
        for role, line in lines:
            font = self.font[role]
            y += 1.32 * font.size
            color = self.theme["text"] if role == "title" else self.theme["muted"]
            self.text(left, y - 0.66 * font.size, line, font, color, "title" if role == "title" else "subtitle")
        return round(y + (self.px(6) if lines else 0))

    def _subtitle(self) -> str:
        session, window = self.session, self.request.window
        ranks = [g.rank for g in session.groups if g.rank is not None]
        parts = [f"{'ranks' if len(set(ranks)) > 1 else 'rank'} {rank_words(ranks)}"] if ranks else []
        gpus = sorted({g.gpu for g in session.groups if g.gpu})
        hosts = sorted({g.host for g in session.groups if g.host})
        parts += [one_line(gpus[0])] if len(gpus) == 1 else [f"{len(gpus)} kinds of GPU"] if gpus else []
        parts += [one_line(hosts[0])] if len(hosts) == 1 else [f"{len(hosts)} hosts"] if hosts else []
        parts.append(f"{format_duration(window.length_ns)} from {exact(window.start_ns - session.origin_ns())}")
        return "  ·  ".join(parts)

    # Rows: which, where, and what is said of the others.

    def _choose(self, groups: Sequence[LaneGroup], marks: Marks, room: int) -> tuple[Chosen, list[str]]:
        chosen = self._rows(groups, marks, room)
        remarks = self._unsaid(chosen, marks)
        if remarks:
            chosen = self._rows(groups, marks, room - self.px(18))
            remarks = self._unsaid(chosen, marks)
        return chosen, remarks

    def _rows(self, groups: Sequence[LaneGroup], marks: Marks, room: int) -> Chosen:
        room = max(0, room)
        view = self.request.view
        if view is not None:
            return view_rows(view.placement, view.top, view.height, room, 1.5 * self.factor)

        needed = marks.lanes_needed(groups)
        return choose_rows(self.session, groups, self.request.window, needed, room, self.factor)

    def _unsaid(self, chosen: Chosen, marks: Marks) -> list[str]:
        remarks = []
        more = chosen.hidden + chosen.quiet
        if chosen.hidden:
            empty = f", {format_count(chosen.quiet)} of them empty in this window" if chosen.quiet else ""
            whole = "1 rank" if chosen.hidden_groups == 1 else f"{format_count(chosen.hidden_groups)} ranks"
            ranks = f", all of {whole} among them" if chosen.hidden_groups else ""
            remarks.append(f"{format_count(more)} more {'lane' if more == 1 else 'lanes'} not shown{ranks}{empty}")
        elif chosen.quiet:
            plural = "1 lane" if more == 1 else f"{format_count(more)} lanes"
            remarks.append(f"{plural} without events in this window not shown")
        return remarks + marks.outside(chosen)

    def _remarks(self, remarks: list[str], left: int, right: int, top: float) -> None:
        font = self.font["footer"]
        line = self.fit.elide("  ·  ".join(remarks), font, right - left)
        self.text(left, top + self.px(9), line, font, self.theme["muted"], "more")

    def _visible(self, chosen: Chosen, area: Bounds) -> list[PlacedRow]:
        low, high = chosen.top, chosen.top + area.height
        return [r for r in chosen.placement.rows if r.y < high and r.y + r.height > low]

    def _gutter(self, groups: Sequence[LaneGroup], width: int) -> int:
        widest = max((self.fit.width(one_line(x.label), self.font["lane"]) for g in groups for x in g.lanes), default=0)
        caption = self.fit.width(self._axis_caption(self._ticks(0.85 * width)), self.font["axis"]) + self.px(10)
        return round(max(caption, min(max(widest + self.px(20), self.px(76)), 0.24 * width, self.px(230))))

    # Lanes, axis and labels.

    def _lanes(self, painter: LanePainter, chosen: Chosen, area: Bounds, grid: Sequence[float]) -> None:
        if area.height <= 0 or not chosen.placement.rows:
            where = Bounds(area.x, area.y, area.width, max(area.height, self.px(24)))
            words = self.fit.elide("Nothing was recorded in this window.", self.font["subtitle"], where.width)
            middle = where.y + where.height / 2
            self.text(
                where.x + where.width / 2, middle, words, self.font["subtitle"], self.theme["muted"], "more", "middle"
            )
            return
        dpr = self.request.scale
        if self.request.vector:
            dpr = min(dpr, math.sqrt(RASTER_LIMIT / (area.width * area.height)))
        frame = painter.frame(
            self.request.window, int(area.width), chosen.top, int(area.height), dpr, grid=grid, labels=False
        )
        self.items.append(SceneImage(area, frame.image))

    def _ticks(self, width: float) -> Axis:
        """Ticks for an axis that wide; their x still count plain px."""
        return ticks(self.request.window, self.session.origin_ns(), width / self.factor)

    def _axis_caption(self, axis: Axis) -> str:
        return f"{axis.base} +" if axis.base else f"time ({axis.unit})"

    def _axis(self, axis: Bounds) -> list[float]:
        """Draw the time axis; returns where its grid lines are, from the left edge of the lanes."""
        theme, font = self.theme, self.font["axis"]
        scale = self._ticks(axis.width)
        middle = axis.y + axis.height / 2 - self.px(2)
        self.text(axis.x - self.px(8), middle, self._axis_caption(scale), font, theme["muted"], "axis", "end")
        taken, grid = axis.x - self.px(2), []
        for tick in scale.ticks:
            at = axis.x + tick.x * self.factor
            if at > axis.right:
                continue
            length = self.px(5 if tick.major else 3)
            self.items.append(SceneLine(at, axis.bottom - length, at, axis.bottom, theme["muted"]))
            if not tick.major:
                continue
            grid.append(at - axis.x)
            width = self.fit.width(tick.label, font)
            start = min(max(at - width / 2, axis.x), axis.right - width)
            if start >= taken:
                self.text(start, middle, tick.label, font, theme["text"], "axis")
                taken = start + width + self.px(10)
        self.items.append(SceneLine(axis.x, axis.bottom, axis.right, axis.bottom, theme["muted"]))
        return grid

    def _unrecorded(self, chosen: Chosen, area: Bounds) -> None:
        """Hatch where a rank's files hold nothing because they begin later or end earlier than the window."""
        rows: dict[int, list[PlacedRow]] = {}
        for row in self._visible(chosen, area):
            if row.lane is not None:
                rows.setdefault(row.group.id, []).append(row)
        for members in rows.values():
            inputs = {part for r in members if r.lane for part, _ in r.lane.parts}
            extents = [e for i in inputs if (e := self.session.inputs[i].extent()) is not None]
            top = max(area.y, area.y + members[0].y - chosen.top)
            bottom = min(area.bottom, area.y + members[-1].y + members[-1].height - chosen.top)
            first = self.x(area, min((e.start_ns for e in extents), default=self.request.window.end_ns))
            last = self.x(area, max((e.end_ns for e in extents), default=self.request.window.end_ns))
            for a, b in ((area.x, min(first, area.right)), (max(last, area.x), area.right)):
                if b - a > self.px(3):
                    self.items.append(SceneHatch(Bounds(a, top, b - a, bottom - top), self.theme["line"], self.px(7)))

    def x(self, area: Bounds, time_ns: int) -> float:
        """Where an instant lies."""
        window = self.request.window
        return area.x + (time_ns - window.start_ns) * area.width / window.length_ns

    def _row_labels(self, chosen: Chosen, area: Bounds, left: int) -> list[Bounds]:
        headers = []
        collapsed = {r.y for i, r in enumerate(chosen.placement.rows) if is_collapsed(chosen.placement, i)}
        for row in self._visible(chosen, area):
            top = max(area.y, area.y + row.y - chosen.top)
            height = min(area.bottom, area.y + row.y + row.height - chosen.top) - top
            if row.lane is None:
                # A collapsed group's strip lies in its header: it stays visible right of the labels.
                right = area.x if row.y in collapsed else area.right
                headers.append(self._header(row, top, height, left, right))
            else:
                self._lane_label(row, top, height, area, left)
        return headers

    def _header(self, row: PlacedRow, top: float, height: float, left: int, right: float) -> Bounds:
        theme, font, detail = self.theme, self.font["header"], self.font["detail"]
        self.items.append(SceneRect(left, top, right - left, height, theme["group"]))
        x, middle, room = left + self.px(8), top + height / 2, right - left - self.px(16)
        if font.size > height:
            return Bounds(left, top, 0, 0)
        title = self.text(
            x, middle, self.fit.elide(one_line(row.group.title), font, room), font, theme["text"], "header"
        )
        words = [row.group.subtitle, row.group.warning]
        more = self.fit.elide(one_line("  ·  ".join(w for w in words if w)), detail, room - title.width - self.px(12))
        end = title.bounds.right
        if more:
            end = self.text(end + self.px(12), middle, more, detail, theme["muted"], "header").bounds.right
        return Bounds(left, top, end - left, height)

    def _lane_label(self, row: PlacedRow, top: float, height: float, area: Bounds, left: int) -> None:
        assert row.lane is not None
        base, pad = self.font["lane"], self.px(8)
        font = Font(min(base.size, int(height / 1.06)))
        room = area.x - left - pad - self.px(6)
        if font.size < 7:
            return
        tall = height > 3.2 * base.size
        middle = top + 0.8 * base.size if tall else top + height / 2
        label = self.fit.elide(one_line(row.lane.label), font, room)
        if not label:
            return
        item = self.text(left + pad, middle, label, font, self.theme["text"], "lane")
        detail = one_line(row.lane.detail)
        small = Font(min(self.font["footer"].size, font.size))
        if detail and tall:
            words = self.fit.elide(detail, small, room)
            if words:
                self.text(left + pad, middle + 1.3 * base.size, words, small, self.theme["muted"], "lane")
        elif detail and self.fit.width(detail, small) <= room - item.width - self.px(8):
            self.text(item.bounds.right + self.px(8), middle, detail, small, self.theme["muted"], "lane")

    def _boxes(self, painter: LanePainter, chosen: Chosen, area: Bounds) -> list[tuple[Box, Bounds]]:
        """Slices to draw as shapes or to name, with their visible part on the picture.

        The painter bounds how many it returns: then only the wider ones become shapes, the image has all.
        """
        least = VECTOR_WIDTH if self.request.vector else float(self.px(26))
        while True:
            found = painter.boxes(self.request.window, int(area.width), least, chosen.top, int(area.height))
            if len(found) < MOST_BOXES or least > area.width:
                break
            least *= 2
        out = []
        for box in found:
            x0, x1 = max(area.x, area.x + box.x), min(area.right, area.x + box.x + box.width)
            y0 = max(area.y, area.y + box.y)
            # The last px keeps sub-rows apart, as in the image.
            y1 = min(area.bottom, area.y + box.y + box.height - (1 if box.height >= 4 else 0))
            if x1 > x0 and y1 > y0:
                out.append((box, Bounds(x0, y0, x1 - x0, y1 - y0)))
        return out

    def _shapes(self, boxes: Sequence[tuple[Box, Bounds]]) -> None:
        for box, b in boxes:
            trace = self.session.inputs[box.ref.input].trace
            tip = f"{one_line(trace.name(box.ref.index))}, {format_duration(int(trace.slices.dur_ns[box.ref.index]))}"
            self.items.append(SceneRect(b.x, b.y, b.width, b.height, self.theme.paints[box.paint], tip=tip))

    def _names(self, boxes: Sequence[tuple[Box, Bounds]], covered: Sequence[Bounds]) -> None:
        """Names inside slices, where they fit and no callout lies on them."""
        pad, base = self.px(4), self.font["slice"]
        for box, b in boxes:
            font = Font(min(base.size, int(b.height / 1.06)))
            if b.width < self.px(26) or font.size < 7 or b.height < 0.8 * box.height:
                continue
            words = self.fit.elide(one_line(box.text), font, b.width - 2 * pad)
            if not words:
                continue
            color = self.theme.paint_text[box.paint]
            item = self.text(b.x + pad, b.y + b.height / 2, words, font, color, "slice")
            if any(item.bounds.overlap(c) for c in covered):
                self.items.pop()

    def _frame(self, chosen: Chosen, area: Bounds, left: int) -> None:
        line = self.theme["line"]
        for row in self._visible(chosen, area):
            if row.lane is not None:
                top = max(area.y, area.y + row.y - chosen.top)
                bottom = min(area.bottom, area.y + row.y + row.height - chosen.top)
                self.items.append(SceneLine(area.x, top, area.x, bottom, line))
        if area.height > 0:
            self.items.append(SceneRect(left, area.y, area.right - left, area.height, stroke=line))

    # Legend and footer.

    def _legend_parts(self, paints: Sequence[Paint], width: float) -> list[list[tuple[Paint, float]]]:
        lines: list[list[tuple[Paint, float]]] = []
        x = width + 1.0
        for paint in paints:
            size = self.px(16) + self.fit.width(PAINT_NAMES[paint], self.font["legend"])
            if x + size > width:
                lines.append([])
                x = 0.0
            lines[-1].append((paint, x))
            x += size + self.px(18)
        return lines

    def _paints(self, chosen: Chosen, area: Bounds) -> list[Paint]:
        """What occurs in the visible levels of the lanes, in the order of the legend."""
        rows = []
        for row in self._visible(chosen, area):
            if row.lane is not None:
                first = max(0, (chosen.top - row.y) // row.row_height)
                last = min(row.lane.sub_rows, math.ceil((chosen.top + area.height - row.y) / row.row_height))
                rows.append((row.lane, int(first), int(last)))
        return sorted(paints_in(self.session, rows, self.request.window), key=_legend_order)

    def _legend(self, paints: Sequence[Paint], left: int, right: int, top: int) -> None:
        for n, line in enumerate(self._legend_parts(paints, right - left)):
            middle = top + self.px(6) + (n + 0.5) * self.px(18)
            for paint, x in line:
                side = self.px(10)
                fill = self.theme.paints[paint]
                self.items.append(SceneRect(left + x, middle - side / 2, side, side, fill, radius=2, crisp=False))
                self.text(
                    left + x + self.px(16),
                    middle,
                    PAINT_NAMES[paint],
                    self.font["legend"],
                    self.theme["text"],
                    "legend",
                )

    def _footer_height(self, parts: list[str], width: float) -> int:
        font = self.font["footer"]
        return round(len(self.fit.flow(parts, font, width)) * 1.4 * font.size) + self.px(9)

    def _footer(self, parts: list[str], left: int, right: int, top: int) -> None:
        font, line = self.font["footer"], self.theme["line"]
        y = top + self.px(5)
        self.items.append(SceneLine(left, y, right, y, line))
        for n, words in enumerate(self.fit.flow(parts, font, right - left)):
            middle = top + self.px(9) + (n + 0.5) * 1.4 * font.size
            self.text(left, middle, words, font, self.theme["muted"], "footer")


def _legend_order(paint: Paint) -> tuple[bool, int]:
    return (paint is Paint.OTHER, int(paint))


def _touches(a: TimeRange, b: TimeRange) -> bool:
    return a.start_ns < b.end_ns and b.start_ns < a.end_ns
