"""Numbers with units: hand-worked values, and every written text reads back as the same number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.quantities import LARGEST, Unit, parse_quantity, quantity_text, quantity_words


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("80 GiB", "bytes", 80 * 2**30),
        ("80GB", "bytes", 80 * 10**9),
        ("1.1 GiB", "bytes", 1_181_116_006),  # 1181116006.4
        ("900 GB/s", "rate", 900 * 10**9),
        ("3.35 TB/s", "rate", 3_350_000_000_000),
        ("400 Gb/s", "rate", 50 * 10**9),
        ("400Gbps", "rate", 50 * 10**9),
        ("989.4 TFLOPS", "flops", 989_400_000_000_000),
        ("2.25 PFLOP/s", "flops", 2_250_000_000_000_000),
        ("70B", "count", 70_000_000_000),
        ("8.03 B", "count", 8_030_000_000),
        ("4k", "count", 4_000),
        ("131_072", "count", 131_072),
        ("1e9", "count", 10**9),
    ],
)
def test_a_quantity_means_its_value(text: str, unit: Unit, value: int) -> None:
    assert parse_quantity(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit", "why"),
    [
        ("80 GB", "count", 'the unit "GB"'),
        ("70B", "bytes", ""),
        ("80 GiB/s", "bytes", 'the unit "GiB/s"'),
        ("fast", "rate", "no number"),
        ("-1", "count", "no number"),
        ("", "count", "no number"),
        ("1.5", "count", "no whole number"),
        ("1e99", "count", "too large"),
        ("9" * 99, "count", "too large"),
        ("1 TFLOPS TFLOPS", "flops", "no number"),
    ],
)
def test_what_is_no_quantity_is_said(text: str, unit: Unit, why: str) -> None:
    if (text, unit) == ("70B", "bytes"):  # bytes, not billions
        assert parse_quantity(text, unit) == 70
        return
    with pytest.raises(ValueError, match=why):
        parse_quantity(text, unit)


@given(st.integers(0, LARGEST), st.sampled_from(["count", "bytes", "rate", "flops"]))
def test_written_quantities_read_back(value: int, unit: Unit) -> None:
    assert parse_quantity(quantity_text(value, unit), unit) == value


def test_quantities_are_short_for_reading() -> None:
    assert quantity_words(85_520_809_984, "bytes") == "79.65 GiB"
    assert quantity_words(1_234_567_891_234, "rate") == "1.23 TB/s"
    assert quantity_words(70_000_000_000, "count") == "70B"
    assert quantity_words(8_030_261_248, "count") == "8,030,261,248"
