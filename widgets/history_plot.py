"""A figure over the runs of a load: points, the band each was judged against, and changes of the commit."""

from __future__ import annotations

import html
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.run_history import RunPlotFrame, RunPoint
from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.theming import color, mix

LEFT: Final = 88
RIGHT: Final = 14
REACH: Final = 14.0
"""The pointer takes the nearest run within so many px sideways."""
TOKENS: Final = {"bad": "error", "good": "mark_green", "suspect": "warning", "new": "muted", "": "accent"}


class HistoryPlot(PaintedWidget):
    """Draws a :class:`RunPlotFrame`. Left and Right choose the run before or after, Enter opens it.

    Signals:
        chosen(int): the point of that number was chosen.
        opened(int): it was double-clicked, or Enter was pressed.
    """

    chosen = Signal(int)
    opened = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frame: RunPlotFrame | None = None
        self._current = -1
        self._hovered = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Runs over time")

    @property
    def current(self) -> int:
        """The chosen point, -1 for none."""
        return self._current

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: RunPlotFrame | None) -> None:
        """Show other runs; none is chosen."""
        self._frame, self._current, self._hovered = frame, -1, -1
        count = 0 if frame is None else len(frame.points)
        self.setAccessibleDescription("" if frame is None else f"{frame.title}, {count} runs")
        self.update()

    def choose(self, number: int) -> None:
        """Mark a point without a signal."""
        self._current = number
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(420, 190)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(220, 120)

    # -- geometry ------------------------------------------------------------------------------------------------------

    def area(self) -> QRectF:
        """Where the points lie."""
        line = self.fontMetrics().height()
        return QRectF(LEFT, line + 8, max(1, self.width() - LEFT - RIGHT), max(1, self.height() - 2 * line - 18))

    def place(self, number: int) -> QPointF:
        """The middle of a point."""
        frame = self._frame
        assert frame is not None
        area = self.area()
        return QPointF(self._x(number), self._y(frame.points[number].value, area))

    def _x(self, number: float) -> float:
        assert self._frame is not None
        area = self.area()
        return area.left() + area.width() * (number + 0.5) / len(self._frame.points)

    def _y(self, value: float, area: QRectF) -> float:
        frame = self._frame
        assert frame is not None
        return area.bottom() - area.height() * (value - frame.low) / (frame.high - frame.low)

    def at(self, x: float) -> int:
        """The run nearest to a place, -1 when none is near."""
        if self._frame is None or not self._frame.points:
            return -1
        count = len(self._frame.points)
        area = self.area()
        number = min(count - 1, max(0, int((x - area.left()) / area.width() * count)))
        near = abs(self._x(number) - x) <= max(REACH, area.width() / count)
        return number if near else -1

    # -- hands ---------------------------------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer."""
        hovered = self.at(event.position().x())
        if hovered != self._hovered:
            self._hovered = hovered
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer left."""
        super().leaveEvent(event)
        self._hovered = -1
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the run under the pointer."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose(self.at(event.position().x()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open the run under the pointer."""
        number = self.at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and number >= 0:
            self._choose(number)
            self.opened.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk along the runs."""
        count = len(self._frame.points) if self._frame is not None else 0
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if count and event.key() in steps:
            start = self._current if self._current >= 0 else (count if steps[Qt.Key(event.key())] < 0 else -1)
            self._choose(min(count - 1, max(0, start + steps[Qt.Key(event.key())])))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current >= 0:
            self.opened.emit(self._current)
        else:
            super().keyPressEvent(event)

    def _choose(self, number: int) -> None:
        if number >= 0 and number != self._current:
            self._current = number
            self.update()
            self.chosen.emit(number)

    def event(self, event: QEvent) -> bool:
        """Say what is under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            number = self.at(event.pos().x())
            if self._frame is not None and number >= 0:
                text = "<br>".join(html.escape(line) for line in self._frame.points[number].tip.splitlines())
                QToolTip.showText(event.globalPos(), f"<p style='white-space:pre'>{text}</p>", self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    # -- painting ------------------------------------------------------------------------------------------------------

    def paint(self, painter: QPainter) -> None:
        """Draw axis, band, points and the frame around the chosen one."""
        theme, frame = self._theme, self._frame
        painter.fillRect(self.rect(), color(theme, "window"))
        if frame is None or not frame.points:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self.area()
        painter.fillRect(area, color(theme, "base"))
        self._axis(painter, area, frame)
        self._band(painter, area, frame)
        self._commits(painter, area, frame)
        self._points(painter, area, frame)
        if self.hasFocus():
            painter.setPen(QPen(color(theme, "accent"), 1))
            painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))

    def _axis(self, painter: QPainter, area: QRectF, frame: RunPlotFrame) -> None:
        theme, line = self._theme, self.fontMetrics().height()
        painter.setPen(color(theme, "text"))
        metrics = painter.fontMetrics()
        title = metrics.elidedText(frame.title, Qt.TextElideMode.ElideRight, int(area.width()))
        painter.drawText(QRectF(area.left(), 2, area.width(), line), Qt.AlignmentFlag.AlignLeft, title)
        for value, text in frame.ticks:
            y = self._y(value, area)
            painter.setPen(QPen(color(theme, "grid"), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(color(theme, "muted"))
            box = QRectF(0, y - line / 2, LEFT - 8, line)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.setPen(color(theme, "muted"))
        row = QRectF(area.left(), area.bottom() + 4, area.width(), line)
        painter.drawText(row, Qt.AlignmentFlag.AlignLeft, frame.points[0].day)
        if len(frame.points) > 1 and area.width() > 200:
            painter.drawText(row, Qt.AlignmentFlag.AlignRight, frame.points[-1].day)

    def _band(self, painter: QPainter, area: QRectF, frame: RunPlotFrame) -> None:
        """The band of each run, as stretches of one path; the baseline as a line in it."""
        theme = self._theme
        half = area.width() / len(frame.points) / 2
        fill, middle = QPainterPath(), QPainterPath()
        for number, point in enumerate(frame.points):
            if point.low is None or point.high is None or point.baseline is None:
                continue
            x = self._x(number)
            top, bottom = self._y(point.high, area), self._y(point.low, area)
            fill.addRect(QRectF(x - half, top, 2 * half, max(1.0, bottom - top)))
            y = self._y(point.baseline, area)
            middle.moveTo(x - half, y)
            middle.lineTo(x + half, y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillPath(fill, mix(color(theme, "base"), color(theme, "accent"), 0.16))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.strokePath(middle, QPen(mix(color(theme, "base"), color(theme, "accent"), 0.55), 1))

    def _commits(self, painter: QPainter, area: QRectF, frame: RunPlotFrame) -> None:
        """A tick below the points where the commit changed; few enough to be told apart."""
        points = frame.points
        turns = [i for i in range(1, len(points)) if points[i].commit and points[i].commit != points[i - 1].commit]
        if len(turns) * 4 > area.width():
            return
        painter.setPen(QPen(color(self._theme, "muted"), 1))
        for number in turns:
            x = round(self._x(number - 0.5)) + 0.5
            painter.drawLine(QPointF(x, area.bottom() - 7), QPointF(x, area.bottom()))

    def _points(self, painter: QPainter, area: QRectF, frame: RunPlotFrame) -> None:
        few = len(frame.points) < area.width() / 5
        for tone in ("", "new", "suspect", "good", "bad"):  # what matters lies above
            ink = self._ink(tone)
            for number, point in enumerate(frame.points):
                if point.tone == tone:
                    self._dot(painter, self.place(number), point, ink, 3.2 if few else 2.0)
        for number, width in ((self._hovered, 1.2), (self._current, 2.0)):
            if number >= 0:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(color(self._theme, "text"), width))
                painter.drawEllipse(self.place(number), 6.5, 6.5)

    def _ink(self, tone: str) -> QColor:
        return color(self._theme, TOKENS[tone])

    def _dot(self, painter: QPainter, at: QPointF, point: RunPoint, ink: QColor, radius: float) -> None:
        """A circle; a regression is a triangle and an improvement a square, for those who tell colours apart badly."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        if point.tone == "bad":
            path = QPainterPath(QPointF(at.x(), at.y() - radius - 2.4))
            path.lineTo(at.x() + radius + 1.8, at.y() + radius + 0.6)
            path.lineTo(at.x() - radius - 1.8, at.y() + radius + 0.6)
            path.closeSubpath()
            painter.drawPath(path)
        elif point.tone == "good":
            painter.drawRect(QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius))
        else:
            if point.tone in ("new", "suspect"):
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(ink, 1.6))
            painter.drawEllipse(at, radius, radius)
