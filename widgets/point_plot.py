"""What plots of points share: a title with a note, an area below them, the point under the pointer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.theming import color, safe_tip

F64 = NDArray[np.float64]
REACH: Final = 9.0
"""Pixels from a point within which the pointer means it."""


class PointPlot(PaintedWidget):
    """A plot with points that can be clicked.

    Signals:
        chosen(int): a point was clicked; what the number stands for is the subclass's to say.
    """

    chosen = Signal(int)

    WIDEST = "888.8 ms"
    """The widest text at the vertical axis."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme: Theme | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)

    @abstractmethod
    def points(self) -> tuple[F64, F64]:
        """Where the points are, in pixels."""

    @abstractmethod
    def tip(self, point: int) -> str:
        """What is said of a point."""

    @abstractmethod
    def choose(self, point: int) -> None:
        """A point was clicked."""

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(340, 180)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(160, 90)

    def area(self) -> QRectF:
        """Where points may lie, below two lines of text and above one."""
        line = self.fontMetrics().lineSpacing()
        left = self.fontMetrics().horizontalAdvance(self.WIDEST) + 9
        return QRectF(left, 2 * line + 6, max(10, self.width() - left - 9), max(10, self.height() - 3 * line - 12))

    def at(self, place: QPointF) -> int | None:
        """The point that is meant; of several the nearest."""
        x, y = self.points()
        if not len(x):
            return None
        far = np.hypot(x - place.x(), y - place.y())
        best = int(np.argmin(far))
        return best if far[best] <= REACH else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say what is under the pointer."""
        found = self.at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if found is None else Qt.CursorShape.PointingHandCursor)
        if found is None:
            QToolTip.hideText()
            return
        QToolTip.showText(event.globalPosition().toPoint(), safe_tip(self.tip(found)), self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a point."""
        found = self.at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton:
            self.choose(found)

    def paint_head(self, painter: QPainter, theme: Theme, title: str, note: str) -> None:
        """Title and note above the area, cut where they are too long, and the area's ground."""
        metrics = self.fontMetrics()
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        cuts = Qt.TextElideMode.ElideMiddle, Qt.TextElideMode.ElideRight  # a name's ends tell more than its middle
        for n, (text, token, cut) in enumerate(((title, "text", cuts[0]), (note, "muted", cuts[1]))):
            painter.setPen(color(theme, token))
            box = QRectF(6, 2 + n * metrics.lineSpacing(), self.width() - 12, metrics.lineSpacing())
            painter.drawText(box, flags, metrics.elidedText(text, cut, int(box.width())))
        painter.fillRect(self.area(), color(theme, "base"))
