"""Moves of the timeline: gliding keys, rectangles, pinches, and back and forth between views."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QNativeGestureEvent, QPointingDevice
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.viewer.panels.timeline.test_panel import BASE, LEFT, NONE, Desk, Key, job
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.panels.work import WorkRunner
from viewer.views.timeline.glide import ZOOM_STEP
from viewer.views.timeline.viewport import fitted

ALT = Qt.KeyboardModifier.AltModifier
RIGHT = Qt.MouseButton.RightButton


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    made = Desk(qtbot, work)
    made.open(job())
    yield made
    work.shutdown()


def press(desk: Desk, key: Qt.Key, *, down: bool = True, repeat: bool = False) -> None:
    kind = QEvent.Type.KeyPress if down else QEvent.Type.KeyRelease
    QApplication.sendEvent(desk.canvas, QKeyEvent(kind, key, NONE, "", repeat))


def test_a_held_key_glides_until_it_is_released(desk: Desk) -> None:
    whole = desk.window
    seen = {whole.length_ns}
    press(desk, Key.Key_W)
    desk.qtbot.waitUntil(lambda: seen.add(desk.window.length_ns) or desk.window.length_ns < whole.length_ns / 4)  # type: ignore[func-returns-value]
    assert len(seen) > 3  # in several frames
    assert desk.panel.navigation.motion.moving
    press(desk, Key.Key_W, down=False)
    assert not desk.panel.navigation.motion.moving
    assert not desk.panel.navigation.motion._timer.isActive()  # no work while nothing moves


def test_the_repeat_of_the_keyboard_adds_nothing(desk: Desk) -> None:
    before = desk.window
    press(desk, Key.Key_W)
    for _ in range(50):
        press(desk, Key.Key_W, repeat=True)
        press(desk, Key.Key_W, down=False, repeat=True)
    press(desk, Key.Key_W, down=False)
    assert desk.window.length_ns == pytest.approx(before.length_ns / ZOOM_STEP, rel=0.2)


def test_a_key_whose_release_was_not_seen_stops_with_the_focus(desk: Desk) -> None:
    press(desk, Key.Key_D)
    assert desk.panel.navigation.motion.moving
    QApplication.sendEvent(desk.canvas, QEvent(QEvent.Type.WindowDeactivate))
    assert not desk.panel.navigation.motion.moving


def test_home_and_end_go_to_the_ends_at_the_same_zoom(desk: Desk) -> None:
    desk.panel.show_range(TimeRange(BASE + 40_000, BASE + 50_000))
    extent = desk.context.session.extent()
    assert extent is not None
    desk.key(Key.Key_End)
    assert desk.window == TimeRange(fitted(extent).end_ns - 10_000, fitted(extent).end_ns)
    desk.key(Key.Key_Home)
    assert desk.window == TimeRange(fitted(extent).start_ns, fitted(extent).start_ns + 10_000)


@pytest.mark.parametrize(("button", "modifiers"), [(LEFT, ALT), (RIGHT, NONE)])
def test_a_rectangle_is_zoomed_to(desk: Desk, button: Qt.MouseButton, modifiers: Qt.KeyboardModifier) -> None:
    before, width = desk.window, desk.canvas.width()
    asked: list[object] = []
    desk.panel.navigation.menu_requested.connect(asked.append)
    desk.qtbot.mousePress(desk.canvas, button, modifiers, QPoint(200, 60))
    desk.move(QPoint(350, 100), button)
    assert desk.panel.navigation.zooming is not None
    desk.move(QPoint(500, 200), button)
    desk.qtbot.mouseRelease(desk.canvas, button, modifiers, QPoint(500, 200))
    expected = [before.start_ns + int(x * before.length_ns / width) for x in (200, 500)]
    assert desk.window == TimeRange(*expected)
    assert desk.panel.navigation.zooming is None
    assert desk.context.selection == EMPTY
    assert asked == []


def test_a_level_drag_zooms_as_well(desk: Desk) -> None:
    before, width = desk.window, desk.canvas.width()
    desk.drag(QPoint(200, 60), QPoint(500, 60), RIGHT)
    assert desk.window == TimeRange(*(before.start_ns + int(x * before.length_ns / width) for x in (200, 500)))


def test_a_rectangle_brings_its_lanes_to_the_top(desk: Desk) -> None:
    desk.panel.resize(1100, 260)
    QApplication.processEvents()
    row = next(r for r in desk.panel.placement.rows if r.y > 60 and r.lane is not None)
    top = QPoint(300, row.y + 1 - desk.panel.scroll_top)
    desk.drag(top, QPoint(500, top.y() + row.height + 5), RIGHT)
    assert desk.panel.scroll_top == row.y


def test_escape_gives_the_rectangle_up_and_keeps_the_selection(desk: Desk) -> None:
    desk.context.select(Selection(group=1))
    before = desk.window
    desk.qtbot.mousePress(desk.canvas, RIGHT, NONE, QPoint(200, 60))
    desk.move(QPoint(350, 100), RIGHT)
    desk.key(Key.Key_Escape)
    assert desk.panel.navigation.zooming is None
    desk.qtbot.mouseRelease(desk.canvas, RIGHT, NONE, QPoint(350, 100))
    assert desk.window == before
    assert desk.context.selection == Selection(group=1)


def test_a_right_click_asks_for_the_menu(desk: Desk) -> None:
    asked: list[QPointF] = []
    desk.panel.navigation.menu_requested.disconnect()
    desk.panel.navigation.menu_requested.connect(asked.append)
    desk.qtbot.mouseClick(desk.canvas, RIGHT, NONE, QPoint(200, 60))
    assert asked == [QPointF(200, 60)]


def test_two_fingers_zoom_at_the_cursor(desk: Desk) -> None:
    before, width = desk.window, desk.canvas.width()
    at = QPointF(width * 0.25, 50.0)
    event = QNativeGestureEvent(
        Qt.NativeGestureType.ZoomNativeGesture,
        QPointingDevice.primaryPointingDevice(),
        2,
        at,
        at,
        QPointF(desk.canvas.mapToGlobal(at)),
        0.25,
        QPointF(),
    )
    QApplication.sendEvent(desk.canvas, event)
    after = desk.window
    assert after.length_ns == pytest.approx(before.length_ns / 1.284, rel=0.01)
    anchor = before.start_ns + before.length_ns // 4
    assert abs(after.start_ns + after.length_ns // 4 - anchor) <= 2


def test_touchpads_scroll_by_parts_of_a_pixel(desk: Desk) -> None:
    desk.panel.resize(1100, 260)
    QApplication.processEvents()
    for _ in range(20):
        desk.wheel(QPoint(300, 100), -1 / 120)  # half a px each
    assert desk.panel.scroll_top == 10


def test_back_and_forward_by_keys_and_mouse(desk: Desk) -> None:
    navigation = desk.panel.navigation
    whole = desk.window
    navigation.settle()
    desk.panel.show_range(TimeRange(BASE + 40_000, BASE + 50_000))
    desk.qtbot.waitUntil(lambda: navigation.history.can_go_back)  # settles by itself
    desk.panel.show_range(TimeRange(BASE + 10_000, BASE + 11_000))
    desk.key(Key.Key_Backspace)
    assert desk.window == TimeRange(BASE + 40_000, BASE + 50_000)
    desk.qtbot.mouseClick(desk.canvas, Qt.MouseButton.BackButton, NONE, QPoint(10, 60))
    assert desk.window == whole
    desk.qtbot.mouseClick(desk.canvas, Qt.MouseButton.ForwardButton, NONE, QPoint(10, 60))
    navigation.travel(1)
    assert desk.window == TimeRange(BASE + 10_000, BASE + 11_000)
    assert desk.context.selection == EMPTY


def test_more_files_of_a_job_are_no_views_and_another_job_forgets(desk: Desk) -> None:
    navigation = desk.panel.navigation
    navigation.settle()
    desk.open(job(3))
    navigation.settle()
    assert not navigation.history.can_go_back


def test_a_second_button_does_not_disturb_a_drag(desk: Desk) -> None:
    desk.qtbot.mousePress(desk.canvas, LEFT, NONE, QPoint(200, 60))
    desk.move(QPoint(300, 60), LEFT)
    both = LEFT | RIGHT
    where = QPointF(desk.canvas.mapToGlobal(QPoint(300, 60)))
    at = QPointF(300, 60)
    QApplication.sendEvent(desk.canvas, QMouseEvent(QEvent.Type.MouseButtonPress, at, where, RIGHT, both, NONE))
    QApplication.sendEvent(desk.canvas, QMouseEvent(QEvent.Type.MouseButtonRelease, at, where, RIGHT, LEFT, NONE))
    desk.move(QPoint(500, 60), LEFT)
    desk.qtbot.mouseRelease(desk.canvas, LEFT, NONE, QPoint(500, 60))
    chosen = desk.context.selection.range
    assert chosen is not None
    window, width = desk.window, desk.canvas.width()
    assert chosen.start_ns == window.start_ns + int(200 * window.length_ns / width)
    assert chosen.end_ns == window.start_ns + int(500 * window.length_ns / width)
