"""Finding slices by name over all ranks: patterns on the distinct names, then one look-up per slice.

Expressions are run by RE2, whose time grows with the length of a name and never with what the expression makes of it:
no pattern and no name of a file can make it run away. Hits are walked in the order of (start, input, row).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.analyses.query import FIELDS, Query, QueryError, parse
from viewer.analyses.query_match import slice_mask
from viewer.base.selection import SliceRef, TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]

MOST_PATTERN: Final = 1_000
"""Characters of a pattern."""
_CHUNK: Final = 8_192
"""Names that are matched between two looks at the cancel token."""
_TERM = re.compile(rf"(?:^|\s)-?(?:{'|'.join(FIELDS)}|pid|tid|device):(?!:)\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to find. Plain text may hold conditions of a filter ("rank:3 dur:>1ms nccl"); ``regex`` is RE2's syntax."""

    text: str
    regex: bool = False
    case: bool = False

    def check(self) -> Query | None:
        """The filter that the text is, None for a name.

        Raises:
            QueryError: it cannot be searched for; the message is a sentence.
        """
        import pyarrow.compute as pc

        if len(self.text) > MOST_PATTERN:
            raise QueryError(self.text[:20] + "…", f"at most {MOST_PATTERN:,} characters can be searched for.")
        if self.regex:
            try:
                pc.match_substring_regex(pa.array([""]), self.text, ignore_case=not self.case)
            except pa.ArrowInvalid as error:
                raise QueryError(self.text[:60], f"no regular expression ({_reason(error)}).") from None
            return None
        return parse(self.text) if _TERM.search(self.text) else None


def _reason(error: Exception) -> str:
    said = str(error).rpartition("Invalid regular expression: ")[2].strip()
    return f"{said}; look-around and back references do not exist" if "perl operator" in said else said


@dataclass(frozen=True, eq=False, slots=True)
class InputHits:
    """Hits of one input: ascending rows of ``slices`` and their starts in session time. int64[n] each."""

    input: int
    rows: I64
    starts: I64


_Keep = Callable[[InputHits], NDArray[np.bool_]]
"""A choice among the hits of one input."""


@dataclass(frozen=True, eq=False, slots=True)
class Hits:
    """All hits of a search, by input."""

    parts: tuple[InputHits, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(p.rows) for p in self.parts)

    def rows_by_input(self) -> dict[int, I64]:
        """Ascending rows per input that has any."""
        return {p.input: p.rows for p in self.parts}

    def __contains__(self, ref: SliceRef) -> bool:
        for p in self.parts:
            if p.input == ref.input:
                at = int(np.searchsorted(p.rows, ref.index))
                return at < len(p.rows) and int(p.rows[at]) == ref.index
        return False

    def from_time(self, time_ns: int) -> SliceRef | None:
        """The first hit that starts then or later, else the very first; None without hits."""
        return self._first(lambda p: p.starts >= time_ns) or self._first(lambda p: np.ones(len(p.starts), np.bool_))

    def step(self, start_ns: int, at: SliceRef, direction: int) -> SliceRef | None:
        """The hit after (1) or before (-1) a slice that starts then; past the last comes the first again."""
        if direction > 0:
            found = self._first(lambda p: ~_not_after(p, start_ns, at))
            return found or self.from_time(-(2**63))
        found = self._last(lambda p: _not_after(p, start_ns, at, strictly=True))
        return found or self._last(lambda p: np.ones(len(p.starts), np.bool_))

    def position(self, start_ns: int, at: SliceRef) -> int:
        """Which one in the order of time a hit is, from 1."""
        return sum(int(np.count_nonzero(_not_after(p, start_ns, at))) for p in self.parts)

    def per_lane(self, session: Session) -> dict[tuple[int, int], int]:
        """Hits per (input, lane id) that has any."""
        out: dict[tuple[int, int], int] = {}
        for p in self.parts:
            table = session.inputs[p.input].trace.rows
            first = np.searchsorted(p.rows, table.begin)
            last = np.searchsorted(p.rows, table.end)
            for row in np.flatnonzero(last > first).tolist():
                key = (p.input, int(table.lane[row]))
                out[key] = out.get(key, 0) + int(last[row] - first[row])
        return out

    def density(self, whole: TimeRange, bins: int) -> I64:
        """int64[bins]: how many hits start in each of the equal parts of a range."""
        out = np.zeros(bins, np.int64)
        for p in self.parts:
            at = ((p.starts - whole.start_ns) * (bins / max(whole.length_ns, 1))).astype(np.int64)
            out += np.bincount(np.clip(at, 0, bins - 1), minlength=bins)
        return out

    def _first(self, keep: _Keep) -> SliceRef | None:
        best: tuple[int, int, int] | None = None
        for p in self.parts:
            mask = keep(p)
            if not mask.any():
                continue
            earliest = int(p.starts[mask].min())
            row = int(p.rows[np.argmax(mask & (p.starts == earliest))])
            best = min(best or (earliest, p.input, row), (earliest, p.input, row))
        return SliceRef(best[1], best[2]) if best is not None else None

    def _last(self, keep: _Keep) -> SliceRef | None:
        best: tuple[int, int, int] | None = None
        for p in self.parts:
            mask = keep(p)
            if not mask.any():
                continue
            latest = int(p.starts[mask].max())
            row = int(p.rows[np.flatnonzero(mask & (p.starts == latest))[-1]])
            best = max(best or (latest, p.input, row), (latest, p.input, row))
        return SliceRef(best[1], best[2]) if best is not None else None


def _not_after(p: InputHits, start_ns: int, at: SliceRef, *, strictly: bool = False) -> NDArray[np.bool_]:
    """Hits that come before a slice in the order of the walk, or (unless ``strictly``) are that slice."""
    out: NDArray[np.bool_] = p.starts < start_ns
    if p.input < at.input:
        out |= p.starts == start_ns
    elif p.input == at.input:
        out |= (p.starts == start_ns) & (p.rows < at.index + (0 if strictly else 1))
    return out


def search(session: Session, wanted: Wanted, cancel: CancelToken | None = None) -> Hits:
    """All slices that are wanted, on CPU and GPU, over all ranks.

    Raises:
        QueryError: see :meth:`Wanted.check`.
        Cancelled: on request.
    """
    token = cancel or CancelToken()
    query = wanted.check()
    parts = []
    if wanted.text:
        for item in session.inputs:
            token.check()
            rows = _rows(item, wanted, query, token)
            if len(rows):
                parts.append(InputHits(item.index, rows, item.clock.many_to_session(item.trace.slices.start_ns[rows])))
    return Hits(tuple(parts))


def _rows(item: Input, wanted: Wanted, query: Query | None, cancel: CancelToken) -> I64:
    if query is not None:
        return np.flatnonzero(slice_mask(query, item, cancel)).astype(np.int64)
    flags = np.concatenate([*_name_flags(item, wanted, cancel), np.zeros(1, np.bool_)])  # the last serves -1: no name
    if not flags.any():
        return np.empty(0, np.int64)
    return np.flatnonzero(flags[item.trace.slices.name]).astype(np.int64, copy=False)


def _name_flags(item: Input, wanted: Wanted, cancel: CancelToken) -> Iterator[NDArray[np.bool_]]:
    import pyarrow.compute as pc

    find = pc.match_substring_regex if wanted.regex else pc.match_substring
    strings = item.trace.strings
    for at in range(0, len(strings), _CHUNK):
        cancel.check()
        yield find(strings.slice(at, _CHUNK), wanted.text, ignore_case=not wanted.case).to_numpy(zero_copy_only=False)
