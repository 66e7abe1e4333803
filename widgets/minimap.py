"""The whole job in one strip, with the visible window upon it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPen, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.lane_steps import color
from widgets.painted import PaintedWidget

HEIGHT: Final = 40
_EDGE_PX: Final = 5.0
_LEAST_PX: Final = 6.0
_DRAG_PX: Final = 4.0
_WHOLE: Final = 0.98
"""A window that covers so much cannot be moved: a drag draws a new one."""
_NOTCH: Final = 120.0
MARK_COLORS: Final = {"found": "warning", "marks": "accent", "notes": "note_text"}
"""Sorts of marks from bottom to top, and the theme's colour of each."""


class Minimap(PaintedWidget):
    """Shows an image of the job and a window on it. Positions are shares 0..1 of the whole.

    Signals:
        moved(float share): put the middle of the window there.
        resized(float start, float end): the window's borders were dragged, or a new window was drawn.
        zoomed(float steps, float share): notches of the wheel there; positive zooms in.
    """

    moved = Signal(float)
    resized = Signal(float, float)
    zoomed = Signal(float, float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("minimap")
        self.setAccessibleName("Overview of the whole job")
        self.setAccessibleDescription(
            "Drag the window to move it, its borders to resize it, elsewhere to draw a new one. A click centres, the "
            "wheel zooms."
        )
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._theme = theme
        self._pixels: Any = None
        self._image: QImage | None = None
        self._window = (0.0, 1.0)
        self._kept: tuple[tuple[float, float, str], ...] = ()
        self._grip: tuple[str, float] | None = None
        self._drawn: tuple[float, float] | None = None
        self._marks: dict[str, tuple[float, ...]] = {}

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

    def set_kept(self, marks: Sequence[tuple[float, float, str]]) -> None:
        """Show a person's marks: (start, end, colour token), as shares of the whole."""
        if tuple(marks) != self._kept:
            self._kept = tuple(marks)
            self.update()

    def set_window(self, start: float, end: float) -> None:
        """Where the visible window lies."""
        if (start, end) != self._window:
            self._window = (start, end)
            self.update()

    def set_marks(self, sort: str, shares: Sequence[float]) -> None:
        """Marks of one sort (see :data:`MARK_COLORS`) at shares of the whole; () for none."""
        if tuple(shares) != self._marks.get(sort, ()):
            self._marks[sort] = tuple(shares)
            self.update()

    def sizeHint(self) -> QSize:
        """A strip."""
        return QSize(400, scaled(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        """As tall, however narrow."""
        return QSize(50, scaled(HEIGHT))

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
        self._paint_marks(painter)
        if self._drawn is not None:
            a, b = sorted(self._drawn)
            painter.setPen(QPen(QColor(theme["accent"]), 1, Qt.PenStyle.DashLine))
            painter.setBrush(color(theme, "accent", 50))
            painter.drawRect(QRectF(a + 0.5, 0.5, b - a - 1, area.height() - 2))
        for start, end, token in self._kept:
            x0, x1 = start * area.width(), end * area.width()
            painter.fillRect(QRectF(x0, 0, max(x1 - x0, 2.0), 4), QColor(theme[token]))
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(0, area.bottom()), QPointF(area.right(), area.bottom()))

    def _paint_marks(self, painter: QPainter) -> None:
        """Ticks along the upper border, each pixel once."""
        for sort, token in MARK_COLORS.items():
            shade = QColor(self._theme[token])
            for x in sorted({int(share * self.width()) for share in self._marks.get(sort, ())}):
                painter.fillRect(QRectF(x, 0, 2, 6), shade)

    def _part(self, x: float) -> str:
        box = self.window_rect()
        if self._window[1] - self._window[0] >= _WHOLE and not min(x, self.width() - x) <= _EDGE_PX:
            return "outside"
        if box.width() > 3 * _EDGE_PX:
            if abs(x - box.left()) <= _EDGE_PX:
                return "start"
            if abs(x - box.right()) <= _EDGE_PX:
                return "end"
        return "inside" if box.left() - 2 <= x <= box.right() + 2 else "outside"

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grasp the window or a border of it; elsewhere, or with Shift, begin to draw a new one."""
        if event.button() != Qt.MouseButton.LeftButton or self._image is None:
            return
        x = event.position().x()
        part = self._part(x)
        if part == "outside" or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._grip = ("new", x)
        else:
            self._grip = (part, x - sum(self._window) / 2 * self.width())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag what was grasped."""
        x = event.position().x()
        if self._grip is None:
            edge = self._image is not None and self._part(x) in ("start", "end")
            self.setCursor(Qt.CursorShape.SizeHorCursor if edge else Qt.CursorShape.ArrowCursor)
            return
        part, offset = self._grip
        share = self._share(x)
        if part == "new":
            if self._drawn is not None or abs(x - offset) >= _DRAG_PX:
                self._drawn = (offset, min(max(x, 0.0), float(self.width())))
                self.update()
        elif part == "inside":
            self.moved.emit(self._share(x - offset))
        elif part == "start" and share < self._window[1]:
            self.resized.emit(share, self._window[1])
        elif part == "end" and share > self._window[0]:
            self.resized.emit(self._window[0], share)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go; a press that drew nothing was a click."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        grip, self._grip = self._grip, None
        drawn, self._drawn = self._drawn, None
        if drawn is not None:
            self.resized.emit(*sorted(self._share(x) for x in drawn))
            self.update()
        elif grip is not None and grip[0] == "new":
            self.moved.emit(self._share(grip[1]))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around what is under the pointer."""
        angle = event.angleDelta()
        turned = (angle.y() or angle.x()) / _NOTCH
        if self._image is not None and turned:
            self.zoomed.emit(turned, self._share(event.position().x()))
        event.accept()

    def _share(self, x: float) -> float:
        return min(max(x / max(self.width(), 1), 0.0), 1.0)
