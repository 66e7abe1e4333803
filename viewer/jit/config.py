"""How every kernel is compiled, and where the compiled code is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from viewer.jit.folder import compiled_folder

F = TypeVar("F", bound=Callable[..., Any])


_CACHE = compiled_folder() is not None

import numba  # noqa: E402  (reads NUMBA_CACHE_DIR when it is first imported)


def kernel(function: F) -> F:
    """Compile ``function`` with the project's options: GIL released, C-like errors, cached on disk where possible."""
    compiled: F = cast(F, numba.njit(nogil=True, cache=_CACHE, error_model="numpy", boundscheck=False)(function))
    return compiled
