"""How every kernel is compiled, and where the compiled code is kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def _prepare_cache() -> bool:
    """Choose a writable folder for compiled code; False when there is none and kernels live in memory only."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        import platformdirs

        os.environ["NUMBA_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("rankscope")) / "compiled")
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK)
    except OSError:
        return False


_CACHE = _prepare_cache()

import numba  # noqa: E402  (reads NUMBA_CACHE_DIR when it is first imported)


def kernel(function: F) -> F:
    """Compile ``function`` with the project's options: GIL released, C-like errors, cached on disk where possible."""
    compiled: F = cast(F, numba.njit(nogil=True, cache=_CACHE, error_model="numpy", boundscheck=False)(function))
    return compiled
