"""Loads from raw addresses and 64-byte compares: the vocabulary of the text scanner.

Callees get addresses, not arrays (an array argument costs two registers per call). A load may read up to
``PAD`` bytes past the last byte of a text, so every text lies in a buffer with that much zeroed room behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir

from viewer.jit.lean import INT, WORD, Primitive

PAD: Final = 128
"""Zeroed bytes that must follow a text in memory."""

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_V64 = ir.VectorType(_I8, 64)


def _loader(width: ir.Type, kind: str = INT) -> Any:
    def load(builder: Any, address: Any) -> Any:
        value = builder.load(builder.inttoptr(address, width.as_pointer()), align=1)
        return value if width is _I64 else builder.zext(value, _I64)

    return Primitive(kind, load)


load8 = _loader(_I8)
"""``load8(address)``: one byte as int64."""
load64 = _loader(_I64, WORD)
"""``load64(address)``: eight bytes, little end first, as uint64."""
load_int = _loader(_I64)
"""``load_int(address)``: an int64."""
load_id = _loader(_I32)
"""``load_id(address)``: an unsigned 32-bit number as int64."""


def _storer(width: ir.Type) -> Any:
    def store(builder: Any, address: Any, value: Any) -> Any:
        small = value if width is _I64 else builder.trunc(value, width)
        return builder.store(small, builder.inttoptr(address, width.as_pointer()), align=1)

    return Primitive(INT, store)


store_int = _storer(_I64)
"""``store_int(address, value)``: an int64."""
store_id = _storer(_I32)
"""``store_id(address, value)``: the low 32 bits."""
store8 = _storer(_I8)
"""``store8(address, value)``: the low 8 bits."""


def _matcher(characters: bytes, *, invert: bool = False) -> Any:
    """Bit i of ``matcher(address)`` says whether byte i of the next 64 is one of ``characters``."""

    def match(builder: Any, address: Any) -> Any:
        text = builder.load(builder.inttoptr(address, _V64.as_pointer()), align=1)
        found = None
        for character in characters:
            splat = ir.Constant(_V64, [ir.Constant(_I8, character)] * 64)
            equal = builder.icmp_unsigned("==", text, splat)
            found = equal if found is None else builder.or_(found, equal)
        mask = builder.bitcast(found, _I64)
        return builder.not_(mask) if invert else mask

    return Primitive(WORD, match)


quotes = _matcher(b'"')
backslashes = _matcher(b"\\")
quotes_or_backslashes = _matcher(b'"\\')
openers = _matcher(b"{[")
closers = _matcher(b"}]")
not_space = _matcher(b" \n\r\t", invert=True)
link_second = _matcher(b"cCEesd")
"""Second bytes (after the quote) of the keys that become columns."""
link_third = _matcher(b"oxte")


def _unary(build: Callable[[Any, Any], Any]) -> Any:
    return Primitive(INT, build)


trailing_zeros = _unary(lambda builder, bits: builder.cttz(bits, ir.Constant(ir.IntType(1), 1)))
"""Index of the lowest set bit; undefined for 0."""
count_bits = _unary(lambda builder, bits: builder.ctpop(bits))
