"""Residuals over time before and after an alignment: two plots above each other, each with a scale of its own.

Where several points fall on one column of pixels, their least and greatest values are joined by a line and nothing is
left out of that: no point lies outside of what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.base.residuals import ResidualFrame
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from viewer.base.units import format_count
from widgets.painted import PaintedWidget
from widgets.theming import color, mix

F64 = NDArray[np.float64]
PLOT_HEIGHT: Final = 84
LEFT: Final = 62
OFF_SCALE: Final = 0.005
"""Share of the points at either side that may lie off the scale; they are drawn at the border and counted."""


def scale_of(values: F64) -> tuple[float, float]:
    """The range of a plot: all values but the few furthest ones, 0 included, never empty."""
    if not len(values):
        return -1.0, 1.0
    low, high = (float(v) for v in np.quantile(values, (OFF_SCALE, 1 - OFF_SCALE)))
    low, high = min(low, 0.0), max(high, 0.0)
    pad = 0.08 * (high - low) or 1.0
    return low - pad, high + pad


def columns_of(x: F64, y: F64, width: int) -> tuple[NDArray[np.int64], F64, F64]:
    """Pixel columns that hold points, and the least and the greatest value in each. ``x`` is 0 to 1."""
    if not len(x):
        none = np.empty(0)
        return np.empty(0, np.int64), none, none
    column = np.clip((x * width).astype(np.int64), 0, max(0, width - 1))
    order = np.argsort(column, kind="stable")
    column, y = column[order], y[order]
    begin = np.flatnonzero(np.concatenate(([True], column[1:] != column[:-1])))
    return column[begin], np.minimum.reduceat(y, begin), np.maximum.reduceat(y, begin)


class ResidualPlot(PaintedWidget):
    """Draws a :class:`ResidualFrame`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame: ResidualFrame | None = None
        self._theme: Theme | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: ResidualFrame) -> None:
        """Show other points."""
        self._frame = frame
        self.setAccessibleName(
            f"Residuals of {frame.label}: {format_count(int(frame.focus.sum()))} ends before and after the alignment"
        )
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        line = self.fontMetrics().lineSpacing()
        return QSize(260, 2 * (PLOT_HEIGHT + line) + line + 8)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(180, self.sizeHint().height())

    def paint(self, painter: QPainter) -> None:
        """Draw both plots and their common time axis."""
        frame, theme = self._frame, self._theme
        if frame is None or theme is None:
            return
        line = self.fontMetrics().lineSpacing()
        left, high = float(frame.x.min(initial=0)), float(frame.x.max(initial=1))
        x = (frame.x - left) / max(1.0, high - left)
        top = 0
        for values, title, band in (
            (frame.before, frame.before_label, None),
            (frame.after, frame.after_label, frame.band_ns),
        ):
            area = QRectF(LEFT, top + line, self.width() - LEFT - 1, PLOT_HEIGHT)
            off = self._draw_plot(painter, theme, area, x, values, frame.focus, band)
            painter.setPen(color(theme, "text"))
            said = title if not off else f"{title} · {format_count(off)} off the scale"
            box = QRectF(LEFT, top, area.width(), line)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(
                box, flags, painter.fontMetrics().elidedText(said, Qt.TextElideMode.ElideRight, int(box.width()))
            )
            top += line + PLOT_HEIGHT
        painter.setPen(color(theme, "muted"))
        row = QRectF(LEFT, top + 2, self.width() - LEFT - 1, line)
        painter.drawText(row, Qt.AlignmentFlag.AlignLeft, "0")
        painter.drawText(row, Qt.AlignmentFlag.AlignRight, format_duration(round(high - left)))

    def _draw_plot(
        self,
        painter: QPainter,
        theme: Theme,
        area: QRectF,
        x: F64,
        values: F64,
        focus: NDArray[np.bool_],
        band: int | None,
    ) -> int:
        """Draw one plot; how many points lie off its scale."""
        low, high = scale_of(values[focus] if focus.any() else values)
        painter.fillRect(area, color(theme, "base"))

        def y_of(value: float) -> float:
            return area.bottom() - (min(max(value, low), high) - low) / (high - low) * area.height()

        if band:
            y0, y1 = y_of(float(band)), y_of(-float(band))
            painter.fillRect(
                QRectF(area.left(), y0, area.width(), y1 - y0), mix(color(theme, "base"), color(theme, "accent"), 0.13)
            )
        painter.setPen(QPen(color(theme, "line"), 1))
        painter.drawLine(QPointF(area.left(), y_of(0)), QPointF(area.right(), y_of(0)))
        if not focus.all():
            self._draw_points(
                painter, area, x[~focus], values[~focus], y_of, mix(color(theme, "base"), color(theme, "muted"), 0.4)
            )
        self._draw_points(painter, area, x[focus], values[focus], y_of, color(theme, "accent"))
        painter.setPen(QPen(color(theme, "line"), 1))
        painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.setPen(color(theme, "muted"))
        metrics = self.fontMetrics()
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for value, y in ((high, area.top() + metrics.height() / 2), (low, area.bottom() - metrics.height() / 2)):
            painter.drawText(QRectF(0, y - metrics.height() / 2, LEFT - 5, metrics.height()), right, tick(value))
        y = y_of(0)
        if area.top() + 1.5 * metrics.height() < y < area.bottom() - 1.5 * metrics.height():
            painter.drawText(QRectF(0, y - metrics.height() / 2, LEFT - 5, metrics.height()), right, "0")
        shown = values[focus]
        return int(((shown < low) | (shown > high)).sum())

    def _draw_points(
        self, painter: QPainter, area: QRectF, x: F64, values: F64, y_of: Callable[[float], float], ink: QColor
    ) -> None:
        column, least, most = columns_of(x, values, int(area.width()))
        half, width = (0.75, 1.6) if 4 * len(column) > area.width() else (1.5, 3.0)  # few points are to be seen
        lines = [
            QLineF(area.left() + c + 0.5, y_of(b) - half, area.left() + c + 0.5, y_of(a) + half)
            for c, a, b in zip(column.tolist(), least.tolist(), most.tolist(), strict=True)
        ]
        pen = QPen(ink, width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        painter.drawLines(lines)


def tick(ns: float) -> str:
    """A value at the axis."""
    return f"{'+' if ns > 0 else '−' if ns < 0 else ''}{format_duration(abs(round(ns)), 1 if abs(ns) < 1e5 else 0)}"
