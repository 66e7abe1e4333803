"""Maps of memory: what lies where, and that what is told is what is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator
from tests.support.memory_job import Planted, training
from tests.support.themes import theme
from tests.viewer.importers.texts import open_job
from viewer.analyses.memory.categories import held_rows
from viewer.base.allocator import Category
from viewer.base.memory_map import MapSpan
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.memory.map import (
    HOLE,
    NOTHING,
    MapKind,
    MemoryMap,
    build_map,
    event_at,
    number_at,
    painted,
    present,
    tell,
)
from viewer.views.memory.panel import choices, peak_event


def opened(tmp_path: Path, a: FakeAllocator, since: int = 0) -> Session:
    path = tmp_path / "rank0.pickle"
    path.write_bytes(a.pickled(since=since))
    return open_job(tmp_path, path).session


def drawn(session: Session, kind: MapKind, span: MapSpan | None = None, event: int | None = None) -> MemoryMap:
    return build_map(session, session.inputs[0], 0, kind, span, (400, 200), theme(), CancelToken(), event)


@pytest.fixture
def two(tmp_path: Path) -> Session:
    """10 MiB all the time; 30 MiB in the second half."""
    a = FakeAllocator()
    a.alloc(10 * MIB, "first:model.py")
    a.wait(1000)
    a.alloc(30 * MIB, "second:model.py")
    a.wait(1000)
    a.free(a.alloc(MIB, "third"))
    return opened(tmp_path, a)


def test_sizes_are_stacked_from_below(two: Session) -> None:
    found = drawn(two, MapKind.SIZES)
    whole = found.frame.whole
    scale = 200 / whole.height
    rows = {int(two.inputs[0].trace.tables["blocks"].size[k]): k for k in range(3)}
    first, second = rows[10 * MIB], rows[30 * MIB]
    column = found.numbers[::-1, 300]
    assert (column == first).sum() == pytest.approx(10 * MIB * scale, abs=1)
    assert (column == second).sum() == pytest.approx(30 * MIB * scale, abs=1)
    assert column[0] == first
    assert column[-1] == NOTHING
    assert second not in found.numbers[:, 100]
    told = tell(two, found, 300.5 / 400, 1 - 5 * MIB / whole.height)
    assert told.startswith("10 MiB · ")
    assert "first (model.py:" in told


def test_what_was_made_before_the_recording_lies_below(tmp_path: Path) -> None:
    a = FakeAllocator()
    a.alloc(16 * MIB, "old")
    since = len(a.events)
    a.free(a.alloc(16 * MIB, "new"))
    a.wait(100)
    a.free(a.alloc(16 * MIB, "new"))
    session = opened(tmp_path, a, since)
    found = drawn(session, MapKind.SIZES)
    bottom = set(found.numbers[-1].tolist()) - {NOTHING}
    (old,) = bottom
    assert "from before the recording" in tell(session, found, 0.5, 0.99)
    assert session.inputs[0].trace.tables["blocks"].made_event[old] == -1


def test_addresses_are_whole_intervals_and_nothing_short_is_lost(two: Session) -> None:
    found = drawn(two, MapKind.ADDRESSES)
    present = set(np.unique(found.numbers).tolist()) - {NOTHING}
    assert present == {0, 1, 2}
    for block in range(3):
        rows, cols = np.nonzero(found.numbers == block)
        assert (np.diff(np.unique(rows)) == 1).all()
        assert (np.diff(np.unique(cols)) == 1).all()
    assert found.frame.whole.height == (10 + 2 + 30) * MIB


def test_a_zoomed_map_shows_the_same_blocks_where_they_are(tmp_path: Path) -> None:
    session = opened(tmp_path, training(Planted(steps=3)))
    whole = drawn(session, MapKind.SIZES).frame.whole
    middle = whole.x0 + whole.length // 2
    span = MapSpan(middle, middle + whole.length // 50, 0.0, whole.height / 3)
    found = drawn(session, MapKind.SIZES, span)
    trace = session.inputs[0].trace
    for x in (0.1, 0.6, 0.9):
        event = event_at(found, x)
        held = set(held_rows(trace, 0, event).tolist())
        shown = set(found.numbers[:, int(x * 400)].tolist()) - {NOTHING}
        assert shown  # a column may show an earlier, higher instant of its time
        assert len(shown - held) <= 2


def test_segments_show_their_blocks_and_holes(tmp_path: Path) -> None:
    a = FakeAllocator()
    one = a.alloc(5 * MIB, "a")
    a.alloc(5 * MIB, "b")
    a.free(one)
    session = opened(tmp_path, a)
    trace = session.inputs[0].trace
    found = drawn(session, MapKind.SEGMENTS, event=len(trace.tables["allocator_events"]) - 1)
    top = found.numbers[2]
    assert (top <= HOLE).sum() == pytest.approx(300, abs=2)  # 15 of 20 MiB
    assert (top >= 0).sum() == pytest.approx(100, abs=2)
    assert tell(session, found, 0.1, 0.01).startswith("Hole of 5 MiB")
    assert not found.frame.moves


def test_the_selected_block_has_a_colour_of_its_own(two: Session) -> None:
    found = drawn(two, MapKind.SIZES)
    number = number_at(found, 0.75, 0.6)
    again = painted(two, found, theme(), number)
    assert (again.frame.image[found.numbers == number] != found.frame.image[found.numbers == number]).all()
    assert (again.frame.image[found.numbers != number] == found.frame.image[found.numbers != number]).all()


def test_events_without_times_have_an_axis_of_events(tmp_path: Path) -> None:
    a = training(Planted(steps=2))
    for event in a.events:
        del event["time_us"]
    session = opened(tmp_path, a)
    (choice,) = choices(session)
    assert choice.apart
    found = drawn(session, MapKind.SIZES)
    assert found.frame.x_ticks[0][1].startswith("#")
    assert event_at(found, 0.999) == len(a.events) - 1
    assert peak_event(session, choice) is not None


def test_only_categories_that_occur_are_explained(tmp_path: Path) -> None:
    session = opened(tmp_path, training(Planted(steps=3)))
    seen = present(session, drawn(session, MapKind.SIZES))
    assert {Category.WEIGHTS, Category.ACTIVATIONS, Category.OPTIMIZER} <= seen
    assert Category.INPUT not in seen
