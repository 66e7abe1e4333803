"""Memory lanes: which there are, that no peak is lost at any zoom, layers and values at an instant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.memory import MIB, FakeAllocator, profiler_events
from tests.support.memory_job import Planted, training
from tests.support.themes import theme
from tests.viewer.importers.texts import open_job, write_json
from viewer.analyses.memory.figures import device_events
from viewer.analyses.memory.series import CategorySeries
from viewer.base.allocator import Category
from viewer.base.frames import LaneRow
from viewer.base.scene import SceneImage
from viewer.base.selection import TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.counter_lanes import has_values, value_axis, values_at
from viewer.views.lane_tree import build_tree, place
from viewer.views.lanes import LanePainter
from viewer.views.memory_lanes import ROW_PX, lane_levels
from viewer.views.memory_levels import PeakIndex
from viewer.views.memory_paint import category_colors, packed, trusted
from viewer.views.memory_panel import choices, memory_view
from viewer.views.palette import rgb
from viewer.views.picture import PictureRequest, picture_scene


def lanes_of(session: Session) -> list[LaneRow]:
    return [lane for group in build_tree(session) for lane in group.lanes if lane.memory]


def snapshot(tmp_path: Path, a: FakeAllocator, name: str = "rank0.pickle") -> Path:
    path = tmp_path / name
    path.write_bytes(a.pickled())
    return path


@settings(max_examples=60)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=700), st.data())
def test_the_largest_of_any_stretch_is_found(values: list[int], data: st.DataObject) -> None:
    array = np.array(values, np.float64)
    pairs = data.draw(
        st.lists(
            st.tuples(st.integers(0, len(values) - 1), st.integers(1, len(values))).map(
                lambda p: (p[0], max(p[1], p[0] + 1))
            ),
            min_size=1,
            max_size=20,
        )
    )
    a, b = np.array(pairs, np.int64).T.copy()
    found = PeakIndex(array).largest(a, b)
    for place_, first, last in zip(found.tolist(), a.tolist(), b.tolist(), strict=True):
        assert first <= place_ < last
        assert values[place_] == max(values[first:last])


def test_a_snapshot_and_a_trace_have_one_lane_per_device(tmp_path: Path) -> None:
    a = training(Planted(steps=3))
    (lane,) = lanes_of(open_job(tmp_path, snapshot(tmp_path, a)).session)
    assert (lane.label, lane.section) == ("memory cuda:0", "memory")
    trace = write_json(tmp_path / "trace.json", profiler_events(a))
    session = open_job(tmp_path, trace).session
    (lane,) = lanes_of(session)
    assert lane.key.endswith("/memory profiler cuda:0")


def test_a_source_without_times_has_no_lane(tmp_path: Path) -> None:
    a = training(Planted(steps=2))
    for event in a.events:
        del event["time_us"]
    assert lanes_of(open_job(tmp_path, snapshot(tmp_path, a)).session) == []


def test_a_trace_without_memory_has_no_lane(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    path = write_json(tmp_path / "trace.json", {"traceEvents": [event | {"args": {"stream": 7, "device": 0}}]})
    assert lanes_of(open_job(tmp_path, path).session) == []


@pytest.fixture
def spike(tmp_path: Path) -> tuple[Session, LaneRow]:
    """32 MiB for two seconds, and 100 MiB more for seven microseconds in the middle."""
    a = FakeAllocator()
    a.alloc(32 * MIB, "x")
    a.wait(1_000_000)
    a.free(a.alloc(100 * MIB, "y"))
    a.wait(1_000_000)
    a.free(a.alloc(MIB, "z"))
    session = open_job(tmp_path, snapshot(tmp_path, a)).session
    (lane,) = lanes_of(session)
    lane_levels(session, lane, wait=True)
    return session, lane


def test_a_peak_of_one_event_shows_in_a_window_of_seconds(spike: tuple[Session, LaneRow]) -> None:
    session, lane = spike
    extent = session.extent()
    assert extent is not None
    placement = place(build_tree(session))
    painter = LanePainter(session, placement, theme())
    row = placement.find(lane.key)
    assert row is not None
    image = painter.frame(extent, 300, row.y, row.height, labels=False).image
    line = packed(rgb(theme()["text"]))
    tops = [int(np.flatnonzero(image[:, x] == line)[0]) for x in range(300)]
    # 136 MiB are reserved: the axis. 32 of them lie low, 132 nearly at the top, in one column only.
    assert row.height == ROW_PX + 6
    high = [x for x, top in enumerate(tops) if top < 10]
    assert len(high) in {1, 2}
    assert abs(high[0] - 150) <= 2
    assert min(tops[:100]) > ROW_PX * 0.6


def test_layers_below_the_line_have_the_colours_of_their_categories(tmp_path: Path) -> None:
    session = open_job(tmp_path, snapshot(tmp_path, training(Planted(steps=4)))).session
    (lane,) = lanes_of(session)
    lane_levels(session, lane, wait=True)
    placement = place(build_tree(session))
    row = placement.find(lane.key)
    extent = session.extent()
    assert row is not None
    assert extent is not None
    image = LanePainter(session, placement, theme()).frame(extent, 400, row.y, row.height, labels=False).image
    colors = category_colors(theme(), 0.78)
    for category in (Category.WEIGHTS, Category.OPTIMIZER, Category.GRADIENTS, Category.ACTIVATIONS):
        assert (image == colors[category]).any(), category.name


def test_values_at_an_instant_add_up(tmp_path: Path) -> None:
    a = training(Planted(steps=3))
    session = open_job(tmp_path, snapshot(tmp_path, a)).session
    (lane,) = lanes_of(session)
    assert values_at(session, lane, 0) == ("its memory is being read…",)
    ((item, _, levels),) = lane_levels(session, lane, wait=True)
    assert levels.categories is not None
    times = item.trace.tables["allocator_events"].time_ns[:]
    last = np.flatnonzero(np.append(times[1:] != times[:-1], True))
    sums = levels.categories.at(times[last]).sum(axis=0)
    assert sums.tolist() == item.trace.tables["allocator_events"].allocated[last].tolist()
    told = values_at(session, lane, item.clock.to_session(int(times[-1])))
    assert told[0].startswith("allocated: ")
    assert any(text.startswith("  weights: 24 MiB") for text in told)
    assert value_axis(session, lane).low == 0
    first = item.clock.to_session(int(times[0]))
    assert has_values(session, lane, TimeRange(first, first + 10))
    assert not has_values(session, lane, TimeRange(first - 10, first))


def test_blocks_that_sum_to_more_than_the_total_have_no_layers(tmp_path: Path) -> None:
    instant = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1}
    events = [
        instant
        | {"ts": 10 * k, "args": {"Total Allocated": 1000, "Total Reserved": 4000, "Bytes": 900, "Addr": 4096 * k,
                                  "Device Id": 0, "Device Type": 1}}
        for k in range(1, 5)
    ]  # fmt: skip
    session = open_job(tmp_path, write_json(tmp_path / "trace.json", events)).session
    (lane,) = lanes_of(session)
    ((item, device, levels),) = lane_levels(session, lane, wait=True)
    times = item.trace.tables["allocator_events"].time_ns[:]
    assert levels.categories is not None
    made = [times[:0]] * len(Category)
    sums = [np.zeros(1, np.int64)] * len(Category)
    made[Category.ACTIVATIONS], sums[Category.ACTIVATIONS] = times, np.arange(5) * 900
    none = (times[:0],) * len(Category)
    zero = (np.zeros(1, np.int64),) * len(Category)
    beyond = np.array([100, 100, -800, -1700, -2600])
    shown = CategorySeries(tuple(made), tuple(sums), none, zero, times, beyond)
    held = trusted(replace(levels, categories=shown), times)
    assert held[Category.ACTIVATIONS].tolist() == [900, 0, 0, 0]
    assert held[Category.UNKNOWN].tolist() == [100, 1000, 1000, 1000]
    (choice,) = choices(session)
    view = memory_view(session, choice, device_events(item.trace, device).stop - 1, None, CancelToken())
    assert view.warning
    assert "Its blocks sum to 3.516 KiB, more than that" in view.sentence


def test_a_picture_shows_the_memory_lane(tmp_path: Path) -> None:
    session = open_job(tmp_path, snapshot(tmp_path, training(Planted(steps=3)))).session
    extent = session.extent()
    assert extent is not None
    scene = picture_scene(session, PictureRequest(extent, 800, 400, theme()))
    (image,) = (item for item in scene.items if isinstance(item, SceneImage))
    colors = category_colors(theme(), 0.78)
    assert (image.pixels == colors[Category.WEIGHTS]).any()
