from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.selection import TimeRange
from viewer.views.timeline.viewport import (
    SHORTEST_NS,
    clamped,
    fitted,
    focused,
    panned,
    revealed,
    shifted_inside,
    zoomed,
)

EPOCH = 1_712_195_495_519_689_047
EXTENT = TimeRange(EPOCH, EPOCH + 10**10)

windows = st.builds(
    lambda start, length: TimeRange(EPOCH + start, EPOCH + start + length),
    st.integers(-(10**10), 2 * 10**10),
    st.integers(1, 10**11),
)


def lies_inside(window: TimeRange) -> bool:
    whole = fitted(EXTENT)
    return whole.start_ns <= window.start_ns and window.end_ns <= whole.end_ns and window.length_ns >= SHORTEST_NS


@given(window=windows)
def test_clamped_windows_lie_inside_and_good_ones_stay(window: TimeRange) -> None:
    once = clamped(window, EXTENT)
    assert lies_inside(once)
    assert clamped(once, EXTENT) == once


@given(window=windows, factor=st.floats(0.01, 100), x=st.floats(0, 1000))
def test_zoom_keeps_the_instant_under_the_cursor(window: TimeRange, factor: float, x: float) -> None:
    before = clamped(window, EXTENT)
    after = zoomed(before, factor, x, 1000, EXTENT)
    assert lies_inside(after)
    whole = fitted(EXTENT)
    if whole.start_ns < after.start_ns and after.end_ns < whole.end_ns:
        moved = before.start_ns - after.start_ns
        assert abs(moved + (before.length_ns - after.length_ns) * x / 1000) <= 2 + 1e-6 * before.length_ns


def test_zooming_in_ends_at_the_shortest_window_and_out_at_the_whole() -> None:
    window = fitted(EXTENT)
    for _ in range(200):
        window = zoomed(window, 1.25, 333, 1000, EXTENT)
    assert window.length_ns == SHORTEST_NS
    for _ in range(400):
        window = zoomed(window, 1 / 1.25, 333, 1000, EXTENT)
    assert window == fitted(EXTENT)


def test_every_step_of_zoom_and_pan_does_something() -> None:
    window = TimeRange(EPOCH + 5000, EPOCH + 5012)
    assert zoomed(window, 1.01, 500, 1000, EXTENT).length_ns == 11
    assert zoomed(window, 0.99, 500, 1000, EXTENT).length_ns == 13
    assert panned(window, 1, 1000, EXTENT).start_ns == window.start_ns + 1
    assert panned(window, -1, 1000, EXTENT).start_ns == window.start_ns - 1
    assert panned(window, 0, 1000, EXTENT) == window


@given(window=windows, px=st.floats(-5000, 5000))
def test_pan_keeps_the_length(window: TimeRange, px: float) -> None:
    before = clamped(window, EXTENT)
    after = panned(before, px, 1000, EXTENT)
    assert after.length_ns == before.length_ns
    assert lies_inside(after)


def test_focus_shows_a_slice_with_some_air() -> None:
    target = TimeRange(EPOCH + 1000, EPOCH + 2000)
    assert focused(target, EXTENT) == TimeRange(EPOCH + 750, EPOCH + 2250)
    assert lies_inside(focused(TimeRange(EPOCH, EPOCH), EXTENT))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (TimeRange(EPOCH + 2000, EPOCH + 2100), None),  # in sight: nothing moves
        (TimeRange(EPOCH + 90_000, EPOCH + 90_100), TimeRange(EPOCH + 85_050, EPOCH + 95_050)),  # same zoom
        (TimeRange(EPOCH + 90_000, EPOCH + 190_000), TimeRange(EPOCH - 200_000_000, EPOCH + 590_000)),  # wider
        (TimeRange(EPOCH + 90_000, EPOCH + 90_002), TimeRange(EPOCH + 89_990, EPOCH + 90_012)),  # a speck: closer
    ],
)
def test_reveal_moves_as_little_as_needed(target: TimeRange, expected: TimeRange | None) -> None:
    window = TimeRange(EPOCH, EPOCH + 10_000)
    found = revealed(target, window, EXTENT)
    if expected is None:
        assert found == window
    elif expected.start_ns < EPOCH - 10**8:
        assert found.start_ns <= target.start_ns < target.end_ns <= found.end_ns
    else:
        assert found == expected


def test_shifting_inside_moves_only_as_far_as_needed() -> None:
    whole = TimeRange(0, 100)
    assert shifted_inside(TimeRange(-5, 15), whole) == TimeRange(0, 20)
    assert shifted_inside(TimeRange(90, 110), whole) == TimeRange(80, 100)
    assert shifted_inside(TimeRange(10, 30), whole) == TimeRange(10, 30)
