from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import kernel, make_trace
from viewer.analyses.counters import BLOCK, Series, extremes, series, tracks, value_at


def counter(times: list[int], values: list[float]) -> Series:
    value = np.array(values, np.float64)
    starts = np.arange(0, len(values), BLOCK)
    low, high = np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts)
    return Series("s", np.array(times, np.int64), value, low, high)


def plain(one: Series, first: int, last: int) -> tuple[float, float, float]:
    """What is in force at the first instant, and every sample inside."""
    seen = [v for t, v in zip(one.time_ns.tolist(), one.value.tolist(), strict=True) if first <= t <= last]
    before = [v for t, v in zip(one.time_ns.tolist(), one.value.tolist(), strict=True) if t <= first]
    seen = before[-1:] + seen
    return (min(seen), max(seen), seen[-1]) if seen else (math.nan,) * 3


def test_counters_are_told_apart_by_process_and_name_and_keep_their_series_together() -> None:
    trace = make_trace(
        kernel("k", 0, 10),
        counters=[
            (0, "7", "Memory", "Total Allocated", 4.0),
            (0, "7", "Memory", "Total Reserved", 8.0),
            (5, "8", "Memory", "Total Allocated", 1.0),
            (6, "7", "Queue", "length", 3.0),
            (9, "7", "Memory", "Total Allocated", 2.0),
            (9, "7", "Memory", "Total Allocated", math.nan),
        ],
    )
    found = tracks(trace)
    assert [(t.pid, t.name, t.series, t.unit) for t in found] == [
        ("7", "Memory", ("Total Allocated", "Total Reserved"), "B"),
        ("7", "Queue", ("length",), ""),
        ("8", "Memory", ("Total Allocated",), "B"),
    ]
    allocated = series(trace, found[0])[0]
    assert allocated.time_ns.tolist() == [0, 9]
    assert allocated.value.tolist() == [4.0, 2.0]
    assert [value_at(allocated, t) for t in (-1, 0, 8, 9, 99)] == [None, 4.0, 4.0, 2.0, 2.0]


def test_a_trace_without_samples_has_no_counters() -> None:
    assert tracks(make_trace(kernel("k", 0, 10))) == ()


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(-9, 9)), min_size=1, max_size=500),
    st.lists(st.tuples(st.integers(-20, 420), st.integers(0, 300)), min_size=1, max_size=20),
)
@settings(max_examples=150, deadline=None)
def test_extremes_are_those_of_every_sample(samples: list[tuple[int, int]], spans: list[tuple[int, int]]) -> None:
    samples.sort(key=lambda s: s[0])
    one = counter([t for t, _ in samples], [float(v) for _, v in samples])
    first = np.array([a for a, _ in spans], np.int64)
    last = first + np.array([n for _, n in spans], np.int64)
    got = np.stack(extremes(one, first, last), axis=1)
    wanted = [plain(one, a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    np.testing.assert_array_equal(got, wanted)


def test_many_samples_are_read_by_whole_blocks() -> None:
    random = np.random.default_rng(1)
    times = np.cumsum(random.integers(0, 5, 20_000))
    one = counter(times.tolist(), random.normal(size=20_000).tolist())
    edges = np.linspace(0, times[-1], 41).astype(np.int64)
    got = np.stack(extremes(one, edges[:-1], edges[1:]), axis=1)
    np.testing.assert_array_equal(got, [plain(one, int(a), int(b)) for a, b in itertools.pairwise(edges)])
