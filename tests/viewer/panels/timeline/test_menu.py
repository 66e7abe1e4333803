"""The menus of the timeline, the axis' zero, and ranges on the ruler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from tests.support.build import annotation, call, kernel, make_session, make_trace
from tests.viewer.panels.timeline.test_panel import BASE, LEFT, NONE, SHIFT, Desk, Key, job
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.panels.work import WorkRunner

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)
"""What the offscreen platform says of any menu."""


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    made = Desk(qtbot, work)
    made.open(job())
    yield made
    work.shutdown()


def texts(menu: QMenu) -> list[str]:
    return [a.text().partition("\t")[0] for a in menu.actions() if a.text()]


def entry(menu: QMenu, text: str) -> QAction:
    return next(a for a in menu.actions() if a.text().startswith(text))


def menu_at(desk: Desk, at: QPoint) -> QMenu:
    desk.qtbot.mouseClick(desk.canvas, Qt.MouseButton.RightButton, NONE, at)
    menu = desk.panel.menu.shown
    assert menu is not None
    desk.settle()
    return menu


def chosen(desk: Desk) -> str:
    ref = desk.context.selection.slice
    assert ref is not None
    return desk.context.session.inputs[ref.input].trace.name(ref.index)


def test_a_slice_can_be_copied_found_and_followed(desk: Desk) -> None:
    menu = menu_at(desk, desk.at("stream 7", 20_000))
    assert chosen(desk) == "gemm"
    copies = entry(menu, "Copy").menu()
    assert isinstance(copies, QMenu)
    clipboard = QGuiApplication.clipboard()
    for text, copied in (("Name", "gemm"), ("Duration", "20 us"), ("Start", "0 ns")):
        entry(copies, text).trigger()
        assert clipboard.text() == copied
    assert not entry(copies, "Args").isEnabled()
    assert entry(menu, "Go to Launch: cudaLaunchKernel").isEnabled()
    assert not entry(menu, "Go to What It Leads To").isEnabled()
    entry(menu, "Find All of This Name").trigger()
    desk.settle()
    assert desk.panel.finder.bar.count.text() == "4 hits"
    entry(menu, "Zoom to Slice").trigger()
    assert desk.window == TimeRange(BASE + 5_000, BASE + 35_000)
    entry(menu, "Go to Launch").trigger()
    desk.settle()
    assert chosen(desk) == "cudaLaunchKernel"
    menu.close()


def test_the_lanes_are_filtered_to_a_name(desk: Desk) -> None:
    menu = menu_at(desk, desk.at("stream 7", 20_000))
    entry(menu, "Filter to This Name").trigger()
    desk.settle()
    assert desk.panel.lane_tools.field.text() == 'name:"gemm"'
    menu.close()


def test_runs_and_breakdown_are_asked_for(desk: Desk) -> None:
    asked: list[str] = []
    desk.panel.menu.run_wanted.connect(asked.append)
    desk.panel.menu.breakdown_wanted.connect(lambda: asked.append("breakdown"))
    menu = menu_at(desk, desk.at("stream 7", 20_000))
    for text in ("Next Run", "Previous Run", "Slowest Run", "Show in Breakdown"):
        entry(menu, text).trigger()
    assert asked == ["next", "previous", "slowest", "breakdown"]
    menu.close()


def test_the_menu_by_keyboard_is_that_of_the_selection(desk: Desk) -> None:
    desk.click(desk.at("stream 20", 80_000))
    desk.settle()
    for ask in (
        lambda: desk.qtbot.keyClick(desk.canvas, Key.Key_F10, SHIFT),
        lambda: QApplication.sendEvent(
            desk.canvas, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), QPoint(5, 5))
        ),
    ):
        desk.panel.menu.shown = None
        ask()
        desk.settle()
        menu = desk.panel.menu.shown
        assert menu is not None
        assert "Zoom to Slice" in texts(menu)
        assert chosen(desk).startswith("nccl")
        menu.close()


def test_a_rank_and_a_gap_have_menus(desk: Desk) -> None:
    menu = menu_at(desk, desk.at("stream 7", 40_000))
    assert "Zoom to Gap" in texts(menu)
    of_lane = entry(menu, "rank 0, stream 7").menu()
    assert isinstance(of_lane, QMenu)
    entry(of_lane, "Fold rank 0").trigger()
    assert desk.panel.collapsed == {0}
    menu.close()
    menu = menu_at(desk, QPoint(60, 8))
    entry(menu, "Unfold rank 0").trigger()
    assert desk.panel.collapsed == frozenset()
    menu.close()


def test_a_note_can_be_asked_for_where_the_menu_is(desk: Desk) -> None:
    asked: list[tuple[int, str]] = []
    desk.panel.kept.note_requested.connect(lambda at, lane, *_: asked.append((at, lane)))
    menu = menu_at(desk, desk.at("stream 7", 40_000))
    entry(menu, "Note Here").trigger()
    menu.close()
    assert len(asked) == 1
    assert abs(asked[0][0] - (BASE + 40_000)) <= desk.window.length_ns // desk.canvas.width() + 1


def test_the_axis_counts_from_what_is_chosen(desk: Desk) -> None:
    panel = desk.panel
    panel.show_range(TimeRange(BASE + 10_000, BASE + 110_000))
    assert panel.ruler.accessibleDescription().startswith("0 us")
    panel.zero.since_selection()  # nothing is selected
    assert panel.zero.label == ""
    desk.context.select(Selection(range=TimeRange(BASE + 30_000, BASE + 40_000)))
    panel.zero.since_selection()
    assert panel.ruler.accessibleDescription().startswith("\u221220 us")
    assert panel.base_label.text() == "since selection"
    menu = panel.zero.menu(BASE + 60_000)
    entry(menu, "Time since Here (50 us)").trigger()
    assert panel.zero.at_ns == BASE + 60_000
    entry(menu, "Time since the Start of the Job").trigger()
    assert panel.zero.at_ns == BASE + 10_000
    assert panel.base_label.text() == ""
    menu.deleteLater()


def test_the_axis_counts_from_a_step(desk: Desk) -> None:
    desk.open(
        make_session(
            make_trace(
                annotation("ProfilerStep#4", 1_000, 5_000),
                annotation("ProfilerStep#5", 6_000, 5_000),
                call("cudaLaunchKernel", 7_000, 10, 1),
                kernel("gemm", 7_500, 500, corr=1),
                rank=0,
            )
        )
    )
    said: list[str] = []
    desk.panel.zero.said.connect(said.append)
    desk.panel.zero.since_step(7_000)
    desk.settle()
    assert (desk.panel.zero.at_ns, desk.panel.zero.label) == (6_000, "step 5")
    desk.panel.zero.since_step(90_000)
    desk.settle()
    assert said == ["No step is known there."]


def test_a_drag_on_the_ruler_selects_a_range(desk: Desk) -> None:
    ruler, width, window = desk.panel.ruler, desk.canvas.width(), desk.window
    desk.qtbot.mousePress(ruler, LEFT, NONE, QPoint(200, 10))
    desk.qtbot.mouseMove(ruler, QPoint(300, 10))
    desk.qtbot.mouseMove(ruler, QPoint(500, 10))
    desk.qtbot.mouseRelease(ruler, LEFT, NONE, QPoint(500, 10))
    chosen_range = desk.context.selection.range
    expected = TimeRange(*(window.start_ns + int(x * window.length_ns / width) for x in (200, 500)))
    assert chosen_range == expected
    asked: list[QPointF] = []
    ruler.menu_requested.disconnect()
    ruler.menu_requested.connect(asked.append)
    QApplication.sendEvent(
        ruler, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, QPoint(50, 5), ruler.mapToGlobal(QPoint(50, 5)))
    )
    assert asked == [QPointF(50, 5)]


def test_show_at_selection_without_anything(desk: Desk) -> None:
    desk.context.select(Selection(slice=SliceRef(0, 0)))
    desk.panel.show_range(TimeRange(BASE + 90_000, BASE + 95_000))  # out of sight
    desk.panel.menu.show_at_selection()
    menu = desk.panel.menu.shown
    assert menu is not None
    menu.close()
    desk.settle()


def test_the_lanes_of_a_communicator_are_pinned_on_every_rank(desk: Desk) -> None:
    traces = [
        make_trace(
            kernel("gemm", BASE, 50_000, stream=7),
            kernel("ncclDevKernel_AllReduce", BASE, 90_000, stream=20, collective="allreduce", about={"group": "dp"}),
            rank=r,
            path=f"rank{r}.json",
        )
        for r in range(2)
    ]
    desk.open(make_session(*traces))
    menu = menu_at(desk, desk.at("stream 20", 40_000))
    entry(menu, "Pin Lanes of dp on Every Rank").trigger()
    desk.settle()
    pinned = [(r.group.title, r.lane.label) for r in desk.panel.placement.rows if r.pinned and r.lane is not None]
    assert pinned == [("rank 0", "rank 0 · stream 20"), ("rank 1", "rank 1 · stream 20")]
    menu.close()
    menu = menu_at(desk, desk.at("stream 7", 20_000))
    assert not any(a.isVisible() and a.text().startswith("Pin Lanes of") for a in menu.actions())
    menu.close()
