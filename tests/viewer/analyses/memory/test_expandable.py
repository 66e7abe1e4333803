"""Expandable segments: what is mapped, allocated and free after every event, against the allocator that did it."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import numpy as np
import pytest

from tests.support.expandable import LARGE_PAGE, SMALL_PAGE, ExpandableAllocator
from tests.support.memory import MIB, OutOfMemory
from tests.viewer.importers.texts import open_job
from viewer.analyses.findings.registry import job_findings
from viewer.analyses.memory.figures import memory_figures
from viewer.analyses.memory.layout import failed_requests, layout_after, unusable
from viewer.analyses.memory.ranges import ranges_after
from viewer.store.session import Input, Session

State = tuple[list[tuple[int, int]], list[tuple[int, int]]]


def played(seed: int, capacity: int = 1 << 40) -> tuple[ExpandableAllocator, list[State]]:
    """A run of random requests, and after every event what is mapped and what of it is free."""
    rng = random.Random(seed)
    a = ExpandableAllocator(capacity=capacity)
    states: list[State] = []
    record = a._event

    def event(*args: object) -> None:
        record(*args)  # type: ignore[arg-type]
        states.append((a.mapped(), a.holes()))

    a._event = event  # type: ignore[method-assign,assignment]
    held: list[int] = []
    for _ in range(220):
        what = rng.random()
        if what < 0.55:
            size = rng.choice([1024, 40_960, MIB, 3 * MIB + 512, 9 * MIB, 30 * MIB, 55 * MIB])
            with contextlib.suppress(OutOfMemory):
                stream, pool = rng.choice([0, 0, 7]), rng.choice([(0, 0), (0, 0), (1, 2)])
                held.append(a.alloc(size, "f", stream=stream, pool=pool))
        elif what < 0.97 and held:
            a.free(held.pop(rng.randrange(len(held))))
        else:
            a.release()
    return a, states


def opened(tmp_path: Path, a: ExpandableAllocator, since: int = 0) -> tuple[Session, Input]:
    path = tmp_path / "rank0.pickle"
    path.write_bytes(a.pickled(since=since))
    session = open_job(tmp_path, path).session
    return session, session.inputs[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("since", [0, 0.6])
def test_what_is_mapped_and_free_after_every_event(tmp_path: Path, seed: int, since: float) -> None:
    a, states = played(seed, 300 * MIB if seed % 2 else 1 << 40)
    first = int(len(a.events) * since)
    _, item = opened(tmp_path, a, first)
    e = item.trace.tables["allocator_events"]
    (found,) = memory_figures(item.trace)
    assert e.allocated.tolist() == a.allocated[first:]
    assert e.reserved.tolist() == a.reserved[first:]
    assert found.peak_reserved == max(a.reserved[max(first - 1, 0) :])
    assert "segment_unmap" in {x["action"] for x in a.events}
    for event, (mapped, holes) in list(enumerate(states[first:]))[::3]:
        ranges = ranges_after(item.trace, 0, event)
        assert ranges is not None
        assert list(zip(ranges.address.tolist(), ranges.size.tolist(), strict=True)) == mapped
        layout = layout_after(item.trace, 0, event)
        assert layout is not None
        assert list(zip(layout.address.tolist(), layout.size.tolist(), strict=True)) == holes


def test_of_a_hole_whole_pages_can_be_given_back(tmp_path: Path) -> None:
    a = ExpandableAllocator()
    blocks = [a.alloc(15 * MIB, "f") for _ in range(8)]  # six pages of 20 MiB
    small = [a.alloc(MIB, "f") for _ in range(8)]  # four of 2 MiB
    for k in (1, 2, 3, 5):
        a.free(blocks[k])  # 15..60 and 75..90 MiB: one page (20..40, 40..60 are two) and none
    for k in (1, 2, 3, 4):
        a.free(small[k])  # 1..5 MiB: one page
    _, item = opened(tmp_path, a)
    layout = layout_after(item.trace, 0, None)
    assert layout is not None
    assert sorted(layout.size.tolist()) == [4 * MIB, 15 * MIB, 45 * MIB]
    assert layout.free - layout.split == 2 * LARGE_PAGE + SMALL_PAGE
    assert layout.largest == 45 * MIB
    assert unusable(item.trace, 0, layout) == 0
    before = a.total
    a.release()
    assert before - a.total == layout.free - layout.split


def test_a_request_that_fails_for_holes_between_pages(tmp_path: Path) -> None:
    """Every page keeps a block: nothing can be unmapped, and no hole is large enough."""
    a = ExpandableAllocator(capacity=400 * MIB)
    parts = [a.alloc(10 * MIB, "f") for _ in range(40)]
    for one in parts[::2]:
        a.free(one)
    with contextlib.suppress(OutOfMemory):
        a.alloc(50 * MIB, "big:train.py")
    session, item = opened(tmp_path, a)
    (failed,) = failed_requests(item.trace, 0)
    assert (failed.requested, failed.fragmented, failed.largest, failed.split) == (50 * MIB, True, 10 * MIB, 200 * MIB)
    assert (failed.free, failed.allocated, failed.reserved) == (0, 200 * MIB, 400 * MIB)
    first = job_findings(session)[0]
    assert first.kind == "memory-fragmentation"
    assert "expandable_segments:True" not in first.next_step  # it is set already
    assert "expandable" in first.next_step


def test_pages_that_can_be_given_back_fail_no_request(tmp_path: Path) -> None:
    a = ExpandableAllocator(capacity=400 * MIB)
    parts = [a.alloc(20 * MIB, "f") for _ in range(20)]
    for one in parts[::2]:
        a.free(one)
    a.alloc(50 * MIB, "big:train.py")
    session, item = opened(tmp_path, a)
    assert failed_requests(item.trace, 0) == ()
    assert not [f for f in job_findings(session) if f.kind in {"memory-fragmentation", "out-of-memory"}]
    assert np.diff(item.trace.tables["allocator_events"].reserved).min() < 0
