"""Operators of both runs: the GPU time that they launch, by module, and the time that the host spends in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.amounts import Amounts, Keys
from viewer.analyses.comparison.places import describer, operator_times, places
from viewer.analyses.comparison.rows import Change, Measure, change_of
from viewer.analyses.comparison.spans import waiting
from viewer.analyses.comparison.work import Longest, Side
from viewer.base.ids import Paint
from viewer.base.work import CancelToken

I64 = NDArray[np.int64]


def compare_operators(base: Side, test: Side, *, whole: bool, cancel: CancelToken | None = None) -> list[Change]:
    """Rows (unordered) of GPU time by the innermost operator around the launch, and the class of its module.

    GPU work without an operator is in none. Waiting of communication is counted apart.
    """
    keys = Keys()
    sums = []
    for side in (base, test):
        time, count, wait, longest = Amounts(), Amounts(), Amounts(), Longest()
        for chunk in side.chunks:
            if cancel is not None:
                cancel.check()
            trace, s = chunk.trace, chunk.trace.slices
            operator, module = (rows[chunk.at] for rows in places(trace))
            has = np.flatnonzero(operator >= 0)
            modules = np.where(module[has] >= 0, s.name[np.maximum(module[has], 0)], -1)
            key = keys.of_rows(np.stack((s.name[operator[has]], modules), axis=1).astype(np.int64), describer(trace))
            length, k = chunk.length_ns[has], chunk.k[has]
            time.add(chunk.unit, key, k, length)
            count.add(chunk.unit, key, k, np.ones(len(key), np.int64))
            wait.add(chunk.unit, key, k, waiting(side.session, chunk.input).waited(trace)[chunk.at[has]])
            longest.see(chunk, key, length, operator[has])
        sums.append((time, count, wait, longest))
    measures = [
        Measure.of(sums[0][i], sums[1][i], len(keys), base, whole=whole)  # type: ignore[arg-type]
        for i in range(3)
    ]
    spent, number, waited = measures
    own = spent.less(waited)
    judged, (_, apart) = spent.judged(), own.judged()
    rows = []
    for i, (operator, module) in enumerate(keys.known):
        own_base, own_test = own.per_step(i)
        rows.append(
            change_of(
                i,
                spent,
                number,
                waited,
                judged=judged,
                name=operator + (f" in {module}" if module else ""),
                paint=Paint.OPERATOR,
                rank_ns=own_test - own_base,
                rank_significant=apart[i],
                place_base=sums[0][3].of([i]),
                place_test=sums[1][3].of([i]),
                key=keys.known[i],
            )
        )
    return rows


def compare_host(base: Side, test: Side, *, whole: bool, cancel: CancelToken | None = None) -> list[Change]:
    """Rows (unordered) of the host's self time in operators by name, in the CPU marks of the compared steps."""
    keys = Keys()
    sums = []
    for side in (base, test):
        time, count, longest = Amounts(), Amounts(), Longest()
        seen: set[tuple[int, int]] = set()
        for chunk in side.chunks:
            if cancel is not None:
                cancel.check()
            if (side.units[chunk.unit].group.id, chunk.input) in seen:
                continue  # another device of the same process
            seen.add((side.units[chunk.unit].group.id, chunk.input))
            rows, own = operator_times(chunk.trace)
            start = chunk.trace.slices.start_ns[rows]
            k = np.full(len(rows), -1, np.int64)
            for place, span in enumerate(side.units[chunk.unit].spans):
                if span.input == chunk.input:
                    k[(start >= span.mark[0]) & (start < span.mark[1])] = place
            key = keys.of_names(chunk.trace, chunk.trace.slices.name[rows])
            time.add(chunk.unit, key, k, own)
            count.add(chunk.unit, key, k, np.ones(len(key), np.int64))
            longest.see(chunk, key, own, rows)
        sums.append((time, count, longest))
    time_of, count_of = (
        Measure.of(sums[0][i], sums[1][i], len(keys), base, whole=whole)  # type: ignore[arg-type]
        for i in (0, 1)
    )
    judged = time_of.judged()
    return [
        change_of(
            i,
            time_of,
            count_of,
            judged=judged,
            name=name,
            paint=Paint.OPERATOR,
            place_base=sums[0][2].of([i]),
            place_test=sums[1][2].of([i]),
            key=name,
        )
        for i, name in enumerate(keys.known)
    ]
