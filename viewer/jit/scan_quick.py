"""The spellings that nearly all numbers of a trace have, read without a loop; all others are left to scan_decimal."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewer.jit.config import kernel
from viewer.jit.scan_decimal import LEADING_ZERO, TRAILING_ZERO
from viewer.jit.scan_load import load8, load64, trailing_zeros

_ZERO, _BYTE = np.uint64(0), np.uint64(0xFF)
_ZEROS = np.uint64(0x3030303030303030)
_SIXES, _HIGH_HALVES = np.uint64(0x0606060606060606), np.uint64(0xF0F0F0F0F0F0F0F0)
_TEN, _EIGHT, _SIXTEEN, _THIRTY_TWO = np.uint64(10), np.uint64(8), np.uint64(16), np.uint64(32)
_PAIR = np.uint64(0x000000FF000000FF)
_FOURS, _TWOS = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
_POWERS = np.array([10**k for k in range(9)], dtype=np.uint64)
_THOUSAND = np.uint64(1000)
_MOST = np.uint64((2**63 - 1) // 1000 - 1)


@kernel
def _not_digits(values: Any) -> Any:
    """A bit in each of eight bytes above 9, right up to the first of them."""
    return (values | (values + _SIXES)) & _HIGH_HALVES


@kernel
def _together(values: Any) -> Any:
    """The number that eight values of digits (the first in the lowest byte) make: pairs, then fours, then all eight."""
    pairs = values * _TEN + (values >> _EIGHT)
    fours = (pairs & _PAIR) * _FOURS + ((pairs >> _SIXTEEN) & _PAIR) * _TWOS
    return fours >> _THIRTY_TWO


@kernel
def _ends_number(c: int) -> Any:
    return c == 0x2C or c <= 0x20 or c == 0x7D


@kernel
def small_integer(p: int) -> Any:
    """The integer of at most seven digits at ``p``: (value, its bytes). 0 bytes for anything else."""
    values = load64(p) ^ _ZEROS
    other = _not_digits(values)
    if other == _ZERO:
        return np.int64(0), np.int64(0)
    size = trailing_zeros(other) >> 3
    if size == 0 or not _ends_number(load8(p + size)):
        return np.int64(0), np.int64(0)
    return np.int64(_together(values << np.uint64(64 - 8 * size))), size


@kernel
def plain_time(p: int) -> Any:
    """Microseconds with at most 16 digits and at most three decimals to ns: (value, its bytes, form).

    See parse_decimal for the form. 0 bytes for anything else.
    """
    begin = p
    values = load64(p) ^ _ZEROS
    other = _not_digits(values)
    if other == _ZERO:
        whole = _together(values)
        p += 8
        values = load64(p) ^ _ZEROS
        other = _not_digits(values)
        if other == _ZERO:
            whole = whole * _POWERS[8] + _together(values)
            p += 8
        else:
            size = trailing_zeros(other) >> 3
            if size > 0:
                whole = whole * _POWERS[size] + _together(values << np.uint64(64 - 8 * size))
                p += size
        if whole > _MOST:
            return np.int64(0), np.int64(0), np.int64(0)
    else:
        size = trailing_zeros(other) >> 3
        if size == 0:
            return np.int64(0), np.int64(0), np.int64(0)
        whole = _together(values << np.uint64(64 - 8 * size))
        p += size
    whole *= _THOUSAND
    form = np.int64(0)
    if load8(p) == 0x2E:  # "."
        values = load64(p + 1) ^ _ZEROS
        other = _not_digits(values)
        if other == _ZERO:
            return np.int64(0), np.int64(0), np.int64(0)
        size = trailing_zeros(other) >> 3
        if size == 0 or size > 3:
            return np.int64(0), np.int64(0), np.int64(0)
        whole += _together(values << np.uint64(64 - 8 * size)) * _POWERS[3 - size]
        form = size
        if size > 1:
            if values & _BYTE == _ZERO:
                form |= LEADING_ZERO
            if (values >> np.uint64(8 * (size - 1))) & _BYTE == _ZERO:
                form |= TRAILING_ZERO
        p += 1 + size
    if not _ends_number(load8(p)):
        return np.int64(0), np.int64(0), np.int64(0)
    return np.int64(whole), p - begin, form
