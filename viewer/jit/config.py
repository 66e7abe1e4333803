"""How every kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba

from viewer.jit.folder import code_folder, prepare

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER: Final = code_folder()
_KEEP: Final = prepare(_FOLDER)
if _KEEP:
    # Said to numba itself: it reads the environment when it is first imported, which may be before this.
    numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]


def kernel(function: F) -> F:
    """Compile ``function`` with the project's options: GIL released, C-like errors, cached on disk where possible."""
    compiled: F = cast(F, numba.njit(nogil=True, cache=_KEEP, error_model="numpy", boundscheck=False)(function))
    return compiled
