"""The Compare panel, and the lanes of two runs on linked axes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.support.two_runs import GEMM, REDUCE, a_run
from viewer.analyses.comparison.compare import Comparison, compare
from viewer.base.selection import GapRef, GroupRef, SliceRef, TimeRange
from viewer.panels.compare import HINT, ComparePanel
from viewer.panels.context import JobContext
from viewer.panels.timeline.linked_lanes import LinkedLanes
from viewer.panels.timeline.panel import TimelinePanel
from viewer.views.comparison.table import KINDS, compare_view


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(a_run(), a_run(gemm=1.2, first_step=10))


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> ComparePanel:
    made = ComparePanel(context)
    qtbot.addWidget(made)
    made.resize(1200, 300)
    made.show()
    return made


def choose(panel: ComparePanel, kind: str) -> None:
    panel.kind.setCurrentIndex(panel.kind.findData(kind))


def test_it_says_what_it_is_for(panel: ComparePanel) -> None:
    assert panel.text.text() == HINT
    assert panel.parts.isHidden()
    assert panel.close_button.isHidden()


def test_tables_of_all_kinds(panel: ComparePanel, found: Comparison) -> None:
    panel.show_comparison(found, ("a", "b"))
    assert panel.text.text().startswith("a → b: Mean step and rank ")
    assert panel.step.count() == 6
    assert panel.step.itemText(0) == "step 0 / 10"
    for kind, _ in KINDS:
        choose(panel, kind)
        shown = panel.table.isVisible()
        assert shown or panel.note.text()
        if shown:
            view = compare_view(found, kind)
            assert view.table is not None
            assert len(view.targets) == len(view.table.rows) == panel.table.model().rowCount()
            assert len(view.table.headers) == len(view.table.how)
    assert panel.picture.scene is not None


def test_a_filter_and_changes_only(qtbot: QtBot, panel: ComparePanel, found: Comparison) -> None:
    panel.show_comparison(found, ("a", "b"))
    choose(panel, "kernels")
    assert panel.table.model().rowCount() == 4
    panel.only.setChecked(True)
    assert panel.table.model().rowCount() == 1
    assert panel.note.text() == "1 of 4 rows"
    panel.only.setChecked(False)
    panel.filter.setText("adam KERNEL")
    qtbot.waitUntil(lambda: panel.table.model().rowCount() == 1)
    panel.filter.setText("nothing like it")
    qtbot.waitUntil(panel.table.isHidden)


def test_a_click_leads_to_both_runs(qtbot: QtBot, panel: ComparePanel, found: Comparison) -> None:
    panel.show_comparison(found, ("a", "b"))
    choose(panel, "kernels")
    with qtbot.waitSignal(panel.chosen) as told:
        qtbot.mouseClick(
            panel.table.viewport(),
            Qt.MouseButton.LeftButton,
            pos=panel.table.visualRect(panel.table.model().index(0, 0)).center(),
        )
    base, test = told.args
    assert found.base.inputs[base.input].trace.name(base.index) == GEMM
    assert found.test.inputs[test.input].trace.name(test.index) == GEMM
    assert found.base.inputs[base.input].rank == found.test.inputs[test.input].rank
    choose(panel, "steps")
    with qtbot.waitSignal(panel.step_chosen) as step:
        qtbot.mouseClick(
            panel.table.viewport(),
            Qt.MouseButton.LeftButton,
            pos=panel.table.visualRect(panel.table.model().index(2, 0)).center(),
        )
    assert step.args == [2]


def test_causes_and_ranks_lead_somewhere(found: Comparison) -> None:
    causes = compare_view(found, "causes")
    assert causes.table is not None
    at = next(i for i, row in enumerate(causes.table.rows) if row[-1] == GEMM)
    base, test = causes.targets[at]
    assert isinstance(base, SliceRef)
    assert isinstance(test, SliceRef)
    assert found.test.inputs[test.input].trace.name(test.index) == GEMM
    transfer = next(i for i, row in enumerate(causes.table.rows) if row[-1] == "exposed communication: transfer")
    assert causes.targets[transfer][0] == found.collectives[0].place_base
    assert any(isinstance(t[1], GapRef) for t in causes.targets)
    ranks = compare_view(found, "ranks")
    assert ranks.targets == tuple((GroupRef(k), GroupRef(k)) for k in (0, 1))


def test_findings_may_come_later(panel: ComparePanel, found: Comparison) -> None:
    panel.show_comparison(dataclasses.replace(found, findings_gained=(), findings_lost=()), ("a", "b"))
    choose(panel, "findings")
    assert panel.note.text() == "both runs have the same findings"
    gained = (*found.findings_gained, *found.findings_lost, *(f for f, _ in found.findings_kept))[:1]
    assert gained
    panel.update_comparison(dataclasses.replace(found, findings_gained=gained, findings_lost=()))
    assert panel.table.model().rowCount() == 1


def test_runs_that_cannot_be_compared_say_so(panel: ComparePanel) -> None:
    panel.show_comparison(compare(a_run(steps=1), a_run(steps=1, ranks=4)), ("a", "b"))
    assert panel.text.text() == "a and b cannot be compared: the base run has world size 2, the test run 4."
    assert panel.comparison is None
    assert not panel.close_button.isHidden()


@pytest.fixture
def lanes(qtbot: QtBot, context: JobContext, found: Comparison) -> Iterator[tuple[TimelinePanel, LinkedLanes]]:
    timeline = TimelinePanel(context)
    qtbot.addWidget(timeline)
    timeline.resize(900, 400)
    timeline.show()
    context.set_session(found.base)
    linked = LinkedLanes(context, timeline, timeline)
    linked.lanes.resize(900, 400)
    linked.lanes.show()
    linked.show(found.test, "Test run: b")
    linked.compare(found)
    yield timeline, linked
    linked.shutdown()


def at_zero(timeline: TimelinePanel, context: JobContext) -> tuple[int, int]:
    window = context.window
    assert window is not None
    return window.start_ns - timeline.zero.at_ns, window.length_ns


def test_one_step_lies_over_the_other(
    context: JobContext, lanes: tuple[TimelinePanel, LinkedLanes], found: Comparison
) -> None:
    timeline, linked = lanes
    for k in (0, 3):
        linked.align(k)
        starts = []
        for session, unit in ((found.base, found.pairing.pairs[0].base), (found.test, found.pairing.pairs[0].test)):
            starts.append(session.inputs[0].clock.to_session(unit.spans[k].work_ns))
        assert linked.shift_ns == starts[1] - starts[0]
        one, other = at_zero(timeline, context), at_zero(linked.timeline, linked.context)
        assert one[0] == other[0]
        assert one[1] * linked.timeline.canvas.width() // timeline.canvas.width() == other[1]


def test_either_window_moves_the_other(context: JobContext, lanes: tuple[TimelinePanel, LinkedLanes]) -> None:
    timeline, linked = lanes
    timeline.set_window(TimeRange(3_000_000, 4_000_000))
    assert linked.context.window is not None
    assert linked.context.window.start_ns == 3_000_000 + linked.shift_ns
    linked.timeline.zoom(2.0, 0.0)
    assert context.window is not None
    assert context.window.start_ns == linked.context.window.start_ns - linked.shift_ns
    assert context.window.length_ns < 1_000_000


def test_lanes_are_folded_and_filtered_in_both(qtbot: QtBot, lanes: tuple[TimelinePanel, LinkedLanes]) -> None:
    timeline, linked = lanes
    timeline.toggle_group(1)
    assert linked.timeline.collapsed == timeline.collapsed == frozenset({1})
    timeline.lanes.set_filter("adam")
    qtbot.waitUntil(lambda: linked.timeline.lanes.arrangement.filter == "adam")


def test_a_chosen_pair_starts_at_one_place(
    context: JobContext, lanes: tuple[TimelinePanel, LinkedLanes], found: Comparison
) -> None:
    _, linked = lanes
    row = next(r for r in found.kernels if r.name == REDUCE)
    linked.go(row.place_base, row.place_test)
    assert isinstance(row.place_base, SliceRef)
    assert isinstance(row.place_test, SliceRef)
    assert context.selection.slice == row.place_base
    assert linked.context.selection.slice == row.place_test
    seen = []
    for c, place in ((context, row.place_base), (linked.context, row.place_test)):
        item = c.session.inputs[place.input]
        assert c.window is not None
        seen.append(item.clock.to_session(int(item.trace.slices.start_ns[place.index])) - c.window.start_ns)
    assert seen[0] == seen[1] > 0
    # A rank moves no time.
    shift, window = linked.shift_ns, context.window
    linked.go(GroupRef(1), GroupRef(1))
    assert (linked.shift_ns, context.window) == (shift, window)
    assert context.selection.group == linked.context.selection.group == 1
    # A place in one run alone is shown where the other run has nothing.
    linked.go(None, row.place_test)
    assert linked.context.window is not None
    assert context.window is not None
    assert context.window.start_ns == linked.context.window.start_ns - linked.shift_ns


def test_figures_of_the_runs_stay_apart(lanes: tuple[TimelinePanel, LinkedLanes], context: JobContext) -> None:
    _, linked = lanes
    assert context.session is not linked.context.session
    assert context.work is not linked.context.work
    assert {i.trace for i in context.session.inputs}.isdisjoint(i.trace for i in linked.context.session.inputs)
