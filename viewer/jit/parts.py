"""Kernels that only other kernels call, compiled for their callers alone. For helper processes.

The compiler optimises each kernel, makes machine code of it and an entry for Python, and does all but the last once
more inside of each caller. Of a kernel that nothing but kernels calls, only what its callers take over is used: leaving
out the rest is a quarter of what a first start compiles. What is made so has a folder of its own inside that of
compiled code and is seen by helpers only: a process that calls such a kernel itself compiles it as any other.

This reaches into the compiler, where nothing else would do; with a compiler that has other inner parts, kernels are
compiled as ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Final

from numba.core import codegen, cpu

from viewer.jit import compiler
from viewer.jit.table import Entry

_NEEDED: Final = (
    (codegen.JITCPUCodegen, ("_library_class", "set_env")),
    (
        codegen.JITCodeLibrary,
        (
            "_optimize_final_module",
            "_finalize_final_module",
            "_optimize_functions",
            "_ensure_finalized",
            "serialize_using_bitcode",
            "serialize_using_object_code",
        ),
    ),
    (cpu.CPUContext, ("get_executable",)),
)
_names: Final[set[str]] = set()
"""Names that the compiler gives to the code of parts."""


class _Library(codegen.JITCodeLibrary):
    """Code that is handed to callers as it was first written down, when it is that of a part."""

    @property
    def is_part(self) -> bool:
        return self.name in _names

    def _optimize_final_module(self) -> None:
        if not self.is_part:
            super()._optimize_final_module()  # type: ignore[no-untyped-call]

    def _optimize_functions(self, ll_module: Any) -> None:
        """What follows begins with the same passes: here they take a tenth of the time, and the code is no faster."""
        ll_module.data_layout = self._codegen._data_layout

    def _finalize_final_module(self) -> None:
        if self.is_part:
            # Addresses of this process that stand in it are found in the caller, which is then not kept: most are gone
            # once the caller was optimised.
            self._finalized = True
        else:
            super()._finalize_final_module()  # type: ignore[no-untyped-call]

    def serialize_using_object_code(self) -> Any:
        kept: Any = super()
        return kept.serialize_using_bitcode() if self.is_part else kept.serialize_using_object_code()


def use(entries: Iterable[Entry]) -> bool:
    """From now on compile the parts among these so, in this process; False where this compiler cannot."""
    if not compiler.QUICK or not all(hasattr(kind, name) for kind, names in _NEEDED for name in names):
        return False
    entries = list(entries)
    whole = {_name(e) for e in entries if not e.part}
    parts = [e for e in entries if e.part and _name(e) not in whole]  # the compiler tells them apart by this alone
    compiler.PARTS.update(e.name for e in parts)
    _names.update(map(_name, parts))
    made: Any = codegen.JITCPUCodegen
    made._library_class = _Library
    made.set_env = _set_env
    context: Any = cpu.CPUContext
    ready = context.get_executable

    def get_executable(self: Any, library: Any, description: Any, environment: Any) -> Any:
        if not getattr(library, "is_part", False):
            return ready(self, library, description, environment)
        library._ensure_finalized()
        return [].append  # stands for the entry: some built-in function, another one for each kernel

    context.get_executable = get_executable
    return True


def _name(entry: Entry) -> str:
    return entry.name.partition(".")[2]


def _set_env(self: Any, name: str, environment: Any) -> None:
    """As the compiler does it, but where there is no code there is no place for it."""
    address = self._engine.get_global_value_address(name)
    if address:
        ctypes.c_void_p.from_address(address).value = id(environment)
