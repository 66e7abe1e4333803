"""Memory lanes: which there are, that no peak is lost at any zoom, layers and values at an instant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator, profiler_events
from tests.support.memory_job import Planted, training
from tests.support.themes import theme
from tests.viewer.importers.test_profiler_memory import memory
from tests.viewer.importers.texts import open_job, write_json
from viewer.analyses.memory.figures import device_events
from viewer.base.allocator import Category
from viewer.base.frames import LaneRow
from viewer.base.scene import SceneImage
from viewer.base.selection import TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.lanes.counter_paint import columns
from viewer.views.lanes.counters import has_values, value_axis, values_at
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.palette import rgb
from viewer.views.lanes.tree import build_tree, place
from viewer.views.memory.lanes import ROW_PX, lane_levels
from viewer.views.memory.levels import FINE
from viewer.views.memory.paint import category_colors, packed, peak_steps
from viewer.views.memory.panel import choices, memory_view
from viewer.views.picture.scene import PictureRequest, picture_scene


def lanes_of(session: Session) -> list[LaneRow]:
    return [lane for group in build_tree(session) for lane in group.lanes if lane.memory]


def snapshot(tmp_path: Path, a: FakeAllocator, name: str = "rank0.pickle") -> Path:
    path = tmp_path / name
    path.write_bytes(a.pickled())
    return path


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


def test_blocks_that_sum_to_more_than_the_total_are_told(tmp_path: Path) -> None:
    events = [memory(10 * k, 900, 1000, 4096 * k) for k in range(1, 5)]
    session = open_job(tmp_path, write_json(tmp_path / "trace.json", events)).session
    (lane,) = lanes_of(session)
    ((item, device, levels),) = lane_levels(session, lane, wait=True)
    assert levels.held_at(np.array([-1, 0, 3])).sum(axis=0).tolist() == [100, 1000, 1000]
    (choice,) = choices(session)
    view = memory_view(session, choice, device_events(item.trace, device).stop - 1, None, CancelToken())
    assert view.warning
    assert "Its blocks sum to 3.516 KiB, more than that" in view.sentence
    last = item.clock.to_session(int(item.trace.tables["allocator_events"].time_ns[-1]))
    assert "its blocks sum to more: frees are missing in the events" in values_at(session, lane, last)


@pytest.mark.parametrize("since", [0, 300])
def test_columns_at_every_zoom_show_what_a_plain_look_at_all_events_shows(tmp_path: Path, since: int) -> None:
    path = tmp_path / "rank0.pickle"
    path.write_bytes(training(Planted(steps=60)).pickled(since=since))
    session = open_job(tmp_path, path).session
    (lane,) = lanes_of(session)
    ((item, _, levels),) = lane_levels(session, lane, wait=True)
    e = item.trace.tables["allocator_events"]
    assert len(levels.at_highs) > 10
    series, held = levels.categories, levels.lines["allocated"]
    assert series is not None
    t0, t1 = int(e.time_ns[0]), int(e.time_ns[-1])
    for wide in (1, 7, 200, 1500):
        for share in (1.0, 0.3, 0.01):
            start = t0 - 1000 + int((t1 - t0) * (1 - share) * 0.6)
            length = int((t1 - t0) * share) + 2000
            first, last = columns(start, length, wide)
            begin, most, at = peak_steps(levels, (first, last))
            slack = (length // wide) // FINE + 1
            for k, step in enumerate(at.tolist(), begin):
                a = int(np.searchsorted(e.time_ns, first[k], "left"))
                a -= int(a == len(e) or e.time_ns[a] != first[k])
                b = int(np.searchsorted(e.time_ns, last[k], "right"))
                level = [held.before] if a < 0 or (a == 0 and e.time_ns[0] >= first[k]) else []
                level += e.allocated[max(a, 0) : b].tolist()
                shown = e.allocated[step] if step >= 0 else held.before
                if shown != max(level):  # an event so near to a border that nobody sees on which side it is
                    near = np.searchsorted(e.time_ns, [first[k] - slack, last[k] + 1 - slack], "left")
                    inside = e.allocated[max(a, 0) : near[1]].max(initial=0)
                    assert inside <= shown <= e.allocated[max(near[0] - 1, 0) : b].max()
            assert levels.held_at(at).tolist() == series.after(at + 1)[0].tolist()
            assert levels.held_at(at).sum(axis=0).tolist() == most.tolist()
            assert begin == np.searchsorted(last, t0)


def test_a_picture_shows_the_memory_lane(tmp_path: Path) -> None:
    session = open_job(tmp_path, snapshot(tmp_path, training(Planted(steps=3)))).session
    extent = session.extent()
    assert extent is not None
    scene = picture_scene(session, PictureRequest(extent, 800, 400, theme()))
    (image,) = (item for item in scene.items if isinstance(item, SceneImage))
    colors = category_colors(theme(), 0.78)
    assert (image.pixels == colors[Category.WEIGHTS]).any()


def test_layers_of_a_source_of_sums_are_those_of_its_instants(tmp_path: Path) -> None:
    """A timeline tells sums by category at times of its own: fewer than it has events."""
    start = 1_700_000_000_000_000_000
    rows = [[-1, 1, 500, 0]]
    for k in range(400):  # two events of one instant, the second of another category
        rows += [[start + 10 * k, 2, 10, 4], [start + 10 * k, 2, 20, 5]]
    path = tmp_path / "rank0.raw.json"
    path.write_text(json.dumps(rows))
    session = open_job(tmp_path, path).session
    (lane,) = lanes_of(session)
    ((_, _, levels),) = lane_levels(session, lane, wait=True)
    line = levels.lines["allocated"]
    assert levels.categories is not None
    assert len(levels.categories.time) < len(line.time)
    held = levels.held_at(np.arange(-1, len(line.time)))
    assert held[Category.WEIGHTS].tolist() == [500] * (len(line.time) + 1)
    last = np.flatnonzero(np.append(np.diff(line.time) > 0, True))
    assert held[:, last + 1].sum(axis=0).tolist() == line.value[last].tolist()
    assert values_at(session, lane, start + 3_995)[0].startswith("allocated: 12.2")
