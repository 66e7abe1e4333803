"""What mouse and keys do on the timeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent

from viewer.base.frames import Hit
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.timeline.lane_picker import LanePicker
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.panels.timeline.overlay import describe, selected_range
from viewer.views.lanes.hit import time_at, x_of
from viewer.views.lanes.shifted import gap_moved, moved
from viewer.views.lanes.steps import StepBand
from viewer.views.timeline import viewport
from widgets.ruler import GRIP_PX

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel

_PAGE: Final = 0.9
"""Share of the canvas that Page Up and Page Down scroll."""


class TimelinePointer(QObject):
    """Turns points and keys into selections and moves of the panel.

    Signals:
        moved(): cursor, hit or drag changed.
        hovered(str): one line on what is under the pointer.
    """

    moved = Signal()
    hovered = Signal(str)

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes = panel, context, lanes
        self.cursor: QPointF | None = None
        self._on_screen: QPointF | None = None
        self.hit: Hit | None = None
        self.step: StepBand | None = None
        self.dragging: TimeRange | None = None
        self._other: int | None = None
        """The border that stays (shown time) while the one across from it is dragged."""
        self.picker = LanePicker(context, lambda: lanes.placement)

    def forget(self) -> None:
        """What was under the pointer is there no more."""
        self.hit = self.step = None

    def hit_at(self, at: QPointF) -> Hit | None:
        """What lies under a point of the canvas."""
        window = self._panel.window()
        if window is None or not self._lanes.ready:
            return None
        y = self._lanes.placement.content_y(at.y(), self._panel.scroll_top)
        return self._lanes.painter.hit(window, self._panel.canvas.width(), at.x(), y)

    def point(self, at: QPointF | None) -> None:
        """The pointer is there now; None when it left."""
        self.cursor = at
        self._on_screen = self._panel.canvas.mapToGlobal(at) if at is not None else None
        self.update_hit()
        measure = self._panel.measure
        measure.follow(at)
        if not measure.on:
            border = at is not None and self._opposite(at.x(), at.y()) is not None
            shape = Qt.CursorShape.SizeHorCursor if border else Qt.CursorShape.ArrowCursor
            self._panel.canvas.set_idle_cursor(shape)
        self.moved.emit()

    def point_axis(self, x: float | None) -> None:
        """The pointer is on the ruler, at an x of the canvas: its time shows across all ranks."""
        self.point(None if x is None else QPointF(x, -1.0))

    def follow(self) -> None:
        """The canvas moved or changed its size under a mouse that rests: look at what is under it now."""
        if self._on_screen is None:
            return
        at = self._panel.canvas.mapFromGlobal(self._on_screen)
        self.point(at if QRectF(self._panel.canvas.rect()).contains(at) else None)

    def update_hit(self) -> None:
        """Look again at what is under the pointer: the lanes moved below it."""
        self.hit = self.hit_at(self.cursor) if self.cursor is not None and self.dragging is None else None
        self.step = self._step_at(self.cursor, self.hit) if self.cursor is not None and self.hit is not None else None
        title, lines, _ = describe(self._lanes.session, self.hit, self._panel.zero.at_ns, self.step)
        self.hovered.emit("  ·  ".join((title, *lines)) if title else "")

    def click(self, at: QPointF) -> None:
        """Select what is there; a selected range stays while slices and gaps are looked at."""
        if self._panel.measure.follow(at, done=True):
            return
        hit = self.hit_at(at)
        if hit is None:
            self._context.select(EMPTY)
            return
        if QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ControlModifier:
            self.picker.toggle(hit.row)
            return
        group, now = hit.row.group.id, replace(self._context.selection, slice=None, gap=None)
        if hit.row.lane is not None and hit.row.lane.key in self._lanes.folds:
            self._lanes.toggle_lane(hit.row.lane.key)
        elif hit.slice is not None:
            self._context.select(replace(now, slice=hit.slice, group=group))
        elif hit.gap is not None:
            gap = gap_moved(hit.gap, self._context.session, self._lanes.shifts, -1)
            self._context.select(replace(now, gap=gap, group=group))
        elif hit.time_ns is not None and hit.row.lane is not None and hit.row.lane.memory:
            self._context.select(replace(now, group=group))
            by = self._lanes.shifts.get(group, 0)
            self._context.instant_chosen.emit(hit.row.lane, hit.time_ns - by)
        elif (step := self._step_at(at, hit)) is not None:
            self._panel.steps.select(step)
        else:
            self._context.select(Selection(group=group))

    def _step_at(self, at: QPointF, hit: Hit) -> StepBand | None:
        """The step whose strip is there."""
        window = self._panel.window()
        if window is None:
            return None
        time = time_at(window, self._panel.canvas.width(), at.x())
        return self._panel.steps.at(hit.row, at.y() + self._panel.scroll_top, time)

    def double_click(self, at: QPointF) -> None:
        """Zoom to a slice or gap; fold or unfold at a group's header."""
        hit = self.hit_at(at)
        if hit is None or self._panel.extent is None:
            return
        if hit.slice is not None or hit.gap is not None:
            self.click(at)
            target = selected_range(self._lanes.session, self._lanes.shown(self._context.selection))
            if target is not None:
                self._panel.set_window(viewport.focused(target, self._panel.extent))
        elif hit.row.section:
            self._lanes.toggle_section(hit.row)
        elif hit.row.lane is None:
            self._panel.toggle_group(hit.row.group.id)

    def drag_range(self, x0: float, x1: float, done: bool) -> None:
        """Show the dragged range; select it when the drag is done. A drag of a border moves that border."""
        window = self._panel.window()
        if window is None:
            return
        press, measure, ruler = self._panel.canvas.pressed, self._panel.measure, self._panel.ruler.pressed
        if measure.drag(press, self.cursor, done):
            return
        start = press.x() if press is not None else ruler if ruler is not None else x0
        y0 = press.y() if press is not None else -1.0
        y1 = self.cursor.y() if self.cursor is not None else y0
        if self.dragging is None:
            self._other = self._opposite(start, y0)
        x, fixed = (x0 if start > x0 else x1), self._other
        if fixed is None:
            fixed = measure.snapped(QPointF(start, y0))
        moving = measure.snapped(QPointF(x, y1))
        a, b = min(fixed, moving), max(fixed, moving)
        span = TimeRange(a, max(b, a + 1))
        if done:
            self.dragging = None
            self._select_range(span, moved_border=self._other is not None)
        else:
            self.dragging = span
        self.moved.emit()

    def _opposite(self, x: float, y: float = -1.0) -> int | None:
        """The border of the selected range across from the one that lies at a point of the canvas, or of the ruler.

        While ranks are shifted, the borders lie on the lanes of the rank whose range it is.
        """
        window, selection = self._panel.window(), self._lanes.shown(self._context.selection)
        chosen = selection.range
        if window is None or chosen is None:
            return None
        if self._lanes.shifts and y >= 0:
            row = self._lanes.placement.at(self._lanes.placement.content_y(y, self._panel.scroll_top))
            if row is None or row.group.id != selection.group:
                return None
        width = self._panel.canvas.width()
        far, border = min((abs(x_of(window, width, t) - x), t) for t in (chosen.start_ns, chosen.end_ns))
        return None if far > GRIP_PX else chosen.start_ns if border == chosen.end_ns else chosen.end_ns

    def click_axis(self, x: float) -> None:
        """A click on the ruler beside the selected range drops it."""
        window, chosen = self._panel.window(), self._lanes.shown(self._context.selection).range
        if window is not None and chosen is not None:
            at = time_at(window, self._panel.canvas.width(), x)
            if not chosen.start_ns <= at <= chosen.end_ns and self._opposite(x) is None:
                self._context.select(replace(self._context.selection, range=None))

    def double_click_axis(self, x: float) -> None:
        """Zoom to the selected range that the ruler shows there."""
        window, chosen = self._panel.window(), self._lanes.shown(self._context.selection).range
        if window is None or chosen is None or self._panel.extent is None:
            return
        if chosen.start_ns <= time_at(window, self._panel.canvas.width(), x) <= chosen.end_ns:
            self._panel.set_window(viewport.focused(chosen, self._panel.extent))

    def _select_range(self, span: TimeRange, *, moved_border: bool) -> None:
        """Select a range. While ranks are shifted it is one of the rank that it was dragged over."""
        now = replace(self._context.selection, slice=None, gap=None, range=span)
        if self._lanes.shifts:
            row = self._lanes.placement.at(self.cursor.y() + self._panel.scroll_top) if self.cursor else None
            group = row.group.id if row is not None and not moved_border else now.group
            by = self._lanes.shifts.get(group, 0) if group is not None else 0
            now = replace(now, range=moved(span, -by), group=group)
        self._context.select(now)

    def select_group(self, group: int) -> None:
        """Select a group, or no group when it was selected; a range stays."""
        selection = self._context.selection
        self._context.select(Selection(range=selection.range, group=None if selection.group == group else group))

    def key(self, event: QKeyEvent) -> bool:
        """Do what a key means; whether it means anything."""
        action = self._keys().get(Qt.Key(event.key()))
        plain = not event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if action is None or not plain or self._panel.window() is None:
            return False
        action()
        event.accept()
        return True

    def _keys(self) -> dict[Qt.Key, Callable[[], None]]:
        """Keys beyond those that glide (see ``TimelineMotion``)."""
        key, panel = Qt.Key, self._panel
        page = panel.canvas.height() * _PAGE
        return {
            key.Key_PageUp: lambda: panel.scroll_by(-page),
            key.Key_PageDown: lambda: panel.scroll_by(page),
            key.Key_Home: lambda: panel.navigation.go_to_edge(end=False),
            key.Key_End: lambda: panel.navigation.go_to_edge(end=True),
            key.Key_Backspace: lambda: panel.navigation.travel(-1),
            key.Key_F: panel.focus_selection,
            key.Key_0: panel.fit,
            key.Key_Escape: self._escape,
            key.Key_M: self._keep,
        }

    def _escape(self) -> None:
        """Give up what is being dragged, else select nothing."""
        dragged = self._panel.canvas.cancel_drag()
        if self._panel.measure.escape():
            return
        if self.dragging is not None:
            self.dragging = None
            self._panel.ruler.cancel_drag()
            self.moved.emit()
        elif not dragged:
            self._panel.lane_tools.emphasise("")
            self._context.select(EMPTY)

    def _keep(self) -> None:
        """A mark, with Shift a note."""
        shift = QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier
        self._panel.kept.add_note() if shift else self._panel.kept.add_mark()
