"""Loads from raw addresses and 64-byte compares: the vocabulary of the text scanner.

Callees get addresses, not arrays (an array argument costs several registers per call). A load may read up to
``PAD`` bytes past the last byte of a text, so every text lies in a buffer with that much zeroed room behind it.
"""

# ruff: noqa: ARG001 (numba gives its code generators more than they need)

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

PAD: Final = 128
"""Zeroed bytes that must follow a text in memory."""

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_V64 = ir.VectorType(_I8, 64)


_plain_type: Any = types.unliteral


def apart(function: Any) -> Any:
    """``function`` (a kernel of scalar arguments) as a callee that is never inlined.

    LLVM would copy every callee of the event loop to each place that calls it and optimise every copy: tens of seconds
    of compilation at the first start for nothing.
    """

    def compiled(args: Any) -> Any:
        types_of_args = tuple(map(_plain_type, args))
        function.compile(types_of_args)
        return function.overloads[types_of_args]

    def call(args: Any) -> Any:
        result = compiled(args)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            context.active_code_library.add_linking_library(result.library)
            callee = context.declare_function(builder.module, result.fndesc)
            status, value = context.call_conv.call_function(
                builder, callee, result.signature.return_type, result.signature.args, values, attrs=("noinline",)
            )
            with builder.if_then(status.is_error, likely=False):
                context.call_conv.return_status_propagate(builder, status)
            return value

        return result.signature, generate

    def two(typing_context: Any, a: Any, b: Any) -> Any:
        return call((a, b))

    def three(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        return call((a, b, c))

    def seven(typing_context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
        return call((a, b, c, d, e, f, g))

    return intrinsic({2: two, 3: three, 7: seven}[function.py_func.__code__.co_argcount])


def _loader(width: ir.Type, result: Any) -> Any:
    @intrinsic
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(builder.inttoptr(args[0], width.as_pointer()))
            value.align = 1
            return value if width is _I64 else builder.zext(value, _I64)

        return result(types.int64), generate

    return load


load8 = _loader(_I8, types.int64)
"""``load8(address)``: one byte as int64."""
load64 = _loader(_I64, types.uint64)
"""``load64(address)``: eight bytes, little end first, as uint64."""
load_int = _loader(_I64, types.int64)
"""``load_int(address)``: an int64."""
load_id = _loader(_I32, types.int64)
"""``load_id(address)``: an unsigned 32-bit number as int64."""


def _storer(width: ir.Type) -> Any:
    @intrinsic
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[1] if width is _I64 else builder.trunc(args[1], width)
            written = builder.store(value, builder.inttoptr(args[0], width.as_pointer()))
            written.align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


store_int = _storer(_I64)
"""``store_int(address, value)``: an int64."""
store_id = _storer(_I32)
"""``store_id(address, value)``: the low 32 bits."""
store8 = _storer(_I8)
"""``store8(address, value)``: the low 8 bits."""


def _matcher(characters: bytes, *, invert: bool = False, fold: bool = False) -> Any:
    """Bit i of ``matcher(address)`` says whether byte i of the next 64 is one of ``characters``.

    With ``fold`` bit 5 of the text is set first: one compare finds a letter in both cases, or { and [.
    """

    @intrinsic
    def match(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            text = builder.load(builder.inttoptr(args[0], _V64.as_pointer()))
            text.align = 1
            if fold:
                text = builder.or_(text, ir.Constant(_V64, [ir.Constant(_I8, 0x20)] * 64))
            found = None
            for character in characters:
                splat = ir.Constant(_V64, [ir.Constant(_I8, character)] * 64)
                equal = builder.icmp_unsigned("==", text, splat)
                found = equal if found is None else builder.or_(found, equal)
            mask = builder.bitcast(found, _I64)
            return builder.not_(mask) if invert else mask

        return types.uint64(types.int64), generate

    return match


quotes = _matcher(b'"')
backslashes = _matcher(b"\\")
quotes_or_backslashes = _matcher(b'"\\')
openers = _matcher(b"{", fold=True)
"""{ and [."""
closers = _matcher(b"}", fold=True)
"""} and ]."""
not_space = _matcher(b" \n\r\t", invert=True)
link_second = _matcher(b"cesd", fold=True)
"""Second bytes (after the quote) of the keys that become columns."""
link_third = _matcher(b"oxte")
string_enders = _matcher(b",:}*-", fold=True)
"""What stands behind a string: a comma, a colon, a closing bracket, a line's end or a tab. Also what differs from these
by bit 5 alone (* and -), but no letter, digit, quote, space or opening bracket."""
odd_in_args = _matcher(b"\\{")
field_first = _matcher(b"ICMgb")
"""First bytes of the keys of what the profiler records of operators and GPU work."""


def _combination(build: Callable[[Any, Any, Any], Any], argument: Any) -> Any:
    @intrinsic
    def operation(typing_context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return build(builder, *args)

        return types.uint64(argument, argument), generate

    return operation


def _differences(builder: Any, a: Any, b: Any) -> Any:
    texts = [builder.load(builder.inttoptr(address, _V64.as_pointer())) for address in (a, b)]
    for text in texts:
        text.align = 1
    return builder.bitcast(builder.icmp_unsigned("!=", *texts), _I64)


def _folded(builder: Any, a: Any, b: Any) -> Any:
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
    high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _I64)
    return builder.xor(builder.trunc(product, _I64), high)


differences = _combination(_differences, types.int64)
"""Bit i of ``differences(a, b)`` says whether byte i of the 64 at one address is another one than at the other."""
folded = _combination(_folded, types.uint64)
"""The 128 bits of a product of two uint64, its halves xored."""


def _unary(build: Callable[[Any, Any], Any]) -> Any:
    @intrinsic
    def operation(typing_context: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return build(builder, args[0])

        return types.int64(types.uint64), generate

    return operation


trailing_zeros = _unary(lambda builder, bits: builder.cttz(bits, ir.Constant(ir.IntType(1), 1)))
"""Index of the lowest set bit; undefined for 0."""
count_bits = _unary(lambda builder, bits: builder.ctpop(bits))
