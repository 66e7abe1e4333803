from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import Event, annotation, call, copy, kernel, make_trace, op, python, row_named, sync
from viewer.analyses.attribution import attribute
from viewer.analyses.idle import blocks_host, gap_cause, host_activity, idle, lane_gap_cause
from viewer.base.ids import Paint
from viewer.store.trace import Trace


def launched(at: int, corr: int, start: int, dur: int, name: str = "gemm", **more: object) -> tuple[Event, Event]:
    return call("cudaLaunchKernel", at, 2, corr=corr), kernel(name, start, dur, corr=corr, **more)  # type: ignore[arg-type]


def parts(trace: Trace, window: tuple[int, int] | None = None) -> tuple[int, int, int, int]:
    found = idle(trace, 0, window)
    assert found is not None
    return found.host_ns, found.launch_ns, found.dependency_ns, found.unknown_ns


def test_a_late_host_and_the_launch_itself() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), *launched(40, 2, 60, 10))
    assert parts(trace) == (30, 20, 0, 0)


def test_queued_work_waits_for_a_dependency() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), *launched(10, 2, 60, 10))
    assert parts(trace) == (0, 0, 50, 0)


def test_without_a_link_the_cause_is_unknown() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), kernel("unlinked", 60, 10))
    assert parts(trace) == (0, 0, 0, 50)


def test_a_window_cuts_the_parts_and_the_next_work_may_lie_outside() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), *launched(40, 2, 60, 10))
    assert parts(trace, (20, 50)) == (20, 10, 0, 0)
    assert parts(trace, (20, 30)) == (10, 0, 0, 0)
    assert parts(trace, (45, 65)) == (0, 15, 0, 0)
    assert parts(trace, (65, 90)) == (0, 0, 0, 20)
    assert parts(trace, (-20, 5)) == (0, 0, 20, 0)
    queued = make_trace(*launched(-50, 1, 0, 10), *launched(8, 2, 60, 10))
    assert parts(queued, (20, 50)) == (0, 0, 30, 0)


def test_of_work_that_starts_together_the_first_queued_decides() -> None:
    trace = make_trace(
        *launched(-50, 1, 0, 10),
        *launched(50, 2, 60, 5),
        *launched(30, 3, 60, 10, stream=8),
        kernel("x", 60, 1, stream=9),
    )
    assert parts(trace) == (20, 30, 0, 0)


def test_host_time_goes_to_what_the_thread_did() -> None:
    trace = make_trace(
        *launched(-50, 1, 0, 10),
        python("main", 15, 40),
        op("aten::mm", 20, 10),
        call("cudaMalloc", 24, 2),
        annotation("enumerate(DataLoader)#_Iter.__next__", 40, 8),
        python("fetch", 41, 5),
        *launched(60, 2, 70, 10),
    )
    found = idle(trace, 0)
    assert found is not None
    assert found.host_ns == 50
    assert found.host_causes == {
        "python": 40 - 10 - 8,
        "operator": 8,
        "allocator": 2,
        "data loading": 8,
        "untraced": 10,
    }


def test_idle_after_a_drained_queue_belongs_to_the_blocking_call() -> None:
    trace = make_trace(
        *launched(-50, 1, 0, 10),
        call("cudaStreamSynchronize", -40, 55),
        python("main", 15, 40),
        *launched(60, 2, 70, 10),
    )
    found = idle(trace, 0)
    assert found is not None
    assert found.host_causes == {"sync-drain": 50}
    cause = gap_cause(trace, 0, 10, 70)
    assert cause is not None
    assert cause.drained_by == row_named(trace, "cudaStreamSynchronize")


def test_a_blocking_call_that_was_over_drained_nothing() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), call("cudaStreamSynchronize", -40, 45), *launched(60, 2, 70, 10))
    found = idle(trace, 0)
    assert found is not None
    assert found.host_causes == {"untraced": 50}


def dependency(*events: Event) -> dict[str, int]:
    found = idle(make_trace(*events), 0)
    assert found is not None
    return found.dependency_causes


def test_dependencies_by_kind() -> None:
    first = launched(-50, 1, 0, 10)
    assert dependency(*first, *launched(-40, 2, 3010, 5)) == {"turnaround": 3000}
    assert dependency(*first, *launched(-40, 2, 3011, 5)) == {"unproven": 3001}
    assert dependency(*first, *launched(-40, 2, 60, 5, stream=8)) == {"other stream": 50}
    assert dependency(*launched(-50, 1, 0, 10), *launched(-40, 2, 9000, 5, stream=8)) == {"other stream": 8990}
    copied = (call("cudaMemcpyAsync", -50, 1, corr=1), copy("Memcpy HtoD", 0, 10, corr=1, stream=9))
    assert dependency(*copied, *launched(-40, 2, 60, 5)) == {"copy": 50}
    graph = (
        call("cudaGraphLaunch", -50, 1, corr=1),
        kernel("a", 0, 10, corr=1),
        kernel("b", 9000, 5, corr=1, stream=8),
    )
    assert dependency(*graph) == {"turnaround": 8990}
    waited = sync("Stream Wait Event", 5, 50, stream=8, corr=77)
    assert dependency(*first, *launched(-40, 2, 60, 5, stream=8), waited) == {"event": 50}


def test_causes_are_inferred_without_sync_events() -> None:
    events = (*launched(-50, 1, 0, 10), *launched(-40, 2, 60, 5, stream=8))
    cause = gap_cause(make_trace(*events), 0, 10, 60)
    assert cause is not None
    assert (cause.dependency_cause, cause.inferred) == ("other stream", True)
    proven = gap_cause(make_trace(*events, sync("Stream Wait Event", 5, 50, stream=8)), 0, 10, 60)
    assert proven is not None
    assert (proven.dependency_cause, proven.inferred) == ("event", False)


def test_the_cause_of_one_gap() -> None:
    trace = make_trace(
        *launched(-50, 1, 0, 10, "before"),
        op("aten::mm", 20, 10),
        *launched(60, 2, 70, 10, "after"),
    )
    cause = gap_cause(trace, 0, 10, 70)
    assert cause is not None
    assert (cause.split.host_ns, cause.split.launch_ns, cause.call_start_ns) == (50, 10, 60)
    assert cause.gap.before_row == row_named(trace, "before")
    assert cause.gap.after_row == row_named(trace, "after")
    assert trace.slices.start_ns[cause.call_row] == 60
    assert trace.lanes[cause.lane].tid == "1"
    assert [(h.name, h.paint, h.self_ns) for h in cause.host] == [
        ("", Paint.OTHER, 48),
        ("aten::mm", Paint.OPERATOR, 10),
        ("cudaLaunchKernel", Paint.RUNTIME, 2),
    ]
    assert (cause.drained_by, cause.dependency_cause, cause.busy_elsewhere_ns) == (-1, "", 0)
    part = gap_cause(trace, 0, 20, 50)
    assert part is not None
    assert (part.split.host_ns, part.gap.whole_start_ns, part.gap.whole_end_ns) == (30, 10, 70)


def test_a_range_with_work_is_no_gap_of_the_device() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), *launched(60, 2, 70, 10))
    assert gap_cause(trace, 0, 5, 70) is None
    assert gap_cause(trace, 0, 10, 10) is None
    assert gap_cause(trace, 3, 10, 70) is None
    assert gap_cause(make_trace(), 0, 10, 70) is None


def test_the_gap_of_one_stream_may_hide_under_another() -> None:
    trace = make_trace(*launched(-50, 1, 0, 10), *launched(-45, 2, 5, 40, "other", stream=8), *launched(60, 3, 70, 10))
    lane = trace.lane_of(row_named(trace, "other")).id
    own = next(item.id for item in trace.lanes if item.stream == 7)
    cause = lane_gap_cause(trace, own, 10, 70)
    assert cause is not None
    assert (cause.split.host_ns, cause.split.launch_ns, cause.busy_elsewhere_ns) == (50, 10, 35)
    last = lane_gap_cause(trace, lane, 45, 80)
    assert last is not None
    assert (last.split.unknown_ns, last.gap.after_row, last.busy_elsewhere_ns) == (35, -1, 10)
    assert lane_gap_cause(trace, len(trace.lanes) - 1, 10, 70) is None
    assert lane_gap_cause(trace, own, 70, 10) is None


def test_host_activity_sums_runs_of_one_slice() -> None:
    trace = make_trace(op("outer", 0, 100), op("inner", 40, 10), op("empty", 60, 0))
    lane = trace.lane_of(row_named(trace, "outer")).id
    found = host_activity(trace, lane, 20, 120)
    assert [(h.name, h.self_ns) for h in found] == [("outer", 70), ("", 20), ("inner", 10)]
    assert [h.name for h in host_activity(trace, lane, 20, 120, top=1)] == ["outer"]
    assert [(h.name, h.self_ns) for h in host_activity(trace, lane, -20, -10)] == [("", 10)]


def test_without_gpu_work_there_is_no_idle_time() -> None:
    assert idle(make_trace(call("cudaLaunchKernel", 0, 1)), 0) is None


@st.composite
def launches(draw: st.DrawFn) -> list[Event]:
    out: list[Event] = []
    for corr in range(1, draw(st.integers(1, 8)) + 1):
        at, start = draw(st.integers(-20, 60)), draw(st.integers(0, 80))
        linked = draw(st.booleans())
        name = draw(st.sampled_from(["cudaLaunchKernel", "cudaMemcpy", "cudaGraphLaunch"]))
        out.append(call(name, at, draw(st.integers(0, 9)), corr=corr, tid=draw(st.integers(1, 2))))
        stream = draw(st.integers(1, 2))
        out.append(kernel("gemm", start, draw(st.integers(0, 9)), corr=corr if linked else None, stream=stream))
    for _ in range(draw(st.integers(0, 3))):
        out.append(python("main", draw(st.integers(-20, 60)), draw(st.integers(0, 30))))
        out.append(call("cudaDeviceSynchronize", draw(st.integers(-20, 60)), draw(st.integers(0, 20)), tid=2))
    return out


@settings(deadline=None)
@given(launches(), st.integers(-10, 90), st.integers(1, 60))
def test_parts_sum_to_idle_and_gaps_sum_to_parts(events: list[Event], low: int, length: int) -> None:
    trace = make_trace(*events)
    for window in (None, (low, low + length)):
        found, figures = idle(trace, 0, window), attribute(trace, 0, window)
        assert found is not None
        assert figures is not None
        assert found.idle_ns == figures.idle_ns
        assert sum(found.host_causes.values()) == found.host_ns
        assert sum(found.dependency_causes.values()) == found.dependency_ns


@pytest.mark.parametrize(
    ("name", "blocking"),
    [
        ("cudaDeviceSynchronize", True),
        ("cudaStreamSynchronize", True),
        ("cudaEventSynchronize", True),
        ("cuStreamSynchronize", True),
        ("hipDeviceSynchronize", True),
        ("cudaMemcpy", True),
        ("hipMemcpy", True),
        ("hipMemcpyWithStream", True),
        ("cudaFree", True),
        ("cudaMemcpyAsync", False),
        ("cudaStreamWaitEvent", False),
        ("cudaEventQuery", False),
        ("cudaLaunchKernel", False),
        ("cudaFreeAsync", False),
    ],
)
def test_calls_that_wait_for_the_device(name: str, blocking: bool) -> None:
    assert blocks_host(name) is blocking
