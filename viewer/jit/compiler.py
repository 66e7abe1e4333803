"""How kernels are compiled. Importing this loads the compiler, which takes a while: see ``viewer/jit/config.py``."""

from __future__ import annotations

import dis
import logging
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

from viewer.jit.config import Kernel
from viewer.jit.folder import code_folder, prepare

log = logging.getLogger(__name__)

_FOLDER: Final = code_folder()
_KEEP: Final = prepare(_FOLDER)
if _KEEP:
    # Said to numba itself: it reads the environment when it is first imported, which may be before this.
    numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]

_HARMLESS: Final = frozenset({"shape", "size", "ndim", "ctypes", "data", "dtype"})
"""Attributes of arrays that make no array."""


@typeof_impl.register(Kernel)
def _type_of_kernel(value: Kernel, context: Any) -> Any:
    """A kernel that another one calls is to the compiler what it compiles."""
    del context
    return types.Dispatcher(value.dispatcher)


class _QuickCache(FunctionCache):
    """Loads compiled code without the compiler's own tables.

    numba fills them before it loads anything, which takes longer than all loading of a start. What compiles fills
    them itself; what is loaded needs no more of it than the runtime that makes arrays.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled. It runs all the same where the disk is full or a quota is used up."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            log.warning("compiled code is not kept in %s: %s", _FOLDER, error.strerror or error)


QUICK: Final = _KEEP and hasattr(FunctionCache, "_load_overload")
"""Whether compiled code is kept by a cache of this module."""
PARTS: Final[set[str]] = set()
"""Names ("file.function") of kernels that this process compiles for their callers alone: viewer/jit/parts.py."""


def dispatcher_of(function: Callable[..., Any]) -> Any:
    """What compiles and runs a kernel."""
    options: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "no_cfunc_wrapper": True}
    options["_nrt"] = _may_allocate(function)
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    part = name in PARTS
    if part:
        options["no_cpython_wrapper"] = True
    made: Any = numba.njit(nogil=True, cache=_KEEP and not QUICK, **options)(function)
    if QUICK:
        made._cache = _cache_of(function, _FOLDER / "parts" if part else _FOLDER)
    return made


def _cache_of(function: Callable[..., Any], folder: Path) -> Any:
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        return _QuickCache(function)  # type: ignore[no-untyped-call]
    finally:
        numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]


def _may_allocate(function: Callable[..., Any]) -> bool:
    """Whether anything that a kernel names could make an array; inner functions could do anything."""
    code = function.__code__
    if code.co_freevars or any(isinstance(constant, CodeType) for constant in code.co_consts):
        return True
    for step in dis.get_instructions(function):
        if step.opname == "LOAD_GLOBAL":
            value = function.__globals__.get(step.argval)
            if getattr(value, "py_func", None) is not function and not _is_harmless(value):
                return True
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval not in _HARMLESS:
            scalar = getattr(np, step.argval, None)
            if not (isinstance(scalar, type) and issubclass(scalar, np.generic)):
                return True
    return False


def _is_harmless(value: Any) -> bool:
    """Whether a global makes no array; None is a builtin."""
    if isinstance(value, Kernel | Dispatcher):
        return value.targetoptions.get("_nrt") is False  # what it returns could be an array
    return value is np or isinstance(value, _Intrinsic) or not (callable(value) or isinstance(value, ModuleType))
