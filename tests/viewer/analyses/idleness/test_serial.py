from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.build import Event, call, copy, kernel, make_trace, row_named, sync
from viewer.analyses.idleness.serial import SOON_NS, Serial, serial_streams


def work(name: str, at: int, start: int, dur: int, corr: int, **more: int) -> list[Event]:
    return [call("cudaLaunchKernel", at, 2, corr=corr), kernel(name, start, dur, corr=corr, **more)]


def found(*events: Event) -> list[tuple[str, int, int]]:
    return [(s.forced, s.count, s.possible_ns) for s in serial_streams(make_trace(*events), 0)]


COMPUTE = work("gemm", 0, 100, 500, 1)


def test_a_recorded_wait_for_an_event() -> None:
    reduce = work("ncclDevKernel_AllReduce", 10, 610, 200, 2, stream=20)
    assert found(*COMPUTE, *reduce, sync("Stream Wait Event", 20, 585, stream=20)) == [("event", 1, 200)]
    assert found(*COMPUTE, *reduce) == [("unproven", 1, 200)], "nothing recorded says why"
    assert found(*COMPUTE, *reduce, call("cudaStreamWaitEvent", 5, 2)) == [("queued wait", 1, 200)]
    assert found(*COMPUTE, *reduce, call("cudaStreamWaitEvent", 15, 2)) == [("unproven", 1, 200)], "after both"


def test_a_launch_that_came_late_and_one_that_a_synchronisation_held_back() -> None:
    late = work("other", 605, 615, 50, 2, stream=9)
    assert found(*COMPUTE, *late) == [("launch order", 1, 50)]
    assert found(*COMPUTE, *late, call("cudaStreamSynchronize", 50, 552)) == [("synchronisation", 1, 50)]
    assert found(*COMPUTE, *late, call("cudaStreamSynchronize", 10, 20)) == [("launch order", 1, 50)]


def test_communication_upon_the_computing_stream() -> None:
    reduce = work("ncclDevKernel_AllReduce", 10, 601, 200, 2)
    more = work("gemm2", 20, 802, 100, 3)
    assert found(*COMPUTE, *reduce, *more) == [("same stream", 2, 300)]
    assert found(*COMPUTE, *work("gemm2", 20, 602, 100, 3)) == [], "compute after compute could hide nothing"


def test_what_overlaps_or_lies_far_apart_or_in_one_graph_is_no_pair() -> None:
    assert found(*COMPUTE, *work("other", 10, 400, 500, 2, stream=9)) == []
    assert found(*COMPUTE, *work("other", 10, 600 + SOON_NS + 1, 500, 2, stream=9)) == []
    graph = [call("cudaGraphLaunch", 0, 2, corr=1), kernel("a", 10, 5, corr=1), kernel("b", 16, 5, corr=1, stream=9)]
    assert found(*graph) == []


def test_pairs_are_summed_with_the_largest_as_example() -> None:
    events = [*COMPUTE, *work("x", 10, 610, 200, 2, stream=20), *work("gemm", 20, 820, 300, 3)]
    events += work("y", 30, 1130, 250, 4, stream=20)
    trace = make_trace(*events, copy("Memcpy", 5_000_000, 5))
    first, second = serial_streams(trace, 0)
    assert (first.count, first.possible_ns, first.second_row) == (2, 450, row_named(trace, "y"))
    assert (second.count, second.possible_ns, second.first_row) == (1, 200, row_named(trace, "x"))
    assert serial_streams(trace, 3) == ()


@example([(0, 1, 2), (1, 2, 1), (1, 2, 2)])
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(1, 20), st.integers(1, 3)), max_size=10))
def test_by_search(rows: list[tuple[int, int, int]]) -> None:
    """Every pair by looking at all works: who ended last before each one, and how much they could share."""
    events = [kernel(f"k{i}", at, dur, stream=lane) for i, (at, dur, lane) in enumerate(rows)]
    trace = make_trace(*events)
    got: list[Serial] = list(serial_streams(trace, 0)) if events else []
    want = 0
    for at, dur, lane in rows:
        before = [r for r in rows if r[0] < at]
        if not before:
            continue
        last = max(before, key=lambda r: r[0] + r[1])
        ends = [r for r in before if r[0] + r[1] == last[0] + last[1]]
        if last[0] + last[1] <= at and len(ends) == 1 and last[2] != lane:
            want += min(last[1], dur)
        elif last[0] + last[1] <= at and len(ends) > 1:
            return  # which of them ended last is a matter of order
    assert sum(s.possible_ns for s in got) == want
    assert all(s.forced == "unproven" for s in got)
