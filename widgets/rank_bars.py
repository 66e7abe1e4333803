"""One operation on all its ranks: a bar per rank on one time axis, waiting hatched, transfer solid."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.ids import Paint
from viewer.base.rank_bars import RankBar, RankBarsFrame
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from widgets.painted import PaintedWidget
from widgets.theming import color, mix, safe_tip

ROW: Final = 18
SMALL_ROW: Final = 8
FEW: Final = 24
"""Up to so many bars each has its name beside it; more are lower, and only marked ones are named."""
PAD: Final = 6
MOST_LABEL: Final = 110


class RankBars(PaintedWidget):
    """Draws a :class:`RankBarsFrame`.

    Signals:
        jump_requested(object): the jump of a bar that was clicked, or chosen with Return.
    """

    jump_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame: RankBarsFrame | None = None
        self._theme: Theme | None = None
        self._at = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def frame(self) -> RankBarsFrame | None:
        """What is shown."""
        return self._frame

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: RankBarsFrame) -> None:
        """Show other bars."""
        self._frame = frame
        self._at = next((i for i, b in enumerate(frame.bars) if b.chosen), -1)
        self.setAccessibleName("; ".join(b.told.replace("\n", ", ") for b in frame.bars[:FEW]))
        self.updateGeometry()
        self.update()

    def _row(self) -> int:
        return ROW if self._frame is None or len(self._frame.bars) <= FEW else SMALL_ROW

    def _label_width(self) -> int:
        if self._frame is None:
            return 0
        font = QFont(self.font())
        font.setBold(True)
        metrics = QFontMetrics(font)
        return min(MOST_LABEL, max((metrics.horizontalAdvance(b.label) for b in self._frame.bars), default=0)) + PAD + 2

    def sizeHint(self) -> QSize:
        """Preferred size."""
        bars = len(self._frame.bars) if self._frame is not None else 0
        return QSize(260, bars * self._row() + 2 * self.fontMetrics().lineSpacing() + 3 * PAD)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(160, self.sizeHint().height())

    def bar_rect(self, index: int) -> QRectF:
        """Where a bar lies."""
        assert self._frame is not None
        bar, row = self._frame.bars[index], self._row()
        x0, x1 = self._x(bar.start_ns), self._x(bar.end_ns)
        pad = 2 if row > SMALL_ROW else 1
        return QRectF(x0, index * row + pad, max(1.0, x1 - x0), row - 2 * pad)

    def _x(self, ns: int) -> float:
        assert self._frame is not None
        left = self._label_width()
        return left + (self.width() - 1 - left) * (ns / max(1, self._frame.span_ns))

    def paint(self, painter: QPainter) -> None:
        """Draw the bars, the instant of the last arrival, and the axis."""
        frame, theme = self._frame, self._theme
        if frame is None or theme is None or not frame.bars:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bottom = len(frame.bars) * self._row()
        if frame.line_ns is not None:
            self._draw_doubt(painter, theme, frame, bottom)
        for i, bar in enumerate(frame.bars):
            self._draw_bar(painter, theme, i, bar)
        if frame.line_ns is not None:
            x = self._x(frame.line_ns)
            painter.setPen(QPen(color(theme, "text"), 1.0, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, 0), QPointF(x, bottom))
        self._draw_axis(painter, theme, frame, bottom)

    def _draw_doubt(self, painter: QPainter, theme: Theme, frame: RankBarsFrame, bottom: int) -> None:
        if not frame.doubt_ns or frame.line_ns is None:
            return
        x0, x1 = self._x(frame.line_ns - frame.doubt_ns), self._x(frame.line_ns + frame.doubt_ns)
        left = float(self._label_width())
        band = QRectF(max(left, x0), 0, min(self.width(), x1) - max(left, x0), bottom)
        painter.fillRect(band, mix(color(theme, "window"), color(theme, "muted"), 0.22))

    def _draw_bar(self, painter: QPainter, theme: Theme, index: int, bar: RankBar) -> None:
        rect, frame, row = self.bar_rect(index), self._frame, self._row()
        assert frame is not None
        solid = QColor(theme.paints[Paint.COMM])
        split = min(self._x(bar.start_ns + bar.wait_ns), rect.right())
        waiting = QRectF(rect.left(), rect.top(), max(0.0, split - rect.left()), rect.height())
        working = QRectF(split, rect.top(), max(0.0, rect.right() - split), rect.height())
        hatch(painter, waiting, color(theme, "base"), solid)
        painter.fillRect(working, solid)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color(theme, "accent") if bar.chosen or self._focused(index) else solid, 1))
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        named = row > SMALL_ROW or bar.badge or bar.chosen
        font = QFont(self.font())
        font.setBold(bar.chosen or bool(bar.badge))
        painter.setFont(font)
        if named:
            painter.setPen(color(theme, "text"))
            left = QRectF(0, index * row, self._label_width() - PAD, row)
            text = painter.fontMetrics().elidedText(bar.label, Qt.TextElideMode.ElideMiddle, int(left.width()))
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
            painter.drawText(left, flags, text)
        if bar.badge and row > SMALL_ROW:
            self._draw_badge(painter, theme, bar, rect, working)

    def _draw_badge(self, painter: QPainter, theme: Theme, bar: RankBar, rect: QRectF, working: QRectF) -> None:
        need = painter.fontMetrics().horizontalAdvance(bar.badge) + 2 * PAD
        room = rect.left() - self._label_width()
        if room >= need:  # the last to arrive leaves room before its bar
            painter.setPen(color(theme, "text"))
            place = QRectF(rect.left() - need, rect.top(), need - PAD, rect.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, bar.badge)
        elif working.width() >= need:
            painter.setPen(QColor(theme.paint_text[Paint.COMM]))
            painter.drawText(working, Qt.AlignmentFlag.AlignCenter, bar.badge)

    def _draw_axis(self, painter: QPainter, theme: Theme, frame: RankBarsFrame, bottom: int) -> None:
        metrics = self.fontMetrics()
        painter.setFont(self.font())
        left, line = self._label_width(), metrics.lineSpacing()
        painter.setPen(color(theme, "line"))
        painter.drawLine(QPointF(left, bottom + 0.5), QPointF(self.width(), bottom + 0.5))
        painter.setPen(color(theme, "muted"))
        row = QRectF(left, bottom + 2, self.width() - left - 1, line)
        painter.drawText(row, Qt.AlignmentFlag.AlignLeft, "0")
        painter.drawText(row, Qt.AlignmentFlag.AlignRight, format_duration(frame.span_ns))
        y = bottom + line + PAD
        x = float(left)
        solid = QColor(theme.paints[Paint.COMM])
        for text, hatched in ((frame.parts[0], True), (frame.parts[1], False)):
            chip = QRectF(x, y + line / 2 - 5, 10, 10)
            hatch(painter, chip, color(theme, "base"), solid) if hatched else painter.fillRect(chip, solid)
            painter.setPen(solid)
            painter.drawRect(chip)
            painter.setPen(color(theme, "text"))
            painter.drawText(QPointF(x + 15, y + metrics.ascent()), text)
            x += 15 + metrics.horizontalAdvance(text) + 14
        if frame.line_ns is not None:
            painter.setPen(QPen(color(theme, "text"), 1.0, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x + 4, y), QPointF(x + 4, y + line))
            painter.drawText(QPointF(x + 12, y + metrics.ascent()), "last arrival")

    def _focused(self, index: int) -> bool:
        return self.hasFocus() and index == self._at

    def _bar_at(self, point: QPointF) -> int:
        if self._frame is None:
            return -1
        index = int(point.y() // self._row()) if point.y() >= 0 else -1
        return index if index < len(self._frame.bars) else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell what lies under the mouse."""
        index = self._bar_at(event.position())
        if self._frame is None or index < 0:
            self.unsetCursor()
            QToolTip.hideText()
            return
        bar = self._frame.bars[index]
        self.setCursor(Qt.CursorShape.PointingHandCursor if bar.jump is not None else Qt.CursorShape.ArrowCursor)
        QToolTip.showText(event.globalPosition().toPoint(), safe_tip(bar.told), self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the kernel of a rank."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._go(self._bar_at(event.position()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down choose a bar, Return goes there."""
        count = len(self._frame.bars) if self._frame is not None else 0
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down) and count:
            step = -1 if event.key() == Qt.Key.Key_Up else 1
            self._at = min(max(self._at + step, 0), count - 1)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._go(self._at)
        else:
            super().keyPressEvent(event)

    def _go(self, index: int) -> None:
        if self._frame is not None and 0 <= index < len(self._frame.bars):
            target = self._frame.bars[index].jump
            if target is not None:
                self.jump_requested.emit(target)


def hatch(painter: QPainter, rect: QRectF, ground: QColor, ink: QColor) -> None:
    """Fill with slanted lines in a class's colour: time in which the class's work only waited."""
    if rect.width() <= 0:
        return
    painter.fillRect(rect, mix(ground, ink, 0.15))
    painter.save()
    painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(ink, 1.0))
    x, step = rect.left() - rect.height() - rect.left() % 5, 5.0
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += step
    painter.restore()
