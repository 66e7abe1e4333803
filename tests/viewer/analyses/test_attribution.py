from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import brute
from tests.support.build import Event, copy, kernel, make_trace, row_named
from viewer.analyses.attribution import (
    DeviceFigures,
    attribute,
    attribute_many,
    device_gaps,
    figures_of,
    gap_at,
    largest_blocks,
    largest_gaps,
    touching,
)
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import Paint
from viewer.store.trace import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def two_comm_streams() -> Trace:
    return make_trace(
        kernel(NCCL, 0, 30, stream=20),
        kernel(NCCL, 5, 10, stream=21),
        kernel("gemm", 5, 20),
        kernel("elementwise", 10, 5, stream=8),
        copy("Memcpy DtoH (Device -> Pinned)", 28, 5),
        kernel("gemm", 40, 1),
    )


def test_unions_and_the_identity() -> None:
    found = attribute(two_comm_streams(), 0)
    assert found == DeviceFigures(
        gpu_events=6,
        comm_ns=30,
        compute_ns=21,
        memory_ns=5,
        overlap_ns=20,
        comm_exposed_ns=10,
        memory_exposed_ns=3,
        busy_ns=34,
        span_ns=41,
        idle_ns=7,
    )


def test_a_window_cuts_at_both_borders() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel(NCCL, 5, 10, stream=20), kernel("b", 30, 10), kernel("c", 50, 10))
    found = attribute(trace, 0, (8, 35))
    assert found is not None
    assert (found.gpu_events, found.compute_ns, found.comm_ns, found.comm_exposed_ns) == (3, 7, 7, 5)
    assert (found.span_ns, found.idle_ns) == (27, 15)


def test_a_window_without_work_is_idle_and_an_empty_window_is_nothing() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel("b", 100, 10))
    found = attribute(trace, 0, (20, 50))
    assert found is not None
    assert (found.gpu_events, found.idle_ns, found.span_ns) == (0, 30, 30)
    outside = attribute(trace, 0, (-100, -50))
    assert outside is not None
    assert outside.idle_ns == 50
    assert attribute(trace, 0, (20, 20)) is None
    assert attribute(trace, 0, (20, 10)) is None


def test_without_gpu_work_there_are_no_figures() -> None:
    trace = make_trace()
    assert attribute(trace, 0) is None
    assert attribute(trace, 0, (0, 10)) is None
    assert largest_blocks(trace, 0) == []
    assert largest_gaps(trace, 0) == []
    assert attribute(make_trace(kernel("a", 0, 1)), 3) is None


def test_devices_are_apart() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel("b", 5, 10, device=1))
    assert [getattr(attribute(trace, d), "busy_ns", None) for d in (0, 1)] == [10, 10]


def test_work_without_a_duration_touches_where_it_starts() -> None:
    trace = make_trace(kernel("empty", 10, 0), kernel("a", 20, 10))
    assert touching(trace, 0, (10, 15)) == 1
    assert touching(trace, 0, (5, 10)) == 0
    assert touching(trace, 0, (20, 30)) == 1
    assert touching(trace, 0, (30, 40)) == 0
    whole = attribute(trace, 0)
    assert whole is not None
    assert (whole.gpu_events, whole.span_ns, whole.idle_ns) == (2, 20, 10)


def test_figures_that_do_not_add_up_are_refused() -> None:
    good = attribute(two_comm_streams(), 0)
    assert good is not None
    with pytest.raises(AssertionError, match="add up"):
        dataclasses.replace(good, idle_ns=good.idle_ns + 1)


names = st.sampled_from(["gemm", NCCL, "Memcpy DtoD"])


@st.composite
def gpu_events(draw: st.DrawFn) -> list[Event]:
    base = draw(st.sampled_from([0, 2**61, -(2**61)]))
    out = []
    for _ in range(draw(st.integers(1, 10))):
        name = draw(names)
        make = copy if name.startswith("Memcpy") else kernel
        start = base + draw(st.integers(0, 30))
        out.append(make(name, start, draw(st.integers(0, 12)), stream=draw(st.integers(1, 3))))
    return out


@settings(deadline=None)
@given(gpu_events(), st.integers(-5, 45), st.integers(1, 30))
def test_as_a_count_of_coverage(events: list[Event], offset: int, length: int) -> None:
    trace = make_trace(*events)
    class_of = {"gemm": "compute", NCCL: "comm", "Memcpy DtoD": "memory"}
    work = [{"class": class_of[e.name], "start": e.start, "end": e.start + e.dur} for e in events]
    found = attribute(trace, 0)
    assert found is not None
    assert dataclasses.asdict(found) == brute.figures(work)
    gpu = gpu_work(trace)
    assert figures_of(gpu.start_ns, gpu.end_ns, gpu.paint) == found
    low = min(e.start for e in events) + offset
    window = (low, low + length)
    cut = attribute(trace, 0, window)
    assert cut is not None
    assert dataclasses.asdict(cut) == brute.figures(work, window)
    start, end = device_gaps(trace, 0, window)
    assert int((end - start).sum()) == cut.idle_ns
    many = attribute_many(trace, 0, np.array([window[0], low]), np.array([window[1], low]))
    assert many is not None
    for name in ("span_ns", "compute_ns", "comm_exposed_ns", "memory_exposed_ns", "idle_ns"):
        assert getattr(many, name).tolist() == [getattr(cut, name), 0]


def test_blocks_are_by_name_with_sums_cut_to_the_window() -> None:
    trace = make_trace(
        kernel("gemm", 0, 10), kernel("gemm", 5, 30, stream=8), kernel(NCCL, 50, 20, stream=20), kernel("tiny", 80, 1)
    )
    blocks = largest_blocks(trace, 0)
    assert [(b.name, b.paint, b.count, b.sum_ns, b.union_ns) for b in blocks] == [
        ("gemm", Paint.COMPUTE, 2, 40, 35),
        (NCCL, Paint.COMM, 1, 20, 20),
        ("tiny", Paint.COMPUTE, 1, 1, 1),
    ]
    assert (blocks[0].longest_start_ns, blocks[0].longest_end_ns) == (5, 35)
    assert trace.slices.start_ns[blocks[0].longest_row] == 5
    cut = largest_blocks(trace, 0, (30, 60))
    assert [(b.name, b.count, b.sum_ns) for b in cut] == [(NCCL, 1, 10), ("gemm", 1, 5)]
    assert cut[0].longest_end_ns == 70
    assert [b.name for b in largest_blocks(trace, 0, top=1)] == ["gemm"]


def test_blocks_of_equal_size_are_by_name() -> None:
    trace = make_trace(*(kernel(name, 10 * i, 5) for i, name in enumerate("dacb")))
    assert [b.name for b in largest_blocks(trace, 0, top=3)] == ["a", "b", "c"]


def test_a_kernel_with_two_classes_makes_two_blocks() -> None:
    trace = make_trace(kernel("generic", 0, 10), kernel("generic", 20, 5, collective="allreduce"))
    assert [(b.name, b.paint, b.sum_ns) for b in largest_blocks(trace, 0)] == [
        ("generic", Paint.COMPUTE, 10),
        ("generic", Paint.COMM, 5),
    ]


def test_gaps_of_the_device_longest_first() -> None:
    trace = make_trace(
        kernel("a", 0, 10), kernel("b", 15, 5), kernel("spans", 5, 3, stream=8), kernel("c", 40, 1), kernel("d", 46, 1)
    )
    gaps = largest_gaps(trace, 0)
    assert [(g.start_ns, g.end_ns, g.length_ns) for g in gaps] == [(20, 40, 20), (10, 15, 5), (41, 46, 5)]
    assert gaps[0].before_row == row_named(trace, "b")
    assert gaps[0].after_row == row_named(trace, "c")
    assert gaps[1].before_row == row_named(trace, "a")
    assert [g.start_ns for g in largest_gaps(trace, 0, top=1)] == [20]


def test_gaps_in_a_window_are_cut_and_know_their_whole() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel("b", 30, 10))
    inside, after = sorted(largest_gaps(trace, 0, (15, 60)), key=lambda g: g.start_ns)
    assert (inside.start_ns, inside.end_ns, inside.whole_start_ns, inside.whole_end_ns) == (15, 30, 10, 30)
    assert (after.start_ns, after.end_ns, after.before_row, after.after_row) == (40, 60, row_named(trace, "b"), -1)
    (first,) = largest_gaps(trace, 0, (-20, 5))
    assert (first.start_ns, first.end_ns, first.before_row, first.after_row) == (-20, 0, -1, row_named(trace, "a"))


def test_gap_neighbours_on_a_busy_device() -> None:
    trace = make_trace(kernel("long", 0, 50), kernel("short", 10, 5, stream=8), kernel("next", 60, 5, stream=8))
    gap = gap_at(trace, 0, 50, 60)
    assert (gap.before_row, gap.after_row) == (row_named(trace, "long"), row_named(trace, "next"))
