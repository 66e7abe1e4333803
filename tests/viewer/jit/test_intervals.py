from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.jit import intervals as fast
from viewer.jit import reference as slow

HUGE = 2**62 - 1
small = st.integers(0, 24)
times = st.one_of(small, st.integers(-HUGE, HUGE), st.sampled_from([-HUGE, -HUGE + 1, HUGE - 1, HUGE, 0, 1]))


@st.composite
def interval_sets(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Sorted by start; empty, touching, equal and nested ones included."""
    points = draw(st.sampled_from([small, times]))
    pairs = draw(st.lists(st.tuples(points, points), max_size=12))
    return sorted((min(p), max(p)) for p in pairs)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def pairs(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    start, end = found
    return [(int(a), int(b)) for a, b in zip(start, end, strict=True)]


@settings(deadline=None)  # the first call compiles
@given(interval_sets())
def test_union(a: list[tuple[int, int]]) -> None:
    assert pairs(fast.union(*arrays(a))) == slow.union(a)
    assert fast.total(*fast.union(*arrays(a))) == slow.total(a)


@settings(deadline=None)  # the first call compiles
@given(interval_sets(), st.data())
def test_union_of_classes(a: list[tuple[int, int]], data: st.DataObject) -> None:
    paint = data.draw(st.lists(st.integers(0, 4), min_size=len(a), max_size=len(a)))
    chosen = data.draw(st.sets(st.integers(0, 4)))
    mask = sum(1 << c for c in chosen)
    found = fast.union_of(*arrays(a), np.array(paint, np.uint8), mask)
    assert pairs(found) == slow.union([x for x, p in zip(a, paint, strict=True) if p in chosen])


@settings(deadline=None)  # the first call compiles
@given(interval_sets(), interval_sets())
def test_intersect_and_subtract(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    ua, ub = fast.union(*arrays(a)), fast.union(*arrays(b))
    assert pairs(fast.intersect(*ua, *ub)) == slow.intersect(a, b)
    assert pairs(fast.subtract(*ua, *ub)) == slow.subtract(a, b)
    shared = fast.total(*fast.intersect(*ua, *ub))
    assert fast.total(*fast.subtract(*ua, *ub)) + shared == fast.total(*ua)


@settings(deadline=None)  # the first call compiles
@given(interval_sets(), times, times)
def test_clip_and_gaps(a: list[tuple[int, int]], lo: int, hi: int) -> None:
    u = fast.union(*arrays(a))
    assert pairs(fast.clip(*u, lo, hi)) == slow.clip(a, lo, hi)
    assert pairs(fast.gaps(*u, lo, hi)) == slow.gaps(a, lo, hi)
    if hi > lo:
        assert fast.total(*fast.clip(*u, lo, hi)) + fast.total(*fast.gaps(*u, lo, hi)) == hi - lo


def test_clip_leaves_its_input_alone() -> None:
    start, end = arrays([(0, 10), (20, 30)])
    fast.clip(start, end, 5, 25)
    assert pairs((start, end)) == [(0, 10), (20, 30)]


@settings(deadline=None)  # the first call compiles
@given(interval_sets())
def test_running_end(a: list[tuple[int, int]]) -> None:
    found = fast.running_end(*arrays(a))
    for i, j in enumerate(found):
        assert a[j][1] == max(e for _, e in a[: i + 1])
        assert all(e < a[j][1] for _, e in a[j + 1 : i + 1])


@settings(deadline=None)  # the first call compiles
@given(interval_sets(), times, times, st.data())
def test_group_stats(a: list[tuple[int, int]], lo: int, hi: int, data: st.DataObject) -> None:
    a = [x for x in a if x[1] - x[0] < 2**50]  # sums of full lengths must fit
    keys = data.draw(st.lists(st.integers(0, 2), min_size=len(a), max_size=len(a)))
    found = fast.group_stats(np.array(keys, np.int64), *arrays(a), 3, lo, hi)
    for g in range(3):
        mine = [
            (i, s, e) for i, (s, e) in enumerate(a) if keys[i] == g and s < hi and (e > lo or s == e == lo) and hi > lo
        ]
        lengths = [e - s for _, s, e in mine]
        cut = [(max(s, lo), min(e, hi)) for _, s, e in mine]
        if hi > lo:
            assert found[g, 0] == len(mine)
            assert found[g, 1] == sum(e - s for s, e in cut)
            assert found[g, 2] == slow.total(cut)
            assert found[g, 3] == sum(lengths)
        if mine and hi > lo:
            assert (found[g, 4], found[g, 5]) == (min(lengths), max(lengths))
            assert found[g, 6] == next(i for i, s, e in mine if e - s == max(lengths))


@settings(deadline=None)  # the first call compiles
@given(interval_sets())
def test_deepest(a: list[tuple[int, int]]) -> None:
    a = sorted(a, key=lambda x: (x[0], -x[1]))
    start, end = arrays(a)
    seg_start, seg_slice = np.empty(2 * len(a) + 1, np.int64), np.empty(2 * len(a) + 1, np.int64)
    n = fast.deepest(start, end, seg_start, seg_slice)
    assert n <= 2 * len(a)
    assert all(a < b for a, b in pairwise(seg_start[:n].tolist()))
    for t in {t for s, e in a for t in (s - 1, s, (s + e) // 2, e - 1, e)}:
        k = int(np.searchsorted(seg_start[:n], t, "right")) - 1
        assert (int(seg_slice[k]) if k >= 0 else -1) == slow.deepest(a, t)
