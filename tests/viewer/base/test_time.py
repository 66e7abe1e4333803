from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.errors import UsageError
from viewer.base.time import format_duration, format_exact, parse_duration, parse_window


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("12", 12),
        ("12ns", 12),
        ("1.5us", 1_500),
        ("1.5 µs", 1_500),
        ("12.5ms", 12_500_000),
        (".5s", 500_000_000),
        ("2m", 120_000_000_000),
        ("-3ms", -3_000_000),
        ("1712195495.519689047s", 1_712_195_495_519_689_047),
    ],
)
def test_times_are_read_exactly(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "ms", "1.2.3ms", "1e5ms", "0.5", "0.0001us", "1h", "99999999999s"])
def test_what_is_no_whole_number_of_ns_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(text)


@given(st.integers(-(2**62), 2**62))
def test_any_number_of_ns_survives(ns: int) -> None:
    assert parse_duration(f"{ns}ns") == ns
    assert parse_duration(format_exact(ns).replace(",", "")) == ns


def test_window() -> None:
    assert parse_window("12.5ms:30ms") == (12_500_000, 30_000_000)
    assert parse_window("-1ms:5") == (-1_000_000, 5)


@pytest.mark.parametrize("text", ["5ms", "5ms:", ":5ms", "5ms:5ms", "6ms:5ms", "a:b"])
def test_bad_windows_are_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_window(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "–"),
        (0, "0 ns"),
        (999, "999 ns"),
        (-999, "\u2212999 ns"),
        (1_000, "1.000 us"),
        (1_234_567, "1.235 ms"),
        (-1_500_000, "\u22121.500 ms"),
        (12_345_000_000_000, "12,345.000 s"),
    ],
)
def test_durations_for_people(ns: int | None, text: str) -> None:
    assert format_duration(ns) == text
