"""Memory that was freed back to the system."""

from __future__ import annotations

import contextlib
import ctypes


def give_back() -> None:
    """Hand freed memory that the C library holds on to back to the system, where it can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
