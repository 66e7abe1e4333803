from __future__ import annotations

import numpy as np
import pytest

from tests.support.build import kernel, make_session, make_trace, op
from tests.support.themes import theme
from viewer.analyses.query import parse
from viewer.base.frames import LaneRow, Pixels
from viewer.base.ids import LaneKind
from viewer.base.selection import TimeRange
from viewer.base.work import CancelToken
from viewer.panels.timeline.overlay import describe
from viewer.store.session import Session
from viewer.views.lanes.arrangement import LaneArrangement, arrange
from viewer.views.lanes.counter_paint import columns, series_color
from viewer.views.lanes.counters import value_axis, value_text, values_at
from viewer.views.lanes.filter import apply_filter
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.palette import rgb
from viewer.views.lanes.tree import LANE_PAD, build_tree, place

GIB = 2.0**30


def job(samples: list[tuple[int, float]] | None = None) -> Session:
    """A rank with a stream, a thread, a memory counter of two series and a queue."""
    samples = [(100, 4.0), (300, 9.0), (301, 1.0), (700, 6.0)] if samples is None else samples
    memory = [(t, "100", "Memory", "Total Allocated", v * GIB) for t, v in ((0, 1.0), (500, 3.0))]
    memory += [(0, "100", "Memory", "Total Reserved", 4 * GIB)]
    queue = [(t, "100", "Queue", "length", v) for t, v in samples]
    return make_session(
        make_trace(
            kernel("gemm", 0, 900),
            op("aten::mm", 10, 200, pid=100, tid=100),
            rank=3,
            counters=sorted(memory + queue, key=lambda s: s[0]),
        )
    )


def lane_of(session: Session, label: str) -> LaneRow:
    return next(lane for g in build_tree(session) for lane in g.lanes if lane.label == label)


def test_counters_lie_below_the_streams_of_their_rank() -> None:
    (group,) = build_tree(job())
    assert [lane.kind for lane in group.lanes] == [
        LaneKind.STREAM,
        LaneKind.COUNTER,
        LaneKind.COUNTER,
        LaneKind.THREAD,
    ]
    assert [lane.key for lane in group.lanes][1:3] == ["rank 3/counter 100:Memory", "rank 3/counter 100:Queue"]
    assert "Total Allocated, Total Reserved" in group.lanes[1].detail


def test_an_axis_begins_at_zero_unless_the_values_hardly_differ() -> None:
    session = job()
    memory = value_axis(session, lane_of(session, "Memory"))
    assert (memory.low_text, memory.high_text) == ("0 B", "4 GiB")
    near = job([(0, 1000.0), (5, 1001.0)])
    assert value_axis(near, lane_of(near, "Queue")).low == 1000.0
    flat = job([(0, 7.0)])
    assert (value_axis(flat, lane_of(flat, "Queue")).low, value_axis(flat, lane_of(flat, "Queue")).high) == (0, 7)


def test_values_are_read_in_their_unit() -> None:
    session = job()
    assert values_at(session, lane_of(session, "Memory"), 499) == ("Total Allocated: 1 GiB", "Total Reserved: 4 GiB")
    assert values_at(session, lane_of(session, "Queue"), 300) == ("length: 9",)
    assert values_at(session, lane_of(session, "Queue"), 99) == ("length: no sample before this time",)
    assert value_text(0.25, "") == "0.25"
    assert value_text(1234567.0, "") == "1,234,567"


@pytest.mark.parametrize("length", [1, 3, 7, 100, 101, 10_007, 3_600_000_000_000 * 30])
def test_columns_hold_every_instant_once_or_share_it(length: int) -> None:
    wide = 100
    first, last = columns(5, length, wide)
    assert first[0] == 5
    assert last[-1] == 5 + length - 1
    assert (last >= first).all()
    gaps = first[1:] - last[:-1]
    assert ((gaps == 0) | (gaps == 1)).all()  # a column begins within the last instant of the one before, or after it


@pytest.mark.parametrize(("low", "high"), [(-9e307, 9e307), (0.0, 1.7e308), (-1.7e308, 1.7e308), (-1.7e308, 0.0)])
def test_values_near_the_ends_of_what_a_float_holds_are_drawn(low: float, high: float) -> None:
    session = job([(100, low), (500, high)])
    placement = place(build_tree(session))
    frame = LanePainter(session, placement, theme()).frame(TimeRange(0, 900), 90, 0, placement.height, 1.0)
    row = next(r for r in placement.rows if r.lane is not None and r.lane.label == "Queue")
    y, height = round(row.y + LANE_PAD), round(row.row_height)
    ink = 0xFF000000 | int.from_bytes(bytes(rgb(series_color(theme(), 0))), "big")
    lines = frame.image[y : y + height] == ink
    assert lines[height - 1, 30]
    assert lines[0, 80]
    assert not lines[:, 5].any()


@pytest.mark.parametrize("dpr", [1.0, 1.25, 2.0])
@pytest.mark.parametrize("window", [TimeRange(0, 900), TimeRange(250, 350), TimeRange(298, 303), TimeRange(-50, 4000)])
def test_every_pixel_column_goes_from_the_smallest_to_the_largest_value_in_its_time(
    window: TimeRange, dpr: float
) -> None:
    session = job()
    placement = place(build_tree(session))
    painter = LanePainter(session, placement, theme())
    frame = painter.frame(window, 160, 0, placement.height, dpr)
    row = next(r for r in placement.rows if r.lane is not None and r.lane.label == "Queue")
    ink = 0xFF000000 | int.from_bytes(bytes(rgb(series_color(theme(), 0))), "big")
    y, height = round((row.y + LANE_PAD) * dpr), round(row.row_height * dpr)
    lines = frame.image[y : y + height] == ink
    samples = [(100, 4.0), (300, 9.0), (301, 1.0), (700, 6.0)]
    hair = max(1, round(dpr))
    lowest = height - hair
    before: float | None = None
    first, last = columns(window.start_ns, window.length_ns, frame.image.shape[1])
    for x, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        values = [v for t, v in samples if t <= a][-1:] + [v for t, v in samples if a <= t <= b]
        if not values:
            assert not lines[:, x].any()
            continue
        low, high = (lowest - round(v / 9.0 * lowest) for v in (min(values), max(values)))
        if before is not None:
            joint = lowest - round(before / 9.0 * lowest)
            low, high = max(low, joint), min(high, joint)
        wanted = np.zeros(height, bool)
        wanted[high : low + hair] = True
        np.testing.assert_array_equal(lines[:, x], wanted)
        before = values[-1]


def test_counters_drawn_into_a_part_of_a_larger_image_are_the_same_picture() -> None:
    session = job()
    placement = place(build_tree(session))
    frame = LanePainter(session, placement, theme()).frame(TimeRange(0, 900), 160, 0, placement.height)
    large = np.full((placement.height + 5, 200), 77, np.uint32)
    frame.draw(Pixels(large.reshape(-1), 3 * 200 + 9, 200, 160, placement.height))
    inside = large[3 : 3 + placement.height, 9 : 9 + 160]
    np.testing.assert_array_equal(inside, frame.image)
    inside[...] = 77
    assert (large == 77).all(), "nothing is written beside the part"


def test_the_axis_labels_are_named_in_the_frame() -> None:
    session = job()
    placement = place(build_tree(session))
    frame = LanePainter(session, placement, theme()).frame(TimeRange(0, 900), 400, 0, placement.height)
    texts = [frame.names.texts[i] for i in frame.names.text.tolist()]
    assert {"0 B", "4 GiB", "0", "9"} <= set(texts)


def test_what_is_under_the_pointer_is_told_with_its_values() -> None:
    session = job()
    placement = place(build_tree(session))
    row = next(r for r in placement.rows if r.lane is not None and r.lane.label == "Memory")
    hit = LanePainter(session, placement, theme()).hit(TimeRange(0, 900), 900, 600.0, row.y + 10)
    title, lines, paint = describe(session, hit, 0)
    assert (title, paint) == ("Memory", None)
    assert lines[:2] == ("Total Allocated: 3 GiB", "Total Reserved: 4 GiB")
    assert lines[2].startswith("at 600 ns")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("alloc", {"Memory"}),
        ("name:queue", {"Queue"}),
        ("rank:3 lane:memory", {"Memory"}),
        ("rank:4", set()),
        ("process:100", {"Memory", "Queue"}),
        ("-queue", {"Memory"}),
        ("stream:7", set()),
        ("dur:>1ns", set()),
    ],
)
def test_a_filter_leaves_the_counters_that_it_names(text: str, left: set[str]) -> None:
    session = job()
    groups = build_tree(session)
    found = apply_filter(session, groups, parse(text), {}, LodStore(), CancelToken())
    assert found.lanes is not None
    by_key = {lane.key: lane for g in groups for lane in g.lanes}
    assert {by_key[k].label for k in found.lanes if by_key[k].counters} == left


def test_counters_are_arranged_like_other_lanes() -> None:
    session = job()
    groups = build_tree(session)
    key = lane_of(session, "Memory").key
    hidden = arrange(groups, LaneArrangement(hidden=frozenset({key})))
    assert hidden.find(key) is None
    pinned = arrange(groups, LaneArrangement(pinned=(key,)))
    assert pinned.rows[0].lane is not None
    assert pinned.rows[0].lane.key == key
    assert pinned.rows[0].pinned
    folded = arrange(groups, LaneArrangement(collapsed=frozenset({"rank 3/counters"})))
    assert [r.section for r in folded.rows if r.section] == ["counters"]
    only = arrange(groups, LaneArrangement(), frozenset({key}))
    assert [r.lane.key for r in only.rows if r.lane is not None] == [key]
