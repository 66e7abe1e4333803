"""Writes the file of :mod:`viewer.jit.native`. Loads the compiler and takes seconds: for a helper process."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np
from numba.core import compiler
from numba.core.registry import cpu_target

from viewer.jit.machine import native_file
from viewer.jit.native import GROUP, RETURNS, Symbol, Unfit, flat_types, load, write
from viewer.jit.table import Entry, dispatcher_of, load_table, type_of

_OUTSIDE: Final = frozenset({"memset", "memcpy", "memmove"})
"""What the code may call: all that its loader can always find. It ends the process over a name that it cannot."""
_TRIED: Final = "row_search.first_from"
"""The kernel whose answers are compared before a file is used."""
_LLVM_TYPES: Final = {ctypes.c_void_p: "ptr", ctypes.c_ssize_t: "i64", ctypes.c_int64: "i64", ctypes.c_double: "double"}


def build(folder: Path) -> Path:
    """Compile what can be kept, and write it once it was loaded and gave a right answer.

    Raises:
        Unfit: nothing can be kept with this compiler.
        OSError: it cannot be written.
    """
    symbols, code = make(entries_to_keep())
    path = native_file(folder)
    draft = path.with_name(f"{path.name}.draft")
    try:
        write(draft, symbols, code)
        _try_out(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def entries_to_keep() -> list[Entry]:
    """What is called from outside of its group: kernels inside others are part of their code."""
    entries = [e for e in load_table() if e.group == GROUP]
    inside = {name for e in entries for name in e.needs}
    return [e for e in entries if e.name not in inside or not e.name.partition(".")[2].startswith("_")]


def make(entries: list[Entry]) -> tuple[dict[str, Symbol], bytes]:
    """The object file of those entries whose code calls nothing outside, and where each is in it. Raises Unfit."""
    symbols: dict[str, Symbol] = {}
    whole: Any = None
    for entry in entries:
        try:
            module, symbol = _compile(entry)
        except Unfit:
            continue  # the compiler runs it
        symbols[entry.name] = symbol
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    if whole is None:
        raise Unfit("no kernel can be kept")
    machine: Any = cpu_target.target_context.codegen()._tm  # the one for which the code was optimised
    return symbols, machine.emit_object(whole)


def _compile(entry: Entry) -> tuple[Any, Symbol]:
    dispatcher = dispatcher_of(entry.name).dispatcher
    flags: Any = compiler.Flags()  # type: ignore[no-untyped-call]
    dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
    flags.no_cpython_wrapper = True
    made = compiler.compile_extra(  # type: ignore[no-untyped-call]
        dispatcher.targetdescr.typing_context,
        dispatcher.targetdescr.target_context,
        dispatcher.py_func,
        tuple(type_of(word) for word in entry.types),
        None,
        flags,
        {},
    )
    module: Any = llvm.parse_assembly(made.library.get_llvm_str())
    name, returns = made.fndesc.llvm_func_name, str(made.signature.return_type)
    expected = ["ptr", "ptr", *(_LLVM_TYPES[kind] for word in entry.types for kind in flat_types(word))]
    if returns not in RETURNS or [str(a.type) for a in module.get_function(name).arguments] != expected:
        raise Unfit(f"{entry.name} is called in another way")
    outside = {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")} - _OUTSIDE
    if outside:
        raise Unfit(f"{entry.name} calls {sorted(outside)}")
    return module, Symbol(name, returns)


def _try_out(path: Path) -> None:
    """Load it as a start will. Raises Unfit for a wrong answer; a loader that cannot ends this process."""
    kept = load(path).get(_TRIED)
    if kept is None:
        raise Unfit(f"{_TRIED} is not among what is kept, so nothing can be tried")
    times = np.arange(0, 700, 7, dtype=np.int64)
    for wanted in (-5, 0, 300, 301, 10_000):
        if kept.code(times, 3, 90, wanted) != kept.kernel.py_func(times, 3, 90, wanted):
            raise Unfit("the code gives a wrong answer")
