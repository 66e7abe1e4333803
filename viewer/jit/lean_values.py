"""Expressions of lean functions in LLVM's terms."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

import numpy as np
from llvmlite import ir

from viewer.jit.lean import INT, REAL, TRUTH, WORD, Lean, Primitive

_I1, _I64, _F64 = ir.IntType(1), ir.IntType(64), ir.DoubleType()
_MASK: Final = (1 << 64) - 1


class Typed(NamedTuple):
    """A value in the making. A literal number has no type until it meets one."""

    kind: str
    value: Any


class Literal(NamedTuple):
    """A number written in the source."""

    number: int


class Array(NamedTuple):
    """An array: address of its first element, its length, its elements."""

    address: Any
    length: Any
    dtype: np.dtype[Any]
    signed: bool


@dataclass(slots=True)
class Emitted:
    """A function that stands in a module: its LLVM function and the types of its results."""

    function: Any
    results: list[str] = field(default_factory=list)
    is_tuple: bool = False


class Values:
    """Names and expressions of one function; ``b`` builds where the walk stands, ``entry`` where slots are made."""

    def __init__(self, function: Lean, module: Any, emit: Callable[[Lean], Emitted]) -> None:
        self.source = function
        self.module = module
        self.globals: dict[str, Any] = function.py_func.__globals__
        self.names: dict[str, Any] = {}
        self._emit = emit
        self.b: Any = None
        self.entry: Any = None

    def cannot(self, node: ast.AST) -> TypeError:
        """For what is no part of the language."""
        where = f"{self.source.__module__}.{self.source.__name__}, line {getattr(node, 'lineno', '?')}"
        return TypeError(f"{where}: cannot compile {type(node).__name__}")

    def wrong(self, node: ast.AST, why: str) -> TypeError:
        """For a wrong use of the language."""
        return TypeError(f"{self.source.__name__}: {why}: {ast.unparse(node)}")

    # Names -----------------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Any) -> None:
        """Put ``value`` under a name or into an element."""
        if isinstance(target, ast.Subscript):
            array = self._array(target.value)
            element = ir.IntType(array.dtype.itemsize * 8)
            # A number that is written to an array loses what has no room, as with numpy.
            typed = self.typed(value, INT)
            if typed.kind == REAL:
                raise self.wrong(target, "holds integers")
            bits = self.word(typed)
            small = bits if element.width == 64 else self.b.trunc(bits, element)
            self.b.store(small, self._element(array, target.slice), align=array.dtype.itemsize)
        elif isinstance(target, ast.Name):
            if target.id != "_":
                self.store(target.id, value)
        else:
            raise self.wrong(target, "cannot assign to this")

    def store(self, name: str, value: Any) -> None:
        """Put ``value`` into the slot of a name, which the first value makes."""
        if isinstance(value, Array):
            self.names[name] = value
            return
        slot = self.names.get(name)
        if slot is None:
            typed = self.typed(value, INT)
            place = self.entry.alloca(typed.value.type, name=name)
            self.names[name] = slot = Typed(typed.kind, place)
        assert isinstance(slot, Typed)
        self.b.store(self.typed(value, slot.kind, name).value, slot.value)

    def typed(self, value: Any, kind: str, what: str = "") -> Typed:
        """A literal as ``kind``; a value that has a type already must have this one where ``what`` is said."""
        if isinstance(value, Literal):
            if kind == TRUTH:
                raise TypeError(f"{self.source.__name__}: {what} is a truth value, {value.number} is none")
            if kind == REAL:
                return Typed(REAL, ir.Constant(_F64, float(value.number)))
            return Typed(kind, ir.Constant(_I64, value.number & _MASK))
        assert isinstance(value, Typed)
        if what and value.kind != kind:
            raise TypeError(f"{self.source.__name__}: {what} is {kind}, not {value.kind}")
        return value

    def _constant(self, found: Any, node: ast.AST) -> Any:
        if isinstance(found, (bool, np.bool_)):
            return Typed(TRUTH, ir.Constant(_I1, int(found)))
        if isinstance(found, np.uint64):
            return Typed(WORD, ir.Constant(_I64, int(found)))
        if isinstance(found, np.integer):
            return Typed(INT, ir.Constant(_I64, int(found) & _MASK))
        if isinstance(found, int):
            return Literal(found)
        if isinstance(found, float):
            return Typed(REAL, ir.Constant(_F64, float(found)))
        raise self.wrong(node, "neither a local name nor a constant number")

    def _array(self, node: ast.expr) -> Array:
        assert isinstance(node, ast.Name)
        found = self.names.get(node.id)
        if found is None:
            table = np.asarray(self.globals[node.id])
            elements = ir.IntType(table.dtype.itemsize * 8)
            kind = ir.ArrayType(elements, len(table))
            name = f"table.{node.id}.{len(table)}.{table.dtype}"
            place = self.module.globals.get(name)
            if place is None:
                place = ir.GlobalVariable(self.module, kind, name)
                place.initializer = ir.Constant(kind, [int(v) & ((1 << elements.width) - 1) for v in table.tolist()])
                place.global_constant = True
                place.linkage = "internal"
            address = self.b.ptrtoint(place, _I64)
            return Array(address, ir.Constant(_I64, len(table)), table.dtype, table.dtype.kind == "i")
        if not isinstance(found, Array):
            raise self.wrong(node, "not an array")
        return found

    def _element(self, array: Array, index: ast.expr) -> Any:
        at = self.typed(self.value(index), INT).value
        first = self.b.inttoptr(array.address, ir.IntType(array.dtype.itemsize * 8).as_pointer())
        return self.b.gep(first, [at], inbounds=True)

    # Expressions -----------------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> Any:
        """An expression as a condition."""
        value = self.value(node)
        if isinstance(value, Literal):
            return ir.Constant(_I1, int(value.number != 0))
        if value.kind == TRUTH:
            return value.value
        if value.kind == REAL:
            raise self.wrong(node, "a float is no condition")
        return self.b.icmp_unsigned("!=", value.value, ir.Constant(_I64, 0))

    def value(self, node: ast.expr) -> Any:
        """An expression: Typed, Literal or Array."""
        if isinstance(node, ast.Constant):
            return self._constant(node.value, node)
        if isinstance(node, ast.Call):
            return self.call(node)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.cannot(node)
        return method(node)

    def _name(self, node: ast.Name) -> Any:
        slot = self.names.get(node.id)
        if isinstance(slot, Typed):
            return Typed(slot.kind, self.b.load(slot.value))
        return self._constant(self.globals.get(node.id), node)

    def _attribute(self, node: ast.Attribute) -> Any:
        if node.attr == "data":  # of NAME.ctypes
            return Typed(INT, self._array(cast(ast.Attribute, node.value).value).address)
        return self._constant(getattr(self.globals[ast.unparse(node.value)], node.attr), node)

    def _subscript(self, node: ast.Subscript) -> Typed:
        array = self._array(node.value)
        value = self.b.load(self._element(array, node.slice), align=array.dtype.itemsize)
        if array.dtype.kind == "b":
            return Typed(TRUTH, self.b.icmp_unsigned("!=", value, ir.Constant(value.type, 0)))
        if array.dtype.itemsize == 8:
            return Typed(INT if array.signed else WORD, value)
        return Typed(INT, self.b.sext(value, _I64) if array.signed else self.b.zext(value, _I64))

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return Typed(TRUTH, self.b.not_(self.truth(node.operand)))
        value = self.value(node.operand)
        if isinstance(value, Literal):
            return Literal(-value.number if isinstance(node.op, ast.USub) else ~value.number)
        if value.kind == REAL:
            return Typed(REAL, self.b.fneg(value.value))
        return Typed(value.kind, self.b.neg(value.value) if isinstance(node.op, ast.USub) else self.b.not_(value.value))

    def _binop(self, node: ast.BinOp) -> Any:
        return self.operate(node, node.op, self.value(node.left), self.value(node.right))

    def _pair(self, node: ast.AST, a: Any, b: Any) -> tuple[Typed, Typed]:
        """Two values as one type."""
        kind = b.kind if isinstance(a, Literal) and isinstance(b, Typed) else a.kind if isinstance(a, Typed) else INT
        left, right = self.typed(a, kind), self.typed(b, kind)
        if left.kind != right.kind:
            raise self.wrong(node, f"{left.kind} meets {right.kind}")
        return left, right

    def operate(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Any:
        """``a op b``."""
        if isinstance(a, Literal) and isinstance(b, Literal):
            return Literal(_FOLD[type(op)](a.number, b.number))
        if isinstance(op, (ast.LShift, ast.RShift)):
            left, right = self.typed(a, INT), self.typed(b, INT)
            if isinstance(op, ast.LShift):
                return Typed(left.kind, self.b.shl(left.value, right.value))
            shift = self.b.lshr if left.kind == WORD else self.b.ashr
            return Typed(left.kind, shift(left.value, right.value))
        left, right = self._pair(node, a, b)
        x, y = left.value, right.value
        if left.kind == REAL and type(op) in _REAL:
            return Typed(REAL, getattr(self.b, _REAL[type(op)])(x, y))
        if left.kind == REAL:
            raise self.wrong(node, "no such operation")
        if type(op) in _PLAIN:
            return Typed(left.kind, getattr(self.b, _PLAIN[type(op)])(x, y))
        if left.kind == TRUTH or not isinstance(op, (ast.FloorDiv, ast.Mod)):
            raise self.wrong(node, "no such operation")
        if left.kind == WORD:
            return Typed(WORD, self.b.udiv(x, y) if isinstance(op, ast.FloorDiv) else self.b.urem(x, y))
        rest = self.b.srem(x, y)
        zero = ir.Constant(_I64, 0)
        below = self.b.and_(self.b.icmp_signed("!=", rest, zero), self.b.icmp_signed("<", self.b.xor(rest, y), zero))
        if isinstance(op, ast.Mod):
            return Typed(INT, self.b.add(rest, self.b.select(below, y, zero)))
        return Typed(INT, self.b.sub(self.b.sdiv(x, y), self.b.zext(below, _I64)))

    def _compare(self, node: ast.Compare) -> Typed:
        if len(node.ops) != 1:
            raise self.wrong(node, "one comparison at a time")
        left, right = self._pair(node, self.value(node.left), self.value(node.comparators[0]))
        sign = _COMPARE[type(node.ops[0])]
        return Typed(TRUTH, self._test(sign, left, right))

    def _test(self, sign: str, a: Typed, b: Typed) -> Any:
        if a.kind == REAL:
            return self.b.fcmp_ordered(sign, a.value, b.value)
        test = self.b.icmp_signed if a.kind == INT else self.b.icmp_unsigned
        return test(sign, a.value, b.value)

    def _boolop(self, node: ast.BoolOp) -> Typed:
        after = self.b.append_basic_block("decided")
        settled = isinstance(node.op, ast.Or)
        ways = []
        for operand in node.values[:-1]:
            value = self.truth(operand)
            ways.append(self.b.block)
            more = self.b.append_basic_block("more")
            self.b.cbranch(value, *((after, more) if settled else (more, after)))
            self.b.position_at_end(more)
        last = self.truth(node.values[-1])
        last_block = self.b.block
        self.b.branch(after)
        self.b.position_at_end(after)
        result = self.b.phi(_I1)
        for block in ways:
            result.add_incoming(ir.Constant(_I1, int(settled)), block)
        result.add_incoming(last, last_block)
        return Typed(TRUTH, result)

    def _ifexp(self, node: ast.IfExp) -> Typed:
        then, otherwise, after = (self.b.append_basic_block(n) for n in ("then", "else", "chosen"))
        self.b.cbranch(self.truth(node.test), then, otherwise)
        values, ends = [], []
        for block, part in ((then, node.body), (otherwise, node.orelse)):
            self.b.position_at_end(block)
            values.append(self.value(part))
            ends.append(self.b.block)
        left, right = self._pair(node, *values)
        for end in ends:
            self.b.position_at_end(end)
            self.b.branch(after)
        self.b.position_at_end(after)
        result = self.b.phi(left.value.type)
        result.add_incoming(left.value, ends[0])
        result.add_incoming(right.value, ends[1])
        return Typed(left.kind, result)

    def _cast(self, kind: str, value: Any) -> Typed:
        if isinstance(value, Literal):
            return self.typed(value, kind)
        if value.kind == TRUTH:
            return self._cast(kind, Typed(INT, self.b.zext(value.value, _I64)))
        if value.kind == kind:
            return Typed(kind, value.value)
        if kind == REAL:
            return Typed(REAL, (self.b.uitofp if value.kind == WORD else self.b.sitofp)(value.value, _F64))
        if value.kind == REAL:
            return Typed(kind, self.b.fptosi(value.value, _I64))
        return Typed(kind, value.value)

    def word(self, value: Typed) -> Any:
        """A value as the 64 bits in which it is passed."""
        if value.kind == TRUTH:
            return self.b.zext(value.value, _I64)
        return self.b.bitcast(value.value, _I64) if value.kind == REAL else value.value

    def unword(self, kind: str, word: Any) -> Typed:
        """The value that was passed as ``word``."""
        if kind == TRUTH:
            return Typed(kind, self.b.trunc(word, _I1))
        return Typed(kind, self.b.bitcast(word, _F64) if kind == REAL else word)

    def _local_array(self, node: ast.Call) -> Array:
        """A small array on the stack: ``np.zeros(CONSTANT, np.uint8)``."""
        length, dtype = self.value(node.args[0]), np.dtype(getattr(np, cast(ast.Attribute, node.args[1]).attr))
        if not isinstance(length, Literal) or length.number * dtype.itemsize > 1 << 16:
            raise self.wrong(node, "needs a constant and small length")
        kind = ir.ArrayType(ir.IntType(dtype.itemsize * 8), length.number)
        place = self.entry.alloca(kind)
        self.b.store(ir.Constant(kind, None), place)
        address = self.b.ptrtoint(place, _I64)
        return Array(address, ir.Constant(_I64, length.number), dtype, dtype.kind == "i")

    def call(self, node: ast.Call) -> Any:
        """The value of a call; a list of values for a function whose result is a tuple."""
        text = ast.unparse(node.func)
        if text in _CASTS:
            return self._cast(_CASTS[text], self.value(node.args[0]))
        if text == "np.zeros":
            return self._local_array(node)
        if text == "len":
            return Typed(INT, self._array(node.args[0]).length)
        if text in {"min", "max"}:
            left, right = self._pair(node, *(self.value(a) for a in node.args))
            smaller = self._test("<" if text == "min" else ">", left, right)
            return Typed(left.kind, self.b.select(smaller, left.value, right.value))
        callee = self.globals.get(text)
        if isinstance(callee, Primitive):
            values = [self.typed(self.value(a), INT).value for a in node.args]
            return Typed(callee.kind, callee.emit(self.b, *values))
        if not isinstance(callee, Lean):
            raise self.wrong(node, "not a function of this kind")
        emitted = self._emit(callee)
        words: list[Any] = []
        for argument, (name, kind, elements) in zip(node.args, callee.arguments, strict=True):
            if elements is None:
                words.append(self.word(self.typed(self.value(argument), kind, name)))
                continue
            array = self._array(argument)
            if (array.dtype, array.signed) != elements:
                raise self.wrong(node, f"{name} has other elements")
            words += [array.address, array.length]
        result = self.b.call(emitted.function, words, cconv="fastcc")
        parts = []
        for k, kind in enumerate(emitted.results):
            part = self.b.extract_value(result, k)
            parts.append(self.unword(kind, part))
        return parts if emitted.is_tuple or not parts else parts[0]


_PLAIN: Final[dict[Any, str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_REAL: Final[dict[Any, str]] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_CASTS: Final = {"np.int64": INT, "int": INT, "np.uint64": WORD, "np.float64": REAL}
_FOLD: Final[dict[Any, Callable[[int, int], int]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARE: Final[dict[Any, str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
