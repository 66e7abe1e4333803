"""The base of controls that are one picture: the painter is closed whatever happens while it paints."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget


class PaintedWidget(QWidget):
    """A widget whose look is its :meth:`paint`. An error there surfaces and leaves no painter open behind it."""

    def paintEvent(self, _: QPaintEvent) -> None:
        """Paint through a painter that is closed in any case."""
        painter = QPainter(self)
        try:
            self.paint(painter)
        finally:
            painter.end()

    def paint(self, painter: QPainter) -> None:
        """Draw the widget in logical pixels."""
        raise NotImplementedError
