"""Steps without marks: what repeats is found, what only looks like it is not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.build import Event, call, copy, kernel, make_trace
from tests.support.host_job import HostJob
from viewer.analyses.periodic import periods
from viewer.analyses.steps import step_table, steps
from viewer.store.trace import Trace

US = 1_000


class Launcher:
    """Launches one after the other, 10 us each, with pauses."""

    def __init__(self) -> None:
        self.at = 0
        self.corr = 0
        self.events: list[Event] = []

    def add(self, name: str, *, graph: bool = False, copies: bool = False) -> None:
        self.corr += 1
        what = "cudaGraphLaunch" if graph else "cudaLaunchKernel"
        made = copy(name, self.at + 9 * US, 2 * US, corr=self.corr) if copies else None
        self.events += [
            call(what, self.at, 5 * US, corr=self.corr),
            made or kernel(name, self.at + 9 * US, 4 * US, corr=self.corr),
        ]
        self.at += 10 * US

    def trace(self) -> Trace:
        return make_trace(*self.events)


def training(count: int, *, layers: int = 4, input_copy: bool = True, extra: int = -1) -> Launcher:
    made = Launcher()
    for step in range(count):
        made.at += 300 * US
        if input_copy:
            made.add("Memcpy HtoD", copies=True)
        made.add("embedding")
        for _ in range(layers):
            for name in ("norm", "qkv", "attention", "mlp"):
                made.add(name)
        made.add("loss")
        if step == extra:
            made.add("logging")
        made.add("adam")
    return made


def test_steps_are_what_repeats_and_begin_after_the_longest_pause() -> None:
    trace = training(5).trace()
    found = step_table(trace)
    assert found.source == "periodic launches"
    assert [s.name for s in found.steps] == [f"period {i}" for i in range(5)]
    assert [s.kernels for s in found.steps] == [19] * 5, "kernels, the copy apart"
    assert found.outside_kernels == 0
    first = periods(trace)
    assert first is not None
    assert np.diff(first.start).tolist() == [500 * US] * 4
    assert first.start[0] == 300 * US


def test_a_step_with_something_extra_still_counts() -> None:
    found = steps(training(8, extra=3).trace())
    assert [s.kernels for s in found] == [19, 19, 19, 20, 19, 19, 19, 19]


def test_layers_inside_speak_for_a_step_as_a_copy_does() -> None:
    assert len(steps(training(4, input_copy=False).trace())) == 4


def test_layers_of_a_single_step_are_no_steps() -> None:
    made = Launcher()
    for _ in range(24):
        for name in ("norm", "qkv", "rope", "attention", "out", "norm2", "up", "act", "down", "add"):
            made.add(name)
    assert periods(made.trace()) is None
    assert steps(made.trace()) == []


def test_decoding_by_graph_launches() -> None:
    made = Launcher()
    for _ in range(6):
        made.at += 50 * US
        for i in range(4):
            made.add(f"prepare {i}")
        made.add("forward", graph=True)
        for i in range(4):
            made.add(f"sample {i}")
    found = steps(made.trace())
    assert [s.kernels for s in found] == [9] * 6


def test_what_happens_now_and_then_is_no_step() -> None:
    random = np.random.default_rng(3)
    made = Launcher()
    for _ in range(400):
        made.add(f"k{random.integers(12)}", copies=bool(random.random() < 0.1))
    assert periods(made.trace()) is None
    assert periods(training(2).trace()) is None, "two are no pattern"
    assert periods(make_trace(*[kernel("a", i * 100, 50) for i in range(100)])) is None, "without launches"


@pytest.mark.parametrize("name", ["ProfilerStep#3", "train_step", "iteration 4 / 100", "Step 4 of 10", "train 7"])
def test_marks_go_before_what_repeats(name: str) -> None:
    from tests.support.build import annotation

    made = training(5)
    marks = [annotation(name, 0, made.at // 2), annotation(name, made.at // 2, made.at // 2)]
    found = step_table(make_trace(*made.events, *marks))
    assert found.source in ("ProfilerStep", "iteration annotation")
    assert len(found.steps) == 2


def test_a_job_with_marks_taken_away_has_the_same_steps() -> None:
    made = HostJob(faults=("sync",))
    whole = steps(made.trace())
    made.trace()
    without = steps(make_trace(*[e for e in made._events if "ProfilerStep" not in e.name]))
    assert without == [], "one kernel name over and over is no pattern"
    assert len(whole) == 6


def test_of_several_processes_the_one_that_launches_most_counts() -> None:
    made = training(5)
    other = [call("cudaLaunchKernel", 5 * i * US, US, corr=9_000 + i, pid=7) for i in range(3)]
    found = periods(make_trace(*made.events, *other))
    assert found is not None
    assert len(found.start) == 5
