"""The selected range under the mouse: its borders on the lanes and on the ruler, and what the ruler does besides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.viewer.panels.timeline.test_panel import BASE, LEFT, NONE, Desk, Key, job
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.panels.work import WorkRunner
from viewer.views.lanes.hit import time_at, x_of
from widgets.lane_overlay import Overlay

RANGE = TimeRange(BASE + 31_000, BASE + 45_000)
SIZES, ARROW = Qt.CursorShape.SizeHorCursor, Qt.CursorShape.ArrowCursor


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    made = Desk(qtbot, work)
    made.open(job())
    made.context.select(Selection(range=RANGE, lanes=frozenset({"rank 0/stream 0:7"})))
    yield made
    work.shutdown()


def px(desk: Desk, time: int) -> int:
    return round(x_of(desk.window, desk.canvas.width(), time))


def chosen(desk: Desk) -> TimeRange:
    found = desk.context.selection.range
    assert found is not None
    return found


def step_band_y(desk: Desk) -> int:
    """A height on the canvas where no slice is near."""
    return desk.panel.placement.height - desk.panel.scroll_top + 9


@pytest.mark.parametrize("last", [False, True])
def test_a_border_of_the_range_is_dragged_and_the_other_stays(desk: Desk, last: bool) -> None:
    x, y = px(desk, RANGE.end_ns if last else RANGE.start_ns), step_band_y(desk)
    target = px(desk, BASE + 38_000)
    desk.drag(QPoint(x + 2, y), QPoint(target, y))
    at = time_at(desk.window, desk.canvas.width(), target)
    assert chosen(desk) == (TimeRange(RANGE.start_ns, at) if last else TimeRange(at, RANGE.end_ns))
    assert desk.context.selection.lanes == {"rank 0/stream 0:7"}, "what it is about stays"


def test_a_border_can_be_dragged_beyond_the_other(desk: Desk) -> None:
    y, target = step_band_y(desk), px(desk, BASE + 70_000)
    desk.drag(QPoint(px(desk, RANGE.start_ns), y), QPoint(target, y))
    assert chosen(desk) == TimeRange(RANGE.end_ns, time_at(desk.window, desk.canvas.width(), target))


def test_a_border_snaps_to_slices(desk: Desk) -> None:
    y = desk.at("stream 7", 20_000).y()
    desk.drag(QPoint(px(desk, RANGE.end_ns), y), QPoint(px(desk, BASE + 50_000) - 3, y))
    assert chosen(desk) == TimeRange(RANGE.start_ns, BASE + 50_000)


def test_a_drag_elsewhere_selects_anew(desk: Desk) -> None:
    y = step_band_y(desk)
    desk.drag(QPoint(px(desk, RANGE.start_ns) + 9, y), QPoint(px(desk, RANGE.start_ns) + 60, y))
    a, b = (time_at(desk.window, desk.canvas.width(), px(desk, RANGE.start_ns) + d) for d in (9, 60))
    assert chosen(desk) == TimeRange(a, b)


def test_a_border_on_the_ruler_is_dragged_too_and_the_pointer_says_so(desk: Desk) -> None:
    ruler, x, target = desk.panel.ruler, px(desk, RANGE.end_ns), px(desk, BASE + 60_000)
    desk.qtbot.mouseMove(ruler, QPoint(x - 20, 8))
    assert ruler.cursor().shape() is ARROW
    desk.qtbot.mouseMove(ruler, QPoint(x, 8))
    assert ruler.cursor().shape() is SIZES
    desk.qtbot.mousePress(ruler, LEFT, NONE, QPoint(x, 8))
    desk.qtbot.mouseMove(ruler, QPoint(x + 30, 8))
    desk.qtbot.mouseMove(ruler, QPoint(target, 8))
    desk.qtbot.mouseRelease(ruler, LEFT, NONE, QPoint(target, 8))
    assert chosen(desk) == TimeRange(RANGE.start_ns, time_at(desk.window, desk.canvas.width(), target))


def test_the_pointer_on_the_lanes_tells_a_border(desk: Desk) -> None:
    y = step_band_y(desk)
    desk.move(QPoint(px(desk, RANGE.start_ns) + 20, y))
    assert desk.canvas.cursor().shape() is ARROW
    desk.move(QPoint(px(desk, RANGE.start_ns) - 3, y))
    assert desk.canvas.cursor().shape() is SIZES
    desk.key(Key.Key_Escape)
    desk.move(QPoint(px(desk, RANGE.start_ns) - 3, y))
    assert desk.canvas.cursor().shape() is ARROW


def test_a_click_on_the_ruler_beside_the_range_drops_it(desk: Desk) -> None:
    inside, beside = px(desk, BASE + 38_000), px(desk, BASE + 70_000)
    desk.qtbot.mouseClick(desk.panel.ruler, LEFT, NONE, QPoint(inside, 8))
    assert chosen(desk) == RANGE
    desk.qtbot.mouseClick(desk.panel.ruler, LEFT, NONE, QPoint(beside, 8))
    assert desk.context.selection == Selection(lanes=frozenset({"rank 0/stream 0:7"}))


def test_a_double_click_on_the_ruler_zooms_to_the_range(desk: Desk) -> None:
    whole = desk.window
    desk.qtbot.mouseDClick(desk.panel.ruler, LEFT, NONE, QPoint(px(desk, BASE + 70_000), 8))
    assert desk.window == whole
    desk.qtbot.mouseDClick(desk.panel.ruler, LEFT, NONE, QPoint(px(desk, BASE + 38_000), 8))
    assert desk.window.length_ns < whole.length_ns / 3
    assert desk.window.start_ns <= RANGE.start_ns < RANGE.end_ns <= desk.window.end_ns
    assert chosen(desk) == RANGE


def wheel(desk: Desk, x: int, notches: int, modifiers: Qt.KeyboardModifier = NONE) -> None:
    ruler, at = desk.panel.ruler, QPoint(x, 8)
    where = QPointF(ruler.mapToGlobal(at))
    turned = QPoint(0, 120 * notches)
    buttons, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
    QApplication.sendEvent(ruler, QWheelEvent(QPointF(at), where, QPoint(), turned, buttons, modifiers, phase, False))


def test_the_wheel_on_the_ruler_zooms_there_and_with_shift_moves(desk: Desk) -> None:
    whole, width = desk.window, desk.canvas.width()
    at = time_at(whole, width, 300)
    wheel(desk, 300, 4)
    assert desk.window.length_ns < whole.length_ns / 2
    assert abs(x_of(desk.window, width, at) - 300) < 1
    closer = desk.window
    wheel(desk, 300, -1, Qt.KeyboardModifier.ShiftModifier)
    assert desk.window.length_ns == closer.length_ns
    assert desk.window.start_ns > closer.start_ns


def test_the_time_under_the_pointer_on_the_ruler_shows_across_all_ranks(desk: Desk) -> None:
    desk.qtbot.mouseMove(desk.panel.ruler, QPoint(900, 8))
    assert desk.panel.pointer.cursor == QPointF(900, -1)
    shown = desk.panel.picture.source(desk.canvas.width(), desk.canvas.height(), 1.0)
    assert shown is not None
    assert shown[1].cursor_x == 900
    assert shown[1].tip is None
    asked: list[tuple[int, int, str]] = []
    desk.panel.kept.mark_requested.connect(lambda *spot: asked.append(spot))
    desk.key(Key.Key_M)
    at = time_at(desk.window, desk.canvas.width(), 900)
    assert asked == [(at, at, "")]
    QApplication.sendEvent(desk.panel.ruler, QEvent(QEvent.Type.Leave))
    assert desk.panel.pointer.cursor is None


def test_escape_gives_a_drag_on_the_ruler_up(desk: Desk) -> None:
    ruler = desk.panel.ruler
    desk.qtbot.mousePress(ruler, LEFT, NONE, QPoint(200, 8))
    desk.qtbot.mouseMove(ruler, QPoint(300, 8))
    assert desk.panel.pointer.dragging is not None
    desk.key(Key.Key_Escape)
    assert desk.panel.pointer.dragging is None
    desk.qtbot.mouseMove(ruler, QPoint(400, 8))
    desk.qtbot.mouseRelease(ruler, LEFT, NONE, QPoint(400, 8))
    assert chosen(desk) == RANGE
    desk.key(Key.Key_Escape)
    assert desk.context.selection == EMPTY


@pytest.mark.parametrize(
    ("button", "modifiers"), [(Qt.MouseButton.RightButton, NONE), (LEFT, Qt.KeyboardModifier.ShiftModifier)]
)
def test_what_is_dragged_is_not_covered_by_a_tooltip(
    desk: Desk, button: Qt.MouseButton, modifiers: Qt.KeyboardModifier
) -> None:
    def overlay() -> Overlay:
        shown = desk.panel.picture.source(desk.canvas.width(), desk.canvas.height(), 1.0)
        assert shown is not None
        return shown[1]

    desk.panel.show_range(TimeRange(BASE + 5_000, BASE + 60_000))
    start, end = desk.at("stream 7", 20_000), desk.at("stream 7", 28_000)
    desk.move(start)
    assert overlay().tip is not None
    desk.qtbot.mousePress(desk.canvas, button, modifiers, start)
    desk.move(end, button)
    during = overlay()
    assert during.tip is None
    assert during.cursor_x == end.x(), "the time under the pointer is the pointer's"
    if button is Qt.MouseButton.RightButton:
        assert during.zoom_text.endswith(" us")
    desk.qtbot.mouseRelease(desk.canvas, button, modifiers, end)
    assert overlay().zoom_text == ""
