from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import Event, annotation, call, kernel, make_trace, op, python, rows_named
from viewer.analyses.attribution import attribute, device_gaps
from viewer.analyses.collective.rank_steps import host_idle
from viewer.analyses.host_time import HOST_CAUSES, special_cause
from viewer.analyses.idle import idle
from viewer.analyses.idleness.parts import CAUSES, Parts, gap_parts
from viewer.analyses.idleness.split import Split, device_split
from viewer.base.ids import Paint
from viewer.store.trace import Trace


def launched(
    at: int, corr: int, start: int, dur: int, name: str = "gemm", *, took: int = 2, **more: int
) -> list[Event]:
    thread = {"tid": more.pop("tid")} if "tid" in more else {}
    return [call("cudaLaunchKernel", at, took, corr=corr, **thread), kernel(name, start, dur, corr=corr, **more)]


def parts_of(trace: Trace) -> tuple[Split, Parts]:
    split = device_split(trace, 0, *device_gaps(trace, 0))
    return split, gap_parts(trace, 0, split)


def listed(*events: Event) -> list[tuple[str, int, str]]:
    """(cause, ns, name of the slice that tells it) of all parts, in order."""
    trace = make_trace(*events)
    _, parts = parts_of(trace)
    return [
        (CAUSES[c], int(e - s), trace.name(int(r)) if r >= 0 else "")
        for c, s, e, r in zip(parts.cause, parts.start, parts.end, parts.row, strict=True)
    ]


def test_parts_follow_the_host_in_order() -> None:
    assert listed(
        *launched(-50, 1, 0, 10),
        python("main", 15, 40),
        op("aten::mm", 20, 10),
        *launched(60, 2, 70, 10),
    ) == [
        ("untraced", 5, ""),
        ("python", 5, "main"),
        ("operator", 10, "aten::mm"),
        ("python", 25, "main"),
        ("untraced", 5, ""),
        ("launch", 10, "cudaLaunchKernel"),
    ]


def test_a_part_is_told_by_what_took_longest_in_it() -> None:
    assert listed(
        *launched(-50, 1, 0, 10),
        op("aten::a", 10, 9),
        op("aten::b", 19, 30),
        op("aten::a", 49, 11),
        *launched(60, 2, 60, 1),
    ) == [("operator", 50, "aten::b")]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data loading"),
        ("torch/utils/data/dataloader.py(701): __next__", "data loading"),
        ("## load_batch ##", "data loading"),
        ("cudaMalloc", "allocator"),
        ("cudaFreeHost", "allocator"),
        ("hipMalloc", "allocator"),
        ("cuMemMap", "allocator"),
        ("torch/cuda/memory.py(192): empty_cache", "allocator"),
        ("Python GC", "garbage collection"),
        ("<built-in function collect>", "garbage collection"),
        ("entire_frame_compile (dynamo_timed)", "recompilation"),
        ("entire_frame_compile", "recompilation"),
        ("GC", "garbage collection"),
        ("torch/_dynamo/convert_frame.py(1100): _compile", "recompilation"),
        ("torch/_inductor/compile_fx.py(700): _compile_fx_inner", "recompilation"),
        ("/x/site-packages/triton/compiler/compiler.py(234): compile", "recompilation"),
        ("cuModuleLoadData", "recompilation"),
        # what compiled code does in every step
        ("TorchDynamo Cache Lookup", ""),
        ("Torch-Compiled Region: 0/0", ""),
        ("## Call CompiledFxGraph fabc ##", ""),
        ("torch/_inductor/runtime/triton_heuristics.py(1029): run", ""),
        ("triton/compiler/compiler.py(420): launch_metadata", ""),
        ("triton/compiler/compiler.py(410): _init_handles", ""),
        ("torch/compiler/__init__.py(5): is_compiling", ""),
        ("torch/_dynamo/eval_frame.py(600): _fn", ""),
        ("cudaMemcpyAsync", ""),
        ("aten::batch_norm", ""),
        ("megatron/training.py(1): train_step", ""),
    ],
)
def test_names_that_stand_for_a_cause(name: str, cause: str) -> None:
    assert special_cause(name) == cause


def test_everything_inside_a_special_range_is_of_its_kind() -> None:
    assert listed(
        *launched(-50, 1, 0, 10),
        annotation("enumerate(DataLoader)#_Iter.__next__", 10, 40),
        call("cudaHostAlloc", 15, 5),  # pinning memory is part of loading
        python("Python GC", 30, 6),  # a collection is one wherever it strikes
        op("aten::copy_", 40, 5),
        *launched(60, 2, 60, 1),
    ) == [
        ("data loading", 20, "enumerate(DataLoader)#_Iter.__next__"),
        ("garbage collection", 6, "Python GC"),
        ("data loading", 14, "enumerate(DataLoader)#_Iter.__next__"),
        ("untraced", 10, ""),
    ]


def test_the_mark_of_a_step_tells_nothing_of_what_was_done() -> None:
    marked = [annotation("ProfilerStep#3", -60, 200), annotation("forward", 20, 10)]
    assert listed(*launched(-50, 1, 0, 10), *marked, *launched(60, 2, 60, 1)) == [
        ("untraced", 10, ""),
        ("annotation", 10, "forward"),
        ("untraced", 30, ""),
    ]


def test_compiling_claims_its_allocations() -> None:
    assert listed(
        *launched(-50, 1, 0, 10),
        annotation("compile_fx_inner (dynamo_timed)", 10, 40),
        call("cuMemCreate", 15, 5),
        *launched(50, 2, 50, 1),
    ) == [("recompilation", 40, "compile_fx_inner (dynamo_timed)")]


def test_after_a_drain_collections_and_loading_remain_their_own() -> None:
    assert listed(
        *launched(-50, 1, 0, 10),
        call("cudaStreamSynchronize", -40, 52),
        python("Python GC", 20, 10),
        *launched(60, 2, 60, 1),
    ) == [
        ("sync-drain", 10, "cudaStreamSynchronize"),
        ("garbage collection", 10, "Python GC"),
        ("sync-drain", 30, "cudaStreamSynchronize"),
    ]


def test_a_free_that_drained_the_queue_is_the_allocators() -> None:
    assert listed(*launched(-50, 1, 0, 10), call("cudaFree", -40, 60), *launched(60, 2, 60, 1)) == [
        ("allocator", 50, "cudaFree")
    ]


def test_a_drain_holds_until_its_thread_queues_again_whatever_others_run() -> None:
    """The synchronisation is over; a send that another thread launched meanwhile was the last to run."""
    drained = [
        *launched(-50, 1, 0, 10),
        call("cudaStreamSynchronize", -40, 51),
        *launched(5, 2, 8, 12, "send", tid=2, stream=28),
        python("check", 12, 46),
        *launched(60, 3, 60, 1),
    ]
    assert listed(*drained) == [("sync-drain", 40, "cudaStreamSynchronize")]
    queued_since = [e for e in drained if e.name != "check"] + launched(14, 4, 15, 3)
    assert [c for c, _, _ in listed(*queued_since)] == ["untraced"]
    waited_for_nothing = [*launched(-50, 1, 0, 30), call("cudaStreamSynchronize", 5, 1), *launched(60, 3, 60, 1)]
    assert [c for c, _, _ in listed(*waited_for_nothing)] == ["untraced"]


def test_another_threads_wait_counts_only_when_this_one_was_not_at_work() -> None:
    def job(*more: Event) -> list[tuple[str, int, str]]:
        return listed(
            *launched(-50, 1, 0, 10, tid=2),
            call("cudaStreamSynchronize", -40, 55, tid=2),
            *more,
            *launched(60, 2, 60, 1),
        )

    assert job() == [("sync-drain", 50, "cudaStreamSynchronize")]
    assert [c for c, _, _ in job(op("aten::mm", 5, 50))] == ["operator", "untraced"]
    watchdog = listed(*launched(-50, 1, 0, 10), call("cudaEventSynchronize", -40, 55, tid=9), *launched(60, 2, 60, 1))
    assert [c for c, _, _ in watchdog] == ["untraced"], "a thread that launches nothing holds nothing up"


def test_where_the_launching_thread_has_nothing_open_the_one_before_tells() -> None:
    """Backward begins on a thread of its own; until then the main thread was at work."""
    assert listed(
        *launched(-50, 1, 0, 10),
        op("aten::ones_like", 12, 20),
        op("autograd::engine", 50, 20, tid=2),
        *launched(60, 2, 60, 1, tid=2),
    ) == [
        ("untraced", 2, ""),
        ("operator", 20, "aten::ones_like"),
        ("untraced", 18, ""),
        ("operator", 10, "autograd::engine"),
    ]


def test_work_that_starts_long_after_its_launch_is_a_slow_start() -> None:
    first = launched(-50, 1, 0, 10)
    assert listed(*first, *launched(20, 2, 22 + 20_000, 5)) == [
        ("untraced", 10, ""),
        ("launch", 20_002, "cudaLaunchKernel"),
    ]
    slow = listed(*first, *launched(20, 2, 22 + 20_000, 5), *launched(30_000, 3, 30_002 + 70_000, 5))
    assert [c for c, _, _ in slow] == ["untraced", "launch", "untraced", "launch"], "4 x the median of 20 and 70 us"
    slow = listed(*first, *launched(20, 2, 25, 5), *launched(40, 3, 45, 5), *launched(60, 4, 50_000, 5))
    assert slow[-2:] == [
        ("launch", 20_002, "cudaLaunchKernel"),
        ("slow start", 50_000 - 62 - 20_000, "cudaLaunchKernel"),
    ]


def test_a_call_that_had_not_returned_was_still_launching() -> None:
    first = launched(-50, 1, 0, 10)
    assert listed(*first, *launched(5, 2, 60, 5, took=40)) == [("launch in flight", 50, "cudaLaunchKernel")]
    assert listed(*first, *launched(5, 2, 60, 5, took=5)) == [("turnaround", 50, "gemm")]


@st.composite
def jobs(draw: st.DrawFn) -> list[Event]:
    out: list[Event] = []
    for corr in range(1, draw(st.integers(2, 8)) + 1):
        at, start = draw(st.integers(-20, 60)), draw(st.integers(0, 80))
        name = draw(st.sampled_from(["cudaLaunchKernel", "cudaMemcpy", "cudaGraphLaunch"]))
        tid = draw(st.integers(1, 2))
        out.append(call(name, at, draw(st.integers(0, 30)), corr=corr, tid=tid))
        linked = draw(st.booleans())
        out.append(kernel("gemm", start, draw(st.integers(0, 9)), corr=corr if linked else None, stream=tid))
    names = ["main", "cudaMalloc", "cudaDeviceSynchronize", "Python GC", "DataLoader", "x (dynamo_timed)", "cudaFree"]
    for _ in range(draw(st.integers(0, 6))):
        name = draw(st.sampled_from(names))
        make = call if name.startswith("cuda") else python
        out.append(make(name, draw(st.integers(-20, 70)), draw(st.integers(0, 40)), tid=draw(st.integers(1, 2))))
    return out


@given(jobs())
def test_parts_tile_the_gaps(events: list[Event]) -> None:
    trace = make_trace(*events)
    split, parts = parts_of(trace)
    at = 0
    for gap, (start, end) in enumerate(zip(split.start, split.end, strict=True)):
        reached = start
        while at < len(parts.gap) and parts.gap[at] == gap:
            assert parts.start[at] == reached
            assert parts.end[at] > parts.start[at]
            reached = parts.end[at]
            at += 1
        assert reached == end
    assert at == len(parts.gap)
    figures = attribute(trace, 0)
    assert figures is not None
    assert int(parts.sums().sum()) == figures.idle_ns


@given(jobs(), st.integers(-30, 100), st.integers(0, 60))
def test_a_window_cuts_the_hosts_time(events: list[Event], start: int, length: int) -> None:
    trace = make_trace(*events)
    window = (start, start + length)
    told = idle(trace, 0, window)
    expected = None if told is None else (told.host_ns, told.host_causes.get("data loading", 0))
    assert host_idle(trace, 0, window) == expected


def _deepest(trace: Trace, tid: str, t: int) -> int:
    """The deepest open slice of a thread, by search."""
    found, level = -1, -1
    for row in range(len(trace)):
        lane = trace.lane_of(row)
        start = int(trace.slices.start_ns[row])
        here = lane.kind.name == "THREAD" and lane.tid == tid and start <= t < start + int(trace.slices.dur_ns[row])
        if here and trace.row_of(row) > level:
            found, level = row, trace.row_of(row)
    return found


@given(jobs())
def test_every_instant_of_host_time_by_search(events: list[Event]) -> None:
    """Causes of single threads without a drain, instant by instant: the strongest cause around the deepest slice."""
    mine = [e for e in events if e.cat == "kernel" or (e.tid == 1 and "Synchronize" not in e.name)]
    mine = [e for e in mine if e.name not in ("cudaFree", "cudaMemcpy")]
    trace = make_trace(*mine)
    if not (trace.slices.paint == Paint.COMPUTE).any():
        return
    split, parts = parts_of(trace)
    by_paint = {Paint.PYTHON: "python", Paint.RUNTIME: "runtime call"}
    for gap, cause, start, end in zip(parts.gap, parts.cause, parts.start, parts.end, strict=True):
        if CAUSES[cause] not in (*HOST_CAUSES, "untraced"):
            continue
        assert end <= split.start[gap] + split.host[gap]
        for t in range(int(start), int(end)):
            row = _deepest(trace, "1", t)
            want = by_paint[Paint(int(trace.slices.paint[row]))] if row >= 0 else "untraced"
            strength = -1
            while row >= 0:
                special = special_cause(trace.name(row))
                if special and HOST_CAUSES.index(special) > strength:
                    strength = HOST_CAUSES.index(special)
                row = int(trace.slices.parent[row])
            assert CAUSES[cause] == (HOST_CAUSES[strength] if strength >= 0 else want)


def test_the_slice_that_tells_is_the_range_itself() -> None:
    trace = make_trace(
        *launched(-50, 1, 0, 10),
        annotation("DataLoader", 10, 40),
        python("inner", 12, 30),
        *launched(50, 2, 50, 1),
    )
    _, parts = parts_of(trace)
    assert [int(r) for r in parts.row] == rows_named(trace, "DataLoader")
