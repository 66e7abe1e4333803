from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.heat import HeatFrame, ramp_of
from widgets.heatmap import HeatMap, ramp_color


def frame(*, diverging: bool = False, rows: int = 3) -> HeatFrame:
    values = np.arange(rows * 4, dtype=np.float64).reshape(rows, 4) * 1_000_000
    values[1, 2] = np.nan
    low, high = ramp_of(values, diverging=diverging)
    names = tuple(f"rank {r}" for r in range(rows))
    columns = tuple(f"step {c}" for c in range(4))
    return HeatFrame(names, columns, values, "ns", "own lateness", low, high, diverging, frozenset({2}))


@pytest.fixture
def shown(qtbot: QtBot) -> HeatMap:
    made = HeatMap(theme())
    qtbot.addWidget(made)
    made.resize(400, 160)
    made.set_frame(frame())
    made.show()
    return made


def test_cells_have_the_colour_of_their_value(shown: HeatMap) -> None:
    picture = shown.grab().toImage()
    for row, column, share in ((0, 0, 0.0), (2, 3, 1.0), (1, 1, 5 / 11)):
        at = shown.cell_rect(row, column).center().toPoint() * shown.devicePixelRatio()
        got, want = picture.pixelColor(at), ramp_color(theme(), share, diverging=False)
        assert max(abs(a - b) for a, b in zip(got.getRgb()[:3], want.getRgb()[:3], strict=True)) <= 1
    assert picture.pixelColor(shown.cell_rect(1, 2).center().toPoint()) != ramp_color(theme(), 0, diverging=False)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("diverging", [False, True])
def test_ramps_are_told_apart_by_lightness(dark: bool, diverging: bool) -> None:
    colors = theme("dark" if dark else "light")
    light = [ramp_color(colors, s / 8, diverging=diverging).lightnessF() for s in range(9)]
    steps = np.diff(light)
    if diverging:
        assert abs(light[0] - light[4]) > 0.2
        assert abs(light[8] - light[4]) > 0.2
    else:
        assert (steps > 0).all() or (steps < 0).all()


def test_a_click_and_the_keys_choose_cells(qtbot: QtBot, shown: HeatMap) -> None:
    got: list[tuple[int, int]] = []
    shown.chosen.connect(lambda r, c: got.append((r, c)))
    qtbot.mouseClick(shown, Qt.MouseButton.LeftButton, pos=shown.cell_rect(2, 1).center().toPoint())
    assert got == [(2, 1)]
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Return):
        qtbot.keyClick(shown, key)
    assert got == [(2, 1), (1, 2)]
    assert "rank 1, step 2: own lateness no value" in shown.accessibleName()
    qtbot.keyClick(shown, Qt.Key.Key_End)
    qtbot.keyClick(shown, Qt.Key.Key_Down)
    qtbot.keyClick(shown, Qt.Key.Key_Down)
    assert shown.current == (2, 3)


def test_points_find_their_cells(shown: HeatMap) -> None:
    for row in range(3):
        for column in range(4):
            assert shown.cell_at(shown.cell_rect(row, column).center()) == (row, column)
    assert shown.cell_at(QPointF(1, 1)) is None


def test_a_cell_that_no_longer_exists_is_left(shown: HeatMap) -> None:
    shown.current = (2, 3)
    shown.set_frame(frame(rows=2))
    assert shown.current is None
    shown.set_theme(theme("dark"))
    assert not shown.grab().isNull()


def test_values_read_with_unit_and_sign() -> None:
    made = frame(diverging=True)
    assert made.cell(0, 1) == "rank 0, step 1: own lateness +1.000 ms"
    assert made.low == -made.high
    assert ramp_of(np.full((1, 1), np.nan), diverging=False) == (0.0, 1.0)
    assert ramp_color(theme(), 2.0, diverging=False) == QColor("#08306b")
