"""Walking from slice to slice: along a lane, and along launches and other arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from viewer.analyses.flows import onward, origins
from viewer.base.selection import SliceRef
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.store.session import Session
from viewer.views.lanes.beside import beside
from viewer.views.lanes.hit import time_of
from viewer.views.timeline import viewport

if TYPE_CHECKING:
    from viewer.panels.timeline.lanes import TimelineLanes
    from viewer.panels.timeline.panel import TimelinePanel


class TimelineWalk(QObject):
    """Moves the selection of a timeline.

    Signals:
        said(str): why nothing moved.
    """

    said = Signal(str)

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes = panel, context, lanes

    def along_lane(self, direction: int) -> None:
        """Select the next (1) or the previous (-1) slice of the lane; without a slice, the first one in sight."""
        ref = self._context.selection.slice
        if ref is None:
            found = self._first_in_sight()
            if found is not None:
                self._context.jump(found)
            return
        target = beside(self._context.session, self._parts_of(ref), ref, direction)
        if target is None:
            self.said.emit(f"This is the {'last' if direction > 0 else 'first'} slice of its lane.")
        else:
            self._context.jump(target)

    def _parts_of(self, ref: SliceRef) -> tuple[tuple[int, int], ...]:
        """(input, lane) of all that is shown as the lane of a slice: a rank may come in several files."""
        own = (ref.input, self._context.session.inputs[ref.input].trace.lane_of(ref.index).id)
        rows = (row for group in self._lanes.groups for row in group.lanes)
        return next((row.parts for row in rows if own in row.parts), (own,))

    def _first_in_sight(self) -> SliceRef | None:
        window, panel = self._panel.window(), self._panel
        if window is None:
            return None
        for placed in panel.placement.rows:
            if placed.lane is None or placed.y + placed.height <= panel.scroll_top:
                continue
            for source, lane_id in placed.lane.parts:
                item = self._context.session.inputs[source]
                row = item.trace.lanes[lane_id].row_begin
                a, b = item.trace.window_rows(row, item.clock.to_raw(window.start_ns), item.clock.to_raw(window.end_ns))
                if a < b:
                    return SliceRef(source, a)
        return None

    def follow(self, direction: int) -> None:
        """Select what the slice leads to (1: launch to GPU work, forward to backward), or what it comes from (-1)."""
        ref, session = self._context.selection.slice, self._context.session
        if ref is None:
            self.said.emit("Select a slice first.")
            return

        def find(cancel: CancelToken) -> list[int]:
            cancel.check()
            trace = session.inputs[ref.input].trace
            return onward(trace, ref.index) if direction > 0 else origins(trace, ref.index)

        self._context.work.submit("follow", find, lambda rows: self._followed(session, ref, rows, direction))

    def _followed(self, session: Session, ref: SliceRef, rows: list[int], direction: int) -> None:
        if session is not self._context.session or ref != self._context.selection.slice:
            return
        if rows:
            self.go_between(ref, SliceRef(ref.input, rows[0]))
        else:
            self.said.emit("Nothing follows from this slice." if direction > 0 else "Nothing leads to this slice.")

    def go_between(self, source: SliceRef, target: SliceRef) -> None:
        """Select the target and show both slices, wider where they are far apart."""
        window, extent = self._panel.window(), self._panel.extent
        session = self._lanes.session  # as it is shown: steps may be stacked
        if window is None or extent is None:
            return
        first, second = (time_of(session.inputs[r.input], r.index) for r in (source, target))
        self._panel.navigation.settle()
        self._context.jump(target)
        self._panel.set_window(viewport.both_shown(first, second, window, extent))
        self._scroll_to_both(source, target)

    def _scroll_to_both(self, source: SliceRef, target: SliceRef) -> None:
        """Both lanes in sight where the canvas is high enough for that; the target's in any case."""
        rows = {}
        for row in self._panel.placement.rows:
            if row.lane is not None:
                rows.update(dict.fromkeys(row.lane.parts, row))
        ends = []
        for ref in (source, target):
            trace = self._context.session.inputs[ref.input].trace
            placed = rows.get((ref.input, trace.lane_of(ref.index).id))
            if placed is None:
                return
            y = placed.y + int(trace.rows.depth[trace.row_of(ref.index)]) * placed.row_height
            ends.append((y, y + placed.row_height))
        top, bottom = min(a for a, _ in ends) - 34, max(b for _, b in ends) + 10
        height, now = self._panel.canvas.height(), self._panel.scroll_top
        if bottom - top <= height and not (now <= top and bottom <= now + height):
            self._panel.scrollbar.setValue((top + bottom - height) // 2)
