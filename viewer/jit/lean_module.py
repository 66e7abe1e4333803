"""Statements of lean functions in LLVM's terms, and whole modules."""

from __future__ import annotations

import ast
from typing import Any, cast

from llvmlite import ir

from viewer.jit.lean import INT, Lean
from viewer.jit.lean_values import Array, Emitted, Typed, Values

_I64 = ir.IntType(64)


def emit_module(entry: Lean) -> tuple[str, list[str], bool]:
    """LLVM's text of ``entry`` and all it calls; the types of its results, and whether they are a tuple.

    The module's function ``entry(words, results)`` takes its arguments from an int64 array, two words (address and
    length) for an array, and puts its results into another.
    """
    module = ir.Module(entry.__name__)
    done: dict[Lean, Emitted] = {}
    emitted = _emit(entry, module, done)
    pointer = _I64.as_pointer()
    outer = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer, pointer]), "entry")
    builder = ir.IRBuilder(outer.append_basic_block())
    words, results = outer.args

    def word(k: int) -> Any:
        return builder.load(builder.gep(words, [ir.Constant(_I64, k)]))

    values = [word(k) for k in range(len(emitted.function.args))]
    result = builder.call(emitted.function, values, cconv="fastcc")
    for k in range(len(emitted.results)):
        part = builder.extract_value(result, k)
        builder.store(part, builder.gep(results, [ir.Constant(_I64, k)]))
    builder.ret_void()
    return str(module), emitted.results, emitted.is_tuple


def _emit(function: Lean, module: Any, done: dict[Lean, Emitted]) -> Emitted:
    if function not in done:
        done[function] = _Walk(function, module, done).emitted
    return done[function]


class _Walk(Values):
    """Turns one function's tree into an LLVM function."""

    def __init__(self, function: Lean, module: Any, done: dict[Lean, Emitted]) -> None:
        super().__init__(function, module, lambda callee: _emit(callee, module, done))
        self._loops: list[tuple[Any, Any]] = []
        tree = function.tree
        returns = [n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value is not None]
        count = 0
        if returns:
            first = returns[0].value
            count = len(first.elts) if isinstance(first, ast.Tuple) else 1
        words = sum(2 if a.elements else 1 for a in function.arguments)
        self._result_type = ir.LiteralStructType([_I64] * count)
        kind = ir.FunctionType(self._result_type, [_I64] * words)
        made = ir.Function(module, kind, module.get_unique_name(f"{function.__name__}.inner"))
        made.linkage = "internal"
        made.calling_convention = "fastcc"
        made.attributes.add("nounwind")
        if function.apart:
            made.attributes.add("noinline")
        is_tuple = bool(returns) and isinstance(returns[0].value, ast.Tuple)
        self.emitted = Emitted(made, [""] * count, is_tuple)
        self.entry = ir.IRBuilder(made.append_basic_block("slots"))
        self.b = ir.IRBuilder(made.append_basic_block("begin"))
        values = iter(made.args)
        for name, kind_of, elements in function.arguments:
            if elements is None:
                self.store(name, self.unword(kind_of, next(values)))
            else:
                self.names[name] = Array(next(values), next(values), *elements)
        self._block(tree.body)
        if not self.b.block.is_terminated:
            if count:
                self.b.unreachable()
            else:
                self.b.ret(ir.Constant(self._result_type, []))
        self.entry.branch(made.blocks[1])

    # Statements ------------------------------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                break
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                raise self.cannot(statement)
            method(statement)

    def _pass(self, node: ast.Pass) -> None:
        del node

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.call(cast(ast.Call, node.value))

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            if isinstance(node.value, ast.Tuple):
                values: list[Any] = [self.value(v) for v in node.value.elts]
            else:
                values = self.call(cast(ast.Call, node.value))
            for part, value in zip(target.elts, values, strict=True):
                self.assign(part, value)
        else:
            self.assign(target, self.value(node.value))

    def _annassign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self.assign(node.target, self.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        old = self.value(node.target)
        self.assign(node.target, self.operate(node, node.op, old, self.value(node.value)))

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            self.b.ret(ir.Constant(self._result_type, []))
            return
        kinds = self.emitted.results
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if len(parts) != len(kinds):
            raise self.wrong(node, "another number of results than before")
        result: Any = ir.Constant(self._result_type, ir.Undefined)
        for k, part in enumerate(parts):
            value = self.typed(self.value(part), kinds[k] or INT)
            if kinds[k] not in {"", value.kind}:
                raise self.wrong(node, f"result {k} was {kinds[k]} before")
            kinds[k] = value.kind
            result = self.b.insert_value(result, self.word(value), k)
        self.b.ret(result)

    def _if(self, node: ast.If) -> None:
        then, otherwise, after = (self.b.append_basic_block(n) for n in ("then", "else", "after"))
        self.b.cbranch(self.truth(node.test), then, otherwise)
        for block, body in ((then, node.body), (otherwise, node.orelse)):
            self.b.position_at_end(block)
            self._block(body)
            if not self.b.block.is_terminated:
                self.b.branch(after)
        self.b.position_at_end(after)

    def _while(self, node: ast.While) -> None:
        test, body, after = (self.b.append_basic_block(n) for n in ("test", "body", "after"))
        self.b.branch(test)
        self.b.position_at_end(test)
        if isinstance(node.test, ast.Constant) and node.test.value is True:
            self.b.branch(body)
        else:
            self.b.cbranch(self.truth(node.test), body, after)
        self._loop(node.body, body, test, after)

    def _for(self, node: ast.For) -> None:
        call, name = node.iter, node.target
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "range" and isinstance(name, ast.Name)):
            raise self.wrong(node.iter, "not a range")
        if len(call.args) > 2:
            raise self.wrong(node.iter, "steps of one only")
        bounds = [self.typed(self.value(a), INT) for a in call.args]
        begin = bounds[0] if len(bounds) > 1 else Typed(INT, ir.Constant(_I64, 0))
        end = bounds[-1]
        counter = self.entry.alloca(_I64)
        self.b.store(begin.value, counter)
        test, body, following, after = (self.b.append_basic_block(n) for n in ("test", "body", "next", "after"))
        self.b.branch(test)
        self.b.position_at_end(test)
        now = self.b.load(counter)
        self.b.cbranch(self.b.icmp_signed("<", now, end.value), body, after)
        self.b.position_at_end(body)
        self.store(name.id, Typed(INT, now))
        self._loop(node.body, body, following, after)
        self.b.position_at_end(following)
        self.b.store(self.b.add(self.b.load(counter), ir.Constant(_I64, 1)), counter)
        self.b.branch(test)
        self.b.position_at_end(after)

    def _loop(self, statements: list[ast.stmt], body: Any, following: Any, after: Any) -> None:
        self._loops.append((following, after))
        self.b.position_at_end(body)
        self._block(statements)
        if not self.b.block.is_terminated:
            self.b.branch(following)
        self._loops.pop()
        self.b.position_at_end(after)

    def _break(self, node: ast.Break) -> None:
        del node
        self.b.branch(self._loops[-1][1])

    def _continue(self, node: ast.Continue) -> None:
        del node
        self.b.branch(self._loops[-1][0])
