"""Kernels under another name: the same operator launches another kernel now (autotuning, an upgrade)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.launches import shapes_of
from viewer.analyses.comparison.places import module_class, places
from viewer.analyses.comparison.work import Chunk, Side
from viewer.base.ids import Paint

I64 = NDArray[np.int64]
Names = tuple[int, ...]

MOST_PARSED: Final = 20_000
"""Launches of new and vanished kernels whose operator's shapes are read; beyond it operators count without shapes."""
MOST_ORDERED: Final = 4_000
"""Kernels of a step whose order is compared."""
ALIKE: Final = 2.0
"""Kernels that only stand at one place in the step are one another's successors when their counts differ by no more."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Names of the base run and of the test run that stand for one another; ``how`` they were recognised ("": not)."""

    base: Names
    test: Names
    how: str


@dataclass(frozen=True, slots=True)
class _Use:
    """Where a kernel is launched most: by time, with its first place in the step."""

    where: tuple[str, ...]
    first: int
    count: int


def replacements(
    base: Side,
    test: Side,
    keys: tuple[list[I64], list[I64]],
    vanished: set[int],
    new: set[int],
    paints: dict[int, Paint],
) -> list[Replacement]:
    """Which vanished kernels the new ones stand for.

    By the operator, its module and the shapes of its inputs; what is left by operator and module; what is still left by
    the order of kernels in a step. Only kernels of one class replace each other.
    """
    out: list[Replacement] = []
    left, right = set(vanished), set(new)
    for shapes in (True, False):
        if not left or not right:
            return out
        one = _uses(base, keys[0], left, shapes=shapes)
        other = _uses(test, keys[1], right, shapes=shapes)
        how = "operator, module and shapes" if shapes else "operator and module"
        for found in _same_place(one, other, paints, how):
            out.append(found)
            left -= set(found.base)
            right -= set(found.test)
    if left and right:
        out += _by_order(base, test, keys, left, right, paints)
    return out


def _uses(side: Side, keys: list[I64], wanted: set[int], *, shapes: bool) -> dict[int, _Use]:
    """Per kernel where it is launched most; kernels without an operator are missing."""
    time: dict[int, Counter[tuple[str, ...]]] = {}
    first: dict[int, int] = {}
    count: Counter[int] = Counter()
    asked = np.fromiter(wanted, np.int64, len(wanted))
    parsed = 0
    for chunk, key in zip(side.chunks, keys, strict=True):
        at = np.flatnonzero(np.isin(key, asked))
        if not len(at):
            continue
        text = _describer(chunk, shapes=shapes and parsed + len(at) <= MOST_PARSED)
        if shapes and parsed + len(at) > MOST_PARSED:
            continue
        parsed += len(at)
        length = chunk.length_ns[at]
        where = zip(*(rows[chunk.at[at]].tolist() for rows in places(chunk.trace)), strict=True)
        for i, number, ns, (operator, module) in zip(
            at.tolist(), key[at].tolist(), length.tolist(), where, strict=True
        ):
            count[number] += 1
            first.setdefault(number, i)
            place = text(operator, module)
            if place is not None:
                time.setdefault(number, Counter())[place] += ns + 1
    return {n: _Use(max(t, key=lambda w: (t[w], w)), first[n], count[n]) for n, t in time.items()}


def _describer(chunk: Chunk, *, shapes: bool) -> Callable[[int, int], tuple[str, ...] | None]:
    known: dict[int, str] = {}
    trace = chunk.trace

    def describe(operator: int, module: int) -> tuple[str, ...] | None:
        if operator < 0:
            return None
        if operator not in known:
            known[operator] = shapes_of(trace, operator) if shapes else ""
        if shapes and not known[operator]:
            return None
        return trace.name(operator), module_class(trace.name(module)) if module >= 0 else "", known[operator]

    return describe


def _same_place(one: dict[int, _Use], other: dict[int, _Use], paints: dict[int, Paint], how: str) -> list[Replacement]:
    by_place: dict[tuple[Paint, tuple[str, ...]], tuple[list[int], list[int]]] = {}
    for k, uses in enumerate((one, other)):
        for number in sorted(uses, key=lambda n: uses[n].first):
            by_place.setdefault((paints[number], uses[number].where), ([], []))[k].append(number)
    out = []
    for left, right in by_place.values():
        if not left or not right:
            continue
        if len(left) == len(right):
            out += [Replacement((a,), (b,), how) for a, b in zip(left, right, strict=True)]
        else:
            out.append(Replacement(tuple(left), tuple(right), how))
    return out


def _by_order(
    base: Side,
    test: Side,
    keys: tuple[list[I64], list[I64]],
    left: set[int],
    right: set[int],
    paints: dict[int, Paint],
) -> list[Replacement]:
    """Kernels that stand at the same place of a step between kernels that both runs have."""
    votes: Counter[tuple[int, int]] = Counter()
    counts: tuple[Counter[int], Counter[int]] = Counter(), Counter()
    for one, other in zip(_sequences(base, keys[0]), _sequences(test, keys[1]), strict=False):
        counts[0].update(one)
        counts[1].update(other)
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag == "replace" and b - a == d - c:
                votes.update(p for p in zip(one[a:b], other[c:d], strict=True) if p[0] in left and p[1] in right)
    out: list[Replacement] = []
    for (a, b), _ in votes.most_common():
        n, m = counts[0][a], counts[1][b]
        if a in left and b in right and paints[a] is paints[b] and max(n, m) <= ALIKE * min(n, m):
            out.append(Replacement((a,), (b,), "order in the step"))
            left.discard(a)
            right.discard(b)
    return out


def _sequences(side: Side, keys: list[I64]) -> list[list[int]]:
    """The names of the last step of the first rank, in order of start."""
    for chunk, key in zip(side.chunks, keys, strict=True):
        at = np.flatnonzero(chunk.k == int(chunk.k.max(initial=-1)))
        if len(at) and int(chunk.k.max()) >= 0:
            return [key[at[:MOST_ORDERED]].tolist()]
    return []
