"""Series for drawing against a look at every block, and against the levels of the source."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator, profiler_events
from tests.support.memory_job import FORWARD, Planted, training
from tests.viewer.analyses.memory.test_categories import opened
from tests.viewer.importers.test_memory_exports import ROWS, T
from tests.viewer.importers.test_torch_snapshot import busy
from tests.viewer.importers.texts import open_job, write_json
from viewer.analyses.memory.categories import block_categories, held_at
from viewer.analyses.memory.series import category_series, step_lines
from viewer.base.allocator import CATEGORY_NAMES


def test_lines_are_the_levels_with_the_one_before(tmp_path: Path) -> None:
    _, item = opened(tmp_path, busy(3), since=40)
    trace = item.trace
    e, d = trace.tables["allocator_events"], trace.tables["memory_devices"]
    lines = step_lines(trace, 0)
    assert list(lines) == ["allocated", "live", "reserved"]
    for name, line in lines.items():
        assert (line.before, line.value.tolist()) == (getattr(d, f"{name}_before")[0], getattr(e, name).tolist())
    line = lines["allocated"]
    assert [line.at(int(e.time_ns[k])) for k in (0, 7)] == [e.allocated[0], e.allocated[7]]
    assert line.at(int(line.time[0]) - 1) is None


@pytest.mark.parametrize("live", [False, True])
def test_categories_at_instants_by_brute_force(tmp_path: Path, live: bool) -> None:
    a = training(Planted(steps=3))
    a.free(a.alloc(MIB, *FORWARD), pending=True)
    session, item = opened(tmp_path, a, since=15)
    trace = item.trace
    e, size = trace.tables["allocator_events"], trace.tables["blocks"].size
    category = block_categories(session, item).category
    times = np.unique(np.concatenate([e.time_ns[::5], e.time_ns[::7] + 3000, [0, int(e.time_ns[-1]) + 10**9]]))
    found = category_series(session, item, 0, live=live).at(times)
    for k, time in enumerate(times.tolist()):
        rows = held_at(trace, 0, time, live=live)
        want = [int(size[rows][category[rows] == c].sum()) for c in range(len(CATEGORY_NAMES))]
        assert found[:, k].tolist() == want
    level = e.live if live else e.allocated
    after = category_series(session, item, 0, live=live).at(e.time_ns).sum(axis=0)
    last = np.append(e.time_ns[1:] != e.time_ns[:-1], True)
    assert (after[last] == level[last]).all()


def test_what_profiler_events_do_not_show_is_unknown(tmp_path: Path) -> None:
    a = FakeAllocator()
    kept = a.alloc(5 * MIB, *FORWARD)
    a.alloc(7 * MIB, *FORWARD)
    events = profiler_events(a)
    before = len(events)
    b = a.alloc(MIB, *FORWARD)
    a.free(kept)
    a.free(b)
    late = profiler_events(a)[before:]
    session = open_job(tmp_path, write_json(tmp_path / "t.json", late, deviceProperties=[])).session
    item = session.inputs[0]
    e = item.trace.tables["allocator_events"]
    found = category_series(session, item, 0)
    assert found.at(e.time_ns).sum(axis=0).tolist() == e.allocated.tolist()
    # Nothing is trained here: what stays is the model's.
    weights = CATEGORY_NAMES.index("weights")
    assert found.at(np.array([0]))[weights].tolist() == [7 * MIB]
    assert found.at(e.time_ns)[weights].tolist() == [7 * MIB] * 3


def test_levels_of_a_timeline_are_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "t.raw.json"
    path.write_text(json.dumps(ROWS))
    session = open_job(tmp_path, path).session
    found = category_series(session, session.inputs[0], 0)
    names = {n: i for i, n in enumerate(CATEGORY_NAMES)}
    at = found.at(np.array([T, T + 10, T + 25, T + 30, T + 45, T + 60]))
    assert at[names["weights"]].tolist() == [500] * 6
    assert at[names["activations"]].tolist() == [0, 100, 100, 100, 0, 0]
    assert at[names["gradients"]].tolist() == [0, 0, 300, 300, 300, 0]
    assert at[names["unknown"]].tolist() == [40, 40, 40, 0, 0, 0]
    assert at[names["optimizer"]].tolist() == [0, 0, 0, 40, 40, 40]
    assert list(step_lines(session.inputs[0].trace, 0)) == ["allocated"]
