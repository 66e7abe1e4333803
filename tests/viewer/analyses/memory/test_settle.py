"""Parts are never negative and add up to the total, whatever frees a source lacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.memory import MIB, profiler_events
from tests.support.memory_job import Planted, training
from tests.viewer.importers.test_profiler_memory import memory
from tests.viewer.importers.texts import open_job, write_json
from viewer.analyses.memory.figures import memory_figures
from viewer.analyses.memory.parts import bytes_by_category, categories_at_peak
from viewer.analyses.memory.series import category_series
from viewer.analyses.memory.settle import COLUMNS, HELD, REPLACED, REST, block_tiers, settled
from viewer.base.allocator import CATEGORY_NAMES, Category

N = len(CATEGORY_NAMES)


@given(
    st.lists(st.integers(0, 2**44), min_size=REST, max_size=REST), st.integers(-(2**46), 2**46), st.integers(0, N - 1)
)
def test_parts_add_up(blocks: list[int], rest: int, rest_of: int) -> None:
    parts, over = settled(np.array([[*blocks, rest]], np.int64), rest_of)
    assert parts.min() >= 0
    assert int(parts.sum()) == max(sum(blocks) + rest, 0)
    assert over.tolist() == [max(-rest, 0)]


def raw(rest: int, **bytes_of: int) -> np.ndarray:
    out = np.zeros((1, COLUMNS), np.int64)
    for name, size in bytes_of.items():
        tier, category = name.split("_")
        out[0, int(tier[1:]) * N + Category[category.upper()]] += size
    out[0, REST] = rest
    return out


def test_what_is_too_much_is_taken_from_blocks_whose_free_nobody_saw() -> None:
    parts, _ = settled(raw(-50, t0_weights=100, t1_optimizer=40, t2_activations=30, t2_temporary=30), Category.WEIGHTS)
    assert parts[:, 0].tolist() == [100, 0, 40, 5, 5, 0, 0, 0]
    parts, _ = settled(raw(-70, t0_weights=100, t1_optimizer=40, t2_activations=60), Category.WEIGHTS)
    assert parts[:, 0].tolist() == [100, 0, 30, 0, 0, 0, 0, 0]
    # A little more than all of them: rounding. Much more: nobody knows which blocks are gone.
    parts, _ = settled(raw(-1, t0_weights=1000, t0_temporary=1000), Category.WEIGHTS)
    assert parts[:, 0].tolist() in ([999, 0, 0, 0, 1000, 0, 0, 0], [1000, 0, 0, 0, 999, 0, 0, 0])
    parts, _ = settled(raw(-500, t0_weights=1000, t0_temporary=1000), Category.WEIGHTS)
    assert parts[:, 0].tolist() == [0, 0, 0, 0, 0, 0, 0, 1500]
    parts, _ = settled(raw(7, t0_weights=10), Category.UNKNOWN)
    assert parts[:, 0].tolist() == [10, 0, 0, 0, 0, 0, 0, 7]


def test_lost_frees_of_a_profiler(tmp_path: Path) -> None:
    """Every fifth large free is not in the trace; its totals are right."""
    events = profiler_events(training(Planted(steps=6)))
    frees = [e for e in events if e["name"] == "[memory]" and e["args"]["Bytes"] < -MIB]
    lost = {id(e) for e in frees[::5]}
    path = write_json(tmp_path / "lost.json", [e for e in events if id(e) not in lost], deviceProperties=[])
    session = open_job(tmp_path, path).session
    item = session.inputs[0]
    e = item.trace.tables["allocator_events"]
    (found,) = memory_figures(item.trace)
    whole = write_json(tmp_path / "whole.json", events, deviceProperties=[])
    clean = open_job(tmp_path, whole).session
    assert {REPLACED, HELD} <= set(block_tiers(item.trace, 0).tolist())
    parts, want = (categories_at_peak(s, s.inputs[0], 0) or {} for s in (session, clean))
    assert sum(parts.values()) == sum(want.values()) == found.peak_allocated
    assert parts["weights"] == want["weights"]
    assert abs(parts["activations"] - want["activations"]) <= 0.2 * want["activations"]
    series = category_series(session, item, 0)
    held, over = series.after(np.arange(len(e) + 1))
    assert held.min() >= 0
    assert held[:, 1:].sum(axis=0).tolist() == e.allocated.tolist()
    assert over.max() > 0
    for event in range(0, len(e), 7):
        told = bytes_by_category(session, item, 0, event)
        assert list(told.values()) == held[:, event + 1].tolist()


def test_blocks_that_sum_to_far_more_than_the_total_are_unknown(tmp_path: Path) -> None:
    events = [memory(10 * k, 900, 1000, 4096 * k) for k in range(1, 5)] + [memory(99, -900, 1000, 4096)]
    session = open_job(tmp_path, write_json(tmp_path / "t.json", events, deviceProperties=[])).session
    held, over = category_series(session, session.inputs[0], 0).after(np.arange(6))
    assert held.sum(axis=0).tolist() == [100, 1000, 1000, 1000, 1000, 1000]
    assert over.tolist() == [0, 0, 800, 1700, 2600, 1700]
