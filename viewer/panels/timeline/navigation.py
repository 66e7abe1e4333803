"""Moves of the timeline beyond zoom and pan: back and forth, to a rectangle, to the ends, to a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QRectF, QTimer, Signal

from viewer.base.selection import TimeRange
from viewer.base.time import format_duration
from viewer.panels.context import JobContext
from viewer.panels.timeline.motion import TimelineMotion
from viewer.views.lanes.hit import time_at, x_of
from viewer.views.timeline import viewport
from viewer.views.timeline.view_history import ViewHistory, ViewState
from widgets.lane_overlay import Overlay

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel

NOTCH_ZOOM: Final = 1.25
"""Factor of one notch of the wheel."""
SETTLE_MS: Final = 350
"""A view that rested so long is one to come back to."""


class TimelineNavigation(QObject):
    """What the window's Go menu and the canvas ask of a timeline.

    Signals:
        travelled(): whether one can go back or forward may have changed.
        menu_requested(object): QPointF of the canvas where a menu is wanted.
    """

    travelled = Signal()
    menu_requested = Signal(object)

    def __init__(self, panel: TimelinePanel, context: JobContext) -> None:
        super().__init__(panel)
        self._panel, self._context = panel, context
        self.motion = TimelineMotion(panel)
        self.history = ViewHistory()
        self.zooming: QRectF | None = None
        self._grown = False  # the view moves because more of the job arrived
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self.settle)
        context.session_changed.connect(self._session_changed)
        context.window_changed.connect(lambda _: self._settle.start())
        panel.scrollbar.valueChanged.connect(lambda _: self._settle.start())
        panel.canvas.rect_dragged.connect(self._zoom_to_rect)
        panel.canvas.pinched.connect(panel.zoom)
        panel.canvas.travelled.connect(self.travel)
        panel.minimap.moved.connect(self._centre_on)
        panel.minimap.resized.connect(self._show_shares)
        panel.minimap.zoomed.connect(self._zoom_at_share)
        panel.canvas.menu_requested.connect(self.menu_requested)
        self._known: frozenset[object] = frozenset()

    # back and forth

    def settle(self) -> None:
        """What shows is a view to come back to; called after a moment of rest."""
        view = self._view()
        if self.motion.moving:
            self._settle.start()
        if view is None or self.motion.moving:
            return
        if self._grown:
            self._grown = False
            self.history.replace(view)
        else:
            self.history.settle(view)
        self.travelled.emit()

    def travel(self, step: int) -> None:
        """Show the view before (-1) or after (1) this one."""
        view = self._view()
        target = self.history.go(step, view) if view is not None else None
        if target is None or self._panel.extent is None:
            return
        self._panel.set_window(viewport.clamped(target.window, self._panel.extent))
        self._panel.scrollbar.setValue(target.top)
        self._settle.stop()
        self.travelled.emit()

    def _view(self) -> ViewState | None:
        window = self._panel.window()
        return None if window is None else ViewState(window, self._panel.scroll_top)

    def _session_changed(self, _: object) -> None:
        now = frozenset(item.path for item in self._context.session.inputs)
        if now & self._known:
            self._grown = True
        else:
            self.history.clear()
            self.travelled.emit()
        self._known = now

    # to a place

    def go_to_edge(self, end: bool) -> None:
        """Show the beginning or the end of the job at the same zoom."""
        window, extent = self._panel.window(), self._panel.extent
        if window is None or extent is None:
            return
        whole = viewport.fitted(extent)
        start = whole.end_ns - window.length_ns if end else whole.start_ns
        self._panel.set_window(TimeRange(start, start + window.length_ns))

    def show_instant(self, at_ns: int) -> None:
        """Put an instant in the middle, at the same zoom."""
        window, extent = self._panel.window(), self._panel.extent
        if window is not None and extent is not None:
            self._panel.set_window(viewport.centred(at_ns, window.length_ns, extent))

    def show_lane(self, key: str) -> None:
        """Unfold a lane's group and scroll to the lane."""
        group = next((g for g in self._panel.groups if any(lane.key == key for lane in g.lanes)), None)
        if group is None:
            return
        if group.id in self._panel.collapsed:
            self._panel.toggle_group(group.id)
        self._panel.unfold(key)
        row = self._panel.placement.find(key)
        if row is not None:
            self._panel.scrollbar.setValue(row.y - self._panel.canvas.height() // 3)

    def _centre_on(self, share: float) -> None:
        window, extent = self._panel.window(), self._panel.extent
        if window is not None and extent is not None:
            whole = viewport.fitted(extent)
            start = whole.start_ns + round(share * whole.length_ns) - window.length_ns // 2
            self._panel.set_window(viewport.shifted_inside(TimeRange(start, start + window.length_ns), whole))

    def _show_shares(self, start: float, end: float) -> None:
        extent = self._panel.extent
        if extent is not None:
            whole = viewport.fitted(extent)
            a, b = (whole.start_ns + round(s * whole.length_ns) for s in (start, end))
            self._panel.show_range(TimeRange(a, max(b, a + 1)))

    def _zoom_at_share(self, steps: float, share: float) -> None:
        """Zoom around an instant of the whole job; one out of sight comes to the middle first."""
        window, extent = self._panel.window(), self._panel.extent
        if window is None or extent is None:
            return
        whole = viewport.fitted(extent)
        at = whole.start_ns + round(share * whole.length_ns)
        if not window.contains(at):
            window = viewport.centred(at, window.length_ns, extent)
        width = self._panel.canvas.width()
        self._panel.set_window(viewport.zoomed(window, NOTCH_ZOOM**steps, x_of(window, width, at), width, extent))

    def decorate(self, overlay: Overlay) -> None:
        """Add the rectangle that is being dragged to zoom to, and how long it is."""
        window, width = self._panel.window(), self._panel.canvas.width()
        overlay.zoom = self.zooming
        if self.zooming is not None and window is not None:
            a, b = (time_at(window, width, x) for x in (self.zooming.left(), self.zooming.right()))
            overlay.zoom_text = format_duration(b - a)

    def _zoom_to_rect(self, rect: QRectF | None, done: bool) -> None:
        window = self._panel.window()
        self.zooming = None if done else rect
        self._panel.canvas.update()
        if not done or rect is None or window is None or rect.width() < 2:
            return
        width = self._panel.canvas.width()
        a, b = time_at(window, width, rect.left()), time_at(window, width, rect.right())
        top = self._panel.scroll_top + rect.top()
        self._panel.show_range(TimeRange(a, max(b, a + viewport.SHORTEST_NS)))
        first = self._panel.placement.at(top)
        # The lanes that the rectangle touched come to the top; one that is alone stays where it was.
        if first is not None and rect.height() >= first.height:
            self._panel.scrollbar.setValue(first.y)
