"""How every kernel is compiled."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.runtime.nrt import rtsys

from viewer.jit.folder import code_folder, prepare

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER: Final = code_folder()
_KEEP: Final = prepare(_FOLDER)
if _KEEP:
    # Said to numba itself: it reads the environment when it is first imported, which may be before this.
    numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]

_HARMLESS: Final = frozenset({"shape", "size", "ndim", "ctypes", "data", "dtype"})
"""Attributes of arrays that make no array."""


def kernel(function: F) -> F:
    """Compile ``function`` with the project's options: GIL released, C-like errors, cached on disk where possible.

    A kernel that makes no array is compiled without the code that counts references to arrays, and none gets an entry
    for C: together nearly a third of what compiling costs.
    """
    return _compiled(function, counts=_may_allocate(function))


def allocating_kernel(function: F) -> F:
    """A kernel that makes arrays where :func:`kernel` does not see it: by arithmetic on whole arrays."""
    return _compiled(function, counts=True)


class _QuickCache(FunctionCache):
    """Loads compiled code without the compiler's own tables.

    numba fills them before it loads anything, which takes longer than all loading of a start. What compiles fills
    them itself; what is loaded needs no more of it than the runtime that makes arrays.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def _compiled(function: F, counts: bool) -> F:
    options: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "no_cfunc_wrapper": True, "_nrt": counts}
    quick = _KEEP and hasattr(FunctionCache, "_load_overload")
    compiled: Any = numba.njit(nogil=True, cache=_KEEP and not quick, **options)(function)
    if quick:
        compiled._cache = _QuickCache(function)  # type: ignore[no-untyped-call]
    return cast(F, compiled)


def _may_allocate(function: Callable[..., Any]) -> bool:
    """Whether anything that a kernel names could make an array; inner functions could do anything."""
    code = function.__code__
    if code.co_freevars or any(isinstance(constant, CodeType) for constant in code.co_consts):
        return True
    for step in dis.get_instructions(function):
        if step.opname == "LOAD_GLOBAL":
            if not _is_harmless(function.__globals__.get(step.argval)):
                return True
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval not in _HARMLESS:
            scalar = getattr(np, step.argval, None)
            if not (isinstance(scalar, type) and issubclass(scalar, np.generic)):
                return True
    return False


def _is_harmless(value: Any) -> bool:
    """Whether a global makes no array. None is a builtin, or a kernel further down; a test looks at those."""
    if isinstance(value, Dispatcher):
        return value.targetoptions.get("_nrt") is False  # what it returns could be an array
    return value is np or isinstance(value, _Intrinsic) or not (callable(value) or isinstance(value, ModuleType))
