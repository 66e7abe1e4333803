"""A stacked bar whose parts add up to the whole, with a legend that names each part."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.frames import BarFrame
from viewer.base.ids import Paint
from viewer.base.theme import Theme
from viewer.base.time import format_duration, format_exact
from viewer.base.units import format_share
from widgets.painted import PaintedWidget
from widgets.theming import color, fill_idle, safe_tip

BAR_HEIGHT = 26
CHIP = 10


class StackedBar(PaintedWidget):
    """Parts side by side in proportion to their ns; parts without a paint are idle and hatched."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame: BarFrame | None = None
        self._theme: Theme | None = None
        self.setMouseTracking(True)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: BarFrame) -> None:
        """Show other parts."""
        self._frame = frame
        told = [f"{label} {format_duration(ns)} ({format_share(ns, frame.total_ns)})" for label, ns, _ in frame.parts]
        self.setAccessibleName("Of " + format_duration(frame.total_ns) + ": " + ", ".join(told))
        self.updateGeometry()
        self.update()

    def part_rects(self) -> list[QRectF]:
        """Where each part of the frame is drawn; empty rectangles for parts of no length."""
        frame = self._frame
        if frame is None or frame.total_ns <= 0:
            return []
        rects, before, width = [], 0, float(self.width() - 1)
        for _, ns, _ in frame.parts:
            left = width * (before / frame.total_ns)
            before += ns
            right = width * (before / frame.total_ns)
            rects.append(QRectF(left, 0.5, right - left, BAR_HEIGHT))
        return rects

    def _legend(self, width: int) -> list[tuple[int, int, int, str]]:
        """(part, x, baseline y, text) of each legend entry, wrapped to ``width``."""
        if self._frame is None:
            return []
        metrics = self.fontMetrics()
        out, x, y = [], 0, BAR_HEIGHT + 8 + metrics.ascent()
        for i, (label, ns, _) in enumerate(self._frame.parts):
            text = f"{label} {format_share(ns, self._frame.total_ns)}"
            need = CHIP + 5 + metrics.horizontalAdvance(text)
            if x and x + need > width:
                x, y = 0, y + metrics.lineSpacing() + 2
            out.append((i, x, y, text))
            x += need + 14
        return out

    def hasHeightForWidth(self) -> bool:
        """Whether the height follows from the width: yes."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Height in px for a width in px."""
        legend = self._legend(width)
        return (legend[-1][2] if legend else BAR_HEIGHT) + self.fontMetrics().descent() + 2

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(260, self.heightForWidth(max(260, self.width())))

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(120, self.heightForWidth(max(120, self.width())))

    def paint(self, painter: QPainter) -> None:
        """Draw the bar and its legend."""
        if self._frame is None or self._theme is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = self.fontMetrics()
        for i, ((_, ns, paint), rect) in enumerate(zip(self._frame.parts, self.part_rects(), strict=False)):
            if rect.width() <= 0:
                continue
            ink = self._ink(i, paint)
            if ink is None:
                fill_idle(painter, self._theme, rect)
            else:
                painter.fillRect(rect, QColor(ink[0]))
            text = format_share(ns, self._frame.total_ns)
            if metrics.horizontalAdvance(text) + 8 <= rect.width():
                self._write_share(painter, rect, text, ink)
        painter.setPen(QPen(color(self._theme, "line"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(0.5, 0.5, self.width() - 1, BAR_HEIGHT))
        for part, x, y, text in self._legend(self.width()):
            ink = self._ink(part, self._frame.parts[part][2])
            chip = QRectF(x, y - metrics.ascent() / 2 - CHIP / 2 + 1, CHIP, CHIP)
            if ink is None:
                fill_idle(painter, self._theme, chip)
                painter.setPen(color(self._theme, "line"))
                painter.drawRect(chip)
            else:
                painter.fillRect(chip, QColor(ink[0]))
            painter.setPen(color(self._theme, "text"))
            painter.drawText(QPointF(x + CHIP + 5, y), text)

    def _ink(self, part: int, paint: Paint | None) -> tuple[str, str] | None:
        """Fill and text colour of a part; None for idle."""
        assert self._frame is not None
        assert self._theme is not None
        if self._frame.hues:
            hue = self._frame.hues[part]
            return None if hue < 0 else (self._theme.hues[hue], self._theme.hue_text[hue])
        return None if paint is None else (self._theme.paints[paint], self._theme.paint_text[paint])

    def _write_share(self, painter: QPainter, rect: QRectF, text: str, ink: tuple[str, str] | None) -> None:
        assert self._theme is not None
        if ink is None:
            around = self.fontMetrics().horizontalAdvance(text) + 6
            box = QRectF(rect.center().x() - around / 2, rect.center().y() - 8, around, 16)
            painter.fillRect(box, color(self._theme, "gap"))
        painter.setPen(color(self._theme, "text") if ink is None else QColor(ink[1]))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell what lies under the mouse."""
        if self._frame is None:
            return
        for (label, ns, _), rect in zip(self._frame.parts, self.part_rects(), strict=False):
            if rect.contains(event.position()):
                share = format_share(ns, self._frame.total_ns)
                QToolTip.showText(
                    event.globalPosition().toPoint(), safe_tip(f"{label}: {format_exact(ns)}, {share}"), self
                )
                return
        QToolTip.hideText()
