"""The time axis above the lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPen,
    QStaticText,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.lane_overlay import pill, pill_box
from widgets.lane_steps import color
from widgets.painted import PaintedWidget

HEIGHT: Final = 26
_DRAG_PX: Final = 4.0
_NOTCH: Final = 120.0
GRIP_PX: Final = 4.0
"""A border of the range is grasped from this close."""
_MOST_TEXTS: Final = 500

Ticks = Sequence[tuple[float, str, bool, int]]
"""(x, label, whether it is labelled, time) per tick."""


class Ruler(PaintedWidget):
    """Draws ticks, the selected range and the instant under the cursor. All x are logical px.

    Signals:
        range_dragged(float x0, float x1, bool done): a drag with the left button, x0 <= x1.
        clicked(float x): a press that did not become a drag; double_clicked(float x) likewise.
        pointed(object): x under the pointer, None when it left.
        zoomed(float steps, float x): notches of the wheel there; positive zooms in.
        panned(float px): the wheel turned sideways, or with Shift; positive shows later times.
        menu_requested(QPointF): a right click, or the Menu key.
    """

    range_dragged = Signal(float, float, bool)
    clicked = Signal(float)
    double_clicked = Signal(float)
    pointed = Signal(object)
    zoomed = Signal(float, float)
    panned = Signal(float)
    menu_requested = Signal(QPointF)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ruler")
        self.setAccessibleName("Time axis")
        self.setMouseTracking(True)
        self.setToolTip(
            "Drag to select a range, or to move a border of it; a double click zooms to it, the wheel zooms\n"
            "Right click to choose what the times count from"
        )
        self._press: float | None = None
        self._dragging = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._theme = theme
        self._ticks: Ticks = ()
        self._range: tuple[float, float] | None = None
        self._cursor: tuple[float, str] | None = None
        self._texts: dict[tuple[str, str], tuple[QStaticText, float, float]] = {}

    @property
    def pressed(self) -> float | None:
        """Where the button went down for what goes on now."""
        return self._press

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.update()

    def set_ticks(self, ticks: Ticks, span: tuple[float, float] | None) -> None:
        """Show an axis and the selected range."""
        if ticks != self._ticks or span != self._range:
            self._ticks, self._range = ticks, span
            self.setAccessibleDescription(", ".join(label for _, label, major, _ in ticks if major))
            self.update()

    def set_cursor(self, cursor: tuple[float, str] | None) -> None:
        """Show the instant under the cursor: (x, text), or nothing."""
        if cursor != self._cursor:
            self._cursor = cursor
            self.update()

    def sizeHint(self) -> QSize:
        """One line of text and its ticks."""
        return QSize(400, scaled(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        """As tall, however narrow."""
        return QSize(50, scaled(HEIGHT))

    def _laid_out(self, label: str, font: QFont, metrics: QFontMetricsF) -> tuple[QStaticText, float, float]:
        """A label as text that is laid out once, its width and its height: panning shows the same ones again."""
        key = (label, font.key())
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            text = QStaticText(label)
            text.setTextFormat(Qt.TextFormat.PlainText)
            text.prepare(QTransform(), font)
            found = self._texts[key] = (text, metrics.horizontalAdvance(label), metrics.height())
        return found

    def paint(self, painter: QPainter) -> None:
        """Draw the axis."""
        theme, area = self._theme, QRectF(self.rect())
        font = QFont(self.font())
        font.setPixelSize(scaled(11))
        painter.setFont(font)
        painter.fillRect(area, QColor(theme["window"]))
        if self._range is not None:
            x0, x1 = self._range
            painter.fillRect(QRectF(x0, 0, max(x1 - x0, 1), area.height()), color(theme, "accent", 60))
        metrics = QFontMetricsF(font)
        bottom = area.bottom()
        taken = pill_box(metrics, self._cursor[1], self._cursor[0], 3, area) if self._cursor is not None else QRectF()
        for token, chosen, length in (("line", False, 4), ("muted", True, 8)):
            painter.setPen(QPen(QColor(theme[token]), 1))
            at = [math.floor(x) + 0.5 for x, _, major, _ in self._ticks if major == chosen]
            painter.drawLines([QLineF(x, bottom - length, x, bottom) for x in at])
        painter.setPen(QColor(theme["text"]))
        for x, label, _, _ in self._ticks:
            if not label:
                continue
            left = math.floor(x) + 4.5
            text, width, height = self._laid_out(label, font, metrics)
            covered = taken.left() - 2 < left + width and left < taken.right() + 2  # half a number would be another one
            if left + width < area.right() and not covered:
                painter.drawStaticText(QPointF(left, (area.height() - 5 - height) / 2), text)
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(0, bottom - 0.5), QPointF(area.right(), bottom - 0.5))
        if self._cursor is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            pill(painter, self._cursor[1], self._cursor[0], 3, theme, area)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._press, self._dragging = event.position().x(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag a range, and tell what is pointed at."""
        x = event.position().x()
        if self._press is not None and (self._dragging or abs(x - self._press) >= _DRAG_PX):
            self._dragging = True
            self.range_dragged.emit(min(x, self._press), max(x, self._press), False)
        elif self._press is None:
            border = self._range is not None and min(abs(x - edge) for edge in self._range) <= GRIP_PX
            self.setCursor(Qt.CursorShape.SizeHorCursor if border else Qt.CursorShape.ArrowCursor)
        self.pointed.emit(x)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The range is chosen, or this was a click."""
        if event.button() != Qt.MouseButton.LeftButton or self._press is None:
            return
        x, press = event.position().x(), self._press
        if self._dragging:
            self.range_dragged.emit(min(x, press), max(x, press), True)
        else:
            self.clicked.emit(x)
        self._press, self._dragging = None, False

    def cancel_drag(self) -> None:
        """Give up what is being dragged."""
        self._press, self._dragging = None, False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Report the place; the release that follows is no click."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.double_clicked.emit(event.position().x())

    def leaveEvent(self, _: QEvent) -> None:
        """The pointer left."""
        self.pointed.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around the pointer; sideways or with Shift, move."""
        angle = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or not angle.y():
            self.panned.emit(-(angle.y() or angle.x()))
        else:
            self.zoomed.emit(angle.y() / _NOTCH, event.position().x())
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu of the axis."""
        self.menu_requested.emit(QPointF(event.pos()))
