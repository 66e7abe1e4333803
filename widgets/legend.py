"""What the colours mean: one line below the lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.base.frames import Swatch
from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.painted import PaintedWidget
from widgets.theming import color, set_tip

HEIGHT: Final = 22
_SWATCH: Final = 10.0
_WIDEST: Final = 200.0
_BRUSHES: Final = {
    1: Qt.BrushStyle.BDiagPattern,
    2: Qt.BrushStyle.FDiagPattern,
    3: Qt.BrushStyle.Dense5Pattern,
}


class Legend(PaintedWidget):
    """Swatches with names, and a text at the right; what does not fit is left out from the end.

    Signals:
        clicked(Swatch): an entry was clicked.
    """

    clicked = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setAccessibleName("Colours")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._theme = theme
        self._swatches: tuple[Swatch, ...] = ()
        self._patterns: dict[int, int] = {}
        self._hint = ""
        self._chosen: Swatch | None = None
        self._boxes: list[tuple[QRectF, Swatch]] = []
        self.setMouseTracking(True)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.update()

    def set_swatches(self, swatches: Sequence[Swatch], patterns: Mapping[int, int] | None = None) -> None:
        """Explain these; ``patterns`` are 1 and 2 for stripes and 3 for dots, by the swatch's paint."""
        self._swatches, self._patterns = tuple(swatches), dict(patterns or {})
        self.setAccessibleDescription(", ".join(s.text for s in self._swatches))
        if self._chosen is not None:
            self._chosen = next((s for s in self._swatches if s.text == self._chosen.text), None)
        self.update()

    @property
    def swatches(self) -> tuple[Swatch, ...]:
        """The entries."""
        return self._swatches

    @property
    def chosen(self) -> Swatch | None:
        """The entry that stands out; None when all are alike."""
        return self._chosen

    def choose(self, swatch: Swatch | None) -> None:
        """Let one entry stand out, or none."""
        if swatch != self._chosen:
            self._chosen = swatch
            self.update()

    def swatch_at(self, at: QPointF) -> Swatch | None:
        """The entry at a point."""
        return next((swatch for box, swatch in self._boxes if box.contains(at)), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Tell which entry was clicked."""
        found = self.swatch_at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(found)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show what can be clicked."""
        found = self.swatch_at(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if found is not None else Qt.CursorShape.ArrowCursor)
        again = found is not None and found == self._chosen
        tip = "" if found is None else "Click to show all alike" if again else f"Click to emphasise {found.text}"
        set_tip(self, tip)

    @property
    def hint(self) -> str:
        """The text at the right."""
        return self._hint

    def set_hint(self, hint: str) -> None:
        """A muted text at the right, shown while there is room."""
        self._hint = hint
        self.update()

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(400, scaled(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        """As tall, however narrow."""
        return QSize(50, scaled(HEIGHT))

    def paint(self, painter: QPainter) -> None:
        """Draw the line."""
        theme, area = self._theme, QRectF(self.rect())
        painter.fillRect(area, QColor(theme["window"]))
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(0, 0.5), QPointF(area.right() + 1, 0.5))
        font = QFont(self.font())
        font.setPixelSize(scaled(11))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        x = 10.0
        self._boxes = []
        for swatch in self._swatches:
            text = metrics.elidedText(swatch.text.replace("\n", " "), Qt.TextElideMode.ElideMiddle, _WIDEST)
            width = metrics.horizontalAdvance(text)
            if x + _SWATCH + 5 + width > area.right() - 6:
                return
            self._boxes.append((QRectF(x - 6, 0, _SWATCH + 5 + width + 14, area.height()), swatch))
            if swatch == self._chosen:
                painter.fillRect(self._boxes[-1][0].adjusted(0, 1, 0, 0), color(theme, "selection_fill"))
            box = QRectF(x, (area.height() - _SWATCH) / 2 + 0.5, _SWATCH, _SWATCH)
            painter.fillRect(box, QColor(swatch.color))
            style = _BRUSHES.get(self._patterns.get(swatch.paint, 0))
            if style is not None:
                painter.fillRect(box, QBrush(QColor(theme.paint_text[swatch.paint]), style))
            x = box.right() + 5
            painter.setPen(QColor(theme["text" if swatch == self._chosen else "muted"]))
            painter.drawText(QRectF(x, 1, width + 4, area.height()), Qt.AlignmentFlag.AlignVCenter, text)
            x += width + 16
        width = metrics.horizontalAdvance(self._hint)
        if self._hint and x + width + 10 < area.right():
            painter.setPen(QColor(theme["muted"]))
            painter.drawText(
                QRectF(area.right() - width - 12, 1, width + 6, area.height()),
                Qt.AlignmentFlag.AlignVCenter,
                self._hint,
            )
