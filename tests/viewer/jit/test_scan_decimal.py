from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.base.ids import ABSENT
from viewer.jit.scan_decimal import (
    EXACT,
    FRACTION_DIGITS,
    LEADING_ZERO,
    NO_NUMBER,
    ROUNDED,
    TOO_LARGE,
    TRAILING_ZERO,
    parse_decimal,
    parse_integer_text,
)
from viewer.jit.scan_load import PAD

EXACTLY = Context(prec=400)


def parse(text: str, scale: int = 3) -> tuple[int, int, int, int]:
    buffer = np.zeros(len(text) + PAD, np.uint8)
    buffer[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    value, address, state, form = parse_decimal(buffer.ctypes.data, scale)
    return value, address - buffer.ctypes.data, state, form


def expected(text: str, scale: int = 3) -> tuple[int, int]:
    exact = Decimal(text).scaleb(scale, EXACTLY)
    if exact == 0:
        return 0, EXACT
    rounded = int(exact.quantize(Decimal(1), ROUND_HALF_UP, EXACTLY)) if exact.adjusted() < 60 else 10**60
    if abs(rounded) > 2**63 - 1:
        return ABSENT, TOO_LARGE
    return rounded, EXACT if exact == rounded else ROUNDED


def test_nineteen_digits_stay_exact() -> None:
    assert parse("1712195495519689.047")[0] == 1712195495519689047


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "7", "-3.5", "12.005", "1e3", "1.5E-2", "2.5e+3", "0.0004", "0.0005", "-0.0005", "9223372036854775.807",
     "9223372036854775.808", "1e17", "123456789012345678901234567890", "0.00000000000000000000000000001", "1e-400",
     "1e400", "0e999999999", "0000012.5", "1712195495519689.0470000000000000000001", "99999999999999999999e-10"],
)  # fmt: skip
def test_known_numbers(text: str) -> None:
    value, size, state, _ = parse(text)
    assert (value, state) == expected(text)
    assert size == len(text)


@settings(deadline=None)  # the first call compiles
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_equals_decimal(text: str) -> None:
    value, size, state, _ = parse(text + ",")
    assert (value, state) == expected(text)
    assert size == len(text)


@pytest.mark.parametrize("text", ["", "-", "nan", "NaN", "inf", "-inf", ".5", "+1", "12abc", "1e", "1e+", '"5"', "1-2"])
def test_no_numbers(text: str) -> None:
    assert parse(text)[:3] == (ABSENT, 0, NO_NUMBER)


@pytest.mark.parametrize(
    ("text", "form"),
    [("12", 0), ("12.5", 1), ("12.0", 1), ("12.05", 2 | LEADING_ZERO), ("12.10", 2 | TRAILING_ZERO),
     ("12.000", 3 | LEADING_ZERO | TRAILING_ZERO), ("1.5e3", FRACTION_DIGITS)],
)  # fmt: skip
def test_form_of_the_fraction(text: str, form: int) -> None:
    assert parse(text)[3] == form


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("7", 7), ("-12", -12), ("0x0", 0), ("0X1f", 31), ("123456789012345678", 123456789012345678),
     ("", None), ("-", None), ("007", None), ("1.5", None), ("stream 7", None), ("0x", None), ("0xg", None),
     ("0x1234567890abcdef", None), ("12345678901234567890", None)],
)  # fmt: skip
def test_integers_as_text(text: str, value: int | None) -> None:
    buffer = np.zeros(len(text) + PAD, np.uint8)
    buffer[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    got, found = parse_integer_text(buffer.ctypes.data, buffer.ctypes.data + len(text))
    assert (got, found) == ((ABSENT, False) if value is None else (value, True))
