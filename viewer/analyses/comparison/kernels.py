"""Kernels (and copies and fills) of both runs by name: what each adds or saves, which are new, gone, or replaced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.amounts import Amounts, Keys
from viewer.analyses.comparison.launches import Setups, setups
from viewer.analyses.comparison.replaced import Replacement, replacements
from viewer.analyses.comparison.rows import Change, Measure, Status, change_of
from viewer.analyses.comparison.spans import waiting
from viewer.analyses.comparison.work import Longest, Side
from viewer.base.ids import Paint
from viewer.base.work import CancelToken

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Kernels:
    """The rows (unordered), and what other tables need: the number of each name and the row that it is part of."""

    rows: tuple[Change, ...]
    keys: Keys
    row_of: I64
    """Per name's number the index of its row."""


@dataclass(eq=False)
class _Run:
    """Sums of one run by name."""

    time: Amounts
    count: Amounts
    wait: Amounts
    longest: Longest
    keys: list[I64]
    """Per chunk the name's number of each piece of work."""


def compare_kernels(base: Side, test: Side, *, whole: bool, cancel: CancelToken | None = None) -> Kernels:
    """The rows of both runs' kernels by name.

    Names that only one run has are held against each other: where the same operator (with the same shapes, or at the
    same place in the step) launches another kernel now, that is one row, "replaced".
    """
    keys, paints = Keys(), dict[int, Paint]()
    runs = [_sum(side, keys, paints, cancel) for side in (base, test)]
    count = len(keys)
    time, number, wait = (
        Measure.of(getattr(runs[0], what), getattr(runs[1], what), count, base, whole=whole, by_unit=True)
        for what in ("time", "count", "wait")
    )
    counted = number.total_base, number.total_test
    vanished = set(np.flatnonzero((counted[0] > 0) & (counted[1] == 0)).tolist())
    new = set(np.flatnonzero((counted[0] == 0) & (counted[1] > 0)).tolist())
    found = replacements(base, test, (runs[0].keys, runs[1].keys), vanished, new, paints)
    into, heads = _joined(count, counted, found)
    told = [setups(side, run.keys, keys, cancel) for side, run in zip((base, test), runs, strict=True)]
    rows = len(heads)
    parts = [m.merged(into, rows) for m in (time, number, wait)]
    return Kernels(tuple(_rows(parts, heads, keys, paints, runs, told)), keys, into)


def _sum(side: Side, keys: Keys, paints: dict[int, Paint], cancel: CancelToken | None) -> _Run:
    from viewer.analyses.gpu_work import gpu_work

    run = _Run(Amounts(), Amounts(), Amounts(), Longest(), [])
    for chunk in side.chunks:
        if cancel is not None:
            cancel.check()
        rows, length = chunk.rows, chunk.length_ns
        key = keys.of_names(chunk.trace, chunk.trace.slices.name[rows])
        paint = gpu_work(chunk.trace).paint[chunk.at]
        first = np.unique(key, return_index=True)
        for number, at in zip(first[0].tolist(), first[1].tolist(), strict=True):
            paints.setdefault(number, Paint(int(paint[at])))
        run.time.add(chunk.unit, key, chunk.k, length)
        run.count.add(chunk.unit, key, chunk.k, np.ones(len(key), np.int64))
        comm = np.flatnonzero(paint == Paint.COMM)
        waited = waiting(side.session, chunk.input).waited(chunk.trace)[chunk.at[comm]]
        run.wait.add(chunk.unit, key[comm], chunk.k[comm], waited)
        run.longest.see(chunk, key, length, rows)
        run.keys.append(key)
    return run


def _joined(count: int, counted: tuple[I64, I64], found: list[Replacement]) -> tuple[I64, list[Replacement]]:
    """Per name the row it belongs to, and the names of each row."""
    into = np.full(count, -1, np.int64)
    heads: list[Replacement] = []
    for one in found:
        into[[*one.base, *one.test]] = len(heads)
        heads.append(one)
    for number in range(count):
        if into[number] < 0:
            into[number] = len(heads)
            left, right = ((number,) if counts[number] else () for counts in counted)
            heads.append(Replacement(left or (() if right else (number,)), right, ""))
    return into, heads


def _rows(
    parts: list[Measure],
    heads: list[Replacement],
    keys: Keys,
    paints: dict[int, Paint],
    runs: list[_Run],
    told: list[Setups],
) -> list[Change]:
    time, number, wait = parts
    own = time.less(wait)
    judged, (_, apart) = time.judged(), own.judged()
    out = []
    for i, head in enumerate(heads):
        names = [tuple(keys.known[n] for n in side) for side in (head.base, head.test)]
        if head.how:
            status: Status = "replaced"
        else:
            status = "vanished" if not head.test else "both" if head.base else "new"
        first = (head.test or head.base)[0]
        own_base, own_test = own.per_step(i)
        out.append(
            change_of(
                i,
                time,
                number,
                wait if paints[first] is Paint.COMM else None,
                judged=judged,
                name=" + ".join(names[1] or names[0]),
                status=status,
                paint=paints[first],
                rank_ns=own_test - own_base,
                rank_significant=apart[i],
                detail=told[0].differences(told[1], head.base, head.test),
                place_base=runs[0].longest.of(list(head.base), own.shown_on(i)),
                place_test=runs[1].longest.of(list(head.test), own.shown_on(i)),
                key=head.how,
                base_names=names[0],
                test_names=names[1],
                where=own.where(i),
            )
        )
    return out
