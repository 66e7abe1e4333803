"""Measuring between edges, and borders of ranges that snap."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF

from tests.viewer.panels.timeline.test_panel import BASE, CTRL, Desk, Key, desk, open_desk  # noqa: F401  (fixtures)
from viewer.base.selection import TimeRange
from widgets.lane_overlay import Overlay
from widgets.lane_steps import MeasureMark

NEAR = QPoint(3, 0)


def overlay(desk: Desk) -> Overlay:  # noqa: F811
    shown = desk.panel.picture.source(desk.canvas.width(), desk.canvas.height(), 1.0)
    assert shown is not None
    return shown[1]


def marks(desk: Desk) -> list[MeasureMark]:  # noqa: F811
    return overlay(desk).measures


def measure(desk: Desk) -> None:  # noqa: F811
    """From the end of the first gemm of rank 0 to the start of the second one of rank 1."""
    desk.panel.measure.toggle()
    start = desk.at("stream 7", 30_000) - NEAR
    desk.drag(start, desk.at("stream 7", 50_500, group=1) + NEAR)


def test_a_drag_measures_from_edge_to_edge_across_ranks(open_desk: Desk) -> None:  # noqa: F811
    measure(open_desk)
    (mark,) = marks(open_desk)
    assert mark.value == "20.500 us  (20,500 ns)"
    assert mark.names == "end of gemm → start of gemm"
    assert open_desk.context.selection.range is None
    assert open_desk.panel.measure.text().split("\t")[1:] == ["end of gemm", "start of gemm"]


def test_several_stay_until_they_are_cleared(open_desk: Desk) -> None:  # noqa: F811
    measure(open_desk)
    open_desk.drag(open_desk.at("stream 20", 60_000), open_desk.at("stream 20", 95_000))
    assert len(marks(open_desk)) == 2
    assert open_desk.panel.measure.text().startswith("35000\t")
    open_desk.key(Key.Key_Escape)
    assert not open_desk.panel.measure.on
    assert len(marks(open_desk)) == 2
    open_desk.key(Key.Key_Escape)
    assert marks(open_desk) == []


def test_an_end_can_be_dragged_on_also_when_nothing_else_is_measured(open_desk: Desk) -> None:  # noqa: F811
    open_desk.panel.measure.toggle()
    open_desk.drag(open_desk.at("stream 7", 30_000), open_desk.at("stream 7", 50_000))
    open_desk.panel.measure.toggle()
    open_desk.drag(open_desk.at("stream 7", 50_000), open_desk.at("stream 7", 70_000))
    (mark,) = marks(open_desk)
    assert mark.value.startswith("40.000 us")
    assert mark.names == "end of gemm → end of gemm"
    assert open_desk.context.selection.range is None


def test_ctrl_does_not_snap_and_what_snaps_is_shown(open_desk: Desk) -> None:  # noqa: F811
    desk = open_desk  # noqa: F811
    desk.panel.measure.toggle()
    desk.move(desk.at("stream 7", 30_000) + NEAR)
    assert overlay(desk).snap is not None
    desk.move(desk.at("stream 7", 40_000))
    assert overlay(desk).snap is None
    desk.drag(desk.at("stream 7", 30_000) + NEAR, desk.at("stream 7", 50_000) - NEAR, modifiers=CTRL)
    (mark,) = marks(desk)
    assert mark.names == ""


def test_another_job_has_no_measurements(open_desk: Desk) -> None:  # noqa: F811
    measure(open_desk)
    open_desk.open(open_desk.context.session)
    assert marks(open_desk) == []


def test_borders_of_a_range_snap_to_the_lane_under_them(open_desk: Desk) -> None:  # noqa: F811
    desk = open_desk  # noqa: F811
    desk.drag(desk.at("stream 7", 30_000) + NEAR, desk.at("stream 20", 60_000) - NEAR)
    assert desk.context.selection.range == TimeRange(BASE + 30_000, BASE + 60_000)
    desk.drag(desk.at("stream 20", 95_000) - NEAR, desk.at("stream 7", 50_000) + NEAR)
    assert desk.context.selection.range == TimeRange(BASE + 50_000, BASE + 95_000)
    desk.drag(desk.at("stream 7", 30_000) + NEAR, desk.at("stream 20", 60_000) - NEAR, modifiers=CTRL)
    chosen = desk.context.selection.range
    assert chosen is not None
    assert chosen != TimeRange(BASE + 30_000, BASE + 60_000)


def test_from_the_menu_it_begins_at_the_clicked_edge_and_ends_with_a_click(open_desk: Desk) -> None:  # noqa: F811
    desk = open_desk  # noqa: F811
    panel = desk.panel
    hit = panel.pointer.hit_at(QPointF(desk.at("stream 7", 30_000) - NEAR))
    assert hit is not None
    at = QPointF(desk.at("stream 7", 30_000) - NEAR)
    desk.click(desk.at("stream 7", 42_000))  # no key is held any more
    menu = panel.menu.build(hit, at.x(), at.y())
    next(a for a in menu.actions() if a.text().startswith("Measure from Here")).trigger()
    desk.move(desk.at("stream 7", 42_000))
    assert marks(desk)[0].names.startswith("end of gemm → ")
    desk.click(desk.at("stream 7", 50_000) + NEAR)
    (mark,) = marks(desk)
    assert (mark.value.split("  ")[0], mark.names) == ("20.000 us", "end of gemm → start of gemm")
    assert not panel.measure.on
    assert desk.context.selection.slice is None
    desk.move(desk.at("stream 7", 70_000))
    assert marks(desk) == [mark]
    panel.measure.begin(at)
    desk.key(Key.Key_Escape)
    assert marks(desk) == [mark]
    assert not panel.measure.on
