from __future__ import annotations

import pytest
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from widgets.painted import PaintedWidget


class Broken(PaintedWidget):
    used: QPainter | None = None

    def paint(self, painter: QPainter) -> None:
        self.used = painter
        raise ValueError("no")


def test_an_error_while_painting_surfaces_and_leaves_no_painter_open(qtbot: QtBot) -> None:
    widget = Broken()
    qtbot.addWidget(widget)
    with pytest.raises(ValueError, match="no"):
        widget.grab()
    assert widget.used is not None
    assert not widget.used.isActive()


def test_what_paint_draws_is_the_widget(qtbot: QtBot) -> None:
    class Red(PaintedWidget):
        def paint(self, painter: QPainter) -> None:
            painter.fillRect(self.rect(), "#ff0000")

    widget = Red()
    qtbot.addWidget(widget)
    widget.resize(4, 4)
    image: QImage = widget.grab().toImage()
    assert image.pixelColor(2, 2).name() == "#ff0000"


def test_a_widget_must_say_how_it_looks(qtbot: QtBot) -> None:
    widget = PaintedWidget()
    qtbot.addWidget(widget)
    with pytest.raises(NotImplementedError):
        widget.paint(QPainter())
