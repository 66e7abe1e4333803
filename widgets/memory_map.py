"""A map of memory: an image on an axis of time and one of bytes that zoom and move; says what is pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.memory_map import MapFrame, MapSpan
from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.theming import color, safe_tip

LABELS, AXIS, PAD = 66, 18, 4
STEP: Final = 1.25
"""Zoom of one notch of the wheel."""
NEAREST: Final = 16
"""Units of the horizontal axis (ns, events) at the closest zoom."""
CLOSEST_BYTES: Final = 4096.0
_DRAG: Final = 4.0


class MemoryMapView(PaintedWidget):
    """Draws a :class:`MapFrame`.

    Ctrl + wheel zooms, with Shift as well bytes; Shift + wheel and dragging move, a double click shows all. Keys:
    arrows, plus, minus, Home. Until another image comes, the one that is there is drawn where it belongs.

    Signals:
        span_wanted(MapSpan): show another part; the view is there already, with the old image.
        chosen(float, float): a click, as shares of the map's width and of its height from the top.
        resized(): another image is needed.
    """

    span_wanted = Signal(object)
    chosen = Signal(float, float)
    resized = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frame: MapFrame | None = None
        self._image: QImage | None = None
        self._span = MapSpan(0, 1, 0.0, 1.0)
        self._marker: int | None = None
        self._pressed: tuple[QPointF, MapSpan] | None = None
        self._dragged = False
        self.teller: Callable[[float, float], str] = lambda _x, _y: ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(220, 90)
        self.setAccessibleName("Map of memory")

    @property
    def frame(self) -> MapFrame | None:
        """What is shown."""
        return self._frame

    @property
    def span(self) -> MapSpan:
        """The part that is seen."""
        return self._span

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: MapFrame | None) -> None:
        """Show another image. While a hand moves the map, the view stays where the hand put it."""
        self._frame = frame
        self._image = None
        if frame is not None:
            if self._pressed is None:
                self._span = frame.span
            tall, wide = frame.image.shape
            packed = np.ascontiguousarray(frame.image)
            self._image = QImage(packed.data, wide, tall, wide * 4, QImage.Format.Format_RGB32).copy()
            self.setAccessibleDescription(frame.told)
        self.update()

    def set_marker(self, at: int | None) -> None:
        """Draw a line at an instant of the horizontal axis, None for no line."""
        self._marker = at
        self.update()

    def sizeHint(self) -> QSize:
        """Wide."""
        return QSize(640, 240)

    def area(self) -> QRectF:
        """Where the image lies."""
        return QRectF(LABELS, PAD, max(1.0, self.width() - LABELS - PAD), max(1.0, self.height() - AXIS - PAD))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Ask for an image of the new size."""
        super().resizeEvent(event)
        self.resized.emit()

    def shares(self, at: QPointF) -> tuple[float, float]:
        """A point as shares of the map; outside of 0..1 where it is outside."""
        area = self.area()
        return (at.x() - area.left()) / area.width(), (at.y() - area.top()) / area.height()

    # Looks

    def paint(self, painter: QPainter) -> None:
        """Draw image, axes and marker."""
        theme, frame, area = self._theme, self._frame, self.area()
        painter.fillRect(self.rect(), color(theme, "window"))
        painter.fillRect(area, color(theme, "base"))
        if frame is None or self._image is None:
            return
        if frame.message:
            painter.setPen(color(theme, "muted"))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, frame.message)
            return
        painter.save()
        painter.setClipRect(area)
        seen, whole = self._span, frame.span
        x = area.left() + (whole.x0 - seen.x0) / seen.length * area.width()
        wide = whole.length / seen.length * area.width()
        y = area.bottom() - (whole.y1 - seen.y0) / seen.height * area.height()
        tall = whole.height / seen.height * area.height()
        painter.drawImage(QRectF(x, y, wide, tall), self._image)
        if self._marker is not None and frame.moves:
            at = area.left() + (self._marker - seen.x0) / seen.length * area.width()
            if area.left() <= at <= area.right():
                painter.setPen(QPen(color(theme, "accent"), 1.5))
                painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()))
        painter.restore()
        self._draw_axes(painter, area, frame)
        if self.hasFocus():
            painter.setPen(QPen(color(theme, "accent"), 1))
            painter.drawRect(area.adjusted(0, 0, -1, -1))

    def _draw_axes(self, painter: QPainter, area: QRectF, frame: MapFrame) -> None:
        seen, whole = self._span, frame.span
        metrics = QFontMetricsF(self.font())
        faint = QColor(color(self._theme, "text"))
        faint.setAlphaF(0.14)
        last = float("inf")
        for share, text in frame.y_ticks:
            y = area.bottom() - (whole.y0 + share * whole.height - seen.y0) / seen.height * area.height()
            if not area.top() <= y <= area.bottom() or last - y < metrics.height() * 0.9:
                continue
            last = y
            if frame.free:
                painter.setPen(faint)
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(color(self._theme, "muted"))
            top = min(max(y - 8, 0.0), area.bottom() - 14)
            painter.drawText(
                QRectF(0, top, LABELS - 6, 16), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text
            )
        edge = area.left()
        for share, text in frame.x_ticks:
            x = area.left() + (whole.x0 + share * whole.length - seen.x0) / seen.length * area.width()
            wide = metrics.horizontalAdvance(text)
            if x < edge or x + 3 + wide > area.right():
                continue
            edge = x + wide + 12
            painter.setPen(color(self._theme, "line"))
            painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 5))
            painter.setPen(color(self._theme, "muted"))
            painter.drawText(QRectF(x + 3, area.bottom(), wide + 4, AXIS), Qt.AlignmentFlag.AlignVCenter, text)

    # Hands

    def show_all(self) -> None:
        """Show all that there is."""
        if self._frame is not None:
            self._want(self._frame.whole)

    def zoom(self, factor: float, x: float = 0.5, y: float | None = None) -> None:
        """Zoom at a share of the width, with ``y`` at one of the height instead; more than 1 zooms in."""
        seen, frame = self._span, self._frame
        if frame is None:
            return
        if y is not None:
            if frame.free:
                at = seen.y1 - y * seen.height
                height = min(max(seen.height / factor, min(CLOSEST_BYTES, frame.whole.height)), frame.whole.height)
                low = at - (1 - y) * height
                self._want(self._inside(replace(seen, y0=low, y1=low + height)))
            return
        if frame.moves:
            length = max(round(seen.length / factor), min(NEAREST, frame.whole.length))
            first = seen.x0 + round(x * (seen.length - length))
            self._want(self._inside(replace(seen, x0=first, x1=first + length)))

    def pan(self, x: float, y: float = 0.0) -> None:
        """Move by shares of what is seen, to the right and upward."""
        seen = self._span
        by, up = round(x * seen.length), y * seen.height
        self._want(self._inside(MapSpan(seen.x0 + by, seen.x1 + by, seen.y0 + up, seen.y1 + up)))

    def _inside(self, span: MapSpan) -> MapSpan:
        """The nearest span of its size inside of all there is; one that is longer than that shows all."""
        assert self._frame is not None
        whole = self._frame.whole
        if not self._frame.moves:
            return whole
        length, height = min(span.length, whole.length), min(span.height, whole.height)
        x0 = min(max(span.x0, whole.x0), whole.x0 + whole.length - length)
        y0 = min(max(span.y0, whole.y0), whole.y0 + whole.height - height)
        return MapSpan(x0, x0 + length, y0, y0 + height)

    def _want(self, span: MapSpan) -> None:
        if span != self._span:
            self._span = span
            self.update()
            self.span_wanted.emit(span)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl, move with Shift; else move up and down where that is zoomed."""
        delta = event.angleDelta().y() or event.angleDelta().x()
        notches = delta / 120.0
        held = event.modifiers()
        x, y = self.shares(event.position())
        control, shift = (
            bool(held & Qt.KeyboardModifier.ControlModifier),
            bool(held & Qt.KeyboardModifier.ShiftModifier),
        )
        if self._frame is None or not delta:
            event.ignore()
            return
        if control:
            self.zoom(STEP**notches, min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0) if shift else None)
        elif shift:
            self.pan(-0.1 * notches)
        else:
            self.pan(0.0, 0.1 * notches)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click, or the begin of a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._dragged = (event.position(), self._span), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the map."""
        if self._pressed is None or self._frame is None:
            return
        start, span = self._pressed
        by = event.position() - start
        if not self._dragged and abs(by.x()) + abs(by.y()) < _DRAG:
            return
        self._dragged = True
        area = self.area()
        dx, dy = round(-by.x() / area.width() * span.length), by.y() / area.height() * span.height
        self._want(self._inside(MapSpan(span.x0 + dx, span.x1 + dx, span.y0 + dy, span.y1 + dy)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose what was clicked."""
        pressed, self._pressed = self._pressed, None
        if pressed is None or self._dragged:
            return
        x, y = self.shares(event.position())
        if self._frame is not None and 0 <= x < 1 and 0 <= y < 1:
            self.chosen.emit(x, y)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show all."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = None
            self.show_all()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move with the arrows, zoom with plus and minus, Home shows all."""
        key = Qt.Key
        moves = {
            key.Key_Left: (-0.1, 0.0),
            key.Key_Right: (0.1, 0.0),
            key.Key_Up: (0.0, 0.1),
            key.Key_Down: (0.0, -0.1),
        }
        pressed = Qt.Key(event.key())
        if self._frame is None:
            super().keyPressEvent(event)
        elif pressed in moves:
            self.pan(*moves[pressed])
        elif pressed in (key.Key_Plus, key.Key_Equal):
            self.zoom(STEP)
        elif pressed == key.Key_Minus:
            self.zoom(1 / STEP)
        elif pressed == key.Key_Home:
            self.show_all()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Tell what lies under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self.teller(*self.shares(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), safe_tip(text), self) if text else QToolTip.hideText()
            return True
        return super().event(event)
