"""Where compiled code is kept. Needs no compiler, so that what is there can be told before one is loaded."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

_PREFIX: Final = "rankscope-"
_KEPT: Final = 4
"""Folders of compiled code that stay: this version's and the last few."""


def code_folder() -> Path:
    """Where the compiled code of this state of the kernels belongs: inside NUMBA_CACHE_DIR, or the user's cache.

    numba recompiles a kernel when its own file changed, but not when one that it calls did. So each state of the
    sources has a folder of its own: an upgrade never runs a mixture of old and new code.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    top = os.environ.get("NUMBA_CACHE_DIR")
    if not top:
        import platformdirs

        top = str(Path(platformdirs.user_cache_dir("rankscope")) / "compiled")
    return Path(top) / f"{_PREFIX}{digest.hexdigest()[:16]}"


def prepare(folder: Path) -> bool:
    """Make the folder and drop old ones beside it; False when nothing can be kept there."""
    try:
        folder.mkdir(0o755, parents=True, exist_ok=True)  # code that others of a group may write is none to run
        if not os.access(folder, os.W_OK):
            return False
        os.utime(folder)
        others = sorted(folder.parent.glob(f"{_PREFIX}*"), key=lambda p: p.stat().st_mtime, reverse=True)
    except OSError:
        return False
    for old in others[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return True
