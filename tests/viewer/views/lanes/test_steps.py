"""Steps as bands, and ranks shifted for display."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.build import annotation, call, kernel, make_session, make_trace
from viewer.base.clock import Clock
from viewer.base.kept import Note
from viewer.base.selection import GapRef, Selection, TimeRange
from viewer.store.session import Session
from viewer.views.lanes.shifted import gap_moved, shifted_session, shown_notes, shown_selection
from viewer.views.lanes.steps import StepBand, neighbour, stack_shifts, step_at, step_bands, within
from viewer.views.lanes.tree import build_tree


def rank(number: int, shift: int, first: int = 0, steps: int = 4) -> Any:
    """Steps of 1000 ns; each launches a kernel that starts 200 after its mark and runs for 900 (over the next mark)."""
    events = []
    for k in range(steps):
        at = 1_000 * k + shift
        corr = k + 1
        events += [
            annotation(f"ProfilerStep#{first + k}", at, 1_000),
            call("cudaLaunchKernel", at + 100, 10, corr=corr),
            kernel("gemm", at + 200, 900 if k % 2 else 700, corr=corr),
        ]
    return make_trace(*events, rank=number, path=f"{number}.json")


def job() -> Session:
    return make_session(rank(0, 0), rank(1, 350), rank(2, 100, first=2))


def bands(session: Session) -> dict[int, tuple[StepBand, ...]]:
    return {g.id: step_bands(session, g) for g in session.groups}


def test_a_step_spans_the_gpu_work_that_it_launched() -> None:
    first, second = bands(job())[1][:2]
    assert (first.title, first.span, first.mark) == ("step 0", TimeRange(550, 1_250), TimeRange(350, 1_350))
    assert (second.place, second.span, second.kernels) == (1, TimeRange(1_550, 2_450), 1)
    assert second.gap_before_ns == 300
    assert second.lines()[0] == "GPU 900 ns  ·  CPU mark 1.000 us  ·  1 kernels"


def test_a_step_without_gpu_work_spans_its_mark() -> None:
    trace = make_trace(annotation("ProfilerStep#7", 0, 100), annotation("ProfilerStep#8", 100, 50))
    session = make_session(trace)
    (found, _) = bands(session)[0]
    assert (found.span, found.on_gpu, found.index) == (TimeRange(0, 100), False, 7)


def test_bands_in_a_window() -> None:
    steps = bands(job())[0]
    assert [b.index for b in within(steps, TimeRange(850, 1_250))] == [0, 1]
    assert [b.index for b in within(steps, TimeRange(950, 1_150))] == []
    assert [b.index for b in within(steps, TimeRange(-100, 10_000))] == [0, 1, 2, 3]
    assert within((), TimeRange(0, 1)) == []
    at = step_at(steps, 1_201)
    assert at is not None
    assert at.index == 1
    assert step_at(steps, 1_000) is None


def test_going_from_step_to_step() -> None:
    steps = bands(job())[0]
    window = TimeRange(1_100, 4_000)

    def index(chosen: TimeRange | None, forward: bool, seen: TimeRange = window) -> int | None:
        found = neighbour(steps, chosen, seen, forward)
        return None if found is None else found.index

    assert index(None, True) == 1
    assert index(None, False) == 3
    assert index(steps[1].span, True) == 2
    assert index(steps[1].span, False) == 0
    assert index(steps[3].span, True) is None
    assert index(TimeRange(5, 6), True) == 1
    assert index(None, True, TimeRange(1_300, 1_310)) == 1
    assert neighbour((), None, window, True) is None


def test_shifts_bring_the_same_step_of_every_rank_to_one_start() -> None:
    session = job()
    found = bands(session)
    shifts = stack_shifts(found, found[0][2])
    assert shifts == {0: 0, 1: -350, 2: 1_900}
    shown = bands(shifted_session(session, shifts))
    starts = {b.span.start_ns for steps in shown.values() for b in steps if b.index == 2}
    assert starts == {found[0][2].span.start_ns}
    assert stack_shifts(found, found[0][0]) == {0: 0, 1: -350}


def test_a_shift_changes_nothing_but_clocks() -> None:
    session = job()
    shown = shifted_session(session, {1: 77})
    assert [i.clock.to_session(1_000) for i in shown.inputs] == [1_000, 1_077, 1_000]
    assert [i.clock.to_raw(1_077) for i in shown.inputs] == [1_077, 1_000, 1_077]
    assert [i.trace for i in shown.inputs] == [i.trace for i in session.inputs]
    assert shifted_session(session, {}) is session
    assert [i.clock.offset_ns for i in session.inputs] == [0, 0, 0]


@pytest.mark.parametrize(
    "clock",
    [Clock(5, 3, 40_000, 100), Clock(5, 3, -900_000, 7), Clock(10, 2, held=((0, 2), (5_000, 40)))],
)
def test_every_kind_of_clock_is_shifted_as_a_whole(clock: Clock) -> None:
    session = job()
    inputs = (replace(session.inputs[0], clock=clock), *session.inputs[1:])
    shown = shifted_session(replace(session, inputs=inputs), {0: 1_234}).inputs[0].clock
    for raw in (0, 1_000, 4_900, 5_100, 1_000_000):
        assert shown.to_session(raw) == clock.to_session(raw) + 1_234
        assert shown.to_raw(clock.to_session(raw) + 1_234) == clock.to_raw(clock.to_session(raw))


def test_selections_and_notes_go_with_their_rank_and_come_back() -> None:
    session = job()
    shifts = {1: 77}
    gap = GapRef(1, 0, TimeRange(10, 20))
    chosen = Selection(gap=gap, range=TimeRange(0, 5), group=1)
    shown = shown_selection(chosen, session, shifts)
    assert shown.gap is not None
    assert (shown.gap.range, shown.range) == (TimeRange(87, 97), TimeRange(77, 82))
    assert gap_moved(shown.gap, session, shifts, -1) == gap
    assert shown_selection(Selection(range=TimeRange(0, 5)), session, shifts).range == TimeRange(0, 5)
    assert shown_selection(chosen, session, {}) is chosen
    tree = build_tree(session)
    notes = (Note(1, 10, tree[1].lanes[0].key, "a"), Note(2, 10, tree[0].lanes[0].key, "b"), Note(3, 10, "", "c"))
    assert [n.time_ns for n in shown_notes(notes, tree, shifts)] == [87, 10, 10]
