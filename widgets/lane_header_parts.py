"""Parts that headers of ranks and lanes are painted of, and what they say."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath

from viewer.base.frames import PlacedRow
from viewer.base.theme import Theme
from widgets.font_scale import scaled


def header_font(base: QFont, px: int, *, bold: bool = False) -> QFont:
    """A font like the widget's own, of so many px at the usual size of the system's font."""
    font = QFont(base)
    font.setPixelSize(scaled(px))
    if bold:
        font.setWeight(QFont.Weight.DemiBold)
    return font


def paint_count(painter: QPainter, theme: Theme, base: QFont, number: int, right: float, line: QRectF) -> None:
    """A small number in a pill that ends at ``right``, in the middle of a line."""
    font = header_font(base, 9, bold=True)
    text, metrics = f"{number:,}", QFontMetricsF(font)
    box = QRectF(0, 0, metrics.horizontalAdvance(text) + 8, min(metrics.height(), line.height()))
    box.moveCenter(line.center())
    box.moveRight(right)
    painter.setFont(font)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme["accent"]))
    painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
    painter.setPen(QColor(theme["base"]))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def paint_triangle(painter: QPainter, theme: Theme, at: QPointF, *, opened: bool, muted: bool = False) -> None:
    """The sign of what can be folded: down where it is open, else to the right."""
    path = QPainterPath()
    points = ((-4, -2), (4, -2), (0, 3)) if opened else ((-2, -4), (3, 0), (-2, 4))
    path.moveTo(at + QPointF(*points[0]))
    for point in points[1:]:
        path.lineTo(at + QPointF(*point))
    path.closeSubpath()
    painter.fillPath(path, QColor(theme["muted" if muted else "text"]))


def header_tip(row: PlacedRow, folds: Mapping[str, bool], deep: Collection[str], tall: Collection[str]) -> str:
    """The full text of a header, and what a click on it does."""
    if row.section:
        return f"{row.section} of {row.group.title}\nClick to unfold it."
    if row.lane is None:
        return "\n".join(t for t in (row.group.title, row.group.subtitle, row.group.warning) if t)
    fold = folds.get(row.lane.key)
    hint = "" if fold is None else "Click to fold them away." if fold else "Click to show them."
    if row.lane.key in deep:
        hint = "Click to make it small." if row.lane.key in tall else "Click to make it tall enough for names."
    return "\n".join(t for t in (row.lane.detail, hint) if t)
