"""Durations of runs over time: a point per run, the median with its quartiles as a band, outliers marked."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.pace_frame import PaceFrame
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from widgets.painted import PaintedWidget
from widgets.residual_plot import columns_of
from widgets.theming import color, mix, safe_tip

REACH: Final = 8.0
"""Pixels from a point within which the pointer means it."""
_TOP: Final = 0.08
"""Share of the height above the longest run."""


class PacePlot(PaintedWidget):
    """Shows a :class:`PaceFrame`. Left and right go from outlier to outlier (all runs without any), Return goes there.

    Signals:
        chosen(int): the place of the run that was clicked.
    """

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame: PaceFrame | None = None
        self.current: int | None = None
        """The place of the run that is ringed."""
        self._theme: Theme | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("No runs")

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: PaceFrame | None) -> None:
        """Show other runs, or none."""
        self.frame, self.current = frame, None
        if frame is None:
            self.setAccessibleName("No runs")
        else:
            self.setAccessibleName(f"Durations of {len(frame.y):,} runs of {frame.title} over time. {frame.note}")
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(340, 180)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(160, 90)

    # where things are

    def _area(self) -> QRectF:
        line = self.fontMetrics().lineSpacing()
        left = self.fontMetrics().horizontalAdvance("888.8 ms") + 8
        return QRectF(left, 2 * line + 6, max(10, self.width() - left - 8), max(10, self.height() - 3 * line - 12))

    def _spans(self, frame: PaceFrame) -> tuple[float, float, float]:
        first, last = float(frame.x.min()), float(frame.x.max())
        return first, max(1.0, last - first), max(1.0, float(frame.y.max()) * (1 + _TOP))

    def points(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where the runs are, in pixels."""
        if self.frame is None:
            return np.empty(0), np.empty(0)
        area, (first, length, top) = self._area(), self._spans(self.frame)
        x = area.left() + (self.frame.x - first) / length * area.width()
        y = area.bottom() - self.frame.y / top * area.height()
        return x, y

    def at(self, place: QPointF) -> int | None:
        """The run that a point means; of several the nearest."""
        x, y = self.points()
        if not len(x):
            return None
        far = np.hypot(x - place.x(), y - place.y())
        best = int(np.argmin(far))
        return best if far[best] <= REACH else None

    # events

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say what is under the pointer."""
        found = self.at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if found is None else Qt.CursorShape.PointingHandCursor)
        if found is None or self.frame is None:
            QToolTip.hideText()
            return
        at = format_duration(round(float(self.frame.x[found])))
        QToolTip.showText(
            event.globalPosition().toPoint(),
            safe_tip(f"{format_duration(int(self.frame.y[found]))} at {at}\nClick to go there"),
            self,
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a run."""
        found = self.at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(found)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk the outliers."""
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and self.frame is not None and len(self.frame.y):
            stops = np.flatnonzero(self.frame.outlier)
            stops = stops if len(stops) else np.arange(len(self.frame.y))
            step = 1 if event.key() == Qt.Key.Key_Right else -1
            if self.current is None:
                self._choose(int(stops[0 if step > 0 else -1]))
            else:
                before = int((stops < self.current).sum())
                place = int((stops <= self.current).sum()) if step > 0 else before - 1
                self._choose(int(stops[place % len(stops)]))
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current is not None:
            self._choose(self.current)
            return
        super().keyPressEvent(event)

    def _choose(self, at: int) -> None:
        self.current = at
        self.update()
        self.chosen.emit(at)

    # painting

    def paint(self, painter: QPainter) -> None:
        """Draw title, band, points and axes."""
        frame, theme = self.frame, self._theme
        if frame is None or theme is None or not len(frame.y):
            return
        area, metrics = self._area(), self.fontMetrics()
        first, length, top = self._spans(frame)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        for n, (text, token) in enumerate(((frame.title, "text"), (frame.note, "muted"))):
            painter.setPen(color(theme, token))
            box = QRectF(6, 2 + n * metrics.lineSpacing(), self.width() - 12, metrics.lineSpacing())
            cut = Qt.TextElideMode.ElideRight if n else Qt.TextElideMode.ElideMiddle
            painter.drawText(box, left, metrics.elidedText(text, cut, int(box.width())))
        painter.fillRect(area, color(theme, "base"))

        def y_of(value: float) -> float:
            return float(area.bottom() - value / top * area.height())

        band = QRectF(area.left(), y_of(frame.high), area.width(), max(1.0, y_of(frame.low) - y_of(frame.high)))
        painter.fillRect(band, mix(color(theme, "base"), color(theme, "accent"), 0.22))
        painter.setPen(QPen(mix(color(theme, "base"), color(theme, "accent"), 0.6), 1))
        painter.drawLine(QPointF(area.left(), y_of(frame.median)), QPointF(area.right(), y_of(frame.median)))
        even = ~frame.outlier
        for which, token, width in ((even, "accent", 2.4), (frame.outlier, "warning", 4.0)):
            share = (frame.x[which] - first) / length
            column, least, most = columns_of(share, frame.y[which], int(area.width()))
            pen = QPen(color(theme, token), width)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.drawLines(
                [
                    QLineF(area.left() + c + 0.5, y_of(b), area.left() + c + 0.5, y_of(a) + 0.1)
                    for c, a, b in zip(column.tolist(), least.tolist(), most.tolist(), strict=True)
                ]
            )
        if self.current is not None:
            x, y = self.points()
            painter.setPen(QPen(color(theme, "text"), 1.5))
            painter.drawEllipse(QPointF(x[self.current], y[self.current]), 5, 5)
        painter.setPen(QPen(color(theme, "accent" if self.hasFocus() else "line"), 1))
        painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.setPen(color(theme, "muted"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        half = metrics.height() / 2
        marks = [(area.top() + half, top / (1 + _TOP)), (area.bottom() - half, 0.0)]
        middle = y_of(frame.median)
        if area.top() + 3 * half < middle < area.bottom() - 3 * half:
            marks.append((middle, float(frame.median)))
        for y_mark, value in marks:
            box = QRectF(0, y_mark - half, area.left() - 4, 2 * half)
            painter.drawText(box, right, format_duration(round(value), 1) if value else "0")
        below = QRectF(area.left(), area.bottom() + 2, area.width(), metrics.lineSpacing())
        painter.drawText(below, left, format_duration(round(first)))
        painter.drawText(below, right, format_duration(round(first + length)))
