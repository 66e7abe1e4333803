"""Measuring on the timeline: the time between two edges of slices, on any lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QGuiApplication

from viewer.base.time import format_duration, format_exact
from viewer.panels.context import JobContext
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.panels.timeline.overlay import View
from viewer.store.session import Session
from viewer.views.lanes.hit import time_at
from viewer.views.text import one_line
from viewer.views.timeline.edges import Edge, edge_at
from widgets.lane_overlay import Overlay
from widgets.lane_steps import MeasureMark

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel

GRIP_PX: Final = 7.0
_NAME: Final = 46
HINT: Final = "Drag from edge to edge   Ctrl does not snap   Esc ends"
HINT_CLICK: Final = "Click the other edge   Ctrl does not snap   Esc gives up"


@dataclass(slots=True)
class Measure:
    """Two edges in shown time."""

    first: Edge
    last: Edge

    @property
    def length_ns(self) -> int:
        """From the earlier to the later edge."""
        return abs(self.last.time_ns - self.first.time_ns)


class TimelineMeasure(QObject):
    """Keeps the measurements of a panel until they are cleared or another job comes.

    Signals:
        mode_changed(bool): a drag measures from now on, or selects a range again.
    """

    mode_changed = Signal(bool)

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes = panel, context, lanes
        self.measures: list[Measure] = []
        self.on = False
        self._hint = ""
        self._held: tuple[Measure, bool] | None = None
        """What is being dragged, and whether it is the last edge of it."""
        self.following: Measure | None = None
        """Begun by a menu: its last edge goes with the pointer until a click."""
        panel.picture.decorators.append(self.decorate)
        context.session_changed.connect(self._session_changed)
        panel.steps.changed.connect(self.clear)

    def _session_changed(self, _: Session) -> None:
        self.clear()

    def toggle(self) -> None:
        """Let a drag measure, or select a range again."""
        self.on = not self.on
        legend = self._panel.legend
        if self.on:
            self._hint = legend.hint
        legend.set_hint(HINT if self.on else self._hint)
        self._panel.canvas.set_idle_cursor(Qt.CursorShape.CrossCursor if self.on else Qt.CursorShape.ArrowCursor)
        self._panel.canvas.update()
        self.mode_changed.emit(self.on)

    def begin(self, at: QPointF) -> None:
        """Measure from the edge at a point of the canvas: the other one goes with the pointer until a click."""
        if self._panel.window() is None:
            return
        if not self.on:
            self.toggle()
        self._panel.legend.set_hint(HINT_CLICK)
        edge = self.edge(at)
        self.following = Measure(edge, edge)
        self.measures.append(self.following)
        self._panel.canvas.update()

    def follow(self, at: QPointF | None, *, done: bool = False) -> bool:
        """The pointer moved, or clicked (``done``): whether a measurement went with it."""
        if self.following is None or at is None or self._panel.window() is None:
            return False
        self.following.last = self.edge(at)
        if done:
            self.following = None
            self.toggle()
        self._panel.canvas.update()
        return True

    def clear(self) -> None:
        """Drop all measurements."""
        self.measures.clear()
        self._held = self.following = None
        self._panel.canvas.update()

    def escape(self) -> bool:
        """Leave off what was begun last: a drag, the mode, the measurements. Whether there was any of it."""
        if self.following is not None:
            self.measures = [m for m in self.measures if m is not self.following]
            self.following = None
            self.toggle()
            return True
        if self._held is not None:
            measure, last = self._held
            self._held = None
            if last and measure in self.measures:
                self.measures.remove(measure)
            self._panel.canvas.update()
            return True
        if self.on:
            self.toggle()
            return True
        had = bool(self.measures)
        self.clear()
        return had

    def text(self) -> str:
        """The last measurement for the clipboard: ns, then the edges; "" without one."""
        if not self.measures:
            return ""
        measure, session = self.measures[-1], self._lanes.session
        edges = [e.text(session) for e in (measure.first, measure.last)]
        return "\t".join([str(measure.length_ns), *(one_line(e) for e in edges)])

    # mouse

    def edge(self, at: QPointF, *, everywhere: bool = True) -> Edge:
        """What a point of the canvas snaps to; with Ctrl held, nothing."""
        panel, window = self._panel, self._panel.window()
        assert window is not None
        top, width = panel.scroll_top, panel.canvas.width()
        y = self._lanes.placement.content_y(at.y(), top)
        x = min(max(at.x(), 0.0), float(width))
        if QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ControlModifier:
            return Edge(time_at(window, width, x), y)
        sight = (top, top + panel.canvas.height()) if everywhere else None
        lanes = self._lanes
        return edge_at(lanes.session, lanes.placement, window, width, x, y, sight=sight)

    def snapped(self, at: QPointF) -> int:
        """The instant (shown time) of a border that is dragged there: an edge of the lane under it, if one is near."""
        return self.edge(at, everywhere=False).time_ns

    def drag(self, press: QPointF | None, at: QPointF | None, done: bool) -> bool:
        """A drag with the left button from ``press`` to ``at``; whether it measures."""
        if press is None or at is None or self._panel.window() is None:
            return False
        if self.following is not None:
            return self.follow(at, done=done)
        if self._held is None:
            self._held = self._grip(press)
        if self._held is None:
            if not self.on:
                return False
            first = self.edge(press)
            measure = Measure(first, first)
            self.measures.append(measure)
            self._held = measure, True
        measure, last = self._held
        if last:
            measure.last = self.edge(at)
        else:
            measure.first = self.edge(at)
        if done:
            self._held = None
        self._panel.canvas.update()
        return True

    def _grip(self, at: QPointF) -> tuple[Measure, bool] | None:
        """The end of a measurement that lies at a point."""
        window, width, top = self._panel.window(), self._panel.canvas.width(), self._panel.scroll_top
        if window is None:
            return None
        view = View(self._lanes.painter, window, width, top, self._panel.canvas.height())
        for measure in reversed(self.measures):
            for edge, last in ((measure.last, True), (measure.first, False)):
                if abs(view.x(edge.time_ns) - at.x()) <= GRIP_PX and abs(view.y(edge.y) - at.y()) <= GRIP_PX:
                    return measure, last
        return None

    # drawing

    def decorate(self, view: View, overlay: Overlay) -> None:
        """Add the measurements, and in measuring mode what the pointer snaps to."""
        session = self._lanes.session
        for measure in self.measures:
            ends = sorted((measure.first, measure.last), key=lambda e: e.time_ns)
            a, b = (QPointF(view.x(e.time_ns), view.y(e.y)) for e in ends)
            names = " → ".join(_short(e.text(session)) or "here" for e in ends) if any(e.slice for e in ends) else ""
            exact = format_exact(measure.length_ns)
            value = format_duration(measure.length_ns)
            overlay.measures.append(MeasureMark(a, b, value if value == exact else f"{value}  ({exact})", names))
        cursor = self._panel.pointer.cursor
        if self.on and cursor is not None and self._held is None and self.following is None:
            edge = self.edge(cursor)
            if edge.slice is not None:
                overlay.snap = QPointF(view.x(edge.time_ns), view.y(edge.y))


def _short(text: str) -> str:
    shown = one_line(text)
    return shown if len(shown) <= _NAME else shown[:_NAME] + "…"
