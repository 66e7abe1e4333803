from __future__ import annotations

import statistics
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.jit import grouping

SMALL = st.integers(0, 6)


@st.composite
def forests(draw: st.DrawFn) -> list[int]:
    """Parents of calls, each before its children; -1 at the top."""
    return [draw(st.integers(-1, i - 1)) for i in range(draw(st.integers(0, 12)))]


def i64(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def around(parent: list[int], i: int) -> list[int]:
    """A call and all it lies in, the nearest first."""
    out = []
    while i >= 0:
        out.append(i)
        i = parent[i]
    return out


@given(forests(), st.data())
def test_walks_up_a_forest(parent: list[int], data: st.DataObject) -> None:
    n = len(parent)
    flagged = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    group = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    near, above = np.empty(n, np.int32), np.array(parent, np.int32)
    above.flags.writeable = False  # as columns of a mapped table
    grouping.nearest_flagged(np.array(flagged, np.bool_), above, near)
    assert near.tolist() == [next((a for a in around(parent, i) if flagged[a]), -1) for i in range(n)]
    depth = np.empty(n, np.int64)
    grouping.depths(i64(parent), depth)
    assert depth.tolist() == [len(around(parent, i)) - 1 for i in range(n)]
    inside = np.empty(n, np.bool_)
    grouping.inside_own_group(i64(parent), i64(group), inside)
    assert inside.tolist() == [any(group[a] == group[i] for a in around(parent, i)[1:]) for i in range(n)]
    own = data.draw(st.lists(SMALL, min_size=n, max_size=n))
    whole = np.stack([i64(own), i64(own) * 3], axis=1)
    real = i64(own).astype(np.float64).reshape(-1, 1) / 2
    grouping.add_upwards(np.argsort(-depth, kind="stable"), i64(parent), whole, real)
    held = [sum(own[k] for k in range(n) if i in around(parent, k)) for i in range(n)]
    assert whole.tolist() == [[h, 3 * h] for h in held]
    assert real[:, 0].tolist() == [h / 2 for h in held]


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(SMALL, st.integers(0, 2**60))), max_size=30))
def test_statistics_of_groups(values: list[tuple[int, int]]) -> None:
    group, ns = i64([g for g, _ in values]), i64([v for _, v in values])
    counts = np.bincount(group, minlength=5).astype(np.int64)
    full, median, most, longest = (np.zeros(5, np.int64) for _ in range(4))
    scratch = np.empty(len(ns), np.int64)
    grouping.middles(group, ns, np.cumsum(counts) - counts, scratch, full, median, most, longest)
    for g in range(5):
        own = [v for k, v in values if k == g]
        if own:
            assert (full[g], most[g]) == (sum(own), max(own))
            assert median[g] == round(statistics.median(map(Fraction, own)))  # halves to the even neighbour
            assert longest[g] == max(i for i, (k, v) in enumerate(values) if k == g and v == max(own))
        else:
            assert full[g] == median[g] == most[g] == 0
    some = np.zeros(4, np.int64)
    grouping.sum_by_group(group - 1, ns, some)
    assert some.tolist() == full[1:].tolist()


@given(st.lists(st.lists(st.tuples(SMALL, SMALL), max_size=6), max_size=4))
def test_what_intervals_of_groups_cover(groups: list[list[tuple[int, int]]]) -> None:
    ordered = [sorted((a - 3, a - 3 + n) for a, n in g) for g in groups]
    start, end = (i64([pair[k] for g in ordered for pair in g]) for k in (0, 1))
    bounds = np.append(0, np.cumsum([len(g) for g in ordered])).astype(np.int64)
    out = np.empty(len(groups), np.int64)
    grouping.covered_by_group(start, end, bounds, out)
    assert out.tolist() == [len({t for a, b in g for t in range(a, b)}) for g in ordered]


@given(forests(), st.data())
def test_paths_and_what_lies_in_them(parent: list[int], data: st.DataObject) -> None:
    n = len(parent)
    above = np.array(parent, np.int32)
    above.flags.writeable = False
    rows = data.draw(st.lists(st.integers(-1, n - 1), max_size=4))
    seen = np.zeros(n, np.bool_)
    grouping.mark_around(i64(rows), above, seen)
    held = sorted({a for r in rows for a in around(parent, r)})
    assert np.flatnonzero(seen).tolist() == held
    own = data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    bits = np.array(own, np.uint64)
    grouping.spread_down(np.flatnonzero(seen), above, bits)
    for i in range(n):
        expected = [own[a] for a in around(parent, i)] if i in held else [own[i]]
        assert int(bits[i]) == int(np.bitwise_or.reduce(expected))


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(SMALL, st.integers(0, 2**58))), max_size=30))
def test_middles_and_spreads(values: list[tuple[int, int]]) -> None:
    group, ns = i64([g for g, _ in values]), i64([v for _, v in values])
    fill = np.cumsum([0, *(sum(g == k for g, _ in values) for k in range(3))]).astype(np.int64)
    twice, fourfold = np.zeros(4, np.int64), np.zeros(4, np.int64)
    grouping.middles_and_spreads(group, ns, fill, np.empty(len(values), np.int64), twice, fourfold)
    for k in range(4):
        mine = [Fraction(v) for g, v in values if g == k]
        if not mine:
            assert (twice[k], fourfold[k]) == (0, 0)
            continue
        middle = statistics.median(mine)
        assert int(twice[k]) == 2 * middle
        assert int(fourfold[k]) == 4 * statistics.median(abs(v - middle) for v in mine)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4)), max_size=20))
def test_names_by_paint(slices: list[tuple[int, int]]) -> None:
    seen = np.zeros((4, 6), np.bool_)
    grouping.mark_names(np.array([p for p, _ in slices], np.uint8), np.array([n for _, n in slices], np.int32), seen)
    assert {(p, n) for p, n in np.argwhere(seen).tolist()} == {(p, n if n >= 0 else 5) for p, n in slices}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4)), max_size=20), st.sets(SMALL), st.sets(SMALL))
def test_rows_by_paint_and_name(slices: list[tuple[int, int]], paints: set[int], wanted: set[int]) -> None:
    painted, named = np.zeros(256, np.bool_), np.zeros(6, np.bool_)
    painted[list(paints)] = True
    named[[n for n in wanted if n < 6]] = True
    out = np.empty(len(slices), np.int64)
    paint, name = np.array([p for p, _ in slices], np.uint8), np.array([n for _, n in slices], np.int32)
    count = grouping.rows_among(paint, name, painted, named, out)
    mine = [i for i, (p, n) in enumerate(slices) if p in paints and (n if n >= 0 else 5) in wanted]
    assert out[:count].tolist() == mine
