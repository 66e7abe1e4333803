"""Reading the few keys of an args object that become columns; the rest is skipped at vector speed."""

# ruff: noqa: PLR1714 (a chain of compares compiles to less than a test against a tuple)

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, TEXT_ID
from viewer.jit.config import kernel
from viewer.jit.scan_decimal import EXACT, parse_decimal, parse_integer_text
from viewer.jit.scan_intern import intern_text, same_text
from viewer.jit.scan_load import (
    apart,
    closers,
    count_bits,
    link_second,
    link_third,
    load8,
    load64,
    openers,
    string_enders,
    trailing_zeros,
)
from viewer.jit.scan_quick import small_integer
from viewer.jit.scan_text import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    skip_space,
    skip_string,
    skip_value,
    strings_of,
)

_parse_decimal, _parse_integer_text = apart(parse_decimal), apart(parse_integer_text)
_intern_text, _skip_value = apart(intern_text), apart(skip_value)


def word(text: str) -> np.uint64:
    """The first eight bytes as load64 gives them."""
    return np.uint64(int.from_bytes(text.encode()[:8], "little"))


_CORRELATION, _RELATION = word("correlation"), word("relation")
_EXTERNAL, _external, _ERNAL_ID = word("External"), word("external"), word("ernal id")
_STREAM, _DEVICE = word('stream"'), word('device"')
_COLLECTIVE, _VE_NAME = word("Collective name"), word("ive name")
_SEVEN = np.uint64((1 << 56) - 1)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)

COLLECTIVE_COLUMNS: Final = (
    "kind",
    "in_elems",
    "out_elems",
    "dtype",
    "group_size",
    "group",
    "group_desc",
    "group_ranks",
    "seq",
    "comms_id",
    "src",
    "dst",
    "first_rank",
    "rank_stride",
)
"""What :func:`read_collective` writes, in this order."""
TEXT_COLUMNS = np.array([1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0], np.uint8)
_KEYS = (
    b"Collective name",
    b"In msg nelems",
    b"Out msg nelems",
    b"dtype",
    b"Group size",
    b"Process Group Name",
    b"Process Group Description",
    b"Process Group Ranks",
    b"Seq",
    b"Comms Id",
    b"Src Rank",
    b"Dst Rank",
    b"Global rank start",
    b"Global rank stride",
)
KEY_TEXT: Final = np.frombuffer(b"".join(k.ljust(64, b"\0") for k in _KEYS), np.uint8).reshape(len(_KEYS), 64)
KEY_SIZE: Final = np.array([len(k) for k in _KEYS], np.int64)


@kernel
def read_id(p: int, end: int, strings: int) -> Any:
    """An id as written: (value, address behind it).

    An integer of less than 63 bits is itself, also when it is written as text ("7", "0x0"); any other text or number
    becomes TEXT_ID | its number in ``strings``. null and containers are ABSENT.
    """
    c = load8(p)
    if c == QUOTE:
        q = skip_string(p + 1, end)
        if q >= end:
            return ABSENT, q + 1
        value, found = _parse_integer_text(p + 1, q)
        if found:
            return value, q + 1
        number = _intern_text(p + 1, q - p - 1, strings)
        return (TEXT_ID | number if number >= 0 else ABSENT), q + 1
    value, q, state, _ = _parse_decimal(p, 0)
    if state == EXACT and value < TEXT_ID and value > -TEXT_ID:
        return value, q
    q = _skip_value(p, end)
    if c == OPEN_OBJECT or c == OPEN_ARRAY or c == 0x6E or q > end:  # null
        return ABSENT, q
    number = _intern_text(p, q - p, strings)
    return (TEXT_ID | number if number >= 0 else ABSENT), q


@kernel
def read_number(p: int, end: int) -> Any:
    """An integer that may be written as text: (value or ABSENT, address behind it)."""
    if load8(p) == QUOTE:
        q = skip_string(p + 1, end)
        if q >= end:
            return ABSENT, q + 1
        value, _ = _parse_integer_text(p + 1, q)
        return value, q + 1
    value, q, state, _ = _parse_decimal(p, 0)
    if state == EXACT:
        return value, q
    return ABSENT, _skip_value(p, end)


_read_id, _read_number = apart(read_id), apart(read_number)


@kernel
def _ends_no_string(p: int, closing: Any, end: int) -> Any:
    """Whether one of the quotes ``closing`` (bits of the 64 bytes at ``p``) has behind it what ends no string."""
    while closing != _ZERO:
        lowest = closing & (_ZERO - closing)
        closing ^= lowest
        q = skip_space(p + trailing_zeros(lowest) + 1, end)
        if q < end:
            c = load8(q)
            if c != COMMA and c != COLON and c != CLOSE_OBJECT and c != CLOSE_ARRAY:
                return True
    return False


@kernel
def read_links(p: int, end: int, strings: int) -> Any:
    """Walk the args object at ``p``.

    Returns (address behind it, correlation, external id, device, stream, whether "Collective name" is among the
    keys). Only keys of the object itself count, not those of objects inside it. Values that are not there are ABSENT.
    The address is ``p`` where a string ends before what cannot follow one: a quote inside it was not escaped, and the
    object's end would be found events later.
    """
    begin = p
    correlation = ABSENT
    external = ABSENT
    device = ABSENT
    stream = ABSENT
    collective = False
    depth = np.int64(0)
    in_string = _ZERO
    carry = _ZERO
    while p < end:
        quote_bits, x, in_string, carry = strings_of(p, in_string, carry)
        opening = openers(p) & ~x
        closing = closers(p) & ~x
        before = depth
        inside = ~_ZERO
        done = np.int64(-1)
        closed = count_bits(closing)
        if closed < depth:
            depth += count_bits(opening) - closed
        else:
            rest = opening | closing
            while rest != _ZERO:
                lowest = rest & (_ZERO - rest)
                if (opening & lowest) != _ZERO:
                    depth += 1
                else:
                    depth -= 1
                    if depth == 0:
                        done = trailing_zeros(lowest)
                        inside = lowest - _ONE
                        break
                rest ^= lowest
        odd = quote_bits & ~x & inside & ~string_enders(p + 1)
        if odd != _ZERO and _ends_no_string(p, odd, end):
            return begin, correlation, external, device, stream, collective
        candidates = quote_bits & x & inside & link_second(p + 1) & link_third(p + 2)
        while candidates != _ZERO:
            lowest = candidates & (_ZERO - candidates)
            candidates ^= lowest
            q = p + trailing_zeros(lowest)
            first = load64(q + 1)
            which = 0
            size = 0
            if first == _CORRELATION:
                if load64(q + 4) == _RELATION:
                    which, size = 1, 11
            elif first == _EXTERNAL or first == _external:
                if load64(q + 4) == _ERNAL_ID:
                    which, size = 2, 11
            elif (first & _SEVEN) == _STREAM:
                which, size = 4, 6
            elif (first & _SEVEN) == _DEVICE:
                which, size = 3, 6
            elif first == _COLLECTIVE and load64(q + 8) == _VE_NAME:
                which, size = 5, 15
            if which == 0 or load8(q + 1 + size) != QUOTE:
                continue
            below = lowest - _ONE
            if before + count_bits(opening & below) - count_bits(closing & below) != 1:
                continue
            v = skip_space(q + 2 + size, end)
            if load8(v) != COLON:
                continue
            v = skip_space(v + 1, end)
            if which == 5:
                collective = True
                continue
            value, size = small_integer(v)
            if size == 0:
                if which <= 2:
                    value, v = _read_id(v, end, strings)
                else:
                    value, v = _read_number(v, end)
            if which == 1:
                correlation = value
            elif which == 2:
                external = value
            elif which == 3:
                device = value
            else:
                stream = value
        if done >= 0:
            return p + done + 1, correlation, external, device, stream, collective
        p += 64
    return end + 1, correlation, external, device, stream, collective


@kernel
def next_member(p: int, end: int) -> Any:
    """The next key of an object: (address of its first byte, its size, address of its value).

    ``p`` lies behind the opening brace or behind a value. The size is -1 when there is no further key.
    """
    p = skip_space(p, end)
    while p < end and load8(p) == COMMA:
        p = skip_space(p + 1, end)
    if p >= end or load8(p) != QUOTE:
        return p, np.int64(-1), p
    key = p + 1
    q = skip_string(key, end)
    p = skip_space(q + 1, end)
    if p >= end or load8(p) != COLON:
        return p, np.int64(-1), p
    return key, q - key, skip_space(p + 1, end)


@kernel
def read_collective(p: int, end: int, strings: int, texts: Any, sizes: Any, out: NDArray[np.int64], row: int) -> None:
    """Read COLLECTIVE_COLUMNS of the args object at ``p`` into ``out[:, row]``.

    Text columns get numbers of ``strings``, -1 when not given; the others ABSENT when not given. ``texts`` and
    ``sizes`` are KEY_TEXT and KEY_SIZE.
    """
    count = len(sizes)
    for k in range(count):
        out[k, row] = -1 if TEXT_COLUMNS[k] else ABSENT
    key, size, p = next_member(p + 1, end)
    while size >= 0 and p < end:
        match = -1
        for k in range(count):
            if sizes[k] == size and same_text(key, texts.ctypes.data + 64 * k, size):
                match = k
        if match >= 0 and TEXT_COLUMNS[match]:
            if load8(p) == QUOTE:
                q = skip_string(p + 1, end)
                if q < end:
                    out[match, row] = _intern_text(p + 1, q - p - 1, strings)
                p = q + 1
            else:
                q = _skip_value(p, end)
                if q <= end and load8(p) != 0x6E:
                    out[match, row] = _intern_text(p, q - p, strings)
                p = q
        elif match >= 0:
            out[match, row], p = _read_number(p, end)
        else:
            p = _skip_value(p, end)
        key, size, p = next_member(p, end)


@kernel
def read_label(p: int, end: int, strings: int) -> Any:
    """The value of a metadata event's args object at ``p``.

    TEXT_ID | number of the string under "name" or "labels", the integer under "sort_index", else ABSENT.
    """
    key, size, p = next_member(p + 1, end)
    value = ABSENT
    while size >= 0 and p < end and load8(p) != CLOSE_OBJECT:
        first = load64(key)
        if (size == 4 and np.uint32(first) == np.uint32(0x656D616E)) or (
            size == 6 and (first & np.uint64(0xFFFFFFFFFFFF)) == np.uint64(0x736C6562616C)
        ):
            if load8(p) == QUOTE:
                q = skip_string(p + 1, end)
                if q < end:
                    number = _intern_text(p + 1, q - p - 1, strings)
                    if number >= 0:
                        value = TEXT_ID | number
                p = q + 1
            else:
                p = _skip_value(p, end)
        elif size == 10 and first == np.uint64(0x646E695F74726F73):  # sort_ind
            value, p = _read_number(p, end)
            if value >= TEXT_ID:
                value = ABSENT
        else:
            p = _skip_value(p, end)
        key, size, p = next_member(p, end)
    return value
