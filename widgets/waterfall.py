"""A waterfall: parts of a whole, one below the other, each beginning where the one before it ends."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QHelpEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.figure_tiles import WaterfallRow
from viewer.base.ids import Paint
from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.theming import color, fill_idle, paint_color, safe_tip

PAD: Final = 10
ROW: Final = 1.55
"""Height of a row in lines of text."""


class Waterfall(PaintedWidget):
    """Draws the rows that it is given."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: tuple[WaterfallRow, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("From the peak to MFU")

    @property
    def rows(self) -> tuple[WaterfallRow, ...]:
        """What is shown."""
        return self._rows

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_rows(self, rows: tuple[WaterfallRow, ...]) -> None:
        """Show other parts."""
        self._rows = rows
        self.setAccessibleDescription("; ".join(f"{r.title} {r.text}" for r in rows))
        self.updateGeometry()
        self.update()

    def _row(self) -> float:
        return self.fontMetrics().lineSpacing() * ROW

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(340, int(self._row() * len(self._rows)) + 6)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(220, int(self._row() * len(self._rows)) + 6)

    def paint(self, painter: QPainter) -> None:
        """Draw titles, bars and shares."""
        theme = self._theme
        painter.fillRect(self.rect(), color(theme, "window"))
        if not self._rows:
            return
        row = self._row()
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        titles = max(painter.fontMetrics().horizontalAdvance(r.title) for r in self._rows) + 8
        titles = min(titles, int(self.width() * 0.46))
        shares = max(painter.fontMetrics().horizontalAdvance(r.text) for r in self._rows) + 10
        area = QRectF(PAD + titles, 0, max(20.0, self.width() - 2 * PAD - titles - shares), row)
        for i, r in enumerate(self._rows):
            y = 3 + i * row
            painter.setFont(bold if r.sum_up else self.font())
            painter.setPen(color(theme, "text"))
            text = painter.fontMetrics().elidedText(r.title, Qt.TextElideMode.ElideRight, titles - 6)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(PAD, y, titles, row), flags, text)
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(self.width() - PAD - shares, y, shares, row), right, r.text)
            bar = QRectF(
                area.left() + r.left * area.width(),
                y + row * 0.18,
                max(1.0, r.share * area.width()),
                row * 0.64,
            )
            if r.sum_up and r.paint == Paint.OTHER:
                painter.fillRect(bar, color(theme, "line"))
            elif r.paint == Paint.OTHER:
                fill_idle(painter, theme, bar)
                painter.setPen(QPen(color(theme, "line"), 1))
                painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
            else:
                painter.fillRect(bar, paint_color(theme, r.paint))
            if i + 1 < len(self._rows) and not self._rows[i + 1].sum_up:
                painter.setPen(QPen(color(theme, "muted"), 1, Qt.PenStyle.DotLine))
                x = bar.right() if r.sum_up else bar.left()
                painter.drawLine(QPointF(x, bar.bottom()), QPointF(x, y + row * 1.18))

    def row_at(self, y: float) -> int:
        """The row at a height, -1 for none."""
        at = int((y - 3) / self._row())
        return at if 0 <= at < len(self._rows) and y >= 3 else -1

    def event(self, event: QEvent) -> bool:
        """The tip of the row under the pointer."""
        if isinstance(event, QHelpEvent):
            found = self.row_at(event.pos().y())
            QToolTip.showText(event.globalPos(), safe_tip(self._rows[found].tip) if found >= 0 else "", self)
            return True
        return super().event(event)
