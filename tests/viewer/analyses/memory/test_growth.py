"""Slopes, holes and levels by maker against plain loops."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator
from tests.support.memory_job import Planted, training
from tests.viewer.analyses.memory.test_categories import opened
from tests.viewer.importers.test_torch_snapshot import busy
from viewer.analyses.memory.churn import churn
from viewer.analyses.memory.edges import Edges, block_keys, held_by_key, step_edges
from viewer.analyses.memory.growth import growth, slope_of
from viewer.analyses.memory.layout import layout_after, unusable
from viewer.analyses.memory.spikes import step_peaks
from viewer.base.allocator import NEVER


def test_the_slope_is_the_median_over_pairs() -> None:
    assert slope_of(np.array([0.0, 3, 6, 9])) == (3.0, 1.0)
    values = np.array([5.0, 1, 9, 2, 2])
    slopes = [(values[j] - values[i]) / (j - i) for i in range(5) for j in range(i + 1, 5)]
    assert slope_of(values) == (float(np.median(slopes)), sum(s > 0 for s in slopes) / len(slopes))
    assert slope_of(np.arange(5000.0) * 2)[0] == 2.0


def test_the_levels_of_a_step_without_events_are_those_before_it() -> None:
    edges = Edges(np.array([3, 7, 7, 9]), np.arange(3), 0, "steps")
    assert [edges.levels_of(k) for k in range(3)] == [slice(3, 7), slice(6, 7), slice(7, 9)]


@pytest.mark.parametrize("marked", [True, False])
def test_steps_are_those_of_the_job(tmp_path: Path, marked: bool) -> None:
    session, item = opened(tmp_path, training(Planted(steps=12, marked=marked)))
    edges = step_edges(session, item, 0)
    assert edges is not None
    assert (edges.count, edges.source) == ((12, "steps") if marked else (11, "runs of the optimizer"))
    assert 0 < edges.first <= 3


def test_bytes_by_maker_agree_with_a_look_at_every_block(tmp_path: Path) -> None:
    _, item = opened(tmp_path, busy(3), since=15)
    trace = item.trace
    b = trace.tables["blocks"]
    edges = np.array(sorted(random.Random(1).sample(range(len(trace.tables["allocator_events"])), 9)))
    keys, held = held_by_key(trace, 0, edges)
    own = block_keys(trace, 0)
    for k, key in enumerate(keys.tolist()):
        for i, edge in enumerate(edges.tolist()):
            want = sum(
                int(b.size[x])
                for x in range(len(b))
                if own[x] == key
                and (b.made_event[x] < edge)
                and (b.asked_event[x] >= edge or b.asked_ns[x] == NEVER)
            )  # fmt: skip
            assert held[k, i] == want, (key, edge)


def test_peaks_of_steps_are_the_largest_level_in_them(tmp_path: Path) -> None:
    session, item = opened(tmp_path, training(Planted(steps=5)))
    found = step_peaks(session, item, 0)
    assert found is not None
    level = item.trace.tables["allocator_events"].allocated
    at = found.edges.at.tolist()
    assert found.peak.tolist() == [int(level[a:b].max()) for a, b in itertools.pairwise(at)]


def test_a_retry_is_a_request_right_after_memory_was_given_back(tmp_path: Path) -> None:
    a = FakeAllocator(capacity=100 * MIB)
    for step in range(6):
        a.begin(f"ProfilerStep#{step}")
        for size, stream in ((60 * MIB, 0), (80 * MIB, 7)):  # neither fits beside the other's segment
            a.free(a.alloc(size, "forward:model.py", stream=stream))
        a.end(f"ProfilerStep#{step}")
    session, item = opened(tmp_path, a)
    found = churn(session, item, 0)
    assert found is not None
    assert found.retries.tolist() == [1, 2, 2, 2, 2, 2]
    assert found.given_bytes.tolist() == [60 * MIB, *[140 * MIB] * 5]
    assert found.is_churn


def test_nothing_grows_in_few_steps(tmp_path: Path) -> None:
    session, item = opened(tmp_path, training(Planted(steps=4, leak=1 << 20)))
    assert growth(session, item, 0) is None


@pytest.mark.parametrize("seed", [1, 2])
def test_holes_at_the_end_are_the_inactive_blocks(tmp_path: Path, seed: int) -> None:
    a = busy(seed)
    _, item = opened(tmp_path, a)
    layout = layout_after(item.trace, 0, None)
    assert layout is not None
    told = item.trace.tables["holes"]
    assert sorted(zip(layout.address.tolist(), layout.size.tolist(), strict=True)) == sorted(
        zip(told.address.tolist(), told.size.tolist(), strict=True)
    )
    alone = {s.address for s in a.segments if len(s.pieces) == 1 and s.pieces[0].state == "inactive"}
    assert {int(x) for x in layout.address[layout.loose == layout.size]} == alone
    assert layout.free == layout.split + int(layout.loose.sum())
    assert 0 <= unusable(item.trace, 0, layout) <= layout.split


def test_holes_at_an_event_fill_what_is_reserved(tmp_path: Path) -> None:
    _, item = opened(tmp_path, busy(2))
    trace = item.trace
    e = trace.tables["allocator_events"]
    for event in range(5, len(e), 9):
        layout = layout_after(trace, 0, event)
        assert layout is not None
        held = int(layout.ranges.size.sum())
        assert held == e.reserved[event]
        assert layout.free <= held - e.allocated[event]
