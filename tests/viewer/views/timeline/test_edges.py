from __future__ import annotations

from tests.support.build import kernel, make_session, make_trace, op, row_named
from viewer.base.frames import PlacedRow, Placement
from viewer.base.selection import SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.lanes.tree import build_tree, place
from viewer.views.timeline.edges import Edge, edge_at

WINDOW, WIDTH = TimeRange(0, 10_000), 1_000  # 10 ns per px


def job() -> tuple[Session, Placement]:
    session = make_session(
        make_trace(kernel("gemm", 2_000, 1_000), kernel("nccl", 5_000, 500, stream=20), op("mm", 1_000, 7_000), rank=0),
    )
    return session, place(build_tree(session))


def row(placement: Placement, label: str) -> PlacedRow:
    return next(r for r in placement.rows if r.lane is not None and label in r.lane.label)


def at(x: float, label: str = "stream 7", *, everywhere: bool = False) -> Edge:
    session, placement = job()
    y = row(placement, label).y + 8
    sight = (0, placement.height) if everywhere else None
    return edge_at(session, placement, WINDOW, WIDTH, x, y, sight=sight)


def test_the_nearest_edge_of_the_lane_under_the_pointer() -> None:
    session, placement = job()
    ref = SliceRef(0, row_named(session.inputs[0].trace, "gemm"))
    start, end = at(205), at(296)
    assert (start.time_ns, start.slice, start.at_end) == (2_000, ref, False)
    assert (end.time_ns, end.at_end) == (3_000, True)
    assert end.text(session) == "end of gemm"
    middle = row(placement, "stream 7")
    assert middle.y < start.y < middle.y + middle.height


def test_far_from_all_edges_it_is_the_instant_itself() -> None:
    found = at(250)
    assert (found.time_ns, found.slice, found.text(job()[0])) == (2_500, None, "")


def test_edges_of_other_lanes_are_taken_only_from_close_by_and_when_wanted() -> None:
    assert at(502).slice is None
    assert at(502, everywhere=True).time_ns == 5_000
    assert at(506, everywhere=True).slice is None
    assert at(204, "stream 20", everywhere=True).time_ns == 2_000


def test_the_lane_under_the_pointer_goes_first() -> None:
    session = make_session(make_trace(kernel("a", 2_000, 1_000), kernel("b", 2_030, 500, stream=20)))
    placement = place(build_tree(session))
    y = row(placement, "stream 7").y + 8
    assert edge_at(session, placement, WINDOW, WIDTH, 203, y, sight=(0, placement.height)).time_ns == 2_000


def test_below_the_lanes_nothing_snaps() -> None:
    session, placement = job()
    assert edge_at(session, placement, WINDOW, WIDTH, 200, placement.height + 50).slice is None
