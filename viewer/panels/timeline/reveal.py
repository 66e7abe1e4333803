"""Bringing what is asked for into view: a slice, a gap, a range or a rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.base.selection import GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.panels.context import JobContext
from viewer.views.lanes.hit import time_of
from viewer.views.timeline import viewport

if TYPE_CHECKING:
    from viewer.panels.timeline.lanes import TimelineLanes
    from viewer.panels.timeline.panel import TimelinePanel


class TimelineReveal:
    """Moves a timeline's window and scroll as little as needed."""

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        self._panel, self._context, self._lanes = panel, context, lanes

    def reveal(self, target: SliceRef | GapRef | TimeRange | GroupRef) -> None:
        """Bring into view: unfold the group, scroll to the lane, pan or zoom as little as needed."""
        window = self._panel.window()
        if window is None or self._panel.extent is None:
            return
        if isinstance(target, GroupRef):
            self._show_group(target.group)
            return
        if isinstance(target, TimeRange):
            chosen = self._lanes.shown(Selection(range=target, group=self._context.selection.group)).range
            self._panel.set_window(viewport.focused(chosen or target, self._panel.extent))
            return
        item = self._lanes.session.inputs[target.input]
        if isinstance(target, SliceRef):
            time, lane = time_of(item, target.index), item.trace.lane_of(target.index).id
            depth = int(item.trace.rows.depth[item.trace.row_of(target.index)])
        else:
            shown = self._lanes.shown(Selection(gap=target)).gap or target
            time, lane, depth = shown.range, target.lane, 0
        self._lanes.unfold(self._lanes.lane_key(target.input, lane))
        self._panel.set_window(viewport.revealed(time, window, self._panel.extent))
        for row in self._lanes.placement.rows:
            if row.lane is not None and (target.input, lane) in row.lane.parts:
                self._scroll_to(row.y + depth * row.row_height, row.row_height + 8)

    def _show_group(self, group: int | None) -> None:
        """Scroll to a group's header unless the header and some of its lanes are in sight."""
        rows = self._lanes.placement.rows
        head = next((r for r in rows if r.lane is None and r.group.id == group), None)
        if head is not None and not 0 <= head.y - self._panel.scroll_top <= self._panel.canvas.height() // 2:
            self._panel.scrollbar.setValue(head.y)

    def _scroll_to(self, y: int, height: int) -> None:
        """Scroll so that this part of the content is in sight, in the middle when it was not."""
        top, room = self._panel.scrollbar.value(), self._panel.canvas.height()
        if y < top + 28 or y + height > top + room:
            self._panel.scrollbar.setValue(y + height // 2 - room // 2)
