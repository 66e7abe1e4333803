"""The whole job in one strip, with the visible window upon it."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.base.theme import Theme
from widgets.lane_overlay import color
from widgets.painted import PaintedWidget

HEIGHT: Final = 40
_EDGE_PX: Final = 5.0
_LEAST_PX: Final = 6.0


class Minimap(PaintedWidget):
    """Shows an image of the job and a window on it. Positions are shares 0..1 of the whole.

    Signals:
        moved(float share): put the middle of the window there.
        resized(float start, float end): the window's borders were dragged.
    """

    moved = Signal(float)
    resized = Signal(float, float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("minimap")
        self.setAccessibleName("Overview of the whole job")
        self.setAccessibleDescription("Drag the window to move it, its borders to resize it.")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._theme = theme
        self._pixels: Any = None
        self._image: QImage | None = None
        self._window = (0.0, 1.0)
        self._grip: tuple[str, float] | None = None

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.update()

    def set_image(self, pixels: Any, dpr: float) -> None:
        """Show uint32[h, w] of 0xffRRGGBB in device pixels; None shows nothing. The array is kept, not copied."""
        self._pixels = pixels
        self._image = None
        if pixels is not None:
            tall, wide = pixels.shape
            self._image = QImage(pixels.data, wide, tall, wide * 4, QImage.Format.Format_RGB32)
            self._image.setDevicePixelRatio(dpr)
        self.update()

    def set_window(self, start: float, end: float) -> None:
        """Where the visible window lies."""
        if (start, end) != self._window:
            self._window = (start, end)
            self.update()

    def sizeHint(self) -> QSize:
        """A strip."""
        return QSize(400, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """As tall, however narrow."""
        return QSize(50, HEIGHT)

    def window_rect(self) -> QRectF:
        """The window in px, wide enough to be grasped."""
        x0, x1 = (share * self.width() for share in self._window)
        if x1 - x0 < _LEAST_PX:
            middle = min(max((x0 + x1) / 2, _LEAST_PX / 2), self.width() - _LEAST_PX / 2)
            x0, x1 = middle - _LEAST_PX / 2, middle + _LEAST_PX / 2
        return QRectF(x0, 0, x1 - x0, self.height())

    def paint(self, painter: QPainter) -> None:
        """Draw the job, dimmed outside the window."""
        theme, area = self._theme, QRectF(self.rect())
        painter.fillRect(area, QColor(theme["base"]))
        if self._image is not None:
            painter.drawImage(QPointF(0, 4), self._image)
            box = self.window_rect()
            shade = color(theme, "window", 170)
            painter.fillRect(QRectF(0, 0, box.left(), area.height()), shade)
            painter.fillRect(QRectF(box.right(), 0, area.right() - box.right() + 1, area.height()), shade)
            painter.setPen(QPen(QColor(theme["accent"]), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -1.5))
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(0, area.bottom()), QPointF(area.right(), area.bottom()))

    def _part(self, x: float) -> str:
        box = self.window_rect()
        if box.width() > 3 * _EDGE_PX:
            if abs(x - box.left()) <= _EDGE_PX:
                return "start"
            if abs(x - box.right()) <= _EDGE_PX:
                return "end"
        return "inside" if box.left() - 2 <= x <= box.right() + 2 else "outside"

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grasp the window or a border of it; elsewhere the window jumps there first."""
        if event.button() != Qt.MouseButton.LeftButton or self._image is None:
            return
        x = event.position().x()
        part = self._part(x)
        middle = sum(self._window) / 2 * self.width()
        if part == "outside":
            self._grip = ("inside", 0.0)
            self.moved.emit(min(max(x / self.width(), 0.0), 1.0))
        else:
            self._grip = (part, x - middle)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag what was grasped."""
        x = event.position().x()
        if self._grip is None:
            edge = self._image is not None and self._part(x) in ("start", "end")
            self.setCursor(Qt.CursorShape.SizeHorCursor if edge else Qt.CursorShape.ArrowCursor)
            return
        part, offset = self._grip
        share = min(max(x / self.width(), 0.0), 1.0)
        if part == "inside":
            self.moved.emit(min(max((x - offset) / self.width(), 0.0), 1.0))
        elif part == "start" and share < self._window[1]:
            self.resized.emit(share, self._window[1])
        elif part == "end" and share > self._window[0]:
            self.resized.emit(self._window[0], share)

    def mouseReleaseEvent(self, _: QMouseEvent) -> None:
        """Let go."""
        self._grip = None
