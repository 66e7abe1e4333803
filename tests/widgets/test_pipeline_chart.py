"""The chart of a pipeline: what is where, what a hand does."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.pipeline_frame import CELL_PAINTS, CellKind, PipelineFrame, PipelineRow
from viewer.base.selection import GroupRef, SliceRef
from widgets.pipeline_chart import PipelineChart
from widgets.round_ticks import tick_step, tick_text


def frame() -> PipelineFrame:
    rows = (
        PipelineRow("stage 0", "rank 0", "25.0 %", "20.0 %", "all of rank 0", GroupRef(0), False, True, "replica 0",
                    (0.0, 1e6)),
        PipelineRow("stage 1", "rank 1", "", "", "rank 1 is not open", None, True),
    )  # fmt: skip
    return PipelineFrame(
        rows,
        np.array([0, 0, 0]),
        np.array([0.0, 5e5, 6e5]),
        np.array([4e5, 5.2e5, 9e5]),
        np.array([CellKind.FORWARD, CellKind.RECEIVE, CellKind.BACKWARD], np.uint8),
        ("3", "", "4"),
        ("forward 3", "receive", "backward 4"),
        (SliceRef(0, 1), SliceRef(0, 2), SliceRef(0, 3)),
        1e6,
        0,
    )


@pytest.fixture
def chart(qtbot: QtBot) -> PipelineChart:
    made = PipelineChart(theme())
    qtbot.addWidget(made)
    made.set_frame(frame())
    made.resize(900, made.sizeHint().height())
    made.show()
    return made


def test_cells_are_found_and_named(chart: PipelineChart) -> None:
    for cell, tip in ((0, "forward 3"), (1, "receive"), (2, "backward 4")):
        at = chart.cell_rect(cell).center()
        assert chart.cell_at(at) == cell
        assert chart.tip_at(at) == tip
    between = QPointF(chart.cell_rect(0).right() + 20, chart.cell_rect(0).center().y())
    assert chart.tip_at(between) == "bubble: no compute\nall of rank 0"
    assert chart.tip_at(QPointF(chart.area().left() + 30, chart.height() - 8)) == "rank 1 is not open"
    assert chart.tip_at(QPointF(5, 2)) == ""


def test_cells_are_painted_in_their_colours(chart: PipelineChart) -> None:
    image = chart.grab().toImage()
    ratio = image.devicePixelRatio()
    for cell in range(3):
        box = chart.cell_rect(cell)
        at = QPointF(box.left() + min(6.0, box.width() / 2), box.center().y()) * ratio
        paint = CELL_PAINTS[int(frame().kind[cell])]
        assert image.pixelColor(at.toPoint()) == QColor(theme().paints[paint])
    chart.set_theme(theme("dark"))
    chart.grab()


def test_clicks_choose_cells_and_rows(qtbot: QtBot, chart: PipelineChart) -> None:
    cells: list[int] = []
    rows: list[int] = []
    chart.cell_chosen.connect(cells.append)
    chart.row_chosen.connect(rows.append)
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=chart.cell_rect(2).center().toPoint())
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=QPoint(8, int(chart.cell_rect(0).center().y())))
    assert (cells, rows) == ([2], [0])


def test_the_keyboard_goes_from_pass_to_pass(qtbot: QtBot, chart: PipelineChart) -> None:
    chosen: list[int] = []
    chart.cell_chosen.connect(chosen.append)
    qtbot.keyClick(chart, Qt.Key.Key_Return)
    assert chosen == []
    at = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Up):
        qtbot.keyClick(chart, key)
        at.append(chart.current)
    assert at == [0, 2, 2, 0, 0, 0]  # passes only; the other row has none
    chart.grab()
    qtbot.keyClick(chart, Qt.Key.Key_Return)
    assert chosen == [0]
    assert "forward 3" in chart.accessibleDescription()
    wheel(chart, chart.cell_rect(0).center(), 1200, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    start, end = chart.visible_ns
    assert start <= 7.5e5 <= end  # what is current is in sight
    qtbot.keyClick(chart, Qt.Key.Key_Home)
    assert chart.visible_ns == (0.0, 1e6)


def wheel(chart: PipelineChart, at: QPointF, turned: int, keys: Qt.KeyboardModifier) -> QWheelEvent:
    event = QWheelEvent(
        at, chart.mapToGlobal(at), QPoint(), QPoint(0, turned), Qt.MouseButton.NoButton, keys,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    chart.wheelEvent(event)
    return event


def test_zoom_keeps_the_time_under_the_pointer(qtbot: QtBot, chart: PipelineChart) -> None:
    area = chart.area()
    at = QPointF(area.left() + area.width() / 4, 30)
    assert wheel(chart, at, 240, Qt.KeyboardModifier.ControlModifier).isAccepted()
    start, end = chart.visible_ns
    assert start + (end - start) / 4 == pytest.approx(2.5e5)
    assert end - start == pytest.approx(0.64e6)
    wheel(chart, at, -120, Qt.KeyboardModifier.ShiftModifier)
    assert chart.visible_ns[0] > start
    assert not wheel(chart, at, 120, Qt.KeyboardModifier.NoModifier).isAccepted()  # what is around scrolls
    chosen: list[int] = []
    chart.cell_chosen.connect(chosen.append)
    before = chart.visible_ns
    middle = chart.cell_rect(2).center().toPoint()
    qtbot.mousePress(chart, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(chart, middle + QPoint(60, 0))
    qtbot.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=middle + QPoint(60, 0))
    assert chart.visible_ns[0] < before[0]
    assert chosen == []
    qtbot.mouseDClick(chart, Qt.MouseButton.LeftButton, pos=middle)
    assert chart.visible_ns == (0.0, 1e6)
    chart.set_frame(None)
    assert chart.tip_at(at) == ""
    chart.grab()


def test_ticks_are_round() -> None:
    assert [tick_step(length, 10) for length in (9e6, 2.1e7, 3.3e7, 1.0)] == [1e6, 5e6, 5e6, 1.0]
    assert [tick_text(ns) for ns in (0, 5_000_000, 1_250_000, 100)] == ["0", "5 ms", "1.25 ms", "100 ns"]
