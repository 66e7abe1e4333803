"""What the profiler recorded of operators and GPU work: distinct fields of args objects, numbered as they are read."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import NOTHING_RECORDED, UNREAD
from viewer.jit.config import kernel
from viewer.jit.scan_args import word
from viewer.jit.scan_intern import OVERFLOW, intern_text
from viewer.jit.scan_load import (
    apart,
    closers,
    count_bits,
    field_first,
    load8,
    load64,
    load_int,
    odd_in_args,
    openers,
    quotes,
    store8,
    store_int,
    trailing_zeros,
)
from viewer.jit.scan_text import CLOSE_ARRAY, COLON, OPEN_ARRAY, QUOTE, skip_space, skip_value, strings_of

RECORDED_FIELDS: Final = (
    "Input Dims",
    "Input type",
    "Concrete Inputs",
    "Module Hierarchy",
    "grid",
    "block",
    "bytes",
)
"""Keys of args objects whose values are numbered together, in the order in which they stand in the text of a number."""
LONGEST_RECORDED: Final = 64 << 10
"""Bytes of a text; what is longer is left unread."""
_PREFIXES = tuple(f',"{key}":'.encode() for key in RECORDED_FIELDS)
_PREFIX: Final = np.frombuffer(b"".join(p.ljust(32, b"\0") for p in _PREFIXES), np.uint8)
_PREFIX_SIZE: Final = np.array([len(p) for p in _PREFIXES], np.int64)
SCRATCH_BYTES: Final = LONGEST_RECORDED + 32 * len(RECORDED_FIELDS) + 64

_INPUT_DI, _PUT_DIMS = word("Input Dims"), word("put Dims")
_INPUT_TY, _PUT_TYPE = word("Input type"), word("put type")
_CONCRETE, _E_INPUTS = word("Concrete Inputs"), word("e Inputs")
_MODULE_H, _IERARCHY = word("Module Hierarchy"), word("ierarchy")
_GRID, _BLOCK, _BYTES = word('grid"'), word('block"'), word('bytes"')
_FIVE, _SIX = np.uint64((1 << 40) - 1), np.uint64((1 << 48) - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)

_intern_text, _skip_value = apart(intern_text), apart(skip_value)


@kernel
def _which_field(q: int) -> Any:
    """Which of RECORDED_FIELDS is the key whose opening quote is at ``q``, and its size; -1 for none."""
    first = load64(q + 1)
    which, size = -1, 0
    if first == _INPUT_DI:
        if load64(q + 3) == _PUT_DIMS:
            which, size = 0, 10
    elif first == _INPUT_TY:
        if load64(q + 3) == _PUT_TYPE:
            which, size = 1, 10
    elif first == _CONCRETE:
        if load64(q + 8) == _E_INPUTS:
            which, size = 2, 15
    elif first == _MODULE_H:
        if load64(q + 9) == _IERARCHY:
            which, size = 3, 16
    elif (first & _FIVE) == _GRID:
        which, size = 4, 4
    elif (first & _SIX) == _BLOCK:
        which, size = 5, 5
    elif (first & _SIX) == _BYTES:
        which, size = 6, 5
    if which >= 0 and load8(q + 1 + size) != QUOTE:
        which = -1
    return which, size


@kernel
def _value_of(q: int, size: int, end: int) -> Any:
    """Begin and end of the value of the key of ``size`` bytes whose opening quote is at ``q``; (0, 0) for no key."""
    v = skip_space(q + 2 + size, end)
    if load8(v) != COLON:
        return np.int64(0), np.int64(0)
    v = skip_space(v + 1, end)
    if load8(v) == OPEN_ARRAY:  # of numbers, as launch grids are
        closed, other = closers(v + 1), openers(v + 1) | quotes(v + 1)
        if closed != _ZERO and (closed & (_ZERO - closed)) - _ONE & other == _ZERO:
            w = v + 2 + trailing_zeros(closed)
            if load8(w - 1) == CLOSE_ARRAY and w <= end:
                return v, w
    return v, _skip_value(v, end)


@kernel
def _find_plainly(p: int, end: int, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> Any:
    """As :func:`_find_fields`, for an object without backslashes and inner objects; False for any other.

    There, every text that looks like a key with its quotes and colon is one of the object.
    """
    begin = p
    while p < end:
        odd = odd_in_args(p)
        candidates = quotes(p) & field_first(p + 1)
        if end - p < 64:
            inside = (_ONE << np.uint64(end - p)) - _ONE
            candidates &= inside
            odd &= inside
        if p == begin:
            odd &= ~_ONE
        if odd != _ZERO:
            return False
        while candidates != _ZERO:
            q = p + trailing_zeros(candidates)
            candidates &= candidates - _ONE
            which, size = _which_field(q)
            if which < 0:
                continue
            v, w = _value_of(q, size, end)
            if v != 0:
                if w >= end or w == v:
                    return False
                begins[which], ends[which] = v, w
        p += 64
    return True


@kernel
def _find_fields(p: int, end: int, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> Any:
    """Where the values of RECORDED_FIELDS of the object [p, end) stand; whether all is as it should be.

    Only keys of the object itself count, not those of objects inside it. Of equal keys the last one counts.
    """
    depth = np.int64(0)
    in_string = _ZERO
    carry = _ZERO
    while p < end:
        quote_bits, x, in_string, carry = strings_of(p, in_string, carry)
        opening = openers(p) & ~x
        closing = closers(p) & ~x
        candidates = quote_bits & x & field_first(p + 1)
        if end - p < 64:
            candidates &= (_ONE << np.uint64(end - p)) - _ONE
        while candidates != _ZERO:
            lowest = candidates & (_ZERO - candidates)
            candidates ^= lowest
            q = p + trailing_zeros(lowest)
            which, size = _which_field(q)
            if which < 0:
                continue
            below = lowest - _ONE
            if depth + count_bits(opening & below) - count_bits(closing & below) != 1:
                continue
            v, w = _value_of(q, size, end)
            if v != 0:
                if w >= end or w == v:
                    return False
                begins[which], ends[which] = v, w
        depth += count_bits(opening) - count_bits(closing)
        p += 64
    return True


@kernel
def number_recorded(
    base: int,
    origin: int,
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int32],
    track: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    scratch: NDArray[np.uint8],
    state: int,
    first: int,
    full: bool,
    out: NDArray[np.int32],
) -> Any:
    """Number what args objects record.

    Args:
        base: address of a text that holds them; readable room follows it.
        origin: offset of the text's first byte, from which ``offsets`` count.
        offsets: int64[n], where the objects begin.
        sizes: int32[n], their bytes, 0 for none.
        track: int32[n], of each.
        wanted: bool[tracks], objects of which tracks are looked at; others get UNREAD.
        scratch: SCRATCH_BYTES of room.
        state: address of the state of the StringTable that numbers the texts.
        first: row to begin with.
        full: what is not in the table already gets UNREAD.
        out: int32[n], gets the number, NOTHING_RECORDED or UNREAD.

    Returns:
        n, or the row at which the table has to grow.
    """
    begins, ends = np.zeros(len(_PREFIX_SIZE), np.int64), np.zeros(len(_PREFIX_SIZE), np.int64)
    to = np.int64(scratch.ctypes.data)
    for i in range(first, len(offsets)):
        size = sizes[i]
        if size == 0:
            out[i] = NOTHING_RECORDED
            continue
        if not wanted[track[i]]:
            out[i] = UNREAD
            continue
        p = base + (offsets[i] - origin)
        for k in range(len(begins)):
            begins[k] = 0
        if not _find_plainly(p, p + size, begins, ends):
            for k in range(len(begins)):
                begins[k] = 0
            if not _find_fields(p, p + size, begins, ends):
                out[i] = UNREAD
                continue
        total = np.int64(0)
        for k in range(len(begins)):
            if begins[k]:
                total += ends[k] - begins[k]
        if total == 0:
            out[i] = NOTHING_RECORDED
            continue
        if total > LONGEST_RECORDED:
            out[i] = UNREAD
            continue
        used: Any = np.int64(0)
        for k in range(len(begins)):
            if begins[k] == 0:
                continue
            for i8 in range(0, 32, 8):
                store_int(to + used + i8, load_int(np.int64(_PREFIX.ctypes.data) + 32 * k + i8))
            used += _PREFIX_SIZE[k]
            length = ends[k] - begins[k]
            j: Any = np.int64(0)
            while j < length:  # writes up to seven bytes too many: there is room
                store_int(to + used + j, load_int(begins[k] + j))
                j += 8
            used += length
        store8(to, 0x7B)
        store8(to + used, 0x7D)
        number = _intern_text(to, used + 1, state)
        if number < 0:
            if not full:
                return i
            store_int(state + OVERFLOW, np.int64(0))  # the table stays as it is
            out[i] = UNREAD
            continue
        out[i] = number
    return np.int64(len(offsets))
