"""Steps on the timeline: bands, going from one to the next, one step of every rank at one start."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import QPoint, Qt

from tests.support.build import kernel, make_session, make_trace
from tests.viewer.panels.timeline.test_panel import Desk, desk  # noqa: F401  (a fixture)
from tests.viewer.views.lanes.test_steps import job
from viewer.base.kept import Mark
from viewer.base.selection import GapRef, Selection, SliceRef, TimeRange
from viewer.panels.timeline.overlay import View, build_overlay
from viewer.views.lanes.arrangement import LaneArrangement
from widgets.lane_overlay import Overlay


@pytest.fixture
def steps_desk(desk: Desk) -> Desk:  # noqa: F811
    desk.open(job())
    desk.qtbot.waitUntil(lambda: bool(desk.panel.steps.bands))
    return desk


def overlay(desk: Desk) -> Overlay:  # noqa: F811
    shown = desk.panel.picture.source(desk.canvas.width(), desk.canvas.height(), 1.0)
    assert shown is not None
    return shown[1]


def x_of(desk: Desk, shown_ns: int) -> float:  # noqa: F811
    window = desk.window
    return (shown_ns - window.start_ns) * desk.canvas.width() / window.length_ns


def header_y(desk: Desk, group: int) -> int:  # noqa: F811
    row = next(r for r in desk.panel.placement.rows if r.lane is None and r.group.id == group)
    return row.y + row.height // 2 - desk.panel.scroll_top


def span(desk: Desk, group: int, index: int) -> TimeRange:  # noqa: F811
    return next(b.span for b in desk.panel.steps.bands[group] if b.index == index)


def test_every_rank_shows_its_steps_by_name(steps_desk: Desk) -> None:
    heads = [b for b in overlay(steps_desk).bands if b.header]
    assert [b.label for b in heads] == [f"step {k}" for k in (0, 1, 2, 3, 0, 1, 2, 3, 2, 3, 4, 5)]
    first = heads[4]
    assert (first.x0, first.x1) == pytest.approx((x_of(steps_desk, 550), x_of(steps_desk, 1_250)))
    assert [b.odd for b in heads[:4]] == [False, True, False, True]
    row = next(r for r in steps_desk.panel.placement.rows if r.lane is not None and r.lane.label == "stream 7")
    lanes = [b for b in overlay(steps_desk).bands if b.y == row.y - steps_desk.panel.scroll_top]
    assert [(b.x0, b.x1) for b in lanes] == [(b.x0, b.x1) for b in heads[:4]]


def test_rows_in_sight_are_those_of_all_rows_that_show(steps_desk: Desk) -> None:
    lanes = steps_desk.panel.lanes
    keys = [r.lane.key for r in lanes.placement.rows if r.lane is not None]
    for pinned in ((), (keys[-1], keys[0])):
        lanes.set_arrangement(LaneArrangement(pinned=pinned))
        for top in range(0, lanes.placement.height, 7):
            view = View(lanes.painter, steps_desk.window, 300, top, 60)
            every = [(r, p) for r in lanes.placement.rows if (p := view.in_sight(r)) is not None]
            assert view.rows() == every


def test_steps_too_narrow_to_tell_apart_are_not_drawn(steps_desk: Desk) -> None:
    painter = steps_desk.panel._lanes.painter
    view = View(painter, steps_desk.window, 30, 0, 500)
    made = build_overlay(view, Selection(), [], ())
    steps_desk.panel.steps.decorate(view, made)
    assert made.bands == []


def test_a_click_on_a_strip_selects_the_step_on_its_rank(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.click(QPoint(round(x_of(desk, 1_600)), header_y(desk, 1)))
    assert desk.context.selection == Selection(range=TimeRange(1_550, 2_450), group=1)
    assert [b.label for b in overlay(desk).bands if b.selected and b.label] == ["step 1"]
    desk.move(QPoint(round(x_of(desk, 1_700)), header_y(desk, 1)))
    tip = overlay(desk).tip
    assert tip is not None
    assert tip.title == "rank 1, step 1"
    assert "GPU 900 ns" in tip.lines[0]


def test_going_from_step_to_step_stays_on_the_rank_and_keeps_it_in_sight(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.context.select(Selection(group=2))
    steps = desk.panel.steps
    seen = []
    for forward in (True, True, True, True, True, False):
        steps.go(forward)
        chosen = steps.selected
        assert chosen is not None
        assert desk.context.selection.group == 2
        assert desk.window.start_ns <= chosen.span.start_ns
        assert chosen.span.end_ns <= desk.window.end_ns
        seen.append(chosen.index)
    assert seen == [2, 3, 4, 5, 5, 4]
    desk.panel.focus_selection()
    steps.go(False)
    assert desk.window.length_ns < 2 * span(desk, 2, 3).length_ns


def test_a_step_of_every_rank_starts_at_one_x_and_back(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    before = desk.context.session
    desk.context.select(Selection(range=span(desk, 1, 2), group=1))
    steps = desk.panel.steps
    steps.toggle_stack()
    starts = {round(b.x0, 6) for b in overlay(desk).bands if b.label == "step 2"}
    assert starts == {round(x_of(desk, span(desk, 1, 2).start_ns), 6)}
    assert desk.panel.origin_ns == span(desk, 1, 2).start_ns
    assert steps.banner.isVisible()
    assert desk.context.session is before  # figures know nothing of it
    drawn = overlay(desk).range
    assert drawn is not None
    assert drawn[0] == pytest.approx(x_of(desk, desk.panel.origin_ns))
    # What is hit, and a gap that is selected, are the job's own.
    kernel_x = round(x_of(desk, span(desk, 1, 2).start_ns + 300))
    row = next(r for r in desk.panel.placement.rows if r.lane and r.lane.label == "stream 7" and r.group.id == 2)
    desk.click(QPoint(kernel_x, row.y + row.height // 2 - desk.panel.scroll_top))
    ref = desk.context.selection.slice
    assert isinstance(ref, SliceRef)
    assert ref.input == 2
    assert int(before.inputs[2].trace.slices.start_ns[ref.index]) == span(desk, 2, 2).start_ns
    gap_x = round(x_of(desk, span(desk, 1, 2).start_ns + 800))
    desk.click(QPoint(gap_x, row.y + row.height // 2 - desk.panel.scroll_top))
    gap = desk.context.selection.gap
    assert isinstance(gap, GapRef)
    assert gap.range.start_ns == span(desk, 2, 2).end_ns
    desk.qtbot.mouseClick(steps.banner.back, Qt.MouseButton.LeftButton)
    assert not steps.banner.isVisible()
    assert desk.context.shifts == {}
    assert desk.panel.origin_ns == before.origin_ns()
    assert len({round(b.x0) for b in overlay(desk).bands if b.label == "step 2"}) > 1


def test_a_range_dragged_over_a_shifted_rank_is_one_of_that_rank(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.context.select(Selection(range=span(desk, 0, 2), group=0))
    desk.panel.steps.toggle_stack()
    row = next(r for r in desk.panel.placement.rows if r.lane and r.lane.label == "stream 7" and r.group.id == 1)
    y = row.y + row.height // 2 - desk.panel.scroll_top
    start = span(desk, 0, 2).start_ns
    desk.drag(QPoint(round(x_of(desk, start)) + 1, y), QPoint(round(x_of(desk, start + 700)) + 1, y))
    assert desk.context.selection.group == 1
    assert desk.context.selection.range == span(desk, 1, 2)  # its borders snapped to the kernel


def test_ranks_without_the_step_stay_and_the_banner_counts_them(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.context.select(Selection(range=span(desk, 0, 0), group=0))
    desk.panel.steps.toggle_stack()
    assert "1 of 3 ranks" in desk.panel.steps.banner.text.text()
    assert desk.context.shifts == {0: 0, 1: -350}
    desk.panel.steps.toggle_stack()
    assert desk.context.shifts == {}


def test_another_job_is_not_shifted(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.panel.steps.toggle_stack()
    assert desk.context.shifts
    desk.open(job())
    assert desk.context.shifts == {}
    assert not desk.panel.steps.banner.isVisible()
    assert desk.panel.origin_ns == desk.context.session.origin_ns()


def test_counting_from_a_step_goes_with_the_selected_one_and_ends_with_the_job(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    bands, zero = desk.panel.steps.bands[0], desk.panel.zero
    desk.panel.steps.select(bands[1])
    zero.since_step(bands[1].mark.start_ns)
    desk.settle()
    assert (zero.at_ns, zero.label) == (bands[1].mark.start_ns, bands[1].title)
    desk.panel.steps.go(True)
    assert (zero.at_ns, zero.label) == (bands[2].mark.start_ns, bands[2].title)
    desk.panel.steps.toggle_stack()
    assert zero.label == ""  # all of them begin at 0 now
    desk.panel.steps.unstack()
    zero.choose(bands[2].mark.start_ns, "here")
    desk.panel.steps.go(False)
    assert zero.label == "here"
    other = make_session(make_trace(kernel("gemm", 0, 10), rank=0, path="other.json"))
    desk.open(other)
    assert (zero.at_ns, zero.label) == (other.origin_ns(), "")


def test_going_to_a_step_brings_its_rank_into_sight(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.panel.resize(700, 170)
    desk.settle()
    desk.context.select(Selection(group=2))
    desk.panel.scrollbar.setValue(0)
    desk.panel.steps.go(True)
    assert 0 <= header_y(desk, 2) <= desk.canvas.height()


def test_marks_lie_where_stacked_ranks_are_shown(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    desk.panel.steps.stack(next(b for b in desk.panel.steps.bands[1] if b.index == 2))
    desk.panel.fit()
    at = span(desk, 0, 2).start_ns
    lane = next(x.key for g in desk.panel.groups if g.id == 2 for x in g.lanes if x.label == "stream 7")
    desk.panel.kept.set_marks([Mark(1, at, at), Mark(2, at, at, lane=lane)])
    shifts = desk.context.shifts
    everywhere, own = overlay(desk).marks[:-1], overlay(desk).marks[-1]
    assert [b.x0 for b in everywhere] == pytest.approx([x_of(desk, at + shifts.get(g, 0)) for g in (0, 1, 2)])
    assert own.x0 == pytest.approx(x_of(desk, at + shifts[2]))
    assert all(a.y1 <= b.y0 for a, b in itertools.pairwise(everywhere))


def test_hits_are_walked_in_the_order_in_which_stacked_ranks_show_them(steps_desk: Desk) -> None:
    desk = steps_desk  # noqa: F811
    finder = desk.panel.finder
    finder.open("k", regex=False)
    finder.bar.edit.setText("k2")
    desk.settle()
    desk.qtbot.waitUntil(lambda: finder.found is not None)
    desk.panel.steps.stack(next(b for b in desk.panel.steps.bands[1] if b.index == 2))
    desk.settle()
    found = finder.found
    assert found is not None
    assert found.session is desk.panel.lanes.session
