"""Durations of runs over time: a point per run, the median with its quartiles as a band, outliers marked."""

from __future__ import annotations

from typing import Final

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from viewer.base.pace_frame import PaceFrame
from viewer.base.time import format_duration
from widgets.point_plot import F64, PointPlot
from widgets.residual_plot import columns_of
from widgets.theming import color, mix

_TOP: Final = 0.08
"""Share of the height above the longest run."""


class PacePlot(PointPlot):
    """Shows a :class:`PaceFrame`. Left and right go from outlier to outlier (all runs without any), Return goes there.

    ``chosen`` tells the place of the run that was clicked.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame: PaceFrame | None = None
        self.current: int | None = None
        """The place of the run that is ringed."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("No runs")

    def set_frame(self, frame: PaceFrame | None) -> None:
        """Show other runs, or none."""
        self.frame, self.current = frame, None
        if frame is None:
            self.setAccessibleName("No runs")
        else:
            self.setAccessibleName(f"Durations of {len(frame.y):,} runs of {frame.title} over time. {frame.note}")
        self.update()

    # where things are

    def _spans(self, frame: PaceFrame) -> tuple[float, float, float]:
        first, last = float(frame.x.min()), float(frame.x.max())
        return first, max(1.0, last - first), max(1.0, float(frame.y.max()) * (1 + _TOP))

    def points(self) -> tuple[F64, F64]:
        """Where the runs are, in pixels."""
        if self.frame is None:
            return np.empty(0), np.empty(0)
        area, (first, length, top) = self.area(), self._spans(self.frame)
        x = area.left() + (self.frame.x - first) / length * area.width()
        y = area.bottom() - self.frame.y / top * area.height()
        return x, y

    # events

    def tip(self, point: int) -> str:
        """What is said of a run."""
        assert self.frame is not None
        length, when = int(self.frame.y[point]), round(float(self.frame.x[point]))
        return f"{format_duration(length)} at {format_duration(when)}\nClick to go there"

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk the outliers."""
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and self.frame is not None and len(self.frame.y):
            stops = np.flatnonzero(self.frame.outlier)
            stops = stops if len(stops) else np.arange(len(self.frame.y))
            step = 1 if event.key() == Qt.Key.Key_Right else -1
            if self.current is None:
                self.choose(int(stops[0 if step > 0 else -1]))
            else:
                before = int((stops < self.current).sum())
                place = int((stops <= self.current).sum()) if step > 0 else before - 1
                self.choose(int(stops[place % len(stops)]))
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current is not None:
            self.choose(self.current)
            return
        super().keyPressEvent(event)

    def choose(self, point: int) -> None:
        """Ring a run and tell its place."""
        self.current = point
        self.update()
        self.chosen.emit(point)

    # painting

    def paint(self, painter: QPainter) -> None:
        """Draw title, band, points and axes."""
        frame, theme = self.frame, self._theme
        if frame is None or theme is None or not len(frame.y):
            return
        area, metrics = self.area(), self.fontMetrics()
        first, length, top = self._spans(frame)
        self.paint_head(painter, theme, frame.title, frame.note)

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
        painter.drawText(
            below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, format_duration(round(first))
        )
        painter.drawText(below, right, format_duration(round(first + length)))
