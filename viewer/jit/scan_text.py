"""Walking over JSON text without recursion: space, strings, containers, values.

Positions are addresses. ``end`` is the address behind the last byte that has arrived; a function that runs past it
returns an address greater than ``end``, and the caller waits for more text.
"""

# ruff: noqa: PLR1714 (a chain of compares compiles to less than a test against a tuple)

from __future__ import annotations

from typing import Any, Final

import numpy as np

from viewer.jit.config import kernel
from viewer.jit.scan_load import (
    backslashes,
    closers,
    count_bits,
    load8,
    not_space,
    openers,
    quotes,
    quotes_or_backslashes,
    trailing_zeros,
)

QUOTE: Final = 0x22
BACKSLASH: Final = 0x5C
COMMA: Final = 0x2C
COLON: Final = 0x3A
OPEN_OBJECT: Final = 0x7B
CLOSE_OBJECT: Final = 0x7D
OPEN_ARRAY: Final = 0x5B
CLOSE_ARRAY: Final = 0x5D

MAX_DEPTH: Final = 512
"""Deeper nesting is not followed by the strict walk."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_EVEN = np.uint64(0x5555555555555555)

VALID, CUT, BROKEN = 0, 1, 2


@kernel
def skip_space(p: int, end: int) -> Any:
    """The first byte at or after ``p`` that is no space, at most ``end``."""
    # Compares of single bytes first: a guessed branch costs nothing, an address out of a vector is waited for.
    c = load8(p)
    if c > 0x20:
        return p
    if c == 0x20 and load8(p + 1) > 0x20:
        return p + 1
    while p < end:
        rest = not_space(p)
        if rest != _ZERO:
            q = p + trailing_zeros(rest)
            return q if q < end else end
        p += 64
    return end


@kernel
def skip_string(p: int, end: int) -> Any:
    """The closing quote of a string whose opening quote is at ``p - 1``; ``end`` or more when it is not there yet."""
    while p < end:
        special = quotes_or_backslashes(p)
        if special == _ZERO:
            p += 64
            continue
        q = p + trailing_zeros(special)
        if load8(q) == QUOTE:
            return q
        p = q + 2
    return end + 1 if p < end + 1 else p


@kernel
def escaped_bytes(slashes: Any, carry: Any) -> Any:
    """Which of 64 bytes follow an odd run of backslashes, and whether the byte after them does.

    ``slashes`` and both results are bit masks of uint64; ``carry`` is 0 or 1.
    """
    slashes &= ~carry
    follows = (slashes << _ONE) | carry
    odd_starts = slashes & ~_EVEN & ~follows
    total = odd_starts + slashes
    carry_out = _ONE if total < slashes else _ZERO
    return (_EVEN ^ (total << _ONE)) & follows, carry_out


@kernel
def inside_strings(quote_bits: Any) -> Any:
    """Prefix xor: bit i is set from each opening quote up to the byte before its closing quote."""
    x = quote_bits
    x ^= x << np.uint64(1)
    x ^= x << np.uint64(2)
    x ^= x << np.uint64(4)
    x ^= x << np.uint64(8)
    x ^= x << np.uint64(16)
    x ^= x << np.uint64(32)
    return x


@kernel
def strings_of(p: int, in_string: Any, carry: Any) -> Any:
    """Strings in the 64 bytes at ``p``: (quotes that begin or end one, bytes inside one, and the state behind them).

    All are bit masks of uint64. ``in_string`` is all ones where the byte before is inside a string, else 0; ``carry``
    is 1 where a backslash before hides the first byte. A string's opening quote counts as inside, its closing one not.
    """
    slashes = backslashes(p)
    quote_bits = quotes(p)
    if (slashes | carry) != _ZERO:
        hidden, carry = escaped_bytes(slashes, carry)
        quote_bits &= ~hidden
    inside = inside_strings(quote_bits) ^ in_string
    return quote_bits, inside, _ZERO - (inside >> np.uint64(63)), carry


@kernel
def skip_container(p: int, end: int) -> Any:
    """One past the bracket that closes the object or array at ``p``; more than ``end`` when it is not there yet."""
    depth = np.int64(0)
    in_string = _ZERO
    carry = _ZERO
    while p < end:
        _, x, in_string, carry = strings_of(p, in_string, carry)
        opening = openers(p) & ~x
        closing = closers(p) & ~x
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
                        return p + trailing_zeros(lowest) + 1
                rest ^= lowest
        p += 64
    return end + 1


@kernel
def skip_value(p: int, end: int) -> Any:
    """One past the value at ``p``. A bare word (number, true, NaN, -inf) ends before space, comma or bracket."""
    c = load8(p)
    if c == QUOTE:
        return skip_string(p + 1, end) + 1
    if c == OPEN_OBJECT or c == OPEN_ARRAY:
        return skip_container(p, end)
    while p < end:
        c = load8(p)
        if c == COMMA or c == CLOSE_OBJECT or c == CLOSE_ARRAY or c <= 0x20 or c == QUOTE or c == COLON:
            return p
        p += 1
    return end + 1


@kernel
def walk_strictly(p: int, end: int) -> Any:
    """Check the grammar of one value: (state, address).

    VALID: the address is one past it. CUT: the text so far is the beginning of a value (truncated). BROKEN: no value
    begins like this (or it is nested deeper than MAX_DEPTH); the address is where it stops making sense. Bare words
    of letters and control characters in strings pass.
    """
    is_object = np.zeros(MAX_DEPTH, np.uint8)
    depth = 0
    want = 0  # 0 value, 1 key or close, 2 key, 3 comma or close, 4 value or close
    while True:
        p = skip_space(p, end)
        if p >= end:
            return CUT, end
        c = load8(p)
        if want == 3:
            if c == COMMA:
                want = 2 if is_object[depth - 1] else 0
                p += 1
                continue
            if c != (CLOSE_OBJECT if is_object[depth - 1] else CLOSE_ARRAY):
                return BROKEN, p
            p += 1
            depth -= 1
        elif (want == 1 and c == CLOSE_OBJECT) or (want == 4 and c == CLOSE_ARRAY):
            p += 1
            depth -= 1
        elif want == 1 or want == 2:
            if c != QUOTE:
                return BROKEN, p
            p = skip_string(p + 1, end) + 1
            if p > end:
                return CUT, end
            p = skip_space(p, end)
            if p >= end:
                return CUT, end
            if load8(p) != COLON:
                return BROKEN, p
            p += 1
            want = 0
            continue
        elif c == OPEN_OBJECT or c == OPEN_ARRAY:
            if depth == MAX_DEPTH:
                return BROKEN, p
            is_object[depth] = c == OPEN_OBJECT
            depth += 1
            want = 1 if c == OPEN_OBJECT else 4
            p += 1
            continue
        else:
            q = skip_value(p, end)
            if q > end:
                return CUT, end
            if q == p:
                return BROKEN, p
            p = q
        if depth == 0:
            return VALID, p
        want = 3
