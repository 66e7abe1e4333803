"""What the timeline shows upon its lanes, computed for one window: pure functions over the painter's answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF

from viewer.base.frames import Arrow, Hit, PlacedRow
from viewer.base.ids import Paint
from viewer.base.kept import Note
from viewer.base.selection import Selection, TimeRange
from viewer.base.theme import PAINT_NAMES
from viewer.base.time import format_duration
from viewer.store.session import Session
from viewer.views.lanes.counters import values_at
from viewer.views.lanes.hit import time_of, x_of
from viewer.views.lanes.missing import missing_words
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.steps import StepBand
from viewer.views.lanes.tree import LANE_PAD
from viewer.views.timeline.ticks import exact
from widgets.lane_overlay import NotePin, Overlay, Tip

_FAR_PX: Final = 30_000.0
"""Overlay coordinates are cut here: Qt's painter wants no astronomical ones."""


class View:
    """A window on the lanes in px: what turns session time and lanes into points."""

    def __init__(self, painter: LanePainter, window: TimeRange, width: int, top: int, height: int) -> None:
        self.painter, self.window, self.width, self.top, self.height = painter, window, width, top, height
        self._rows: list[tuple[PlacedRow, tuple[int, int]]] | None = None

    def x(self, time_ns: int) -> float:
        """Logical px of an instant, cut far outside."""
        return min(max(x_of(self.window, self.width, time_ns), -_FAR_PX), _FAR_PX)

    def point(self, time_ns: int, lane: str, depth: int) -> QPointF | None:
        """The middle of a sub-row at an instant; None when its lane is not placed."""
        row = self.painter.row_of(lane)
        if row is None:
            return None
        return QPointF(self.x(time_ns), self.y(row.y + LANE_PAD + (depth + 0.5) * row.row_height))

    def y(self, content_y: float) -> float:
        """Logical px of a height of the content on the canvas."""
        return self.painter.placement.screen_y(content_y, self.top)

    def in_sight(self, row: PlacedRow) -> tuple[int, int] | None:
        """Where a row shows, as (y, height) without what lies behind pinned rows; None when nothing of it does."""
        least = 0 if row.pinned else self.painter.placement.pinned_height
        y = round(self.y(row.y))
        top, bottom = max(y, least), min(y + row.height, self.height)
        return (top, bottom - top) if bottom > top else None

    def rows(self) -> list[tuple[PlacedRow, tuple[int, int]]]:
        """The rows in sight, each with where it shows (see :meth:`in_sight`)."""
        if self._rows is None:
            placement = self.painter.placement
            near = (placement.rows[i] for i in placement.in_sight(self.top, self.height))
            self._rows = [(row, place) for row in near if (place := self.in_sight(row)) is not None]
        return self._rows


def selected_range(session: Session, selection: Selection) -> TimeRange | None:
    """The time of what is selected: the slice, else the gap, else the range."""
    if selection.slice is not None and selection.slice.input < len(session.inputs):
        return time_of(session.inputs[selection.slice.input], selection.slice.index)
    return selection.gap.range if selection.gap is not None else selection.range


def build_overlay(view: View, selection: Selection, arrows: Sequence[Arrow], notes: Iterable[Note]) -> Overlay:
    """Selection, range, arrows and notes; cursor and tooltip are added by the caller."""
    out, painter = Overlay(), view.painter
    if selection.range is not None:
        span = selection.range
        out.range = (view.x(span.start_ns), view.x(span.end_ns), format_duration(span.length_ns))
        if selection.lanes or selection.group is not None:
            out.range_rows = [
                place
                for row, place in view.rows()
                if (row.lane is not None and row.lane.key in selection.lanes)
                or (not selection.lanes and row.group.id == selection.group)
            ]
    if selection.slice is not None and selection.slice.input < len(painter.session.inputs):
        box = painter.box_of(selection.slice, view.window, view.width)
        if box is not None:
            out.selected = QRectF(box.x, view.y(box.y), box.width, box.height)
    if selection.gap is not None:
        row = painter.row_of_lane(selection.gap.input, selection.gap.lane)
        if row is not None and row.lane is not None:
            gap = selection.gap.range
            x0, x1 = view.x(gap.start_ns), view.x(gap.end_ns)
            height = row.row_height * row.lane.sub_rows
            out.gap = QRectF(x0, view.y(row.y + LANE_PAD), max(x1 - x0, 2.0), height)
            out.gap_text = f"gap {format_duration(gap.length_ns)}"
    for arrow in arrows:
        start = view.point(arrow.start_ns, arrow.start_lane, arrow.start_depth)
        end = view.point(arrow.end_ns, arrow.end_lane, arrow.end_depth)
        if start is not None and end is not None:
            out.arrows.append((start, end))
    out.notes = [pin for note in notes if (pin := _pin(view, note)) is not None]
    return out


def _pin(view: View, note: Note) -> NotePin | None:
    """A note at its lane (the middle of its first sub-row); without a lane, or folded away, at the group's header."""
    x = view.x(note.time_ns)
    if not 0 <= x <= view.width:
        return None
    row = view.painter.row_of(note.lane)
    if row is not None:
        y = view.y(row.y + LANE_PAD + (note.depth + 0.5) * row.row_height)
    else:
        heads = (r for r in view.painter.placement.rows if r.lane is None)
        header = next((r for r in heads if any(lane.key == note.lane for lane in r.group.lanes)), None)
        y = view.y(header.y + header.height / 2) if header is not None else 14.0
    if not 0 <= y <= view.height:
        return None  # its lane is scrolled away
    return NotePin(note.id, x, y, note.text, note.dx, note.dy)


def describe(
    session: Session, hit: Hit | None, origin_ns: int, step: StepBand | None = None
) -> tuple[str, tuple[str, ...], Paint | None]:
    """Title and lines of the tooltip of what is under the cursor; an empty title for nothing."""
    if hit is None:
        return "", (), None
    if hit.slice is not None:
        item = session.inputs[hit.slice.input]
        time = time_of(item, hit.slice.index)
        paint = Paint(int(item.trace.slices.paint[hit.slice.index]))
        lines = (
            f"{format_duration(time.length_ns)}  ·  starts at {exact(time.start_ns - origin_ns)}",
            f"{PAINT_NAMES[paint]}  ·  {hit.row.group.title}"
            + (f", {hit.row.lane.label}" if hit.row.lane is not None else ""),
        )
        return item.trace.name(hit.slice.index) or "(no name)", lines, paint
    if hit.gap is not None:
        gap = hit.gap.range
        where = f"{hit.row.group.title}, {hit.row.lane.label}" if hit.row.lane is not None else hit.row.group.title
        return (
            f"Gap of {format_duration(gap.length_ns)}",
            (f"starts at {exact(gap.start_ns - origin_ns)}", where),
            None,
        )
    if hit.time_ns is not None and hit.row.lane is not None:
        where = f"at {exact(hit.time_ns - origin_ns)}  ·  {hit.row.group.title}"
        return hit.row.lane.label, (*values_at(session, hit.row.lane, hit.time_ns), where), None
    if step is not None:
        return f"{hit.row.group.title}, {step.title}", step.lines(), None
    return "", (), None


def tip_of(
    session: Session, hit: Hit | None, origin_ns: int, step: StepBand | None, cursor: QPointF, top: int
) -> Tip | None:
    """The tooltip beside the cursor; None where there is nothing to tell."""
    title, lines, paint = describe(session, hit, origin_ns, step)
    if not title:
        return None
    box = hit.box if hit is not None else None
    avoid = QRectF(box.x, box.y - top, box.width, box.height) if box is not None else None
    return Tip(cursor.x(), cursor.y(), title, lines, paint, avoid)


def extent_text(session: Session, extent: TimeRange | None) -> str:
    """How many ranks, and how long the job is."""
    if extent is None:
        return ""
    ranks = len(session.groups)
    what = "rank" if all(g.rank is not None for g in session.groups) else "file"
    count = missing_words(session) or f"{ranks} {what}{'' if ranks == 1 else 's'}"
    return f"{count} · {format_duration(extent.length_ns, 1)}"
