"""The map of memory: zoom, moves and clicks stay inside of what there is; the old image lies where it belongs."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.memory_map import MapFrame, MapSpan
from widgets.memory_map import NEAREST, MemoryMapView

WHOLE = MapSpan(1000, 11_000, 0.0, float(1 << 30))


def frame(**more: object) -> MapFrame:
    image = np.full((50, 100), 0xFF112233, np.uint32)
    image[:, 50:] = 0xFFAA0000
    given = {"image": image, "span": WHOLE, "whole": WHOLE, "x_ticks": ((0.5, "half"),), "y_ticks": ((0.5, "512 MiB"),)}
    return MapFrame(**(given | more))  # type: ignore[arg-type]


@pytest.fixture
def view(qtbot: QtBot) -> MemoryMapView:
    made = MemoryMapView(theme())
    qtbot.addWidget(made)
    made.resize(500, 200)
    made.set_frame(frame())
    made.show()
    return made


def wheel(view: MemoryMapView, delta: int, held: Qt.KeyboardModifier, x: float = 0.5, y: float = 0.5) -> None:
    area = view.area()
    at = QPointF(area.left() + x * area.width(), area.top() + y * area.height())
    event = QWheelEvent(
        at, view.mapToGlobal(at), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, held,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)


def test_the_wheel_zooms_time_at_the_pointer_and_bytes_with_shift(view: MemoryMapView) -> None:
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    wheel(view, 120, control, x=0.0)
    assert (view.span.x0, view.span.length) == (1000, 8000)
    wheel(view, 120, control | shift, y=1.0)
    assert view.span.y0 == 0
    assert view.span.height == pytest.approx(WHOLE.height / 1.25)
    wheel(view, -120, shift)
    assert view.span.x0 == 1800
    wheel(view, -1200, shift)
    assert view.span.x0 + view.span.length == 11_000


def test_zoom_ends_at_the_nearest_and_at_all(view: MemoryMapView) -> None:
    for _ in range(60):
        view.zoom(2.0)
    assert view.span.length == NEAREST
    for _ in range(60):
        view.zoom(0.5)
    assert view.span == WHOLE


def test_keys_and_a_double_click(qtbot: QtBot, view: MemoryMapView) -> None:
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    first = view.span
    assert first.length == 8000
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.span.x0 == first.x0 + 800
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert view.span == WHOLE
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=view.area().center().toPoint())
    assert view.span == WHOLE


def test_a_drag_moves_and_a_click_chooses(qtbot: QtBot, view: MemoryMapView) -> None:
    view.zoom(2.0)
    before, chosen = view.span, []
    view.chosen.connect(lambda x, y: chosen.append((x, y)))
    middle = view.area().center().toPoint()
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(view, middle + QPoint(43, 0))
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=middle + QPoint(43, 0))
    assert view.span.x0 == before.x0 - round(43 / view.area().width() * before.length)
    assert not chosen
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=middle)
    ((x, y),) = chosen
    assert (x, y) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.5, abs=0.01))


def test_the_old_image_lies_where_it_belongs_until_another_comes(view: MemoryMapView) -> None:
    area = view.area()

    def color(share: float) -> str:
        return view.grab().toImage().pixelColor(int(area.left() + share * area.width()), 40).name()

    assert (color(0.3), color(0.7)) == ("#112233", "#aa0000")
    view.zoom(2.0, 0.0)  # the first half fills the map
    assert (color(0.3), color(0.7)) == ("#112233", "#112233")


def test_a_map_of_an_instant_does_not_move_and_says_why_it_is_empty(view: MemoryMapView) -> None:
    view.set_frame(frame(moves=False, free=False, message="no segments"))
    view.zoom(2.0)
    view.zoom(2.0, 0.5, 0.5)
    view.pan(0.2, 0.2)
    assert view.span == WHOLE
    assert view.grab().toImage().pixelColor(200, 20).name() == theme()["base"]
