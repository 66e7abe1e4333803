"""What blocks are for, in a job whose truth is known; held at an instant, by looking at every block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator
from tests.support.memory_job import ACTIVATION, BACKWARD, FORWARD, INIT, LAYERS, OPTIMIZER, WEIGHT, Planted, training
from tests.viewer.importers.test_profiler_memory import memory
from tests.viewer.importers.texts import open_job, write_json
from viewer.analyses.memory.categories import (
    block_categories,
    held_at,
    held_rows,
)
from viewer.analyses.memory.figures import memory_figures
from viewer.analyses.memory.parts import bytes_by_category, categories_at_peak
from viewer.base.allocator import CATEGORY_NAMES, Category
from viewer.store.memory_rules import parse_memory_rules, shipped_memory_rules
from viewer.store.session import Input, Session


def opened(tmp_path: Path, a: FakeAllocator, since: int = 0) -> tuple[Session, Input]:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(a.pickled(since=since))
    session = open_job(tmp_path, path).session
    return session, session.inputs[0]


@pytest.mark.parametrize("marked", [True, False])
def test_a_training_step_is_taken_apart(tmp_path: Path, marked: bool) -> None:
    session, item = opened(tmp_path, training(Planted(steps=8, marked=marked)))
    parts = categories_at_peak(session, item, 0)
    assert parts is not None
    assert parts["weights"] == LAYERS * WEIGHT
    assert parts["optimizer"] == 2 * LAYERS * WEIGHT
    assert parts["buffers"] == 3 * MIB
    assert parts["activations"] == pytest.approx(LAYERS * ACTIVATION, rel=0.01)
    # At the peak the first gradient and the first temporary of the backward pass are there.
    assert (parts["gradients"], parts["temporary"], parts["unknown"]) == (WEIGHT, 2 * MIB, 0)
    assert sum(parts.values()) == memory_figures(item.trace)[0].peak_allocated


def test_each_block_says_which_rule(tmp_path: Path) -> None:
    session, item = opened(tmp_path, training(Planted(steps=5)))
    found = block_categories(session, item)
    names = {found.why(b)[0] for b in range(len(found.category))}
    assert names == {
        "weights-loaded", "activation", "forward-temporary", "communication-buffer", "gradient", "backward-temporary",
        "optimizer-state", "optimizer-temporary",
    }  # fmt: skip
    assert found.training


def test_what_is_held_through_an_inference_are_weights_and_without_stacks_nobody_knows(tmp_path: Path) -> None:
    a = FakeAllocator()
    for _ in range(3):
        a.alloc(5 * MIB)
    before = len(a.events)
    a.free(a.alloc(2 * MIB, *FORWARD))
    session, item = opened(tmp_path, a, before)
    assert (categories_at_peak(session, item, 0) or {})["weights"] == 15 * MIB
    b = FakeAllocator()
    b.alloc(5 * MIB)
    before = len(b.events)
    b.free(b.alloc(2 * MIB))
    (tmp_path / "b").mkdir()
    session, item = opened(tmp_path / "b", b, before)
    assert (categories_at_peak(session, item, 0) or {})["unknown"] == 7 * MIB


def test_a_serving_engine_may_hold_a_cache_instead_of_weights(tmp_path: Path) -> None:
    for name, want in (("run:engine.py", "weights"), ("execute_model:vllm/worker.py", "unknown")):
        a = FakeAllocator()
        a.alloc(50 * MIB)
        before = len(a.events)
        a.free(a.alloc(2 * MIB, *FORWARD, name))
        folder = tmp_path / want
        folder.mkdir()
        session, item = opened(folder, a, before)
        parts = categories_at_peak(session, item, 0) or {}
        assert {k: v for k, v in parts.items() if v} == {want: 50 * MIB, "temporary": 2 * MIB}


def test_blocks_of_autograd_threads_have_no_frame(tmp_path: Path) -> None:
    a = FakeAllocator()
    a.alloc(WEIGHT, *INIT)
    for _ in range(4):
        saved = a.alloc(ACTIVATION, *FORWARD)
        gradient = a.alloc(WEIGHT)
        a.free(saved)
        a.free(a.alloc(MIB, *OPTIMIZER))
        a.free(gradient)
    session, item = opened(tmp_path, a)
    sums = bytes_by_category(session, item, 0, memory_figures(item.trace)[0].peak_event)
    assert (sums["gradients"], sums["weights"], sums["activations"]) == (WEIGHT, WEIGHT, ACTIVATION)


def test_profiler_events_are_told_by_the_slices_around_them(tmp_path: Path) -> None:
    def span(name: str, ts: int, dur: int, cat: str = "cpu_op") -> dict[str, object]:
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}

    events = [
        span("nn.Module: Linear_0", 0, 10, "python_function"), span("aten::linear", 2, 6), memory(4, 100, 1100, 1),
        memory(5, 7, 1107, 2), memory(6, -7, 1100, 2),
        span("autograd::engine::evaluate_function: AddmmBackward0", 20, 10), memory(24, 50, 1150, 3),
        memory(28, -100, 1050, 1),
        span("Optimizer.step#AdamW.step", 40, 10, "user_annotation"), memory(44, 30, 1080, 4),
        memory(46, -30, 1050, 4), memory(55, -50, 1000, 3),
    ]  # fmt: skip
    session = open_job(tmp_path, write_json(tmp_path / "t.json", events, deviceProperties=[])).session
    item = session.inputs[0]
    found = block_categories(session, item)
    told = [CATEGORY_NAMES[c] for c in found.category.tolist()]
    assert told == ["activations", "temporary", "gradients", "temporary"]
    parts = categories_at_peak(session, item, 0)
    assert parts is not None
    assert (parts["activations"], parts["gradients"], parts["unknown"]) == (100, 50, 1000)


@pytest.mark.parametrize("live", [False, True])
def test_what_is_held_after_an_event_by_brute_force(tmp_path: Path, live: bool) -> None:
    a = training(Planted(steps=2))
    for _ in range(3):
        a.free(a.alloc(MIB, *FORWARD), pending=True)
    _, item = opened(tmp_path, a, since=20)
    trace = item.trace
    b, e = trace.tables["blocks"], trace.tables["allocator_events"]
    for event in range(0, len(e), 7):
        rows = held_rows(trace, 0, event, live=live)
        level = e.live if live else e.allocated
        assert int(b.size[rows].sum()) == level[event]
        time = int(e.time_ns[event])
        ends = b.asked_ns if live else b.end_ns
        want = np.flatnonzero((b.start_ns <= time) & (ends > time))
        assert held_at(trace, 0, time, live=live).tolist() == want.tolist() == rows.tolist()
    d = trace.tables["memory_devices"]
    before = d.live_before[0] if live else d.allocated_before[0]
    assert int(b.size[held_rows(trace, 0, None, live=live)].sum()) == before


def test_a_table_of_rules_is_read_and_a_bad_one_refused() -> None:
    table = shipped_memory_rules()
    assert {r.category for r in table.rules} >= set(Category) - {Category.UNKNOWN}
    assert table.phase("backward") > 0
    assert table.phase("nothing") == -1
    with pytest.raises(ValueError, match="unknown conditions"):
        parse_memory_rules('[[rule]]\nid = "x"\ncategory = "weights"\nwhy = "y"\nsize = 3')
    with pytest.raises(KeyError):
        parse_memory_rules('[[rule]]\nid = "x"\ncategory = "weigths"\nwhy = "y"')
    assert BACKWARD
