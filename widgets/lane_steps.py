"""Steps as bands and measurements upon the lanes: plain data and its painting."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from viewer.base.theme import Theme
from widgets.font_scale import scaled


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of a row, from x0 to x1: shaded when odd, named in a header. ``y`` and ``height`` are the row's."""

    x0: float
    x1: float
    y: float
    height: float
    label: str = ""
    odd: bool = False
    header: bool = False
    selected: bool = False


@dataclass(frozen=True, slots=True)
class MeasureMark:
    """A measurement from one point to a later one: its value, and a line on what lies at its ends ("" for nothing)."""

    start: QPointF
    end: QPointF
    value: str
    names: str = ""


def color(theme: Theme, token: str, alpha: int = 255) -> QColor:
    """A theme colour with an alpha."""
    c = QColor(theme[token])
    c.setAlpha(alpha)
    return c


def paint_measure(painter: QPainter, mark: MeasureMark, theme: Theme, area: QRectF) -> None:
    """Lines through both instants, a line with heads between them, the value and what is measured in a box."""
    accent = color(theme, "accent")
    x0, x1 = math.floor(mark.start.x()) + 0.5, math.floor(mark.end.x()) + 0.5
    if x1 < area.left() or x0 > area.right():
        return
    painter.setPen(QPen(accent, 1, Qt.PenStyle.DashLine))
    for x in (x0, x1):
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
    y = math.floor((mark.start.y() + mark.end.y()) / 2) + 0.5
    y = min(max(y, area.top() + 12.5), area.bottom() - 40.5)
    painter.setPen(QPen(accent, 1.6))
    painter.drawLine(QPointF(x0, y), QPointF(x1, y))
    if x1 - x0 > 14:
        for x, way in ((x0, 1), (x1, -1)):
            for side in (-3.5, 3.5):
                painter.drawLine(QPointF(x, y), QPointF(x + 6 * way, y + side))
    for point in (mark.start, mark.end):
        painter.setPen(QPen(color(theme, "base"), 1.5))
        painter.setBrush(accent)
        painter.drawEllipse(point, 4, 4)
    metrics = QFontMetricsF(painter.font())
    names = metrics.elidedText(mark.names, Qt.TextElideMode.ElideMiddle, min(620.0, area.width() - 40))
    lines = [mark.value, names] if names else [mark.value]
    width = math.ceil(max(metrics.horizontalAdvance(line) for line in lines)) + 14
    height = math.ceil(metrics.height()) * len(lines) + 8
    middle = (max(x0, area.left()) + min(x1, area.right())) / 2
    left = min(max(middle - width / 2, area.left() + 2), max(area.right() - width - 2, area.left() + 2))
    box = QRectF(round(left), round(y + 7), width, height)
    painter.setPen(QPen(accent, 1))
    painter.setBrush(color(theme, "window"))
    painter.drawRoundedRect(box, 4, 4)
    painter.setPen(QColor(theme["text"]))
    inner = box.adjusted(7, 4, -7, -4)
    painter.drawText(inner, int(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter), lines[0])
    if names:
        painter.setPen(QColor(theme["muted"]))
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignHCenter), names)


def fitting(label: str, metrics: QFontMetricsF, room: float) -> str:
    """As much of a name as says something: "step 12", in little room "12", else nothing."""
    number = label.rpartition(" ")[2]
    return next((text for text in (label, number) if metrics.horizontalAdvance(text) <= room), "")


def paint_bands(painter: QPainter, bands: list[Band], theme: Theme, area: QRectF) -> None:
    """Shade over every second step, strips with names in headers."""
    font, small = painter.font(), QFont(painter.font())
    small.setPixelSize(scaled(11))
    painter.setFont(small)
    metrics = QFontMetricsF(small)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    shade, line = color(theme, "text", 14), color(theme, "muted", 110)
    for band in bands:
        box = QRectF(band.x0, band.y, max(band.x1 - band.x0, 1.0), band.height).intersected(area.adjusted(-2, 0, 2, 0))
        if box.isEmpty():
            continue
        if band.header:
            strip = box.adjusted(0, 4, 0, -4)
            ground = color(theme, "accent", 90) if band.selected else color(theme, "text", 34 if band.odd else 18)
            painter.fillRect(strip, ground)
            painter.fillRect(QRectF(math.floor(band.x0), strip.top(), 1, strip.height()), line)
            room = strip.width() - 8
            if band.label:
                painter.setPen(QColor(theme["text" if band.selected else "muted"]))
                shown = fitting(band.label, metrics, room)
                painter.drawText(strip.adjusted(6, 0, -2, 0), int(Qt.AlignmentFlag.AlignVCenter), shown)
        elif band.odd:
            painter.fillRect(box, shade)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(font)
