from __future__ import annotations

import pytest

from tests.support.build import Event, annotation, call, copy, kernel, make_trace, mark, op
from viewer.analyses.steps import step_table, steps

NCCL = "ncclDevKernel_AllReduce"


def test_marks_of_a_serving_executor() -> None:
    label = "[Executor] _forward_step {}: 0 ctx reqs, 32 gen reqs"
    marks = [annotation(label.format(n), 100 * n, 90) for n in range(3)]
    table = step_table(make_trace(*marks, kernel("k", 5, 5)))
    assert (table.source, len(table.steps)) == ("serving mark", 3)


def launched(at: int, corr: int, start: int, dur: int, name: str = "gemm", **more: object) -> tuple[Event, Event]:
    return call("cudaLaunchKernel", at, 1, corr=corr), kernel(name, start, dur, corr=corr, **more)  # type: ignore[arg-type]


def the_gpu_lags() -> list[Event]:
    return [
        annotation("ProfilerStep#10", 1000, 50),
        annotation("ProfilerStep#11", 1050, 50),
        annotation("epoch 1", 999, 120),
        mark("ProfilerStep#10", 1020, 60),
        *launched(1010, 1, 1020, 40),
        *launched(1040, 2, 1060, 20),
        *launched(1060, 3, 1080, 50),
        *launched(1090, 4, 1110, 40, NCCL, stream=20),
        *launched(1105, 5, 1150, 5),
    ]


def test_a_step_owns_what_it_launched_wherever_it_ran() -> None:
    trace = make_trace(*the_gpu_lags())
    first, last = steps(trace)
    assert (first.index, first.name, first.source, first.cpu_ns) == (10, "ProfilerStep#10", "ProfilerStep", 50)
    assert (last.index, last.kernels, first.kernels) == (11, 2, 2)
    assert first.figures is not None
    assert last.figures is not None
    assert (first.figures.busy_ns, first.figures.comm_ns, first.figures.span_ns) == (60, 0, 60)
    assert (last.figures.busy_ns, last.figures.comm_ns, last.figures.comm_exposed_ns) == (70, 40, 20)
    assert (first.gap_before_ns, last.gap_before_ns) == (None, 0)
    table = step_table(trace)
    assert (table.outside_kernels, table.outside_sum_ns, len(table.outside_rows)) == (1, 5, 1)


def test_launches_of_any_thread_count_and_begin_decides() -> None:
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 100),
        annotation("ProfilerStep#2", 100, 100),
        call("cudaLaunchKernel", 50, 1, corr=1, tid=9),
        kernel("a", 300, 5, corr=1),
        call("cudaLaunchKernel", 99, 10, corr=2),
        kernel("b", 310, 5, corr=2),
        call("cudaLaunchKernel", 100, 10, corr=3),
        kernel("c", 320, 5, corr=3),
        call("cudaLaunchKernel", 200, 10, corr=4),
        kernel("after", 330, 5, corr=4),
        kernel("unlinked", 340, 5),
    )
    assert [s.kernels for s in steps(trace)] == [2, 1]
    assert step_table(trace).outside_kernels == 2


def test_kernels_are_no_copies_but_figures_have_both() -> None:
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 100),
        *launched(5, 1, 10, 10),
        call("cudaMemcpyAsync", 20, 1, corr=2),
        copy("Memcpy HtoD", 30, 4, corr=2),
        call("cudaMemcpyAsync", 120, 1, corr=3),
        copy("Memcpy HtoD", 130, 4, corr=3),
    )
    (step,) = steps(trace)
    assert step.figures is not None
    assert (step.kernels, step.figures.gpu_events, step.figures.memory_ns) == (1, 2, 4)
    assert (step_table(trace).outside_kernels, step_table(trace).outside_sum_ns) == (0, 0)
    assert len(step_table(trace).outside_rows) == 1


def test_the_gap_between_steps_is_between_their_compute() -> None:
    trace = make_trace(
        *(annotation(f"ProfilerStep#{i}", 100 * i, 100) for i in range(4)),
        *launched(10, 1, 10, 10),
        *launched(11, 2, 15, 50, NCCL, stream=20),
        *launched(110, 3, 130, 10),
        *launched(310, 4, 330, 10),
    )
    assert [s.gap_before_ns for s in steps(trace)] == [None, 110, None, None]


def test_a_step_without_gpu_work_has_no_figures() -> None:
    (step,) = steps(make_trace(annotation("ProfilerStep#1", 0, 100)))
    assert (step.figures, step.devices, step.kernels) == (None, (), 0)


def test_a_step_on_two_devices_has_figures_for_each() -> None:
    (step,) = steps(
        make_trace(annotation("ProfilerStep#1", 0, 100), *launched(1, 1, 10, 5), *launched(2, 2, 12, 7, device=1))
    )
    assert step.figures is None
    assert [(d, f.busy_ns) for d, f in step.devices] == [(0, 5), (1, 7)]


def test_repeated_and_nested_marks_count_once() -> None:
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 100),
        annotation("ProfilerStep#1", 10, 50),
        annotation("ProfilerStep#1", 0, 100, tid=2),
        annotation("ProfilerStep#2", 100, 100),
        annotation("ProfilerStep#2", 101, 99, tid=2),
        *launched(20, 1, 30, 5),
    )
    assert [(s.index, s.kernels) for s in steps(trace)] == [(1, 1), (2, 0)]


def test_marks_that_overlap_a_little_give_a_launch_to_the_later_one() -> None:
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 101), annotation("ProfilerStep#2", 100, 100, tid=2), *launched(100, 1, 110, 5)
    )
    assert [s.kernels for s in steps(trace)] == [0, 1]


def test_steps_of_two_processes_own_their_own_launches() -> None:
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 100, pid=1),
        annotation("ProfilerStep#1", 50, 100, pid=2),
        call("cudaLaunchKernel", 60, 1, corr=1, pid=1),
        kernel("a", 70, 5, corr=1),
        call("cudaLaunchKernel", 70, 1, corr=2, pid=2),
        kernel("b", 80, 5, corr=2),
        call("cudaLaunchKernel", 80, 1, corr=3, pid=2),
        kernel("c", 90, 5, corr=3),
    )
    assert [(s.start_ns, s.kernels) for s in steps(trace)] == [(0, 1), (50, 2)]


def test_marks_under_another_process_id_are_still_the_steps_of_the_file() -> None:
    trace = make_trace(annotation("ProfilerStep#1", 0, 100, pid=1), *launched(60, 1, 70, 5))
    assert [s.kernels for s in steps(trace)] == [1]


def test_profiler_steps_are_also_found_as_operators() -> None:
    assert [s.index for s in steps(make_trace(op("ProfilerStep#5", 0, 10, cat="Operator")))] == [5]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("iteration 12", 12),
        ("Iteration_12", 12),
        ("iter12", 12),
        ("step 3", 3),
        ("Step#3", 3),
        ("train_step 7", 7),
        ("training step: 7", 7),
        ("global_step=7", 7),
        ("[step 9]", 9),
        ("batch 4", 4),
    ],
)
def test_iteration_annotations_are_steps(name: str, index: int) -> None:
    (step,) = steps(make_trace(annotation("epoch 1", 0, 200), annotation(name, 0, 100)))
    assert (step.index, step.source) == (index, "iteration annotation")


@pytest.mark.parametrize(
    "name",
    ["epoch 1", "Epoch#2", "forward", "step", "layer 3", "stepper 3", "DDP.forward", "nccl:all_reduce", "warmup 1"],
)
def test_other_annotations_are_no_steps(name: str) -> None:
    assert steps(make_trace(annotation(name, 0, 100))) == []
    assert step_table(make_trace(annotation(name, 0, 100), kernel("a", 0, 1))).source == ""


def test_an_unnumbered_step_range_counts_when_it_repeats() -> None:
    twice = steps(make_trace(annotation("train_step", 0, 10), annotation("train_step", 20, 10)))
    assert [(s.index, s.start_ns) for s in twice] == [(0, 0), (1, 20)]
    assert steps(make_trace(annotation("train_step", 0, 10))) == []


def test_serving_marks_outermost_first() -> None:
    trace = make_trace(
        annotation("step[DECODE bs=32]", 0, 100),
        annotation("execute_32_context_0_generation_32", 10, 50),
        annotation("execute_32_context_0_generation_32", 110, 50),
    )
    assert [(s.index, s.name, s.source) for s in steps(trace)] == [
        (0, "step[DECODE bs=32]", "serving mark"),
        (1, "execute_32_context_0_generation_32", "serving mark"),
    ]


def test_profiler_steps_come_before_every_other_source() -> None:
    trace = make_trace(
        annotation("execute_1", 0, 10), annotation("iteration 4", 0, 20), annotation("ProfilerStep#9", 5, 1)
    )
    assert [s.name for s in steps(trace)] == ["ProfilerStep#9"]


def test_optimizer_marks_end_steps() -> None:
    trace = make_trace(
        *launched(5, 1, 10, 5),
        annotation("Optimizer.step#Shampoo.step", 40, 10),
        annotation("Optimizer.step#EMA.step", 55, 5),
        *launched(70, 2, 80, 5),
        *launched(75, 3, 90, 5),
        annotation("Optimizer.step#Shampoo.step", 140, 10),
        annotation("Optimizer.step#EMA.step", 155, 5),
        *launched(170, 4, 180, 5),
    )
    found = steps(trace)
    assert [(s.index, s.start_ns, s.end_ns, s.kernels) for s in found] == [(0, 5, 60, 1), (1, 60, 160, 2)]
    assert found[0].source == "optimizer mark"
    assert step_table(trace).outside_kernels == 1


def test_annotations_on_the_gpu_are_no_marks() -> None:
    assert steps(make_trace(mark("ProfilerStep#1", 0, 10), kernel("a", 0, 5))) == []
