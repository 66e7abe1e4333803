"""Arranging lanes: pure functions of one value."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import kernel, make_session, make_trace, op
from viewer.base.frames import LaneGroup, Placement
from viewer.store.session import Session
from viewer.views.lanes.arrangement import (
    Height,
    LaneArrangement,
    RankSort,
    arrange,
    arrangement_from,
    hidden_names,
    moved,
    ordered_groups,
    plain_arrangement,
    same_on_every_rank,
    with_lane_moved,
    with_rank_moved,
)
from viewer.views.lanes.sorting import sort_figures
from viewer.views.lanes.tree import build_tree


def session(ranks: int = 3) -> Session:
    traces = [
        make_trace(
            kernel("gemm", 0, 100 * (3 - r)),
            kernel("ncclDevKernel_AllReduce", 0, 200 + 10 * r, stream=20),
            kernel("gemm", 0, 10, device=1),
            op("aten::mm", 0, 50 + 1000 * (r == 1), tid=5),
            op("aten::add", 0, 50, pid=200, tid=6),
            rank=r,
            path=f"rank{(r + 1) % 3}.json",
        )
        for r in range(ranks)
    ]
    return make_session(*traces)


def tree() -> tuple[LaneGroup, ...]:
    return build_tree(session())


def shown(placement: Placement) -> list[str]:
    return [
        row.lane.key if row.lane is not None else f"{row.group.key}/{row.section}" if row.section else row.group.key
        for row in placement.rows
    ]


def assert_stacked(placement: Placement) -> None:
    y = 0
    for row in placement.rows:
        assert row.y == y
        y += row.height
    assert y == placement.height


RANK_0 = ["rank 0/stream 0:7", "rank 0/stream 0:20", "rank 0/stream 1:7", "rank 0/thread 100:5", "rank 0/thread 200:6"]


def test_lanes_know_their_gpu_or_process() -> None:
    (group, *_) = tree()
    assert [lane.key for lane in group.lanes] == RANK_0
    assert [lane.section for lane in group.lanes] == ["GPU 0", "GPU 0", "GPU 1", "process 100", "process 200"]


def test_everything_shows_at_first() -> None:
    placement = arrange(tree(), LaneArrangement())
    assert shown(placement)[:6] == ["rank 0", *RANK_0]
    assert len(placement.rows) == 18
    assert_stacked(placement)


def test_folding_at_each_level() -> None:
    now = LaneArrangement(collapsed=frozenset({"rank 1", "rank 0/GPU 0", "rank 0/process 200"}))
    placement = arrange(tree(), now)
    assert shown(placement)[:7] == ["rank 0", "rank 0/GPU 0", *RANK_0[2:4], "rank 0/process 200", "rank 1", "rank 2"]
    assert [r.folded for r in placement.rows[:6]] == [False, True, None, None, True, True]
    assert_stacked(placement)
    assert shown(arrange(tree(), now.toggled("collapsed", "rank 1")))[5:7] == ["rank 1", "rank 1/stream 0:7"]


def test_hidden_ranks_and_lanes_are_named_so_that_they_can_come_back() -> None:
    now = LaneArrangement(hidden=frozenset({"rank 2", RANK_0[0], "rank 9"}))
    placement = arrange(tree(), now)
    assert RANK_0[0] not in shown(placement)
    assert "rank 2" not in shown(placement)
    assert hidden_names(tree(), now) == ((RANK_0[0], "rank 0 · GPU 0 · stream 7"), ("rank 2", "rank 2"))


def test_pinned_lanes_come_first_and_only_there() -> None:
    keys = same_on_every_rank(tree(), RANK_0[1])
    assert keys == tuple(f"rank {r}/stream 0:20" for r in range(3))
    placement = arrange(tree(), LaneArrangement().pinned_with(keys))
    assert shown(placement)[:3] == list(keys)
    assert all(shown(placement).count(k) == 1 for k in keys)
    assert [r.lane.label for r in placement.rows[:2] if r.lane] == [
        "rank 0 · GPU 0 · stream 20",
        "rank 1 · GPU 0 · stream 20",
    ]
    assert placement.pinned_height == placement.rows[3].y
    assert_stacked(placement)
    for top in (0, 50):
        for y in (0.0, 10.0, 200.0):
            assert placement.screen_y(placement.content_y(y, top), top) == y
    assert not arrange(tree(), LaneArrangement().pinned_with(keys).unpinned(keys)).pinned_height


def test_too_many_pins_do_not_fill_the_window() -> None:
    every = tuple(lane.key for g in build_tree(session(3)) for lane in g.lanes)
    now = LaneArrangement(pinned=every, height=Height.TALL)
    placement = arrange(tree(), now)
    assert placement.pinned_height <= 360
    assert shown(placement)[: len(every)] == list(every)
    pins = [r.pinned for r in placement.rows]
    assert pins == sorted(pins, reverse=True)


def test_threads_are_matched_across_ranks_by_place_or_name() -> None:
    groups = tree()
    other = replace(groups[1], lanes=tuple(replace(x, key=x.key.replace("200:6", "900:6")) for x in groups[1].lanes))
    assert same_on_every_rank((groups[0], other), RANK_0[4]) == (RANK_0[4], "rank 1/thread 900:6")
    assert same_on_every_rank(groups, "nothing") == ()


def test_heights_of_a_lane_and_of_all() -> None:
    def heights(now: LaneArrangement) -> list[int]:
        return [r.row_height for r in arrange(tree(), now).rows if r.group.id == 0 and r.lane]

    normal, small, tall = (heights(LaneArrangement(height=h)) for h in (Height.NORMAL, Height.SMALL, Height.TALL))
    assert all(a < b < c for a, b, c in zip(small, normal, tall, strict=True))
    one = LaneArrangement().with_height(Height.TALL, RANK_0[0])
    assert heights(one) == [tall[0], *normal[1:]]
    assert one.height_of(RANK_0[0]) is Height.TALL
    assert one.with_height(Height.NORMAL, RANK_0[0]) == LaneArrangement()
    assert one.with_height(Height.SMALL) == LaneArrangement(height=Height.SMALL)


def test_lanes_and_ranks_are_moved() -> None:
    groups = tree()
    now = with_lane_moved(LaneArrangement(), groups[0], RANK_0[3], RANK_0[0])
    assert shown(arrange(groups, now))[1:6] == [RANK_0[3], *RANK_0[:3], RANK_0[4]]
    now = with_lane_moved(now, groups[0], RANK_0[3], "")
    assert shown(arrange(groups, now))[1:6] == [*RANK_0[:3], RANK_0[4], RANK_0[3]]
    now = with_rank_moved(now, [g.key for g in groups], "rank 2", "rank 0")
    assert [g.key for g in ordered_groups(groups, now)] == ["rank 2", "rank 0", "rank 1"]
    grown = with_rank_moved(LaneArrangement(), ["rank 2", "rank 1"], "rank 1", "rank 2")
    assert [g.key for g in ordered_groups(groups, grown)] == ["rank 1", "rank 2", "rank 0"], "a new rank comes last"


@given(st.permutations(range(5)), st.integers(0, 4), st.integers(0, 5))
def test_moving_changes_nothing_else(order: list[int], which: int, before: int) -> None:
    keys = tuple(f"k{n}" for n in order)
    target = f"k{before}" if before < 5 else ""
    out = moved(keys, f"k{which}", target)
    assert sorted(out) == sorted(keys)
    rest = [k for k in keys if k != f"k{which}"]
    assert [k for k in out if k != f"k{which}"] == rest
    if target and target != f"k{which}":
        assert out.index(f"k{which}") + 1 == out.index(target)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (RankSort.RANK, [0, 1, 2]),
        (RankSort.DURATION, [1, 0, 2]),
        (RankSort.BUSY, [0, 2, 1]),
        (RankSort.EXPOSED, [2, 1, 0]),
        (RankSort.FILE, [0, 1, 2]),
        (RankSort.GROUP, [0, 1, 2]),
    ],
)
def test_ranks_are_sorted_by_what_is_named(sort: RankSort, order: list[int]) -> None:
    made = session()
    figures = sort_figures(made, sort)
    groups = ordered_groups(build_tree(made), LaneArrangement(sort=sort), figures)
    assert [g.id for g in groups] == order
    assert ordered_groups(build_tree(made), LaneArrangement(sort=sort)) == build_tree(made), "unknown yet"


def test_a_filter_leaves_ranks_with_lanes_of_their_own() -> None:
    placement = arrange(tree(), LaneArrangement(), frozenset({RANK_0[1], "rank 2/thread 100:5"}))
    assert shown(placement) == ["rank 0", RANK_0[1], "rank 2", "rank 2/thread 100:5"]


def test_an_arrangement_goes_into_a_file_and_back() -> None:
    now = LaneArrangement(
        frozenset({"rank 1"}),
        frozenset({"rank 0/a", "b"}),
        ("x", "y"),
        frozenset({"rank 3"}),
        (("x", Height.SMALL),),
        Height.TALL,
        RankSort.OWN,
        ("rank 1", "rank 0"),
        (("rank 0", ("b", "a")),),
        "rank:0 nccl",
    )
    plain = json.loads(json.dumps(plain_arrangement(now)))
    assert arrangement_from(plain) == now
    assert arrangement_from({}) == LaneArrangement()
    assert arrangement_from({"height": "huge"}) is None


def test_no_key_is_lost_or_doubled_whatever_is_arranged() -> None:
    groups = tree()
    every = {lane.key for g in groups for lane in g.lanes}
    for pin, fold in itertools.product(every, ("rank 0", "rank 0/GPU 0", "")):
        keys = [k for k in shown(arrange(groups, LaneArrangement(frozenset({fold}), pinned=(pin,)))) if k in every]
        assert len(keys) == len(set(keys))
        assert pin in keys
