"""Marks and notes upon the timeline: where new ones go, what shows of them, and what the mouse does with marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QGridLayout, QLabel

from viewer.base.kept import Mark, Note
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.panels.context import JobContext
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.panels.timeline.overlay import View, selected_range
from viewer.views.kept.anchors import anchor_of
from viewer.views.kept.marks import color_token
from viewer.views.lanes.arrangement import LaneArrangement
from viewer.views.lanes.hit import time_at, time_of
from viewer.views.timeline.ticks import exact
from viewer.views.timeline.viewport import fitted
from widgets.lane_overlay import MarkBand
from widgets.mark_strip import MarkFlag, MarkStrip

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel


class TimelineKept(QObject):
    """Shows marks, and turns the pointer and the selection into places of new marks and notes.

    Signals:
        note_requested(object time_ns, str lane, object anchor, int depth): ask for a text and put a note there.
        mark_requested(object start_ns, object end_ns, str lane)
        mark_moved(int id, object start_ns, object end_ns)
        mark_edited(int id): another text is wanted.
        mark_menu(int id, object): QPoint of the screen.
        mark_clicked(int id)
    """

    note_requested = Signal(object, str, object, int)
    mark_requested = Signal(object, object, str)
    mark_moved = Signal(int, object, object)
    mark_edited = Signal(int)
    mark_menu = Signal(int, object)
    mark_clicked = Signal(int)

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes = panel, context, lanes
        self.strip = MarkStrip(context.theme)
        self.label = QLabel("Marks")
        self.label.setContentsMargins(10, 0, 8, 0)
        self.label.hide()
        self.notes: tuple[Note, ...] = ()
        self.marks: tuple[Mark, ...] = ()
        self._dragged: Mark | None = None
        self.strip.moved.connect(self._move)
        self.strip.dropped.connect(self._drop)
        self.strip.edited.connect(self.mark_edited)
        self.strip.clicked.connect(self.mark_clicked)
        self.strip.menu_requested.connect(self.mark_menu)
        context.window_changed.connect(self.update_strip)

    def join(self, grid: QGridLayout, row: int) -> None:
        """Put the strip and its label into the timeline."""
        grid.addWidget(self.label, row, 0)
        grid.addWidget(self.strip, row, 1)

    @property
    def arrangement(self) -> LaneArrangement:
        """How the lanes are arranged."""
        return self._lanes.arrangement

    def set_arrangement(self, wanted: LaneArrangement) -> None:
        """Arrange the lanes like that."""
        self._lanes.set_arrangement(wanted)

    def set_notes(self, notes: Sequence[Note]) -> None:
        """Show these notes."""
        self.notes = tuple(notes)
        self._panel.canvas.update()

    def set_marks(self, marks: Sequence[Mark]) -> None:
        """Show these marks."""
        self.marks = tuple(marks)
        self.update_strip()
        self.update_minimap()
        self._panel.canvas.update()

    # new ones

    def add_mark(self) -> None:
        """Mark what the pointer is in: the selected time, else the instant; without a pointer the selection."""
        window = self._panel.window()
        if window is None:
            return
        selection = self._context.selection
        target = selected_range(self._context.session, selection)
        at = self._instant(window)
        if target is not None and (at is None or target.start_ns <= at < max(target.end_ns, target.start_ns + 1)):
            self.mark_requested.emit(target.start_ns, target.end_ns, self._selected_lane(selection))
        elif at is not None:
            self.mark_requested.emit(at, at, "")
        else:
            middle = window.start_ns + window.length_ns // 2
            self.mark_requested.emit(middle, middle, "")

    def add_note(self) -> None:
        """Ask for a note at the slice or the lane under the pointer, else at the selection, else in the middle."""
        window = self._panel.window()
        if window is None:
            return
        selection = self._context.selection
        at, hit = self._instant(window), self._panel.pointer.hit
        if at is not None and self._panel.pointer.cursor is not None:
            if hit is not None and hit.slice is not None and hit.row.lane is not None:
                self._request_at_slice(hit.slice)
                return
            row = self._lanes.placement.at(
                self._lanes.placement.content_y(self._panel.pointer.cursor.y(), self._panel.scroll_top)
            )
            lane = row.lane.key if row is not None and row.lane is not None else ""
            self.note_requested.emit(at, lane, None, 0)
        elif selection.slice is not None:
            self._request_at_slice(selection.slice)
        else:
            target = selected_range(self._context.session, selection) or window
            self.note_requested.emit(target.start_ns + target.length_ns // 2, self._selected_lane(selection), None, 0)

    def _request_at_slice(self, ref: SliceRef) -> None:
        session = self._context.session
        item = session.inputs[ref.input]
        time = time_of(item, ref.index)
        anchor = anchor_of(session, self._lanes.groups, ref)
        depth = int(item.trace.rows.depth[item.trace.row_of(ref.index)])
        lane = anchor.lane if anchor is not None else ""
        self.note_requested.emit(time.start_ns + time.length_ns // 2, lane, anchor, depth)

    def _instant(self, window: TimeRange) -> int | None:
        """What the pointer points at, in the job's own time also where its rank is shown later."""
        cursor = self._panel.pointer.cursor
        if cursor is None:
            return None
        row = self._lanes.placement.at(self._lanes.placement.content_y(cursor.y(), self._panel.scroll_top))
        late = self._context.shifts.get(row.group.id, 0) if row is not None else 0
        return time_at(window, self._panel.canvas.width(), cursor.x()) - late

    def _selected_lane(self, selection: Selection) -> str:
        if selection.slice is not None:
            lane = self._lanes.session.inputs[selection.slice.input].trace.lane_of(selection.slice.index)
            return self._lanes.lane_key(selection.slice.input, lane.id)
        gap = selection.gap
        return self._lanes.lane_key(gap.input, gap.lane) if gap is not None else ""

    def show_instant(self, time_ns: int, lane: str) -> None:
        """Bring an instant into the middle of the window, and a lane into sight."""
        window = self._panel.window()
        if window is None:
            return
        self._lanes.unfold(lane)
        start = time_ns - window.length_ns // 2
        if not window.contains(time_ns):
            self._panel.show_range(TimeRange(start, start + window.length_ns))
        group = next((g.id for g in self._lanes.groups if any(x.key == lane for x in g.lanes)), None)
        if group in self._panel.collapsed:
            self._panel.toggle_group(group)
        row = self._lanes.placement.find(lane) if lane else None
        top, room = self._panel.scroll_top, self._panel.canvas.height()
        if row is not None and not top <= row.y <= top + room - row.height:
            self._panel.scrollbar.setValue(row.y + row.height // 2 - room // 2)

    # what shows

    def bands(self, view: View) -> list[MarkBand]:
        """The marks upon the lanes: over all of them, or over their own while it is placed."""
        out = []
        for mark in self._shown():
            row = view.painter.row_of(mark.lane) if mark.lane else None
            if row is not None:
                y = view.y(row.y)
                places = [(y, y + row.height, self._late(mark))]
            elif not self._lanes.shifts or mark.lane:
                places = [(0.0, float(view.height), self._late(mark))]
            else:
                places = self._on_every_rank(view)
            for y0, y1, late in places:
                x0, x1 = view.x(mark.start_ns + late), view.x(mark.end_ns + late)
                if x1 >= 0 and x0 <= view.width and y1 > 0 and y0 < view.height:
                    out.append(MarkBand(x0, x1, float(y0), float(y1), color_token(mark.color)))
        return out

    def _late(self, mark: Mark) -> int:
        """By how much the rank of a mark's lane is shown later."""
        groups = self._lanes.groups if mark.lane and self._lanes.shifts else ()
        group = next((g.id for g in groups if any(lane.key == mark.lane for lane in g.lanes)), None)
        return self._lanes.shifts.get(group, 0) if group is not None else 0

    def _on_every_rank(self, view: View) -> list[tuple[float, float, int]]:
        """(upper border, lower border, ns later) of every rank in sight: shifted ranks reach an instant apart."""
        out: dict[int, tuple[float, float]] = {}
        for row, place in view.rows():
            if not row.pinned:
                y0, y1 = out.get(row.group.id, (float(view.height), 0.0))
                out[row.group.id] = min(y0, place[0]), max(y1, place[0] + place[1])
        return [(y0, y1, self._lanes.shifts.get(group, 0)) for group, (y0, y1) in out.items()]

    def update_strip(self, _: object = None) -> None:
        """Put the flags where the marks are in the window that shows."""
        window, strip = self._panel.window(), self.strip
        if window is None:
            strip.set_flags((), any_marks=False)
            return
        width = self._panel.canvas.width()
        view = View(self._lanes.painter, window, width, 0, 0)
        flags = []
        for mark in self._shown():
            late = self._late(mark)
            x0, x1 = view.x(mark.start_ns + late), view.x(mark.end_ns + late)
            if x1 >= -12 and x0 <= width:
                flags.append(MarkFlag(mark.id, x0, x1, color_token(mark.color), mark.text, self._tip(mark)))
        strip.set_flags(flags, any_marks=bool(self.marks))
        self.label.setVisible(bool(self.marks))

    def update_minimap(self) -> None:
        """Put the marks upon the overview."""
        extent = self._panel.extent
        if extent is None:
            self._panel.minimap.set_kept(())
            return
        whole = fitted(extent)
        share = [
            tuple(min(max((t - whole.start_ns) / whole.length_ns, 0.0), 1.0) for t in (m.start_ns, m.end_ns))
            for m in self.marks
        ]
        tokens = [color_token(m.color) for m in self.marks]
        self._panel.minimap.set_kept([(a, b, token) for (a, b), token in zip(share, tokens, strict=True)])

    def _shown(self) -> list[Mark]:
        dragged = self._dragged
        return [dragged if dragged is not None and m.id == dragged.id else m for m in self.marks]

    def _tip(self, mark: Mark) -> str:
        when = exact(mark.start_ns - self._panel.origin_ns)
        length = f", {format_duration(mark.end_ns - mark.start_ns)}" if mark.is_range else ""
        return f"{mark.text or 'Mark'}\n{when}{length}" + (f"\n{mark.lane}" if mark.lane else "")

    # dragging

    def _move(self, mark_id: int, part: str, px: float) -> None:
        window = self._panel.window()
        mark = next((m for m in self.marks if m.id == mark_id), None)
        if window is None or mark is None:
            return
        by = round(px * window.length_ns / self._panel.canvas.width())
        start = mark.start_ns + (by if part != "end" else 0)
        end = mark.end_ns + (by if part != "start" else 0)
        self._dragged = replace(mark, start_ns=min(start, end), end_ns=max(start, end))
        self.update_strip()
        self._panel.canvas.update()

    def _drop(self, mark_id: int) -> None:
        moved, self._dragged = self._dragged, None
        if moved is not None and moved.id == mark_id:
            self.mark_moved.emit(moved.id, moved.start_ns, moved.end_ns)
        self.update_strip()
