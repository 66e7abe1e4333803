from __future__ import annotations

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.selection import TimeRange
from viewer.views.timeline.ticks import LABEL_PX, Axis, exact, fixed, ticks

UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def value_ns(text: str) -> Decimal:
    number, unit = text.replace(",", "").replace("\u2212", "-").removeprefix("+").split(" ")
    return Decimal(number) * UNIT_NS[unit]


def labels(axis: Axis) -> list[str]:
    return [t.label for t in axis.ticks if t.major]


@pytest.mark.parametrize(
    ("start", "length", "base", "first"),
    [
        (0, 3_600_000_000_000, "", "0 s"),
        (0, 10_000_000_000, "", "0 s"),
        (0, 1_000_000, "", "0.0 ms"),
        (250_000_000, 50_000_000, "", "250 ms"),
        (12_345_000_000, 10_000_000, "", "12.345 s"),
        (12_345_678_901, 1_000_000, "12.345 s", "+700 us"),
        (12_345_678_901, 1_000, "12.345678 s", "+1,000 ns"),
        (12_345_678_901, 100, "12.345678 s", "+910 ns"),
        (12_345_678_901, 10, "12.345678 s", "+901 ns"),
        (-1_500_000, 3_000_000, "", "\u22121.5 ms"),
        (-345_678_901, 100, "\u2212345.679 ms", "+100 ns"),
    ],
)
def test_labels_at_every_scale(start: int, length: int, base: str, first: str) -> None:
    axis = ticks(TimeRange(start, start + length), 0, 1000)
    assert axis.base == base
    assert labels(axis)[0] == first


@given(
    start=st.integers(-(10**13), 10**14),
    length=st.integers(1, 10**14),
    origin=st.integers(0, 2 * 10**18),
    width=st.integers(120, 8000),
)
def test_labels_are_exact_distinct_and_inside(start: int, length: int, origin: int, width: int) -> None:
    window = TimeRange(origin + start, origin + start + length)
    axis = ticks(window, origin, width)
    base = value_ns(axis.base) if axis.base else Decimal(0)
    shown = labels(axis)
    assert len(set(shown)) == len(shown)
    for tick in axis.ticks:
        assert window.start_ns <= tick.time_ns <= window.end_ns
        assert tick.x == pytest.approx((tick.time_ns - window.start_ns) * width / length)
        if tick.major:
            assert base + value_ns(tick.label) == tick.time_ns - origin
            assert len(tick.label) <= 16
        else:
            assert tick.label == ""


@given(start=st.integers(0, 10**14), length=st.integers(1, 10**14), width=st.integers(300, 8000))
def test_labels_neither_crowd_nor_vanish(start: int, length: int, width: int) -> None:
    axis = ticks(TimeRange(start, start + length), 0, width)
    major = [t.x for t in axis.ticks if t.major]
    assert all(b - a >= LABEL_PX * 0.999 for a, b in itertools.pairwise(major))
    assert major or width < 3 * LABEL_PX
    assert len(axis.ticks) <= 5 * (len(major) + 1)


def test_the_origin_may_lie_at_the_epoch() -> None:
    origin = 1_712_195_495_519_689_047
    axis = ticks(TimeRange(origin + 1_000, origin + 1_010), origin, 1000)
    assert labels(axis) == [f"{1 + k / 1000:.3f} us" for k in range(11)]


def test_exact_keeps_every_digit() -> None:
    assert exact(12_345_678_000) == "12.345678 s"
    assert exact(0) == "0 ns"
    assert exact(-1_500) == "\u22121.5 us"
    assert fixed(-1_500, 1_000, 1) == "\u22121.5"
