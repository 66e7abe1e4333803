"""Names as numbers: which occur, and membership by look-up instead of search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import Paint
from viewer.jit.grouping import mark_names, rows_among
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
    if not len(codes):
        return []
    seen = np.zeros(int(codes.max()) + 2, np.bool_)
    seen[codes] = True  # -1 is the last
    found: list[int] = np.flatnonzero(seen[:-1]).tolist()
    return found


def names_of(trace: Trace, *paints: Paint) -> list[int]:
    """The indexes into strings of the names that slices of these paints have, ascending. Looked up once per file."""

    def build() -> NDArray[np.bool_]:
        s = trace.slices
        seen = np.zeros((256, len(trace.strings) + 1), np.bool_)
        mark_names(s.paint, s.name, seen)
        return seen[: max(Paint) + 1].copy()

    found: list[int] = np.flatnonzero(trace.memo("names_by_paint", build)[list(paints), :-1].any(axis=0)).tolist()
    return found


def flags(trace: Trace, codes: Iterable[int]) -> NDArray[np.bool_]:
    """bool[strings + 1]: True at the given indexes; the last entry serves -1 (no name) and is False."""
    out = np.zeros(len(trace.strings) + 1, np.bool_)
    out[list(codes)] = True
    return out


def flags_where(trace: Trace, codes: NDArray[np.int32], keep: Callable[[str], object]) -> NDArray[np.bool_]:
    """As :func:`flags` for those of the occurring names whose text passes ``keep``."""
    return flags(trace, [c for c in distinct(codes) if keep(trace.text(c))])


def named_where(trace: Trace, paints: Iterable[Paint], keep: Callable[[str], object]) -> NDArray[np.bool_]:
    """As :func:`flags_where` for the names that slices of these paints have."""
    return flags(trace, [c for c in names_of(trace, *paints) if keep(trace.text(c))])


def rows_named(trace: Trace, paints: Iterable[Paint], keep: Callable[[str], object]) -> NDArray[np.int64]:
    """The slices of these paints whose name passes ``keep``, in order."""
    among = list(paints)
    wanted = named_where(trace, among, keep)
    if not wanted.any():
        return np.empty(0, np.int64)
    painted = np.zeros(256, np.bool_)
    painted[among] = True
    out = np.empty(len(trace), np.int64)
    count = rows_among(trace.slices.paint, trace.slices.name, painted, wanted, out)
    return out[:count].copy()
