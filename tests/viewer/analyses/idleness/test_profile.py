"""Gap list, sums by step, launch-bound stretches, sites of calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.support.build import Event, annotation, call, kernel, make_trace, op, python, row_named, rows_named
from tests.viewer.analyses.idleness.test_parts import jobs, launched
from viewer.analyses.idle import idle
from viewer.analyses.idleness.gap_list import MOST_PARTS
from viewer.analyses.idleness.launch_bound import LEAST_KERNELS, LONGEST_NS, launch_bound
from viewer.analyses.idleness.parts import CAUSES, CODE
from viewer.analyses.idleness.profile import Idleness, idleness, idleness_in
from viewer.analyses.idleness.sites import site_of
from viewer.store.trace import Trace


def found(trace: Trace) -> Idleness:
    out = idleness(trace, 0)
    assert out is not None
    return out


def two_steps() -> Trace:
    return make_trace(
        annotation("ProfilerStep#7", -60, 110),
        annotation("ProfilerStep#8", 50, 100),
        *launched(-50, 1, 0, 10, "first"),
        python("train.py(3): loop", 12, 20),
        *launched(30, 2, 35, 5, "second"),
        annotation("enumerate(DataLoader)#_Iter.__next__", 52, 20),
        *launched(75, 3, 80, 10, "third"),
        *launched(85, 4, 95, 5, "fourth"),
    )


def test_gaps_longest_first_with_neighbours_and_step() -> None:
    trace = two_steps()
    book = found(trace).book
    assert [(g.start_ns, g.length_ns, g.cause, g.step, g.between) for g in book.gaps] == [
        (40, 40, "data loading", 1, True),
        (10, 25, "python", 0, False),
        (90, 5, "turnaround", 1, False),
    ]
    first = book.gaps[0]
    assert [(p.cause, p.ns) for p in first.parts] == [
        ("untraced", 12),
        ("data loading", 20),
        ("untraced", 3),
        ("launch", 5),
    ]
    assert first.culprit_row == row_named(trace, "enumerate(DataLoader)#_Iter.__next__")
    assert (first.before_row, first.after_row) == (row_named(trace, "second"), row_named(trace, "third"))
    assert first.call_row == rows_named(trace, "cudaLaunchKernel")[2]
    assert first.ns_of("untraced") == 15
    assert (book.count, book.idle_ns, book.sums["data loading"], book.counts["launch"]) == (3, 70, 20, 2)


def test_sums_by_step_and_between_steps() -> None:
    result = found(two_steps())
    assert result.of(("python",)).tolist() == [18, 0]
    assert result.before[:, CODE["data loading"]].tolist() == [0, 20]
    assert result.inside.sum(axis=1).tolist() == [25, 5]
    assert int(result.outside.sum()) == 0


def test_only_the_longest_of_each_cause_are_listed() -> None:
    events: list[Event] = launched(-50, 1, 0, 10)
    for i in range(6):  # five long gaps of Python and one short of an operator
        at = 100 * (i + 1)
        if i == 5:
            events += [op("aten::mm", at - 60, 30)]
            events += launched(at - 70, 10 + i, at - 69, 1)
        events += launched(at, 20 + i, at, 5)
    trace = make_trace(*events)
    few = idleness_in(trace, 0, None, most=2)
    assert few is not None
    assert few.book.count == 7
    assert "operator" in {p.cause for g in few.book.gaps for p in g.parts}
    assert len(few.book.gaps) < 7
    lengths = [g.length_ns for g in few.book.gaps]
    assert lengths == sorted(lengths, reverse=True)


def test_a_window_cuts_gaps() -> None:
    part = idleness_in(two_steps(), 0, (50, 78))
    assert part is not None
    assert [(g.start_ns, g.end_ns) for g in part.book.gaps] == [(50, 78)]
    assert part.book.sums == {"untraced": 5, "data loading": 20, "launch": 3}
    assert idleness(make_trace(call("cudaLaunchKernel", 0, 1)), 0) is None
    assert idleness(make_trace(kernel("a", 0, 5)), 3) is None


def test_many_parts_are_listed_as_few() -> None:
    steps = [e for i in range(2 * MOST_PARTS) for e in (op("aten::a", 20 + 10 * i, 5), python("f", 25 + 10 * i, 5))]
    trace = make_trace(*launched(-50, 1, 0, 10), *steps, *launched(5_000, 2, 5_010, 5))
    (gap,) = found(trace).book.gaps
    assert MOST_PARTS <= len(gap.parts) <= MOST_PARTS + 3
    assert sum(p.ns for p in gap.parts) == gap.length_ns


@given(jobs())
def test_all_sums_are_the_idle_time(events: list[Event]) -> None:
    trace = make_trace(annotation("ProfilerStep#1", -30, 40), annotation("ProfilerStep#2", 10, 30), *events)
    for window in (None, (5, 40)):
        result, split = idleness_in(trace, 0, window), idle(trace, 0, window)
        assert (result is None) == (split is None)
        if result is None or split is None:
            continue
        assert result.book.idle_ns == split.idle_ns
        of_causes = result.inside.sum(axis=0) + result.before.sum(axis=0) + result.outside
        told = {**split.host_causes, **split.launch_causes, **split.dependency_causes, "unknown": split.unknown_ns}
        assert {CAUSES[i]: int(ns) for i, ns in enumerate(of_causes) if ns} == {k: v for k, v in told.items() if v}
        for gap in result.book.gaps:
            assert sum(p.ns for p in gap.parts) == gap.length_ns


def eager(n: int, *, first: int = 0, every: int = 40_000, busy: int = 5_000, took: int = 6_000) -> list[Event]:
    """Kernels of ``busy`` ns launched one by one, each 8 us after its call began."""
    out: list[Event] = []
    for i in range(n):
        at = (first + i) * every
        out += launched(at, first + i + 1, at + 8_000, busy, took=took)
    return out


def test_a_run_of_kernels_that_wait_for_their_launch() -> None:
    (one,) = launch_bound(make_trace(*eager(12)), 0)
    assert (one.kernels, one.waiting, one.wait_ns, one.idle_ns) == (11, 11, 11 * 35_000, 11 * 35_000)
    assert (one.start_ns, one.end_ns, one.busy_ns) == (13_000, 11 * 40_000 + 13_000, 11 * 5_000)
    assert launch_bound(make_trace(*eager(LEAST_KERNELS)), 0) == (), "too few"
    assert launch_bound(make_trace(*eager(12, every=LONGEST_NS + 10_000)), 0) == (), "the host does something else"


def test_queued_kernels_are_not_launch_bound() -> None:
    queued = [e for i in range(20) for e in launched(i * 6_000, i + 1, 200_000 + i * 30_000, 29_000, took=5_000)]
    assert launch_bound(make_trace(*queued), 0) == ()
    graph = [call("cudaGraphLaunch", 0, 5_000, corr=1)]
    graph += [kernel("k", 9_000 + i * 4_000, 2_000, corr=1) for i in range(20)]
    trace = make_trace(*graph)
    assert launch_bound(trace, 0) == ()
    assert found(trace).in_graph.tolist() == [19 * 2_000], "they are inside a graph"


def test_a_longer_kernel_now_and_then_does_not_end_a_stretch() -> None:
    head, tail = eager(10), eager(10, first=12)
    long = [*launched(10 * 40_000, 98, 10 * 40_000 + 8_000, 71_000, took=6_000)]
    long += launched(11 * 40_000, 99, 10 * 40_000 + 79_000, 5_000, took=6_000)
    (one,) = launch_bound(make_trace(*head, *long, *tail), 0)
    assert one.kernels == 21
    assert one.waiting == 20
    synced = call("cudaStreamSynchronize", 9 * 40_000 + 9_000, 10_000)
    two = launch_bound(make_trace(*eager(20), synced), 0)
    assert [s.waiting for s in two] == [9, 9], "what follows a synchronisation is not launching"


def test_communication_meanwhile_hides_no_launch_but_is_no_idle_time() -> None:
    reduce = kernel("ncclDevKernel_AllReduce", 0, 12 * 40_000, stream=20)
    (one,) = launch_bound(make_trace(*eager(12), reduce), 0)
    assert (one.wait_ns, one.idle_ns) == (11 * 35_000, 0)


@pytest.mark.parametrize(
    ("frames", "line"),
    [
        (["train.py(10): main", "/x/lib/python3.11/site-packages/torch/nn/modules/module.py(5): _call_impl"], 0),
        (["train.py(10): main", "model.py(30): forward", "<built-in method item of Tensor object at 0x7f>"], 1),
        (["torch/optim/adam.py(7): step", "torch/utils/_contextlib.py(3): wrap"], 1),
        (["my_torch/run.py(2): go"], 0),
        (["<built-in function exec>"], None),
    ],
)
def test_the_line_is_the_programs_own(frames: list[str], line: int | None) -> None:
    nested = [python(name, i, 100 - 2 * i) for i, name in enumerate(frames)]
    trace = make_trace(
        *nested, op("aten::item", 20, 30), op("aten::_local", 21, 20), call("cudaStreamSynchronize", 25, 5)
    )
    site = site_of(trace, row_named(trace, "cudaStreamSynchronize"))
    assert site.line == ("" if line is None else frames[line])
    assert site.frame_row == (-1 if line is None else row_named(trace, frames[line]))
    assert site.operator_row == row_named(trace, "aten::item")


def test_the_line_of_a_recorded_call_stack() -> None:
    stack = "torch/functional.py(20): einsum; train.py(12): loss; train.py(40): main"
    trace = make_trace(op("aten::item", 0, 30, args={"Call stack": stack}), call("cudaStreamSynchronize", 5, 5))
    assert site_of(trace, row_named(trace, "cudaStreamSynchronize")).line == "train.py(12): loss"
    assert site_of(trace, -1).line == ""


def test_a_stretch_knows_its_step() -> None:
    trace = make_trace(annotation("ProfilerStep#3", -5, 2_000_000), *eager(12))
    result = found(trace)
    assert result.launching.tolist() == [11 * 35_000, 0]
    assert np.array_equal(result.in_graph, [0, 0])
