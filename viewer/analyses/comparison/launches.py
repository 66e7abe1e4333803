"""How kernels were launched in one step: grids and blocks, and the shapes that their operators got."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.amounts import Keys
from viewer.analyses.comparison.places import places
from viewer.analyses.comparison.work import Chunk, Side
from viewer.base.work import CancelToken
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

MOST_PARSED: Final = 6_000
"""Kernels of a run whose args are read: those of one step of the first rank that has them."""
MOST_SHOWN: Final = 6
_ASKED: Final = (("grid", "grid"), ("block", "block"), ("shared memory", "shared_memory"), ("bytes", "bytes"))
"""(name in the args, name in the comparison)."""

Setup = dict[str, Counter[str]]


@dataclass(frozen=True, eq=False)
class Setups:
    """Per name's number, for one step in which it ran, how often each value of an argument occurs."""

    of_key: dict[int, Setup]

    def differences(self, test: Setups, base_keys: tuple[int, ...], test_keys: tuple[int, ...]) -> dict[str, Any]:
        """What both runs state and state differently: (base, test), most frequent value first; {} for nothing."""
        one, other = self._joined(base_keys), test._joined(test_keys)
        out = {}
        for name in (*(n for _, n in _ASKED), "shapes"):
            a, b = one.get(name), other.get(name)
            # How often each occurs is another matter: that is in the counts.
            if a and b and set(a) != set(b):
                out[name] = (_shown(a), _shown(b))
        return out

    def _joined(self, keys: tuple[int, ...]) -> Setup:
        out: Setup = {}
        for key in keys:
            for name, counts in self.of_key.get(key, {}).items():
                out[name] = out.get(name, Counter()) + counts
        return out


def _shown(counts: Counter[str]) -> list[str]:
    return [value for value, _ in counts.most_common(MOST_SHOWN)]


def setups(side: Side, keys: list[I64], known: Keys, cancel: CancelToken | None = None) -> Setups:
    """Read the args of each kernel in the last compared step of the first rank that runs it. Raises Cancelled."""
    out: dict[int, Setup] = {}
    left = MOST_PARSED
    shapes: dict[tuple[int, int], str] = {}
    for chunk, key in zip(side.chunks, keys, strict=True):
        if left <= 0 or len(out) == len(known):
            break
        last = int(chunk.k.max(initial=-1))
        if last < 0:
            continue
        seen = np.isin(key, np.fromiter(out, np.int64, len(out)))
        at = np.flatnonzero((chunk.k == last) & ~seen)
        # All runs of a name or none: half of them would look like a change.
        at = at[np.argsort(key[at], kind="stable")]
        if len(at) > left:
            at = at[key[at] != key[at[left]]] if key[at[0]] != key[at[left]] else at[:0]
            at = at[:left]
        left -= len(at)
        if cancel is not None:
            cancel.check()
        _read(chunk, key, at, out, shapes)
    return Setups(out)


def _read(chunk: Chunk, key: I64, at: I64, out: dict[int, Setup], shapes: dict[tuple[int, int], str]) -> None:
    rows, operator = chunk.rows[at], places(chunk.trace)[0][chunk.at[at]]
    for number, row, op in zip(key[at].tolist(), rows.tolist(), operator.tolist(), strict=True):
        setup = out.setdefault(number, {})
        args = chunk.trace.args(row)
        for asked, name in _ASKED:
            if asked in args:
                setup.setdefault(name, Counter())[str(args[asked])[:200]] += 1
        if op >= 0:
            place = (chunk.input, op)
            if place not in shapes:
                shapes[place] = shapes_of(chunk.trace, op)
            if shapes[place]:
                setup.setdefault("shapes", Counter())[shapes[place]] += 1


def shapes_of(trace: Trace, operator: int) -> str:
    """The shapes of an operator's inputs as written, "" where they were not recorded."""
    dims = trace.args(operator).get("Input Dims")
    return "" if not dims else str(dims)[:400]
