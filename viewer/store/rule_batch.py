"""Class rules over many names at once: a million distinct names must not each meet every regular expression of Python.

RE2 (in Arrow) reads a name once for all rules together, in time linear in its length. Only names of printable ASCII
go there: for those both engines agree on every class of characters. Patterns with a look-around or a back-reference,
which RE2 does not know, are asked of Python, and only for names that their weakened form lets through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PIECE: Final = 1 << 16
"""Names that are looked at together."""
_NOT_PLAIN: Final = r"[^\x20-\x7e]"
_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")
_EMPTY: Final = pa.array([""], pa.large_string())


def weakened(pattern: str) -> str:
    """The pattern without its look-arounds (they only restrict): what it matches, this matches, too."""
    out: list[str] = []
    at = depth = 0
    skipped = -1  # depth of the look-around that is being left out
    while at < len(pattern):
        end = _end_of_part(pattern, at)
        part = pattern[at:end]
        if part == "(":
            depth += 1
            if skipped < 0 and _LOOK_AROUND.match(pattern, at):
                skipped = depth
        if skipped < 0:
            out.append(part)
        if part == ")":
            if depth == skipped:
                skipped = -1
            depth -= 1
        at = end
    return "".join(out)


def _end_of_part(pattern: str, at: int) -> int:
    """Behind an escape, a set in brackets, or a single character."""
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] != "[":
        return at + 1
    at += 2 if pattern.startswith("[^", at) else 1
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _known(pattern: str) -> bool:
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(_EMPTY, pattern, ignore_case=True)
    except pa.ArrowInvalid:
        return False
    return pattern.isascii()


class NameRules:
    """Ordered patterns; the first that is found in a name decides.

    Args:
        patterns: regular expressions, searched without regard to case; None matches every name.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str] | None]) -> None:
        every = next((i for i, p in enumerate(patterns) if p is None), len(patterns))
        self._patterns: list[Any] = list(patterns[:every])
        self._default = every
        self._exact = [_known(p.pattern) for p in self._patterns]
        weak = [p.pattern if e else weakened(p.pattern) for p, e in zip(self._patterns, self._exact, strict=True)]
        self._weak = [w if e or _known(w) else None for w, e in zip(weak, self._exact, strict=True)]
        any_of = "|".join(f"(?:{w})" for w in self._weak if w is not None)
        self._any = any_of if any_of and _known(any_of) else None

    def first(self, names: pa.LargeStringArray) -> NDArray[np.int32]:
        """Index of the deciding pattern of each name; the number of patterns where none does."""
        parts = [self._piece(names.slice(at, PIECE)) for at in range(0, len(names), PIECE)]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _piece(self, names: pa.LargeStringArray) -> NDArray[np.int32]:
        out = np.full(len(names), self._default, np.int32)
        odd = _flags(names, _NOT_PLAIN, ignore_case=False)
        left = np.ones(len(names), np.bool_)  # may match something
        if self._any is not None and None not in self._weak:
            left = _flags(names, self._any)
        rows = np.flatnonzero(left & ~odd)
        self._in_order(names, rows, out)
        for row in np.flatnonzero(odd):
            name = names[int(row)].as_py()
            out[row] = next((i for i, p in enumerate(self._patterns) if p.search(name)), self._default)
        return out

    def _in_order(self, names: pa.LargeStringArray, rows: NDArray[np.int64], out: NDArray[np.int32]) -> None:
        left = names.take(pa.array(rows))
        for number, pattern in enumerate(self._patterns):
            if not len(rows):
                return
            weak = self._weak[number]
            found = np.ones(len(rows), np.bool_) if weak is None else _flags(left, weak)
            if not self._exact[number]:
                for at in np.flatnonzero(found):
                    found[at] = pattern.search(left[int(at)].as_py()) is not None
            if found.any():
                out[rows[found]] = number
                rows = rows[~found]
                left = left.filter(pa.array(~found))


def _flags(names: pa.LargeStringArray, pattern: str, *, ignore_case: bool = True) -> Any:
    import pyarrow.compute as pc

    return pc.match_substring_regex(names, pattern, ignore_case=ignore_case).to_numpy(zero_copy_only=False)


def heads(names: pa.LargeStringArray, most: int) -> pa.LargeStringArray:
    """The first ``most`` characters of each name."""
    import pyarrow.compute as pc

    if len(names) and pc.max(pc.binary_length(names)).as_py() > most:
        return pc.utf8_slice_codeunits(names, 0, most)
    return names
