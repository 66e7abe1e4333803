"""The strip of marks below the time axis: a flag per instant, a bar per range, each with its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QMouseEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.lane_steps import color
from widgets.painted import PaintedWidget
from widgets.theming import safe_tip

HEIGHT: Final = 18
_FLAG: Final = 9.0
_NEAR: Final = 4.0


@dataclass(frozen=True, slots=True)
class MarkFlag:
    """A mark in logical px; ``token`` is its colour in the theme, ``tip`` what hovering shows."""

    id: int
    x0: float
    x1: float
    token: str
    text: str
    tip: str = ""

    @property
    def is_range(self) -> bool:
        """Whether it has a length."""
        return self.x1 > self.x0


class MarkStrip(PaintedWidget):
    """Draws flags and says what the mouse did with them; hidden while there are none.

    Signals:
        moved(int id, str part, float px): dragged so far from where it lay; ``part`` is "whole", "start" or "end".
        dropped(int id): the drag is done.
        clicked(int id), edited(int id): with the left button, once and twice.
        menu_requested(int id, object): QPoint of the screen.
    """

    moved = Signal(int, str, float)
    dropped = Signal(int)
    clicked = Signal(int)
    edited = Signal(int)
    menu_requested = Signal(int, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("marks")
        self.setAccessibleName("Marks")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._theme = theme
        self._flags: tuple[MarkFlag, ...] = ()
        self._grip: tuple[MarkFlag, str, float] | None = None
        self._dragging = False
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.update()

    def set_flags(self, flags: Sequence[MarkFlag], *, any_marks: bool) -> None:
        """Show these flags; the strip stays while the job has any marks, also outside the window."""
        if tuple(flags) != self._flags:
            self._flags = tuple(flags)
            self.setAccessibleDescription(", ".join(flag.tip or flag.text for flag in self._flags))
            self.update()
        self.setVisible(any_marks)

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(400, scaled(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        """As tall, however narrow."""
        return QSize(50, scaled(HEIGHT))

    def paint(self, painter: QPainter) -> None:
        """Draw the flags, ranges below instants, each text as far as the next flag."""
        theme, area = self._theme, QRectF(self.rect())
        painter.fillRect(area, QColor(theme["window"]))
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(0, area.bottom() - 0.5), QPointF(area.right(), area.bottom() - 0.5))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setPixelSize(scaled(11))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        for flag in self._flags:
            if flag.is_range:
                bar = QRectF(flag.x0, 2, flag.x1 - flag.x0, area.height() - 5)
                painter.fillRect(bar, color(theme, flag.token, 60))
                painter.setPen(QPen(QColor(theme[flag.token]), 1.4))
                for x in (flag.x0, flag.x1):
                    painter.drawLine(QPointF(x, 2), QPointF(x, area.bottom()))
        for flag in self._flags:
            if not flag.is_range:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(theme[flag.token]))
                x = math.floor(flag.x0) + 0.5
                painter.drawPolygon(
                    QPolygonF([QPointF(x, 2), QPointF(x + _FLAG, 6), QPointF(x, 10), QPointF(x, area.bottom())])
                )
                painter.setPen(QPen(QColor(theme[flag.token]), 1))
                painter.drawLine(QPointF(x, 2), QPointF(x, area.bottom()))
        painter.setPen(QColor(theme["text"]))
        starts = sorted(flag.x0 for flag in self._flags)
        for flag in self._flags:
            if not flag.text:
                continue
            left = max(flag.x0, 0.0) + (5.0 if flag.is_range else _FLAG + 4)
            end = next((x for x in starts if x > flag.x0), area.right())
            right = min(end - 3, flag.x1 if flag.x1 - flag.x0 > 24 else area.right())
            if right - left > 12:
                text = metrics.elidedText(flag.text, Qt.TextElideMode.ElideRight, right - left)
                box = QRectF(left, 0, right - left, area.height() - 2)
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def flag_at(self, x: float) -> tuple[MarkFlag, str] | None:
        """The flag under an x, and which part of it."""
        for flag in reversed(self._flags):
            if not flag.is_range and flag.x0 - _NEAR <= x <= flag.x0 + _FLAG + 1:
                return flag, "whole"
        for flag in reversed(self._flags):
            if flag.is_range:
                for at, part in ((flag.x0, "start"), (flag.x1, "end")):
                    if abs(x - at) <= _NEAR and flag.x1 - flag.x0 > 3 * _NEAR:
                        return flag, part
                if flag.x0 - _NEAR <= x <= flag.x1 + _NEAR:
                    return flag, "whole"
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grasp a flag."""
        found = self.flag_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self._grip = (*found, event.position().x())
            self._dragging = False
        elif event.button() == Qt.MouseButton.RightButton and found is not None:
            self.menu_requested.emit(found[0].id, event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag it, else show what can be grasped."""
        x = event.position().x()
        if self._grip is None:
            found = self.flag_at(x)
            edge = found is not None and found[1] != "whole"
            shape = Qt.CursorShape.SizeHorCursor if edge else Qt.CursorShape.OpenHandCursor
            self.setCursor(Qt.CursorShape.ArrowCursor if found is None else shape)
            return
        flag, part, begin = self._grip
        if self._dragging or abs(x - begin) >= QApplication.startDragDistance() / 2:
            self._dragging = True
            self.moved.emit(flag.id, part, x - begin)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        if event.button() == Qt.MouseButton.LeftButton and self._grip is not None:
            flag, self._grip = self._grip[0], None
            (self.dropped if self._dragging else self.clicked).emit(flag.id)
            self._dragging = False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Ask for another text."""
        found = self.flag_at(event.position().x())
        if found is not None and event.button() == Qt.MouseButton.LeftButton:
            self._grip = None
            self.edited.emit(found[0].id)

    def event(self, event: QEvent) -> bool:
        """Show a tooltip with the whole text."""
        if isinstance(event, QHelpEvent):
            found = self.flag_at(event.pos().x())
            if found is not None:
                QToolTip.showText(event.globalPos(), safe_tip(found[0].tip or found[0].text), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)
