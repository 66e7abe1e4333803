"""What lies upon the lanes: selection, range, flow arrows, notes, cursor, tooltip. Plain data and its painting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from viewer.base.ids import Paint
from viewer.base.theme import Theme
from widgets.lane_steps import Band, MeasureMark, color, paint_bands, paint_measure
from widgets.name_wrap import wrap_name

NOTE_WIDTH: Final = 240
_NOTE_PAD: Final = 7
_TIP_WIDTH: Final = 420
_TIP_PAD: Final = 8
_TIP_STRIPE: Final = 4
_TIP_LINES: Final = 6


@dataclass(frozen=True, slots=True)
class NotePin:
    """A note at its place: anchor (x, y) in px of the canvas, and the offset of its box from there."""

    id: int
    x: float
    y: float
    text: str
    dx: float
    dy: float


@dataclass(frozen=True, slots=True)
class Tip:
    """The tooltip beside the cursor: a name, secondary lines, and the colour of what is under the cursor.

    ``avoid`` is the box of what is under the cursor, which the tooltip does not cover.
    """

    x: float
    y: float
    title: str
    lines: tuple[str, ...]
    paint: Paint | None = None
    avoid: QRectF | None = None


@dataclass(frozen=True, slots=True)
class MarkBand:
    """A mark: an instant (x0 == x1) or a range, between two heights; ``token`` is its colour in the theme."""

    x0: float
    x1: float
    y0: float
    y1: float
    token: str


@dataclass(slots=True)
class Overlay:
    """Everything upon the lanes, in logical px of the canvas. ``range`` is (x0, x1, text)."""

    selected: QRectF | None = None
    gap: QRectF | None = None
    gap_text: str = ""
    range: tuple[float, float, str] | None = None
    range_rows: list[tuple[float, float]] | None = None
    """(y, height) of the rows that the range is about; None for all."""
    arrows: list[tuple[QPointF, QPointF]] = field(default_factory=list)
    notes: list[NotePin] = field(default_factory=list)
    marks: list[MarkBand] = field(default_factory=list)
    cursor_x: float | None = None
    tip: Tip | None = None
    bands: list[Band] = field(default_factory=list)
    measures: list[MeasureMark] = field(default_factory=list)
    snap: QPointF | None = None
    """The edge that the pointer would take."""
    zoom: QRectF | None = None
    """The rectangle that is being dragged to zoom to."""
    zoom_text: str = ""
    """How long it is."""


def note_rect(note: NotePin, font: QFont, area: QRectF) -> QRectF:
    """Where the box of a note lies: at its offset, but never outside the canvas."""
    inner = QFontMetricsF(font).boundingRect(
        QRectF(0, 0, NOTE_WIDTH - 2 * _NOTE_PAD, 4000), int(Qt.TextFlag.TextWordWrap), note.text or " "
    )
    width, height = math.ceil(inner.width()) + 2 * _NOTE_PAD, math.ceil(inner.height()) + 2 * _NOTE_PAD
    x = min(max(note.x + note.dx, area.left() + 2), max(area.right() - width - 2, area.left() + 2))
    y = min(max(note.y + note.dy, area.top() + 2), max(area.bottom() - height - 2, area.top() + 2))
    return QRectF(x, y, width, height)


def paint_overlay(
    painter: QPainter, overlay: Overlay, theme: Theme, font: QFont, area: QRectF, active_note: int | None
) -> None:
    """Paint everything, from the broad to the small."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(font)
    if overlay.bands:
        paint_bands(painter, overlay.bands, theme, area)
    if overlay.range is not None:
        _paint_range(painter, overlay.range, overlay.range_rows, theme, area)
    for band in overlay.marks:
        _paint_band(painter, band, theme)
    if overlay.gap is not None:
        _paint_gap(painter, overlay.gap, overlay.gap_text, theme)
    if overlay.cursor_x is not None:
        painter.setPen(QPen(color(theme, "muted", 150), 1))
        x = math.floor(overlay.cursor_x) + 0.5
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
    for start, end in overlay.arrows:
        _paint_arrow(painter, start, end, theme)
    if overlay.selected is not None:
        _paint_selected(painter, overlay.selected, theme)
    for note in overlay.notes:
        _paint_note(painter, note, theme, font, area, active=note.id == active_note)
    for measure in overlay.measures:
        paint_measure(painter, measure, theme, area)
    if overlay.snap is not None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color(theme, "base"), 4))
        painter.drawEllipse(overlay.snap, 5, 5)
        painter.setPen(QPen(color(theme, "accent"), 2))
        painter.drawEllipse(overlay.snap, 5, 5)
    if overlay.zoom is not None:
        painter.setPen(QPen(color(theme, "accent"), 1, Qt.PenStyle.DashLine))
        painter.setBrush(color(theme, "accent", 40))
        painter.drawRect(overlay.zoom.adjusted(0.5, 0.5, -0.5, -0.5))
        if overlay.zoom_text:
            pill(painter, overlay.zoom_text, overlay.zoom.center().x(), area.top() + 4, theme, area)
    if overlay.tip is not None:
        _paint_tip(painter, overlay.tip, theme, font, area)


def pill_box(metrics: QFontMetricsF, text: str, centre: float, top: float, area: QRectF) -> QRectF:
    """Where :func:`pill` paints."""
    width, height = math.ceil(metrics.horizontalAdvance(text)) + 12, math.ceil(metrics.height()) + 4
    x = min(max(centre - width / 2, area.left() + 2), max(area.right() - width - 2, area.left() + 2))
    return QRectF(round(x), round(top), width, height)


def pill(painter: QPainter, text: str, centre: float, top: float, theme: Theme, area: QRectF) -> None:
    """A small label on an accent ground, kept inside the area."""
    box = pill_box(QFontMetricsF(painter.font()), text, centre, top, area)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color(theme, "accent"))
    painter.drawRoundedRect(box, 4, 4)
    painter.setPen(QColor(theme["base"]))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _paint_range(
    painter: QPainter,
    span: tuple[float, float, str],
    rows: list[tuple[float, float]] | None,
    theme: Theme,
    area: QRectF,
) -> None:
    x0, x1, text = span
    if x1 < area.left() or x0 > area.right():
        return
    painter.fillRect(
        QRectF(x0, area.top(), max(x1 - x0, 1), area.height()), color(theme, "accent", 34 if rows is None else 10)
    )
    for y, height in rows or ():
        painter.fillRect(QRectF(x0, y, max(x1 - x0, 1), height), color(theme, "accent", 34))
    painter.setPen(QPen(color(theme, "accent", 220), 1))
    for x in (x0, x1):
        edge = math.floor(x) + 0.5
        painter.drawLine(QPointF(edge, area.top()), QPointF(edge, area.bottom()))
    if text:
        centre = (max(x0, area.left()) + min(x1, area.right())) / 2
        pill(painter, text, centre, area.top() + 4, theme, area)


def _paint_band(painter: QPainter, band: MarkBand, theme: Theme) -> None:
    if band.x1 > band.x0:
        painter.fillRect(QRectF(band.x0, band.y0, band.x1 - band.x0, band.y1 - band.y0), color(theme, band.token, 26))
    painter.setPen(QPen(color(theme, band.token, 210), 1))
    for x in {band.x0, band.x1}:
        at = math.floor(x) + 0.5
        painter.drawLine(QPointF(at, band.y0), QPointF(at, band.y1))


def _paint_gap(painter: QPainter, box: QRectF, text: str, theme: Theme) -> None:
    painter.setBrush(QBrush(color(theme, "accent", 60), Qt.BrushStyle.BDiagPattern))
    painter.setPen(QPen(color(theme, "accent"), 1))
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
    if text and QFontMetricsF(painter.font()).horizontalAdvance(text) + 12 < box.width():
        painter.setPen(QColor(theme["text"]))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _paint_selected(painter: QPainter, box: QRectF, theme: Theme) -> None:
    if box.width() < 4:
        box = QRectF(box.center().x() - 2, box.y(), 4, box.height())
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme["base"]), 4))
    painter.drawRoundedRect(box.adjusted(-1, -1, 1, 1), 2, 2)
    painter.setPen(QPen(QColor(theme["text"]), 2))
    painter.drawRoundedRect(box.adjusted(-1, -1, 1, 1), 2, 2)


def _paint_arrow(painter: QPainter, start: QPointF, end: QPointF, theme: Theme) -> None:
    """A smooth curve that leaves to the right and arrives from the left, with a filled head."""
    bend = min(max(abs(end.x() - start.x()) / 2, 24.0), 160.0)
    path = QPainterPath(start)
    path.cubicTo(QPointF(start.x() + bend, start.y()), QPointF(end.x() - bend, end.y()), end - QPointF(6, 0))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(color(theme, "base", 200), 4))
    painter.drawPath(path)
    painter.setPen(QPen(color(theme, "accent"), 1.6))
    painter.drawPath(path)
    head = QPainterPath(end)
    head.lineTo(end + QPointF(-8, -4.5))
    head.lineTo(end + QPointF(-8, 4.5))
    head.closeSubpath()
    painter.fillPath(head, color(theme, "accent"))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color(theme, "accent"))
    painter.drawEllipse(start, 2.5, 2.5)


def _paint_note(painter: QPainter, note: NotePin, theme: Theme, font: QFont, area: QRectF, *, active: bool) -> None:
    box = note_rect(note, font, area)
    anchor = QPointF(note.x, note.y)
    near = QPointF(min(max(anchor.x(), box.left() + 8), box.right() - 8), min(max(anchor.y(), box.top()), box.bottom()))
    line = QColor(theme["note_text"])
    painter.setPen(QPen(line, 1.2))
    painter.drawLine(anchor, near)
    painter.setBrush(line)
    painter.setPen(QPen(QColor(theme["note"]), 1))
    painter.drawEllipse(anchor, 3, 3)
    painter.setBrush(QColor(theme["note"]))
    painter.setPen(QPen(QColor(theme["accent"]) if active else line, 1.6 if active else 0.8))
    painter.drawRoundedRect(box, 5, 5)
    painter.setPen(line)
    inner = box.adjusted(_NOTE_PAD, _NOTE_PAD, -_NOTE_PAD + 1, -_NOTE_PAD + 1)
    painter.drawText(inner, int(Qt.TextFlag.TextWordWrap), note.text)


@dataclass(frozen=True, slots=True)
class TipLayout:
    """Where a tooltip lies, and its title broken into lines."""

    box: QRectF
    title: tuple[str, ...]


def lay_out_tip(tip: Tip, font: QFont, area: QRectF) -> TipLayout:
    """Below and right of the cursor where there is room, never upon what it describes."""
    bold = _bold(font)
    title_metrics, metrics = QFontMetricsF(bold), QFontMetricsF(font)
    room = max(80.0, min(_TIP_WIDTH, area.width() - 2 * _TIP_PAD - 12))
    title, cut = wrap_name(tip.title or " ", bold, room, _TIP_LINES)
    if cut:
        title[-1] = title_metrics.elidedText(title[-1] + "…" * 9, Qt.TextElideMode.ElideRight, room)
    widths = [title_metrics.horizontalAdvance(line.rstrip()) for line in title]
    widths += [min(metrics.horizontalAdvance(line), room) for line in tip.lines]
    width = math.ceil(max(widths)) + 2 * _TIP_PAD + _TIP_STRIPE + 2
    height = math.ceil(title_metrics.height() * len(title) + metrics.height() * len(tip.lines)) + 2 * _TIP_PAD
    x = tip.x + 14
    if x + width > area.right() - 2:
        x = min(tip.x - 10, area.right() - 2) - width
    below, above = tip.y + 18, tip.y - 10
    if tip.avoid is not None:
        below, above = max(below, tip.avoid.bottom() + 5), min(above, tip.avoid.top() - 5)
    y = below
    if below + height > area.bottom() - 2 and above - area.top() > area.bottom() - below:
        y = above - height
    x, y = max(x, area.left() + 2), min(max(y, area.top() + 2), max(area.bottom() - height - 2, area.top() + 2))
    return TipLayout(QRectF(round(x), round(y), width, height), tuple(title))


def _bold(font: QFont) -> QFont:
    bold = QFont(font)
    bold.setWeight(QFont.Weight.DemiBold)
    return bold


def _paint_tip(painter: QPainter, tip: Tip, theme: Theme, font: QFont, area: QRectF) -> None:
    bold, layout = _bold(font), lay_out_tip(tip, font, area)
    title_metrics, metrics = QFontMetricsF(bold), QFontMetricsF(font)
    box = layout.box
    stripe = _TIP_STRIPE if tip.paint is not None else 0
    clip = QPainterPath()
    clip.addRoundedRect(box, 5, 5)
    painter.fillPath(clip, QColor(theme["window"]))
    if tip.paint is not None:
        painter.save()
        painter.setClipPath(clip)
        painter.fillRect(QRectF(box.left(), box.top(), stripe, box.height()), QColor(theme.paints[tip.paint]))
        painter.restore()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme["line"]), 1))
    painter.drawPath(clip)
    left, y = box.left() + _TIP_PAD + stripe, box.top() + _TIP_PAD
    painter.setFont(bold)
    painter.setPen(QColor(theme["text"]))
    for line in layout.title:
        painter.drawText(QPointF(left, y + title_metrics.ascent()), line)
        y += title_metrics.height()
    painter.setFont(font)
    painter.setPen(QColor(theme["muted"]))
    for line in tip.lines:
        shown = metrics.elidedText(line, Qt.TextElideMode.ElideRight, math.ceil(box.right() - _TIP_PAD - left) + 1)
        painter.drawText(QPointF(left, y + metrics.ascent()), shown)
        y += metrics.height()
