from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.build import (
    Event,
    annotation,
    call,
    kernel,
    make_session,
    make_trace,
    mark,
    op,
    python,
    row_named,
    rows_named,
    sync,
)
from tests.support.themes import theme
from viewer.base.frames import LaneRow, Pixels, Placement
from viewer.base.ids import LaneKind, Paint
from viewer.base.selection import GapRef, Selection, SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.lanes.hit import same_name, time_at, x_of
from viewer.views.lanes.lod import LodStore, build
from viewer.views.lanes.painter import LanePainter, build_tree, default_row_height, place, shrinks
from viewer.views.lanes.palette import palette
from viewer.views.lanes.tree import HEADER_HEIGHT, HEADER_PAD, LANE_PAD

MAIN = {"pid": 100, "tid": 100}
OTHER = {"pid": 100, "tid": 7000}


def job() -> Session:
    """One rank: two streams (one with overlap and marks), two threads; 10 ns per event or so."""
    return make_session(
        make_trace(
            annotation("ProfilerStep#1", 0, 900, **MAIN),
            op("aten::mm", 10, 200, **MAIN),
            call("cudaLaunchKernel", 20, 30, corr=1, **MAIN),
            call("cudaLaunchKernel", 60, 30, corr=2, **MAIN),
            python("frame", 300, 100, **OTHER),
            mark("ProfilerStep#1", 100, 700),
            sync("Stream Sync", 820, 10),
            kernel("gemm", 100, 200, corr=1),
            kernel("gemm", 250, 100, corr=2),
            kernel("copy_kernel", 600, 100),
            kernel("ncclDevKernel_AllReduce_Sum", 150, 300, stream=20),
            rank=3,
            host="node-1",
            devices=[],
        )
    )


def painter_of(session: Session, **how: object) -> LanePainter:
    return LanePainter(session, place(build_tree(session), **how), theme())  # type: ignore[arg-type]


def lane(session: Session, label: str) -> LaneRow:
    return next(x for g in build_tree(session) for x in g.lanes if x.label == label)


def y_in(placement: Placement, label: str, depth: int = 0) -> float:
    row = next(r for r in placement.rows if r.lane is not None and r.lane.label == label)
    return row.y + LANE_PAD + (depth + 0.5) * row.row_height


def test_lanes_come_as_streams_then_threads_with_marks_above_their_stream() -> None:
    (group,) = build_tree(job())
    assert group.title == "rank 3"
    assert group.subtitle == "node-1"
    assert group.warning == ""
    assert [(x.key, x.label, x.kind, x.sub_rows) for x in group.lanes] == [
        ("rank 3/marks 0:7", "stream 7 marks", LaneKind.STREAM_MARKS, 1),
        ("rank 3/stream 0:7", "stream 7", LaneKind.STREAM, 2),
        ("rank 3/stream 0:20", "stream 20", LaneKind.STREAM, 1),
        ("rank 3/thread 100:100", "thread 100 (main)", LaneKind.THREAD, 3),
        ("rank 3/thread 100:7000", "thread 7000", LaneKind.THREAD, 1),
    ]


def test_streams_of_several_devices_are_told_apart_and_sorted_by_number() -> None:
    session = make_session(
        make_trace(*(kernel("k", 10 * d, 5, stream=s, device=d) for d in (1, 0) for s in (24, 7)), rank=0)
    )
    labels = [x.label for x in build_tree(session)[0].lanes]
    assert labels == ["GPU 0 · stream 7", "GPU 0 · stream 24", "GPU 1 · stream 7", "GPU 1 · stream 24"]


def test_threads_with_launches_or_operators_come_before_others() -> None:
    session = make_session(make_trace(python("x", 0, 5, tid=10), op("aten::add", 0, 5, tid=20), rank=0))
    assert [x.label for x in build_tree(session)[0].lanes] == ["thread 20", "thread 10"]


def test_rare_threads_hold_few_slices_and_launch_nothing() -> None:
    busy = [op("aten::mm", 10 * k, 5, tid=1) for k in range(999)]
    watch = [call("cudaEventQuery", 0, 5, tid=2)]
    launch = [call("cudaLaunchKernelExC", 0, 5, corr=1, tid=3)]
    copies = [call("hipMemcpyWithStream", 0, 5, corr=2, tid=4)]
    more = [op("aten::add", 10 * k, 5, tid=5) for k in range(6)]
    few = [op("aten::add", 10 * k, 5, tid=6) for k in range(4)]

    def rare(*events: Event) -> list[str]:
        (group,) = build_tree(make_session(make_trace(*events, kernel("k", 0, 9), rank=0)))
        return sorted(x.label for x in group.lanes if x.key in group.rare)

    assert rare(*busy, *watch, *launch, *copies, *more, *few) == ["thread 2", "thread 6"]
    assert rare(*busy, *watch, *launch, *copies) == [], "a single one takes as little room as its row would"
    assert rare(*watch, *few) == [], "in a small trace nothing is rare"


def test_rare_threads_are_placed_behind_the_row_that_counts_them() -> None:
    busy = [op("aten::mm", 10 * k, 5, tid=1) for k in range(999)]
    groups = build_tree(make_session(make_trace(*busy, op("x", 0, 5, tid=0), op("x", 0, 5, tid=9), rank=0)))

    def labels(unfolded: frozenset[int] | None) -> list[str]:
        return [r.lane.label for r in place(groups, unfolded=unfolded).rows if r.lane is not None]

    assert labels(None) == ["thread 0", "thread 1", "thread 9"], "pictures choose by themselves"
    assert labels(frozenset()) == ["thread 1", "2 more threads"]
    assert labels(frozenset({0})) == ["thread 1", "2 rarely used threads", "thread 0", "thread 9"]


def test_segments_of_a_rank_are_one_group_whose_lanes_have_several_parts() -> None:
    first = make_trace(kernel("a", 0, 10), rank=1, path="w0.json")
    second = make_trace(kernel("b", 1000, 10), kernel("c", 1005, 10), rank=1, path="w1.json")
    (group,) = build_tree(make_session(first, second))
    assert group.title == "rank 1 · 2 segments"
    assert [(x.parts, x.sub_rows) for x in group.lanes] == [(((0, 0), (1, 0)), 2)]


def test_a_conflict_is_said_and_shown_apart() -> None:
    traces = [make_trace(kernel("a", 0, 10), rank=1, path=p) for p in ("x.json", "y.json")]
    groups = build_tree(make_session(*traces))
    assert [g.title for g in groups] == ["rank 1 (x.json)", "rank 1 (y.json)"]
    assert all("rank 1 at the same time" in g.warning for g in groups)


def test_unranked_files_of_one_name_keep_lanes_of_their_own() -> None:
    traces = [make_trace(kernel("a", 0, 10), path=f"{d}/trace.json") for d in ("one", "two")]
    groups = build_tree(make_session(*traces))
    assert [g.title for g in groups] == ["trace.json in one", "trace.json in two"]
    keys = [x.key for g in groups for x in g.lanes]
    assert len(set(keys)) == len(keys)


def test_placement_stacks_headers_and_lanes_without_holes() -> None:
    placement = place(build_tree(job()))
    assert placement.rows[0].lane is None
    y = 0
    for row in placement.rows:
        assert row.y == y
        expected = HEADER_HEIGHT if row.lane is None else row.row_height * row.lane.sub_rows + 2 * LANE_PAD
        assert row.height == expected
        y += row.height
    assert placement.height == y
    assert placement.at(y) is None
    assert placement.at(y - 1) is placement.rows[-1]
    assert placement.find("rank 3/stream 0:20") is placement.rows[3]


def test_deep_threads_shrink_and_can_be_made_tall() -> None:
    frames = [python(f"f{k}", k, 200 - 2 * k) for k in range(60)]
    session = make_session(make_trace(*frames, kernel("k", 0, 5), rank=0))
    deep = lane(session, "thread 1")
    assert deep.sub_rows == 60
    assert shrinks(deep)
    assert not shrinks(lane(session, "stream 7"))
    assert default_row_height(deep) < default_row_height(lane(session, "stream 7"))
    small, tall = (
        place(build_tree(session), tall=keys).find(deep.key) for keys in (frozenset[str](), frozenset({deep.key}))
    )
    assert small is not None
    assert tall is not None
    assert small.height < 260
    assert tall.row_height == 14
    custom = place(build_tree(session), row_height=lambda _: 9).find(deep.key)
    assert custom is not None
    assert custom.row_height == 9


@pytest.mark.parametrize(
    ("label", "depth", "time", "name"),
    [
        ("stream 7", 0, 150, "gemm"),
        ("stream 7", 1, 320, "gemm"),
        ("stream 7", 0, 650, "copy_kernel"),
        ("stream 20", 0, 440, "ncclDevKernel_AllReduce_Sum"),
        ("thread 100 (main)", 0, 850, "ProfilerStep#1"),
        ("thread 100 (main)", 1, 200, "aten::mm"),
        ("thread 100 (main)", 2, 65, "cudaLaunchKernel"),
    ],
)
@pytest.mark.parametrize("base_ns", [0, 1_712_195_000_000_000_000])
def test_hit_finds_the_slice_at_a_point(label: str, depth: int, time: int, name: str, base_ns: int) -> None:
    session = job()
    session = replace(
        session, inputs=(replace(session.inputs[0], clock=replace(session.inputs[0].clock, base_ns=base_ns)),)
    )
    painter = painter_of(session)
    window = TimeRange(base_ns, base_ns + 1000)
    hit = painter.hit(window, 1000, time + 0.5, y_in(painter.placement, label, depth))
    assert hit is not None
    assert hit.slice is not None
    assert session.inputs[0].trace.name(hit.slice.index) == name
    assert hit.box is not None
    assert hit.box.text == name
    where, key, found_depth = painter.locate(hit.slice)
    assert where.start_ns <= base_ns + time < where.end_ns
    assert (key, found_depth) == (lane(session, label).key, depth)


def test_hit_finds_slices_narrower_than_a_pixel_and_those_nearby() -> None:
    session = make_session(make_trace(kernel("tiny", 500_000, 10), kernel("far", 900_000, 10), rank=0))
    painter = painter_of(session)
    window, y = TimeRange(0, 1_000_000), y_in(painter.placement, "stream 7")
    tiny = SliceRef(0, row_named(session.inputs[0].trace, "tiny"))
    for x in (497.5, 499.0, 500.5, 502.0, 503.0):
        hit = painter.hit(window, 1000, x, y)
        assert hit is not None
        assert hit.slice == tiny, x
    away = painter.hit(window, 1000, 510.0, y)
    assert away is not None
    assert away.slice is None


def test_hit_prefers_the_longest_slice_of_a_crowded_pixel() -> None:
    events = [kernel("short", 1000 * k, 100) for k in range(20)]
    session = make_session(make_trace(*events, kernel("long", 19_200, 700), kernel("end", 10**7, 1), rank=0))
    painter = painter_of(session)
    hit = painter.hit(TimeRange(0, 10**7), 500, 0.5, y_in(painter.placement, "stream 7"))
    assert hit is not None
    assert hit.slice == SliceRef(0, row_named(session.inputs[0].trace, "long"))


def test_an_empty_place_of_a_stream_is_a_gap_over_all_sub_rows() -> None:
    session = job()
    painter = painter_of(session)
    for depth in (0, 1):
        hit = painter.hit(TimeRange(0, 1000), 1000, 500.5, y_in(painter.placement, "stream 7", depth))
        assert hit is not None
        assert hit.gap == GapRef(0, lane(session, "stream 7").parts[0][1], TimeRange(350, 600))
    # Inside another sub-row's slice there is no gap, nor before the first and after the last, nor on a thread.
    for label, depth, x in (
        ("stream 7", 1, 150.5),
        ("stream 7", 0, 50.5),
        ("stream 7", 0, 950.5),
        ("thread 100 (main)", 1, 500.5),
        ("stream 7 marks", 0, 50.5),
    ):
        hit = painter.hit(TimeRange(0, 1000), 1000, x, y_in(painter.placement, label, depth))
        assert hit is not None
        assert hit.gap is None
        assert hit.slice is None
        assert hit.row.lane is not None


def test_a_collapsed_group_is_hit_through_its_summary() -> None:
    session = job()
    painter = painter_of(session, collapsed=frozenset({0}))
    assert len(painter.placement.rows) == 1
    hit = painter.hit(TimeRange(0, 1000), 1000, 650.5, HEADER_HEIGHT / 2)
    assert hit is not None
    copy = SliceRef(0, row_named(session.inputs[0].trace, "copy_kernel"))
    assert hit.slice == copy
    box = painter.box_of(copy, TimeRange(0, 1000), 1000)
    assert box is not None
    assert (box.x, box.y, box.width) == (600, HEADER_PAD, 100)
    with pytest.raises(KeyError):
        painter.locate(copy)
    assert painter.box_of(SliceRef(0, row_named(session.inputs[0].trace, "aten::mm")), TimeRange(0, 1000), 1000) is None
    assert painter.hit(TimeRange(0, 1000), 1000, 10, HEADER_HEIGHT + 1) is None


def test_an_open_header_hits_nothing_but_itself() -> None:
    painter = painter_of(job())
    hit = painter.hit(TimeRange(0, 1000), 1000, 150.5, 5)
    assert hit is not None
    assert (hit.slice, hit.gap, hit.row.lane) == (None, None, None)


def test_boxes_are_the_slices_that_are_wide_enough() -> None:
    session = job()
    painter = painter_of(session)
    boxes = painter.boxes(TimeRange(0, 1000), 1000, 90)
    assert sorted(b.text for b in boxes) == sorted(
        [
            "ProfilerStep#1",
            "ProfilerStep#1",
            "aten::mm",
            "frame",
            "gemm",
            "gemm",
            "copy_kernel",
            "ncclDevKernel_AllReduce_Sum",
        ]
    )
    for box in boxes:
        own = painter.box_of(box.ref, TimeRange(0, 1000), 1000)
        assert own is not None
        assert own == box
    cut = painter.boxes(TimeRange(200, 400), 1000, 90)
    assert all(b.x >= -4 and b.x + b.width <= 1004 for b in cut)
    assert {b.paint for b in cut if b.text.startswith("nccl")} == {Paint.COMM}
    in_view = painter.boxes(TimeRange(0, 1000), 1000, 90, top=40, height=30)
    assert in_view
    assert all(b.y + 40 + b.height > 40 and b.y < 30 for b in in_view)


def test_boxes_of_thin_sub_rows_are_not_named_in_frames() -> None:
    session = job()
    painter = painter_of(session, row_height=lambda x: 8 if x.kind is LaneKind.THREAD else 20)
    frame = painter.frame(TimeRange(0, 1000), 1000, 0, 400)
    assert len(frame.names.text)
    assert (frame.names.height >= 11).all()
    assert {frame.names.texts[i] for i in frame.names.text} >= {"gemm", "copy_kernel"}


@pytest.mark.parametrize("dpr", [1.0, 2.0, 1.5])
@pytest.mark.parametrize("with_levels", [False, True])
def test_frames_show_slices_at_their_place_in_their_colour(dpr: float, with_levels: bool) -> None:
    session = job()
    store = LodStore()
    if with_levels:
        store.put(session.inputs[0].trace, build(session.inputs[0].trace))
        assert store.missing(session) == []
        assert Paint.COMM in store.paints(session)
    painter = LanePainter(session, place(build_tree(session)), theme(), store)
    frame = painter.frame(TimeRange(0, 1000), 1000, 0, 300, dpr)
    assert frame.image.shape == (round(300 * dpr), round(1000 * dpr))
    colors = palette(theme())
    for box in painter.boxes(TimeRange(0, 1000), 1000, 20):
        y = int((box.y + box.height / 2) * dpr)
        x = int((box.x + box.width / 2) * dpr)
        assert frame.image[y, x] in colors.fills[:2, box.paint, 255]
        assert frame.image[y, round(max(box.x, 0) * dpr)] == colors.edges[box.paint] or box.x < 0
    gap_y = int(y_in(painter.placement, "stream 7") * dpr)
    assert frame.image[gap_y, int(500 * dpr)] in colors.grounds


def test_scrolling_moves_the_picture_and_nothing_else() -> None:
    painter = painter_of(job())
    whole = painter.frame(TimeRange(0, 1000), 500, 0, 200).image.copy()
    moved = painter.frame(TimeRange(0, 1000), 500, 37, 150).image
    assert np.array_equal(moved, whole[37:187])


def test_a_frame_reuses_its_buffer() -> None:
    painter = painter_of(job())
    first = painter.frame(TimeRange(0, 1000), 500, 0, 200).image
    assert painter.frame(TimeRange(10, 900), 500, 5, 200).image is first


@pytest.mark.parametrize("patterns", [{}, {Paint.COMPUTE: 1, Paint.COMM: 3}])
def test_a_frame_drawn_into_a_part_of_a_larger_image_is_the_same_picture(patterns: dict[int, int]) -> None:
    painter = painter_of(job())
    painter.set_patterns(patterns)
    frame = painter.frame(TimeRange(0, 1000), 150, 0, 120, 2.0, grid=[20.0])
    large = np.full((260, 320), 77, np.uint32)
    part = Pixels(large.reshape(-1), 9 * 320 + 13, 320, 300, 240)
    frame.draw(part)
    inside = large[9 : 9 + 240, 13 : 13 + 300]
    assert np.shares_memory(part.array, large)
    assert len(np.unique(inside)) > 3
    np.testing.assert_array_equal(inside, frame.image)
    np.testing.assert_array_equal(part.array, inside)
    inside[...] = 77
    assert (large == 77).all(), "nothing is written beside the part"


def test_grid_lines_lie_on_the_background_only() -> None:
    painter = painter_of(job())
    frame = painter.frame(TimeRange(0, 1000), 1000, 0, 200, grid=[500.0, 650.0])
    y = int(y_in(painter.placement, "stream 7"))
    colors = palette(theme())
    assert frame.image[y, 500] in colors.grid
    assert frame.image[y, 650] in colors.fills[:2, Paint.COMPUTE, 255]


def test_other_runs_are_underlined() -> None:
    session = job()
    painter = painter_of(session)
    trace = session.inputs[0].trace
    rows = rows_named(trace, "gemm")
    picked = same_name(session, SliceRef(0, rows[0]))
    assert {k: v.tolist() for k, v in picked.items()} == {0: sorted(rows)}
    painter.emphasise(picked)
    frame = painter.frame(TimeRange(0, 1000), 1000, 0, 200)
    accent = 0xFF000000 | int(theme()["accent"][1:], 16)
    for row in rows:
        box = painter.box_of(SliceRef(0, row), TimeRange(0, 1000), 1000)
        assert box is not None
        column = frame.image[int(box.y) : int(box.y + box.height), int(box.x + box.width / 2)]
        assert (column == accent).sum() == 2
    painter.emphasise({})
    assert not (painter.frame(TimeRange(0, 1000), 1000, 0, 200).image == accent).any()


def test_same_name_reaches_other_ranks_and_only_that_name() -> None:
    first = make_trace(kernel("a", 0, 5), kernel("b", 10, 5), rank=0, path="0")
    second = make_trace(kernel("b", 0, 5), kernel("x", 7, 2), kernel("b", 10, 5), rank=1, path="1")
    third = make_trace(kernel("x", 0, 5), rank=2, path="2")
    session = make_session(first, second, third)
    found = same_name(session, SliceRef(0, row_named(first, "b")))
    assert {k: v.tolist() for k, v in found.items()} == {0: [1], 1: [0, 2]}


def test_arrows_join_a_launch_and_its_kernel_from_either_end() -> None:
    session = job()
    painter = painter_of(session)
    trace = session.inputs[0].trace
    first_call = rows_named(trace, "cudaLaunchKernel")[0]
    gemm = rows_named(trace, "gemm")[0]
    (arrow,) = painter.arrows(Selection(slice=SliceRef(0, first_call)))
    assert painter.arrows(Selection(slice=SliceRef(0, gemm))) == [arrow]
    assert (arrow.start_ns, arrow.start_lane, arrow.start_depth) == (20, "rank 3/thread 100:100", 2)
    assert (arrow.end_ns, arrow.end_lane, arrow.end_depth) == (100, "rank 3/stream 0:7", 0)
    under = painter.arrows(Selection(slice=SliceRef(0, row_named(trace, "aten::mm"))))
    assert [a.end_ns for a in under] == [100, 250]
    assert painter.arrows(Selection(slice=SliceRef(0, row_named(trace, "copy_kernel")))) == []
    assert painter.arrows(Selection()) == []


def test_arrows_are_capped() -> None:
    events: list[Event] = [op("aten::big", 0, 10_000, **MAIN)]
    for k in range(100):
        events += [
            call("cudaLaunchKernel", 10 + 20 * k, 5, corr=k + 1, **MAIN),
            kernel("k", 5000 + 20 * k, 5, corr=k + 1),
        ]
    session = make_session(make_trace(*events, rank=0))
    painter = painter_of(session)
    top = SliceRef(0, row_named(session.inputs[0].trace, "aten::big"))
    assert len(painter.arrows(Selection(slice=top), most=7)) == 7


def test_the_overview_has_a_band_per_group() -> None:
    traces = [make_trace(kernel("k", 100 * r, 100), rank=r, path=str(r)) for r in range(4)]
    session = make_session(*traces)
    painter = painter_of(session, collapsed=frozenset({1}))
    image = painter.overview(TimeRange(0, 400), 400, 32, 2.0)
    assert image.shape == (64, 800)
    color = palette(theme()).fills[0, Paint.COMPUTE, 255]
    for rank in range(4):
        band = image[rank * 16 + 8] == color
        assert np.flatnonzero(band).tolist() == list(range(rank * 200, rank * 200 + 200))


def test_an_empty_session_draws_background() -> None:
    painter = painter_of(make_session())
    frame = painter.frame(TimeRange(0, 10), 50, 0, 20)
    assert (frame.image == palette(theme()).grounds[0]).all()
    assert painter.hit(TimeRange(0, 10), 50, 5, 5) is None
    assert painter.overview(TimeRange(0, 10), 50, 20).shape == (20, 50)


def test_times_and_pixels_are_exact_at_the_epoch() -> None:
    start = 1_712_195_495_519_689_047
    window = TimeRange(start, start + 20)
    for ns in range(20):
        assert x_of(window, 1000, start + ns) == ns * 50
        assert time_at(window, 1000, ns * 50 + 0.5) == start + ns
