from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.jit import layout
from viewer.jit.lanes import number_keys
from viewer.jit.ordering import bind_to_slices, group_stable, sort_by_time

Slices = list[tuple[int, int, int]]
slices = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 12)), max_size=60)


def _arguments(lane: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[Any, ...]:
    """What the loops get for slices that are sorted: those of a file in which they stand the other way round."""
    lanes = int(lane.max()) + 1 if len(lane) else 0
    order = np.arange(len(lane), dtype=np.int32)[::-1].copy()
    return (
        order,
        np.searchsorted(lane, np.arange(lanes + 1)),
        0,
        lanes,
        start[::-1].copy(),
        (end - start)[::-1].copy(),
    )


def nest(lane: np.ndarray, start: np.ndarray, end: np.ndarray, depth: np.ndarray, parent: np.ndarray) -> int:
    """Nest; the number of levels."""
    layout.nest(*_arguments(lane, start, end), depth, parent)
    return int(depth.max()) + 1 if len(depth) else 0


def pack(lane: np.ndarray, start: np.ndarray, end: np.ndarray, depth: np.ndarray) -> int:
    """Pack; the number of sub-rows."""
    layout.pack(*_arguments(lane, start, end), depth)
    return int(depth.max()) + 1 if len(depth) else 0


def _sorted(items: Slices) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ordered = sorted(items, key=lambda x: (x[0], x[1], -x[2]))
    lane = np.array([x[0] for x in ordered], np.int32)
    start = np.array([x[1] for x in ordered], np.int64)
    end = start + np.array([x[2] for x in ordered], np.int64)
    return lane, start, end


def _rows_are_disjoint(lane: np.ndarray, start: np.ndarray, end: np.ndarray, depth: np.ndarray) -> bool:
    last: dict[tuple[int, int], int] = {}
    for i in range(len(lane)):
        key = (int(lane[i]), int(depth[i]))
        if key in last and start[i] < last[key]:
            return False
        last[key] = int(end[i])
    return True


def _first_fit(lane: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[list[int], int]:
    busy: dict[int, list[int]] = {}
    depth = []
    for i in range(len(lane)):
        rows = busy.setdefault(int(lane[i]), [])
        free = next((r for r, until in enumerate(rows) if until <= start[i]), len(rows))
        if free == len(rows):
            rows.append(0)
        rows[free] = int(end[i])
        depth.append(free)
    return depth, max((len(r) for r in busy.values()), default=0)


@given(slices)
def test_nesting_is_a_stack_of_open_slices(items: Slices) -> None:
    lane, start, end = _sorted(items)
    depth, parent = np.full(len(lane), -9, np.int32), np.full(len(lane), -9, np.int32)
    deepest = nest(lane, start, end, depth, parent)
    stack: list[int] = []
    for i in range(len(lane)):
        if i and lane[i] != lane[i - 1]:
            stack = []
        while stack and end[stack[-1]] <= start[i]:
            stack.pop()
        assert depth[i] == len(stack)
        assert parent[i] == (stack[-1] if stack else -1)
        stack.append(i)
    assert deepest == (depth.max() + 1 if len(depth) else 0)
    assert _rows_are_disjoint(lane, start, end, depth)


@given(slices)
def test_packing_uses_the_lowest_free_row(items: Slices) -> None:
    lane, start, end = _sorted(items)
    depth = np.full(len(lane), -9, np.int32)
    tallest = pack(lane, start, end, depth)
    expected, most = _first_fit(lane, start, end)
    assert depth.tolist() == expected
    assert tallest == most
    assert _rows_are_disjoint(lane, start, end, depth)


def test_a_child_that_overruns_its_parent_is_kept_below_it() -> None:
    lane = np.zeros(3, np.int32)
    start, end = np.array([0, 5, 11], np.int64), np.array([10, 15, 12], np.int64)
    depth, parent = np.empty(3, np.int32), np.empty(3, np.int32)
    nest(lane, start, end, depth, parent)
    assert depth.tolist() == [0, 1, 2]
    assert parent.tolist() == [-1, 0, 1]


def test_deep_stacks_grow() -> None:
    n = 1000
    start = np.arange(n, dtype=np.int64)
    end = np.full(n, 2 * n, np.int64)
    depth, parent = np.empty(n, np.int32), np.empty(n, np.int32)
    assert nest(np.zeros(n, np.int32), start, end, depth, parent) == n
    assert depth.tolist() == list(range(n))
    assert pack(np.zeros(n, np.int32), start, end, depth) == n


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**62), 2**62)), max_size=200))
def test_keys_are_numbered_by_first_appearance(keys: list[tuple[int, int]]) -> None:
    out = np.empty(len(keys), np.int32)
    first = number_keys(np.array(keys, np.int64).reshape(-1, 2), out)
    numbers: dict[tuple[int, int], int] = {}
    expected = [numbers.setdefault(k, len(numbers)) for k in keys]
    assert out.tolist() == expected
    assert [keys[i] for i in first] == list(numbers)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 300), st.integers(0, 200)), min_size=100, max_size=300))
def test_packing_many_overlaps_uses_the_lowest_free_row(items: Slices) -> None:
    lane, start, end = _sorted(items)
    depth = np.empty(len(lane), np.int32)
    tallest = pack(lane, start, end, depth)
    expected, most = _first_fit(lane, start, end)
    assert depth.tolist() == expected
    assert tallest == most


def test_packing_a_hundred_thousand_overlaps_takes_no_square() -> None:
    n = 100_000
    start = np.arange(n, dtype=np.int64)
    depth = np.empty(n, np.int32)
    assert pack(np.zeros(n, np.int32), start, start + n, depth) == n
    assert depth.tolist() == list(range(n))


def test_many_keys_grow_the_table() -> None:
    keys = np.arange(5000, dtype=np.int64).reshape(-1, 1)
    out = np.empty(5000, np.int32)
    assert number_keys(keys, out).tolist() == list(range(5000))
    assert out.tolist() == list(range(5000))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 4)), max_size=80))
def test_slices_are_sorted_within_their_lanes(items: Slices) -> None:
    lane = np.array([x[0] for x in items], np.int32)
    start, dur = (np.array([x[k] for x in items], np.int64) for k in (1, 2))
    order, begin = group_stable(lane, 4)
    assert order.tolist() == sorted(range(len(items)), key=lambda i: items[i][0])
    assert begin.tolist() == [sum(x[0] < k for x in items) for k in range(5)]
    sort_by_time(order, begin, start, dur)
    assert order.tolist() == sorted(range(len(items)), key=lambda i: (items[i][0], items[i][1], -items[i][2], i))


instants = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60)), max_size=40)


@given(slices, instants)
def test_an_instant_is_bound_to_the_deepest_slice_around_it(items: Slices, times: list[tuple[int, int]]) -> None:
    lane, start, end = _sorted(items)
    depth, parent = np.empty(len(lane), np.int32), np.empty(len(lane), np.int32)
    order, begin, _, lanes, by_row, dur = _arguments(lane, start, end)
    layout.nest(order, begin, 0, lanes, by_row, dur, depth, parent)
    # Track 0 may lie on lanes 2 and 0, tried in that order, track 1 on no lane.
    of_track = np.array([k for k in (2, 0) if k < lanes], np.int64)
    bound = np.empty(len(times), np.int32)
    bind_to_slices(
        np.array([t for _, t in times], np.int64),
        np.array([k for k, _ in times], np.int32),
        np.array([0, len(of_track), len(of_track)], np.int64),
        of_track,
        order,
        begin,
        by_row,
        dur,
        parent,
        bound,
    )
    for (track, time), got in zip(times, bound.tolist(), strict=True):
        expected = -1
        for number in of_track.tolist() if track == 0 else []:
            started = [i for i in range(len(lane)) if lane[i] == number and start[i] <= time]
            at = started[-1] if started else -1
            while at >= 0 and end[at] < time:
                at = int(parent[at])
            if at >= 0:
                expected = at
                break
        assert got == expected
