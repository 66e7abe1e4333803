"""Names as numbers: which occur, and membership by look-up instead of search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.store.trace import Trace

T = TypeVar("T")

MOST_REMEMBERED: Final = 1 << 15
"""Names of which an answer is kept."""
LONGEST_REMEMBERED: Final = 1_000
"""Characters of a name of which it is."""


def remembered(function: Callable[[str], T]) -> Callable[[str], T]:
    """A function of a name that is asked once per name: files of one job have the same names."""
    kept = lru_cache(MOST_REMEMBERED)(function)

    @wraps(function)
    def ask(name: str) -> T:
        return kept(name) if len(name) <= LONGEST_REMEMBERED else function(name)

    return ask


def distinct(codes: NDArray[np.int32]) -> list[int]:
    """The indexes into strings that occur, ascending, without -1 (in time linear in events and strings)."""
    known = codes[codes >= 0] if len(codes) and int(codes.min()) < 0 else codes
    return [int(c) for c in np.flatnonzero(np.bincount(known))] if len(known) else []


def flags(trace: Trace, codes: Iterable[int]) -> NDArray[np.bool_]:
    """bool[strings + 1]: True at the given indexes; the last entry serves -1 (no name) and is False."""
    out = np.zeros(len(trace.strings) + 1, np.bool_)
    out[list(codes)] = True
    return out


def flags_where(trace: Trace, codes: NDArray[np.int32], keep: Callable[[str], object]) -> NDArray[np.bool_]:
    """As :func:`flags` for those of the occurring names whose text passes ``keep``."""
    return flags(trace, [c for c in distinct(codes) if keep(trace.text(c))])
