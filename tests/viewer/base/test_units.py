from __future__ import annotations

import pytest

from viewer.base.units import NBSP, format_bytes, format_count, format_rate, format_share, percent, unbroken


@pytest.mark.parametrize(
    ("n", "text"),
    [(None, "–"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 2**30, "5 GiB"), (3 * 2**40, "3 TiB")],
)
def test_sizes_are_binary(n: int | None, text: str) -> None:
    assert format_bytes(n) == text


@pytest.mark.parametrize(("rate", "text"), [(0, "0 B/s"), (999, "999 B/s"), (2.5e9, "2.5 GB/s"), (3e12, "3 TB/s")])
def test_rates_are_decimal(rate: float, text: str) -> None:
    assert format_rate(rate) == text


def test_share_of_nothing_is_no_number() -> None:
    assert format_share(1, 0) == "–"
    assert format_share(1, 8) == "12.5 %"


def test_what_is_below_nothing_has_the_sign_for_minus() -> None:
    assert format_bytes(-1536) == "\u22121.5 KiB"
    assert format_bytes(-3) == "\u22123 B"
    assert format_bytes(-3 * 2**40) == "\u22123 TiB"
    assert format_rate(-2.5e9) == "\u22122.5 GB/s"
    assert format_rate(-1e-7) == "\u22121e-07 B/s"
    assert format_share(-1, 8) == "\u221212.5 %"
    assert percent(-0.15) == "\u221215 %"


def test_counts_are_grouped() -> None:
    assert format_count(1234567) == "1,234,567"


def test_people_see_the_sign_for_minus_and_programs_a_hyphen() -> None:
    from viewer.base.time import parse_duration
    from viewer.base.units import plain_signs, with_minus

    assert with_minus(f"{-1.5:+.1f} %") == "\u22121.5 %"
    assert plain_signs("\u22121.5 %, own start \u2212 the earliest") == "-1.5 %, own start \u2212 the earliest"
    assert parse_duration("\u22123ms") == parse_duration("-3ms") == -3_000_000


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("up to 3.6 ms per step · 6.6 %", "up to 3.6~ms per step · 6.6~%"),
        ("40.0 GB/s, 1.5 KiB, 312 TFLOP/s, 5 us", "40.0~GB/s, 1.5~KiB, 312~TFLOP/s, 5~us"),
        ("8 steps of 3 ranks, 4 B200 and 5 msgs", "8 steps of 3 ranks, 4 B200 and 5 msgs"),
    ],
)
def test_numbers_are_kept_with_their_units(text: str, whole: str) -> None:
    assert unbroken(text) == whole.replace("~", NBSP)


@pytest.mark.parametrize(("share", "digits", "text"), [(0.15, 0, "15 %"), (0.0663, 1, "6.6 %"), (1, 0, "100 %")])
def test_shares_in_percent(share: float, digits: int, text: str) -> None:
    assert percent(share, digits) == text
