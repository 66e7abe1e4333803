"""What the canvas of a timeline shows: the frame of the lanes, kept while they rest, and everything upon it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewer.base.frames import LaneFrame
from viewer.base.selection import Selection, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.timeline.overlay import View, build_overlay, tip_of
from widgets.lane_overlay import Overlay

if TYPE_CHECKING:
    from viewer.panels.timeline.lanes import TimelineLanes
    from viewer.panels.timeline.panel import TimelinePanel

Place = tuple[TimeRange | None, int, int, int, float]
"""Window, width, scroll position, height and scale that a frame is of."""


class TimelinePicture:
    """The canvas' source.

    Attributes:
        decorators: what adds to the overlay of every paint, in this order.
    """

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        self._panel, self._context, self._lanes = panel, context, lanes
        self._frame: tuple[Place, LaneFrame] | None = None
        self.decorators: list[Callable[[View, Overlay], None]] = []

    def forget(self) -> None:
        """The lanes look different: the next paint draws them anew."""
        self._frame = None

    def follow_pointer(self) -> None:
        """The pointer moved: show its time on the axis, and paint what follows it, or all when the lanes moved too."""
        self._panel.axis.update()
        canvas = self._panel.canvas
        place = self._place(canvas.width(), canvas.height(), canvas.devicePixelRatioF())
        if self._frame is not None and self._frame[0] == place:
            canvas.follow_pointer()
        else:
            canvas.update()

    def source(self, width: int, height: int, dpr: float) -> tuple[LaneFrame, Overlay] | None:
        """The frame and what lies upon it now; None while there is nothing."""
        panel, pointer, lanes = self._panel, self._panel.pointer, self._lanes
        window = panel.window()
        if window is None or not lanes.ready:
            return None
        place = self._place(width, height, dpr)
        top = panel.scroll_top
        if self._frame is None or self._frame[0] != place:
            axis = panel.axis.ticks()
            grid = [t.x for t in axis.ticks if t.major] if axis is not None else []
            self._frame = (place, lanes.painter.frame(window, width, top, height, dpr, grid=grid))
        selection = lanes.shown(self._context.selection)
        if pointer.dragging is not None:
            selection = Selection(range=pointer.dragging)
        view = View(lanes.painter, window, width, top, height)
        overlay = build_overlay(view, selection, lanes.arrows, lanes.shown_notes(panel.kept.notes))
        overlay.marks = panel.kept.bands(view)
        for decorate in self.decorators:
            decorate(view, overlay)
        panel.navigation.decorate(overlay)
        if pointer.cursor is not None:
            overlay.cursor_x = pointer.cursor.x()
            if pointer.dragging is None and not panel.canvas.dragging:
                hit = pointer.hit
                scrolled = 0 if hit is not None and hit.row.pinned else top
                overlay.tip = tip_of(lanes.session, hit, panel.zero.at_ns, pointer.step, pointer.cursor, scrolled)
        return self._frame[1], overlay

    def _place(self, width: int, height: int, dpr: float) -> Place:
        return self._panel.window(), width, self._panel.scroll_top, height, dpr
