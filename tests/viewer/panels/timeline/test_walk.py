"""Walking along lanes and arrows on a real timeline."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from tests.support.build import call, kernel, make_session, make_trace, op, row_named, rows_named
from tests.viewer.panels.timeline.test_panel import Desk
from viewer.base.selection import SliceRef, TimeRange
from viewer.panels.work import WorkRunner

FAR = 50_000_000


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    made = Desk(qtbot, work)
    made.open(
        make_session(
            make_trace(
                op("aten::mm", 0, 1_000, tid=100),
                call("cudaLaunchKernel", 200, 100, 1, tid=100),
                kernel("gemm", FAR, 2_000, corr=1),
                kernel("relu", FAR + 3_000, 500),
                op("MmBackward0", FAR + 10_000, 900, tid=300),
                flows=[("s", 1, "fwdbwd", 0, 100, 100), ("f", 1, "fwdbwd", FAR + 10_000, 100, 300)],
                rank=0,
            )
        )
    )
    yield made
    work.shutdown()


def row(desk: Desk, name: str) -> int:
    return row_named(desk.context.session.inputs[0].trace, name)


def select(desk: Desk, name: str) -> None:
    desk.context.jump(SliceRef(0, row(desk, name)))
    desk.settle()


def chosen(desk: Desk) -> str:
    ref = desk.context.selection.slice
    assert ref is not None
    return desk.context.session.inputs[0].trace.name(ref.index)


def test_next_and_previous_on_the_lane(desk: Desk) -> None:
    said: list[str] = []
    walk = desk.panel.walk
    walk.said.connect(said.append)
    select(desk, "gemm")
    walk.along_lane(1)
    assert chosen(desk) == "relu"
    walk.along_lane(1)
    assert chosen(desk) == "relu"
    assert said == ["This is the last slice of its lane."]
    walk.along_lane(-1)
    assert chosen(desk) == "gemm"
    desk.settle()


def test_without_a_selection_the_first_slice_in_sight_is_taken(desk: Desk) -> None:
    desk.panel.show_range(TimeRange(FAR + 2_500, FAR + 4_000))
    desk.panel.walk.along_lane(1)
    assert chosen(desk) == "relu"
    desk.settle()


def test_following_a_launch_shows_both_ends_and_an_arrow(desk: Desk) -> None:
    select(desk, "cudaLaunchKernel")
    assert desk.window.end_ns < FAR
    desk.panel.walk.follow(1)
    desk.settle()
    assert chosen(desk) == "gemm"
    assert desk.window.start_ns <= 200
    assert desk.window.end_ns >= FAR + 2_000
    assert [(a.start_ns, a.end_ns) for a in desk.panel._lanes.arrows] == [(200, FAR)]
    desk.panel.walk.follow(-1)
    desk.settle()
    assert chosen(desk) == "cudaLaunchKernel"


def test_following_forward_to_backward(desk: Desk) -> None:
    select(desk, "aten::mm")
    desk.panel.walk.follow(1)
    desk.settle()
    assert chosen(desk) == "MmBackward0"
    assert (0, FAR + 10_000) in {(a.start_ns, a.end_ns) for a in desk.panel._lanes.arrows}
    desk.panel.walk.follow(-1)
    desk.settle()
    assert chosen(desk) == "aten::mm"


def test_what_leads_nowhere_is_said(desk: Desk) -> None:
    said: list[str] = []
    desk.panel.walk.said.connect(said.append)
    desk.panel.walk.follow(1)
    select(desk, "relu")
    for direction in (1, -1):
        desk.panel.walk.follow(direction)
        desk.settle()
    assert said == ["Select a slice first.", "Nothing follows from this slice.", "Nothing leads to this slice."]
    assert rows_named(desk.context.session.inputs[0].trace, "relu")


def test_a_lane_goes_on_in_the_next_file_of_its_rank(desk: Desk) -> None:
    first = make_trace(kernel("a", 0, 10), kernel("b", 100, 10), rank=0, path="one.json")
    later = make_trace(kernel("c", 200, 10), kernel("d", 300, 10), rank=0, path="two.json")
    session = make_session(first, later)
    assert len(session.groups) == 1
    desk.open(session)
    desk.context.jump(SliceRef(0, row(desk, "a")))
    names = []
    for direction in (1, 1, 1, -1, -1, -1):
        desk.panel.walk.along_lane(direction)
        ref = desk.context.selection.slice
        assert ref is not None
        names.append(session.inputs[ref.input].trace.name(ref.index))
    assert names == ["b", "c", "d", "c", "b", "a"]
