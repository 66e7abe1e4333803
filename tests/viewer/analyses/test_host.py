from __future__ import annotations

from tests.support.build import annotation, call, kernel, make_trace, op, python, row_named, rows_named
from viewer.analyses.host import children, launch_of, self_time, stack_of
from viewer.store.trace import Trace


def names(trace: Trace, rows: object) -> list[str]:
    return [trace.name(int(r)) for r in rows]  # type: ignore[attr-defined]


def test_delay_counts_from_the_begin_of_the_call_for_its_first_work() -> None:
    trace = make_trace(
        call("cudaGraphLaunch", 1000, 30, corr=5),
        kernel("first", 1040, 5, corr=5),
        kernel("second", 1050, 5, corr=5),
        kernel("busy", 1046, 2, corr=None),
    )
    first = launch_of(trace, row_named(trace, "first"))
    assert first is not None
    assert (first.call_name, first.delay_ns, first.queue_ns, first.behind_ns, first.siblings) == (
        "cudaGraphLaunch",
        40,
        10,
        0,
        2,
    )
    assert first.call_row == row_named(trace, "cudaGraphLaunch")
    second = launch_of(trace, row_named(trace, "second"))
    assert second is not None
    assert (second.delay_ns, second.first_of_call, second.queue_ns, second.behind_ns) == (None, False, 20, 7)


def test_work_that_starts_during_or_before_its_call() -> None:
    trace = make_trace(
        call("cudaLaunchKernel", 100, 30, corr=1),
        kernel("during", 110, 5, corr=1),
        call("cudaLaunchKernel", 200, 30, corr=2),
        kernel("before", 190, 5, corr=2),
    )
    during = launch_of(trace, row_named(trace, "during"))
    before = launch_of(trace, row_named(trace, "before"))
    assert during is not None
    assert before is not None
    assert (during.delay_ns, during.queue_ns, during.started_before_call) == (10, 0, False)
    assert (before.delay_ns, before.queue_ns, before.started_before_call) == (None, 0, True)


def test_without_a_link_there_is_no_launch() -> None:
    trace = make_trace(kernel("a", 0, 5), call("cudaLaunchKernel", 0, 1))
    assert launch_of(trace, row_named(trace, "a")) is None
    assert launch_of(trace, row_named(trace, "cudaLaunchKernel")) is None
    assert stack_of(trace, row_named(trace, "a")) is None


def a_stack() -> Trace:
    return make_trace(
        annotation("ProfilerStep#1", 0, 100),
        python("train.py(10): main", 1, 98),
        python("nn.Module: Linear_0", 10, 50),
        op("aten::linear", 20, 30),
        op("aten::addmm", 22, 20),
        call("cudaLaunchKernel", 25, 5, corr=1),
        op("aten::view", 60, 5),
        op("other thread", 0, 90, tid=2),
        kernel("gemm", 200, 5, corr=1),
    )


def test_the_stack_of_work_is_that_of_its_call() -> None:
    trace = a_stack()
    found = stack_of(trace, row_named(trace, "gemm"))
    assert found is not None
    assert names(trace, found.rows) == [
        "ProfilerStep#1",
        "train.py(10): main",
        "nn.Module: Linear_0",
        "aten::linear",
        "aten::addmm",
    ]
    assert names(trace, found.operators) == ["aten::linear", "aten::addmm"]
    assert names(trace, found.python) == ["train.py(10): main", "nn.Module: Linear_0"]
    assert names(trace, found.modules) == ["nn.Module: Linear_0"]
    assert names(trace, found.annotations) == ["ProfilerStep#1"]
    assert trace.name(found.operator) == "aten::addmm"
    top = stack_of(trace, row_named(trace, "ProfilerStep#1"))
    assert top is not None
    assert (top.rows, top.operator) == ((), -1)


def test_children_and_self_time() -> None:
    trace = a_stack()
    main = row_named(trace, "train.py(10): main")
    assert names(trace, children(trace, main)) == ["nn.Module: Linear_0", "aten::view"]
    assert self_time(trace, main) == 98 - 50 - 5
    assert self_time(trace, row_named(trace, "aten::addmm")) == 15
    assert self_time(trace, row_named(trace, "cudaLaunchKernel")) == 5
    assert len(children(trace, row_named(trace, "cudaLaunchKernel"))) == 0
    assert len(children(trace, row_named(trace, "gemm"))) == 0


def test_a_child_that_overruns_counts_only_inside_its_parent() -> None:
    trace = make_trace(op("parent", 0, 10), op("child", 8, 10))
    assert self_time(trace, row_named(trace, "parent")) == 8
    assert names(trace, children(trace, row_named(trace, "parent"))) == ["child"]


def test_equal_names_on_other_threads_are_no_children() -> None:
    trace = make_trace(op("a", 0, 10), op("b", 1, 2), op("a", 0, 10, tid=2), op("b", 1, 2, tid=2))
    for row in rows_named(trace, "a"):
        assert len(children(trace, row)) == 1
