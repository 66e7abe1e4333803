from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.jit.lanes import number_keys
from viewer.jit.layout import nest, pack

Slices = list[tuple[int, int, int]]
slices = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 12)), max_size=60)


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
    depth, parent = np.full(len(lane), -9, np.int32), np.full(len(lane), -9, np.int64)
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
    depth, parent = np.empty(3, np.int32), np.empty(3, np.int64)
    nest(lane, start, end, depth, parent)
    assert depth.tolist() == [0, 1, 2]
    assert parent.tolist() == [-1, 0, 1]


def test_deep_stacks_grow() -> None:
    n = 1000
    start = np.arange(n, dtype=np.int64)
    end = np.full(n, 2 * n, np.int64)
    depth, parent = np.empty(n, np.int32), np.empty(n, np.int64)
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
