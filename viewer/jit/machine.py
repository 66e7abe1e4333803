"""What compiled code is for: this Python, compiler, settings and processor. Loads the compiler's binding alone."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

_NO_MATTER: Final = frozenset({"NUMBA_CACHE_DIR"})
_SETTINGS: Final = Path(".numba_config.yaml")
"""The compiler reads it from the working folder, and its environment over it."""


def machine() -> str:
    """The same word where compiled code may be shared, another one where it may not."""
    import llvmlite.binding as llvm

    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("NUMBA_") and k not in _NO_MATTER)
    if _SETTINGS.is_file():
        settings.append(_SETTINGS.read_text(encoding="utf-8", errors="replace"))
    words = (
        sys.version,
        version_of("numba"),
        version_of("llvmlite"),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        *settings,
    )
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def native_file(folder: Path) -> Path:
    """Where the file of :mod:`viewer.jit.native` is for this machine."""
    return folder / f"native-{machine()}.bin"


def version_of(package: str) -> str:
    """The version of an installed package, without importing it. Raises ModuleNotFoundError."""
    found = PathFinder.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    told = Path(found.submodule_search_locations[0], "_version.py")  # what the package itself reads
    if told.is_file():
        return told.read_text(encoding="utf-8")
    import importlib.metadata  # a tenth of what the compiler takes to load, so it comes second

    return importlib.metadata.version(package)
