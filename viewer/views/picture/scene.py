"""The annotated picture: a session and a request in, a :class:`PictureScene` out. No Qt.

Everything is laid out in logical px. Fonts, margins and rows grow with the picture (slower than its size, so that a
large picture also shows more), all whole px. What does not fit is said on the picture, never cut in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.base.errors import UsageError
from viewer.base.frames import LaneGroup, Placement
from viewer.base.kept import Mark, Note
from viewer.base.scene import MAX_SIDE, Bounds, Measure, PictureScene, plain_measure
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.base.theme import Theme
from viewer.base.units import format_count
from viewer.store.session import Session
from viewer.views.lanes.looks import Coloring, swatches
from viewer.views.lanes.painter import LanePainter, LodStore
from viewer.views.lanes.tree import build_tree
from viewer.views.memory.lanes import lane_levels
from viewer.views.picture.canvas import Canvas
from viewer.views.picture.colors import BY_CLASS, Inks, LaneColors, LegendEntry, class_entries
from viewer.views.picture.kept import STRIP, draw_marks, marks_inside
from viewer.views.picture.lanes import LaneArea
from viewer.views.picture.marks import Marks
from viewer.views.picture.provenance import provenance
from viewer.views.picture.rows import Chosen, choose_rows, view_rows
from viewer.views.picture.surround import (
    axis_caption,
    axis_ticks,
    draw_axis,
    draw_footer,
    draw_heads,
    draw_legend,
    draw_remarks,
    footer_height,
    job_subtitle,
    legend_lines,
    remarks_height,
)
from viewer.views.text import Fitter, one_line

LEAST_SIZE: Final = (480, 270)


@dataclass(frozen=True, slots=True)
class ViewRows:
    """The rows of a scrolled view on the screen: its placement, scroll position and viewport height.

    A height of 0 is a view as high as the picture allows.
    """

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
        marks: instants as lines, ranges as bands, with their texts.
        view: rows as on the screen; None for all that fit, by importance.
        groups: ranks and lanes to choose from, in order; None for all of the job.
        pinned: keys of lanes that are shown before others.
        colors: how slices are coloured, and which are pale.
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
    marks: tuple[Mark, ...] = ()
    view: ViewRows | None = None
    groups: tuple[LaneGroup, ...] | None = None
    pinned: tuple[str, ...] = ()
    colors: LaneColors = BY_CLASS
    legend: bool = True
    footer: bool = True


def picture_scene(
    session: Session, request: PictureRequest, measure: Measure = plain_measure, lods: LodStore | None = None
) -> PictureScene:
    """Compose the picture.

    Args:
        session: the job.
        request: what to draw.
        measure: widths of texts, from whoever will paint; the default errs on the wide side.
        lods: levels of detail built so far, to draw large traces faster; the picture is the same without them.

    Raises:
        UsageError: the window is empty or the size is out of bounds.
    """
    if request.window.length_ns <= 0:
        raise UsageError("the picture's window is empty: it must end after it begins.")
    if request.width < LEAST_SIZE[0] or request.height < LEAST_SIZE[1]:
        raise UsageError(f"a picture needs at least {LEAST_SIZE[0]}x{LEAST_SIZE[1]} pixels.")
    if max(request.width, request.height) > MAX_SIDE:
        raise UsageError(f"a picture has at most {MAX_SIDE} pixels per side.")
    canvas = Canvas(request.width, request.height, request.window, request.theme, Fitter(measure))
    return _Composer(session, request, canvas, lods).compose()


class _Composer:
    def __init__(self, session: Session, request: PictureRequest, canvas: Canvas, lods: LodStore | None) -> None:
        self.session, self.request, self.canvas, self.lods = session, request, canvas, lods
        self._meanings: list[LegendEntry] | None = None
        self.marks = Marks(session, request.window, request.selection, request.notes)
        self.groups = build_tree(session) if request.groups is None else request.groups

    def compose(self) -> PictureScene:
        session, request, canvas = self.session, self.request, self.canvas
        subtitle = job_subtitle(session, request.window) if request.subtitle is None else request.subtitle
        top = draw_heads(canvas, request.title, subtitle)
        low = request.height - canvas.margin
        footer = provenance(session, [g.id for g in self.groups], request.window)
        if request.footer:
            # Room for the words that say which part of the job is shown.
            low -= footer_height(canvas, [*footer[:-1], f"{footer[-1]} (of 9,999 groups)"])
        ranged = request.selection.range
        strip = canvas.px(20) if ranged is not None and _touches(ranged, request.window) else 0
        axis_height = canvas.px(22)
        kept = marks_inside(request.marks, request.window)
        flags = canvas.px(STRIP) if kept else 0
        area, remarks, legend, legend_top = self._fit(top + axis_height + flags + strip, low)
        axis = Bounds(area.area.x, top, area.area.width, axis_height)

        for row in area.chosen.placement.rows:
            if row.lane is not None and row.lane.memory:
                lane_levels(session, row.lane, wait=True)
        painter = LanePainter(session, area.chosen.placement, request.theme, self.lods)
        request.colors.dress(painter)
        inks = Inks(request.colors, request.theme)
        grid = draw_axis(canvas, axis, session.origin_ns())
        area.draw_image(painter, grid, request.scale, vector=request.vector)
        area.draw_unrecorded()
        headers = area.draw_labels()
        before = len(canvas.items)
        covered = self.marks.draw(canvas, painter, area.chosen, area.area, headers)
        marks = canvas.items[before:]
        del canvas.items[before:]
        boxes = area.boxes(painter, vector=request.vector) if area.area.height > 0 else []
        if request.vector:
            area.draw_shapes(boxes, inks)
        # The range lies on the slices and under their names; callouts lie on everything.
        self.marks.draw_range(canvas, area.area, strip)
        draw_marks(canvas, kept, area.area, top + axis_height, area.chosen)
        area.draw_names(boxes, covered, inks)
        area.draw_axes()
        area.draw_frame()
        canvas.items.extend(marks)
        draw_remarks(canvas, remarks, area.area.bottom)
        draw_legend(canvas, legend, min(legend_top, round(area.area.bottom) + remarks_height(canvas, remarks)))
        shown = {r.group.id for r in area.visible()}
        if request.footer:
            if shown:
                footer = provenance(session, [g.id for g in self.groups if g.id in shown], request.window)
            draw_footer(canvas, footer, low)
        return PictureScene(
            request.width,
            request.height,
            request.scale,
            request.theme["base"],
            tuple(canvas.items),
            one_line(request.title) or "Rankscope",
            "; ".join(footer),
        )

    def _fit(self, top: int, low: int) -> tuple[LaneArea, list[str], list[LegendEntry], int]:
        """Lanes between ``top`` and ``low``, with what is said of the others, the legend and its place.

        The legend and the remarks need room that depends on what the lanes show, and the lanes show what fits: the
        fewest lines of both that suffice.
        """
        canvas = self.canvas
        lines, said = (1 if self.request.legend else 0), 0
        while True:
            legend_top = low - (canvas.px(18) * lines + canvas.px(6) if lines else 0)
            room = max(0, legend_top - top - said)
            chosen = self._rows(room)
            height = max(0, min(room, chosen.placement.height - chosen.top))
            if not chosen.placement.rows:
                height = min(room, canvas.px(40))  # for the words that say why
            left = canvas.margin + self._gutter(chosen)
            place = Bounds(left, top, canvas.width - canvas.margin - left, height)
            area = LaneArea(canvas, self.session, chosen, place)
            remarks = self._unsaid(chosen)
            legend = self._legend(area) if self.request.legend else []
            needed = len(legend_lines(canvas, legend))
            height_said = remarks_height(canvas, remarks)
            if (needed <= lines and height_said <= said) or room == 0:
                return area, remarks, legend, legend_top
            lines, said = max(lines, needed), max(said, height_said)

    def _rows(self, room: int) -> Chosen:
        view, canvas = self.request.view, self.canvas
        if view is not None:
            return view_rows(view.placement, view.top, view.height, room, 1.5 * canvas.factor)
        needed = self.marks.lanes_needed(self.groups) | {
            x.key for g in self.groups for x in g.lanes if x.key in self.request.pinned
        }
        return choose_rows(self.session, self.groups, self.request.window, needed, room, canvas.factor)

    def _unsaid(self, chosen: Chosen) -> list[str]:
        remarks = []
        more = chosen.hidden + chosen.quiet
        if chosen.hidden:
            whole = "1 rank" if chosen.hidden_groups == 1 else f"{format_count(chosen.hidden_groups)} ranks"
            ranks = f", all of {whole} among them" if chosen.hidden_groups else ""
            empty = f", {format_count(chosen.quiet)} of them empty in this window" if chosen.quiet else ""
            remarks.append(f"{format_count(more)} more {'lane' if more == 1 else 'lanes'} not shown{ranks}{empty}")
        elif chosen.quiet:
            plural = "1 lane" if more == 1 else f"{format_count(more)} lanes"
            remarks.append(f"{plural} without events in this window not shown")
        return [*remarks, *self.request.colors.words, *self.marks.outside(chosen)]

    def _legend(self, area: LaneArea) -> list[LegendEntry]:
        colors, theme = self.request.colors, self.request.theme
        if colors.coloring is Coloring.CLASS:
            return class_entries(area.paints(), colors, theme)
        if self._meanings is None:
            found = swatches(self.session, colors.coloring, (), theme)
            self._meanings = [LegendEntry(s.text, s.color) for s in found]
        return self._meanings

    def _gutter(self, chosen: Chosen) -> int:
        """Room for the labels left of the lanes, and for the caption of the axis."""
        canvas = self.canvas
        width = canvas.width - 2 * canvas.margin
        lanes = (r.lane for r in chosen.placement.rows if r.lane is not None)
        labels = (canvas.fit.width(one_line(x.label), canvas.font["lane"]) for x in lanes)
        caption = axis_caption(axis_ticks(canvas, self.session.origin_ns(), 0.85 * width))
        return round(
            max(
                canvas.fit.width(caption, canvas.font["axis"]) + canvas.px(10),
                min(max(max(labels, default=0.0) + canvas.px(20), canvas.px(76)), 0.24 * width, canvas.px(230)),
            )
        )


def _touches(a: TimeRange, b: TimeRange) -> bool:
    return a.start_ns < b.end_ns and b.start_ns < a.end_ns
