"""Where compiled code is kept."""

from __future__ import annotations

import os
from pathlib import Path


def compiled_folder() -> Path | None:
    """A writable folder (RANKSCOPE_CODE_DIR, or in the user's cache); None when there is none: code lives in memory."""
    named = os.environ.get("RANKSCOPE_CODE_DIR")
    if named:
        folder = Path(named)
    else:
        import platformdirs

        folder = Path(platformdirs.user_cache_dir("rankscope")) / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
