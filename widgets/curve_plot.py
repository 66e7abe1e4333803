"""Rates by size: points with their spread, and a measured curve to hold them against. Sizes are logarithmic."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from viewer.base.curve_frame import CurveFrame
from viewer.base.theme import Theme
from viewer.base.units import format_bytes
from widgets.point_plot import F64, PointPlot
from widgets.theming import color, mix


class CurvePlot(PointPlot):
    """Shows a :class:`CurveFrame`. ``chosen`` tells the table's row of the point that was clicked."""

    WIDEST = "8e-88"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame: CurveFrame | None = None

    def set_frame(self, frame: CurveFrame | None) -> None:
        """Show other points, or none."""
        self.frame = frame
        self.setAccessibleName("No rates" if frame is None else f"{frame.title}: {len(frame.x)} sizes. {frame.note}")
        self.update()

    def _spans(self, frame: CurveFrame) -> tuple[float, float, float]:
        """First power of two shown, how many are shown, the highest rate."""
        every = np.concatenate((frame.x, frame.curve_x)) if len(frame.curve_x) else frame.x
        first, last = math.floor(math.log2(max(1.0, every.min()))), math.ceil(math.log2(max(2.0, every.max())))
        if len(frame.curve_x) and len(frame.x):  # the curve's far ends tell nothing of these points
            first = max(first, math.floor(math.log2(max(1.0, frame.x.min()))) - 6)
            last = min(last, math.ceil(math.log2(max(2.0, frame.x.max()))) + 3)
        first, last = (first, last) if last > first else (first - 1, first + 1)
        inside = (frame.curve_x >= 2.0**first) & (frame.curve_x <= 2.0**last)
        top = max(float(frame.y.max(initial=0.0)), float(frame.curve_y[inside].max(initial=0.0)))
        return float(first), float(last - first), 1.1 * top or 1.0

    def places(self, x: F64, y: F64) -> tuple[F64, F64]:
        """Where rates of sizes are, in pixels."""
        assert self.frame is not None
        area, (first, span, top) = self.area(), self._spans(self.frame)
        return (
            area.left() + (np.log2(np.maximum(x, 1.0)) - first) / span * area.width(),
            area.bottom() - y / top * area.height(),
        )

    def points(self) -> tuple[F64, F64]:
        """Where the rates are, in pixels."""
        return (np.empty(0), np.empty(0)) if self.frame is None else self.places(self.frame.x, self.frame.y)

    def tip(self, point: int) -> str:
        """What is said of a point."""
        assert self.frame is not None
        return self.frame.tips[point]

    def choose(self, point: int) -> None:
        """Tell its row."""
        assert self.frame is not None
        self.chosen.emit(self.frame.rows[point])

    def paint(self, painter: QPainter) -> None:
        """Draw title, curve, points and axes."""
        frame, theme = self.frame, self._theme
        if frame is None or theme is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self.area()
        self.paint_head(painter, theme, frame.title, frame.note)
        if not len(frame.x):
            return
        first, span, top = self._spans(frame)
        self._axes(painter, theme, area, first, span, top)
        painter.save()
        painter.setClipRect(area)
        if len(frame.curve_x):
            x, y = self.places(frame.curve_x, frame.curve_y)
            painter.setPen(QPen(color(theme, "muted"), 1.6, Qt.PenStyle.DashLine))
            painter.drawPolyline(QPolygonF([QPointF(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]))
        x, y = self.places(frame.x, frame.y)
        _, low = self.places(frame.x, frame.low)
        painter.setPen(QPen(mix(color(theme, "base"), color(theme, "accent"), 0.6), 1.5))
        painter.drawLines([QLineF(a, b, a, c) for a, b, c in zip(x.tolist(), y.tolist(), low.tolist(), strict=True)])
        painter.setPen(Qt.PenStyle.NoPen)
        for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            painter.setBrush(color(theme, "accent"))
            painter.drawEllipse(QPointF(a, b), 3.5, 3.5)
            if i == frame.current:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(color(theme, "text"), 1.5))
                painter.drawEllipse(QPointF(a, b), 6, 6)
                painter.setPen(Qt.PenStyle.NoPen)
        painter.restore()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color(theme, "line"), 1))
        painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))

    def _axes(self, painter: QPainter, theme: Theme, area: QRectF, first: float, span: float, top: float) -> None:
        metrics = self.fontMetrics()
        assert self.frame is not None
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for value in (0.0, top / 2.2, top / 1.1):
            y = area.bottom() - value / top * area.height()
            painter.setPen(QPen(color(theme, "grid"), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(color(theme, "muted"))
            box = QRectF(0, y - metrics.height() / 2, area.left() - 4, metrics.height())
            painter.drawText(box, right, _rate(value))
        every = max(1, math.ceil(span * 58 / area.width()))
        for power in range(int(first), int(first + span) + 1):
            if (power - int(first)) % every:
                continue
            x = area.left() + (power - first) / span * area.width()
            painter.setPen(QPen(color(theme, "grid"), 1))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(color(theme, "muted"))
            text = format_bytes(2**power)
            wide = metrics.horizontalAdvance(text)
            at = min(max(0.0, x - wide / 2), self.width() - wide - 2)
            painter.drawText(QPointF(at, area.bottom() + metrics.ascent() + 3), text)


def _rate(value: float) -> str:
    """A rate at the axis."""
    if value >= 10 or not value:
        return f"{value:.0f}"
    return f"{value:.2g}" if value >= 0.01 else f"{value:.0e}"
