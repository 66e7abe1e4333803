"""Where compiled code is kept."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


@cache
def compiled_folder() -> Path | None:
    """A writable folder, also announced to numba; None when there is none and code lives in memory only."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        import platformdirs

        os.environ["NUMBA_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("rankscope")) / "compiled")
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK) else None
    except OSError:
        return None
