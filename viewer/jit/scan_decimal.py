"""Decimal text to int64, exactly: no float on the way."""

# ruff: noqa: PLR1714 (a chain of compares compiles to less than a test against a tuple)

from __future__ import annotations

from typing import Any, Final

import numpy as np

from viewer.base.ids import ABSENT
from viewer.jit.config import kernel
from viewer.jit.scan_load import load8, load64

NO_NUMBER: Final = 0
EXACT: Final = 1
ROUNDED: Final = 2
TOO_LARGE: Final = 3

LEADING_ZERO: Final = 16
"""Bit of a number's form: its fraction begins with 0 and has more digits."""
TRAILING_ZERO: Final = 32
"""Bit of a number's form: its fraction ends in 0 and has more digits."""
FRACTION_DIGITS: Final = 15
"""Mask of a number's form: how many digits its fraction has (15: that many or more)."""

_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)
_TEN = np.uint64(10)
_ROOM = np.uint64((2**64 - 10) // 10)
_LARGEST = np.uint64(2**63 - 1)
_ZERO = np.uint64(0)
_HUNDRED_MILLION = np.uint64(10**8)
_HIGH_HALVES, _SIXES = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0606060606060606)
_THREES, _ZEROS = np.uint64(0x3333333333333333), np.uint64(0x3030303030303030)
_PAIR = np.uint64(0x000000FF000000FF)


@kernel
def _are_digits(text: Any) -> Any:
    high = text & _HIGH_HALVES
    over = (text + _SIXES) & _HIGH_HALVES
    return (high | (over >> np.uint64(4))) == _THREES


@kernel
def _eight_digits(text: Any) -> Any:
    """The number that eight digits (the first in the lowest byte) spell: pairs, then fours, then all eight."""
    pairs = (text - _ZEROS) * _TEN + ((text - _ZEROS) >> np.uint64(8))
    fours = (pairs & _PAIR) * np.uint64(0x000F424000000064) + ((pairs >> np.uint64(16)) & _PAIR) * np.uint64(
        0x0000271000000001
    )
    return fours >> np.uint64(32)


@kernel
def parse_decimal(p: int, scale: int) -> Any:
    """Parse the number at ``p`` and multiply it by 10 ** ``scale``.

    Returns (value, address behind the number, state, form). ``value`` is ABSENT unless the state is EXACT or ROUNDED
    (to the nearest integer, halves away from zero). ``form`` tells how the fraction was written (see the constants);
    it is 0 for a number without one.
    """
    start = p
    negative = load8(p) == 0x2D
    if negative:
        p += 1
    digit = load8(p) - 48
    if digit < 0 or digit > 9:
        return ABSENT, start, NO_NUMBER, 0
    mantissa = _ZERO
    # Eight digits at a time, at most sixteen: they always fit.
    for _ in range(2):
        text = load64(p)
        if not _are_digits(text):
            break
        mantissa = mantissa * _HUNDRED_MILLION + _eight_digits(text)
        p += 8
    digit = load8(p) - 48
    dropped = 0
    first_dropped = np.int64(0)
    sticky = False
    while digit >= 0 and digit <= 9:
        if mantissa <= _ROOM and dropped == 0:
            mantissa = mantissa * _TEN + np.uint64(digit)
        else:
            if dropped == 0:
                first_dropped = digit
            dropped += 1
            sticky = sticky or digit != 0
        p += 1
        digit = load8(p) - 48
    form = 0
    fraction = 0
    if digit == -2:  # "."
        p += 1
        begin = p
        last = np.int64(-1)
        digit = load8(p) - 48
        if digit == 0:
            form = LEADING_ZERO
        while digit >= 0 and digit <= 9:
            if mantissa <= _ROOM and dropped == 0:
                mantissa = mantissa * _TEN + np.uint64(digit)
            else:
                if dropped == 0:
                    first_dropped = digit
                dropped += 1
                sticky = sticky or digit != 0
            last = digit
            p += 1
            digit = load8(p) - 48
        fraction = p - begin
        if last == 0:
            form |= TRAILING_ZERO
        form = min(fraction, FRACTION_DIGITS) | (form if fraction > 1 else 0)
    exponent = np.int64(0)
    if digit == 0x65 - 48 or digit == 0x45 - 48:
        q = p + 1
        sign = load8(q)
        if sign == 0x2B or sign == 0x2D:
            q += 1
        digit = load8(q) - 48
        if digit < 0 or digit > 9:
            return ABSENT, start, NO_NUMBER, 0
        while digit >= 0 and digit <= 9:
            if exponent < 100_000:
                exponent = exponent * 10 + digit
            q += 1
            digit = load8(q) - 48
        if sign == 0x2D:
            exponent = -exponent
        p = q
        form = FRACTION_DIGITS
    # "12abc" is no number: one ends before space, comma, colon, bracket, quote or the end of the text.
    after = digit + 48
    if after > 0x20 and after != 0x2C and after != 0x7D and after != 0x5D and after != 0x22 and after != 0x3A:
        return ABSENT, start, NO_NUMBER, 0
    shift = scale - fraction + exponent + dropped
    state = ROUNDED if sticky else EXACT
    if mantissa == _ZERO:
        return np.int64(0), p, EXACT, form
    if shift >= 0:
        if shift > 0:  # most numbers need no division here: as many decimals as the scale asks for
            if dropped > 0 or shift > 18 or mantissa > _LARGEST // _POWERS[shift]:
                return ABSENT, p, TOO_LARGE, form
            mantissa *= _POWERS[shift]
        if first_dropped >= 5:
            mantissa += np.uint64(1)
    elif shift < -19:
        mantissa = _ZERO
        state = ROUNDED
    else:
        unit = _POWERS[-shift]
        whole = mantissa // unit
        rest = mantissa - whole * unit
        if rest != _ZERO:
            state = ROUNDED
            if rest >= unit - rest:
                whole += np.uint64(1)
        mantissa = whole
    if mantissa > _LARGEST:
        return ABSENT, p, TOO_LARGE, form
    value = np.int64(mantissa)
    return (-value if negative else value), p, state, form


@kernel
def parse_integer_text(p: int, stop: int) -> Any:
    """The integer that the text [p, stop) spells ("12", "-3", "0x1F"), else ABSENT: (value, found)."""
    value = np.int64(0)
    if stop - p > 2 and load8(p) == 0x30 and (load8(p + 1) | 0x20) == 0x78:
        if stop - p > 17:
            return ABSENT, False
        p += 2
        while p < stop:
            c = load8(p)
            low = c | 0x20
            if c >= 48 and c <= 57:
                value = value * 16 + (c - 48)
            elif low >= 0x61 and low <= 0x66:
                value = value * 16 + (low - 0x57)
            else:
                return ABSENT, False
            p += 1
        return value, True
    negative = load8(p) == 0x2D
    if negative:
        p += 1
    if p >= stop or stop - p > 18 or (load8(p) == 48 and stop - p > 1):
        return ABSENT, False
    while p < stop:
        c = load8(p) - 48
        if c < 0 or c > 9:
            return ABSENT, False
        value = value * 10 + c
        p += 1
    return (-value if negative else value), True
