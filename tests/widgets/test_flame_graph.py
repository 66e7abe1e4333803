"""The flame graph: hit testing, zoom, keys, highlight."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.flame_frame import FlameFrame
from viewer.base.ids import Paint
from widgets.flame_graph import FlameGraph

LEFT, NONE, CTRL = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier


def a_frame() -> FlameFrame:
    # all 100: a 60 (c 60: d 20, e 40), b 40
    return FlameFrame(
        ["all", "a", "c", "e", "d", "b"],
        [None, Paint.PYTHON, Paint.OPERATOR, Paint.COMPUTE, Paint.COMM, Paint.OPERATOR],
        np.array([-1, 0, 1, 2, 2, 0]),
        np.array([0, 1, 2, 3, 3, 1]),
        np.array([0, 0, 0, 0, 0.4, 0.6]),
        np.array([1, 0.6, 0.6, 0.4, 0.6, 1]),
        np.array([100, 60, 60, 40, 20, 40]),
        np.array([0, 0, 0, 40, 20, 40]),
        "GPU time",
    )


@pytest.fixture
def graph(qtbot: QtBot) -> FlameGraph:
    made = FlameGraph()
    qtbot.addWidget(made)
    made.set_theme(theme("dark"))
    made.resize(1000, 300)
    made.set_frame(a_frame())
    made.show()
    return made


def middle(graph: FlameGraph, node: int) -> QPointF:
    return graph.rect_of(node).center()


def test_every_frame_is_where_it_is_painted(graph: FlameGraph) -> None:
    for node in range(6):
        assert graph.node_at(middle(graph, node)) == node
    assert graph.rect_of(3).width() == pytest.approx(400)
    assert graph.node_at(QPointF(900, 3.5 * graph.row_height)) == -1
    picture = graph.grab().toImage()
    spot = middle(graph, 5).toPoint()
    assert picture.pixelColor(spot.x() + 100, spot.y()) != picture.pixelColor(900, round(3.5 * graph.row_height))


def test_a_click_zooms_in_and_out_and_ctrl_goes_there(qtbot: QtBot, graph: FlameGraph) -> None:
    qtbot.mouseClick(graph, LEFT, NONE, middle(graph, 4).toPoint())
    assert graph.focus == 4
    assert graph.rect_of(4).width() == pytest.approx(1000)
    assert graph.rect_of(1).width() == pytest.approx(1000), "what is above stays in sight"
    assert graph.rect_of(5).width() == 0
    qtbot.mouseClick(graph, LEFT, NONE, middle(graph, 4).toPoint())
    assert graph.focus == 2
    with qtbot.waitSignal(graph.chosen) as told:
        qtbot.mouseClick(graph, LEFT, CTRL, middle(graph, 3).toPoint())
    assert told.args == [3]
    assert graph.focus == 2


def test_keys_walk_and_zoom(qtbot: QtBot, graph: FlameGraph) -> None:
    seen = []
    graph.hovered.connect(seen.append)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(graph, key)
    assert seen == [0, 1, 5, 1, 2, 3]
    assert "e: 40 ns, 40.0 % of all" in graph.accessibleName()
    qtbot.keyClick(graph, Qt.Key.Key_Space)
    assert graph.focus == 3
    qtbot.keyClick(graph, Qt.Key.Key_Escape)
    assert graph.focus == 2
    qtbot.keyClick(graph, Qt.Key.Key_Home)
    assert graph.focus == 0
    with qtbot.waitSignal(graph.chosen) as told:
        qtbot.keyClick(graph, Qt.Key.Key_Return)
    assert told.args == [0]


def test_highlight_fades_the_others(graph: FlameGraph) -> None:
    before = graph.grab().toImage().pixelColor(990, round(1.5 * graph.row_height))
    graph.set_found(np.array([False] * 5 + [True]))
    after = graph.grab().toImage()
    assert after.pixelColor(990, round(1.5 * graph.row_height)) == before
    base = after.pixelColor(10, round(1.5 * graph.row_height))
    assert base != graph.grab().toImage().pixelColor(990, round(1.5 * graph.row_height))


def test_names_are_no_markup(graph: FlameGraph) -> None:
    frame = a_frame()
    frame.names[5] = "<img src=x>"  # type: ignore[index]
    graph.set_frame(frame)
    graph._hover(5)
    assert "&lt;img" in graph.toolTip()


def test_it_begins_where_stacks_part_and_scrolls(graph: FlameGraph) -> None:
    n = 40
    chain = FlameFrame(
        [f"f{i}" for i in range(n)],
        [Paint.PYTHON] * n,
        np.arange(-1, n - 1),
        np.arange(n),
        np.zeros(n),
        np.ones(n),
        np.full(n, 9),
        np.zeros(n, np.int64),
        "GPU time",
    )
    graph.set_frame(chain)
    assert graph.bar.isVisible()
    assert graph.bar.value() == graph.bar.maximum()
    graph.set_frame(None)
    assert graph.accessibleName() == "Flame graph, empty"
    assert graph.node_at(QPointF(5, 5)) == -1
