"""Communication operations of both runs by kind, group and size: what they add, apart from waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.exposed import exposed
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.operations import operations
from viewer.analyses.comparison.amounts import Amounts, Keys
from viewer.analyses.comparison.rows import Change, Measure, change_of
from viewer.analyses.comparison.spans import exposed_transfer, waiting
from viewer.analyses.comparison.work import Longest, Side
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import ABSENT, Paint
from viewer.base.work import CancelToken

I64 = NDArray[np.int64]


class Operation(NamedTuple):
    """What operations are matched by. ``purpose`` is what the group is for ("dp"), its description, or ""."""

    kind: str
    purpose: str
    size: int | None
    bytes: int | None


_LOOSER: Final[tuple[tuple[str, Callable[[Operation], object]], ...]] = (
    ("bytes", lambda o: (o.kind, o.purpose, o.size)),
    ("group", lambda o: (o.kind, o.purpose)),
)
"""What may differ where an operation of one run has no equal in the other."""


@dataclass(eq=False)
class _Run:
    time: Amounts
    count: Amounts
    wait: Amounts
    exposed: Amounts
    transfer: Amounts
    longest: Longest


def compare_collectives(base: Side, test: Side, *, whole: bool, cancel: CancelToken | None = None) -> list[Change]:
    """Rows (unordered), ranked by the change of their transfer or of what of it nothing hides.

    Operations that only one run has are matched with others of the same kind and group whose size differs, then of the
    same kind and purpose: ``detail`` says what differs.
    """
    keys = Keys()
    runs = [_sum(side, keys, cancel) for side in (base, test)]
    count = len(keys)
    measures = [
        Measure.of(getattr(runs[0], what), getattr(runs[1], what), count, base, whole=whole, by_unit=True)
        for what in ("time", "count", "wait", "exposed", "transfer")
    ]
    pairs = _matched(keys.known, measures[1].total_base, measures[1].total_test)
    into = np.zeros(count, np.int64)
    for row, (left, right) in enumerate(pairs):
        into[[*left, *right]] = row
    merged = [m.merged(into, len(pairs)) for m in measures]
    return _rows(pairs, keys.known, merged, runs)


def _sum(side: Side, keys: Keys, cancel: CancelToken | None) -> _Run:
    groups = job_groups(side.session)
    run = _Run(Amounts(), Amounts(), Amounts(), Amounts(), Amounts(), Longest())
    for chunk in side.chunks:
        if cancel is not None:
            cancel.check()
        trace, table, work = chunk.trace, operations(chunk.trace), gpu_work(chunk.trace)
        if not len(table):
            continue
        at = work.positions(table.row)
        mine = np.flatnonzero(work.device[at] == chunk.device)
        at = at[mine]
        group = groups.of_local[chunk.input][table.group[mine]]
        columns = np.stack((table.kind[mine].astype(np.int64), group.astype(np.int64), table.size_bytes[mine]), axis=1)

        def named(row: tuple[int, ...]) -> Operation:
            kind, number, size = row
            known = groups.groups[number] if number >= 0 else None
            return Operation(
                Kind(kind).text,
                "" if known is None else known.purpose or known.description,
                None if known is None else known.size,
                None if size == ABSENT else size,
            )

        key = keys.of_rows(columns, named)
        length, k = work.end_ns[at] - work.start_ns[at], chunk.k[at - chunk.at[0]]
        run.time.add(chunk.unit, key, k, length)
        run.count.add(chunk.unit, key, k, np.ones(len(key), np.int64))
        run.wait.add(chunk.unit, key, k, waiting(side.session, chunk.input).waited(trace)[at])
        run.exposed.add(chunk.unit, key, k, exposed(trace)[at])
        run.transfer.add(chunk.unit, key, k, exposed_transfer(side.session, chunk.input)[at])
        run.longest.see(chunk, key, length, table.row[mine])
    return run


def _matched(known: list[Operation], base: I64, test: I64) -> list[tuple[list[int], list[int]]]:
    """Keys of the base and of the test run that make one row."""
    both = [i for i in range(len(known)) if base[i] and test[i]]
    out = [([i], [i]) for i in both]
    left = [i for i in range(len(known)) if base[i] and not test[i]]
    right = [i for i in range(len(known)) if test[i] and not base[i]]
    for _, loose in _LOOSER:
        by_key: dict[object, tuple[list[int], list[int]]] = {}
        for k, side in enumerate((left, right)):
            for i in sorted(side, key=lambda i: known[i].bytes or 0):
                by_key.setdefault(loose(known[i]), ([], []))[k].append(i)
        for one, other in by_key.values():
            if not one or not other:
                continue
            if len(one) == len(other):
                out += [([a], [b]) for a, b in zip(one, other, strict=True)]
            else:
                out.append((one, other))
            left = [i for i in left if i not in one]
            right = [i for i in right if i not in other]
    # The last ones lie only in steps that are not compared.
    neither = [i for i in range(len(known)) if not base[i] and not test[i]]
    return out + [([i], []) for i in (*left, *neither)] + [([], [i]) for i in right]


def _rows(
    pairs: list[tuple[list[int], list[int]]], known: list[Operation], merged: list[Measure], runs: list[_Run]
) -> list[Change]:
    time, count, wait, shown, bare = merged
    judged, own = time.judged(), time.less(wait)
    told = own.judged()[1], bare.judged()[1]
    out = []
    for i, (left, right) in enumerate(pairs):
        one, other = [known[j] for j in left], [known[j] for j in right]
        ranked = _ranked([(m.per_step(i), t[i]) for m, t in zip((own, bare), told, strict=True)])
        exposed_base, exposed_test = shown.per_step(i)
        detail: dict[str, tuple[object, object]] = {}
        if one and other and left != right:
            for name, a, b in (
                ("bytes", {o.bytes for o in one}, {o.bytes for o in other}),
                ("group size", {o.size for o in one}, {o.size for o in other}),
            ):
                if a != b:
                    detail[name] = (_known(a), _known(b))
        if exposed_base != exposed_test:
            detail["exposed_step_ns"] = (exposed_base, exposed_test)
        out.append(
            change_of(
                i,
                time,
                count,
                wait,
                judged=judged,
                name=operation_name((other or one)[0]) + (" …" if len(other or one) > 1 else ""),
                status="both" if one and other else "new" if other else "vanished",
                paint=Paint.COMM,
                rank_ns=ranked[0],
                rank_significant=ranked[1],
                detail=detail,
                place_base=runs[0].longest.of(left, own.shown_on(i)),
                place_test=runs[1].longest.of(right, own.shown_on(i)),
                key=tuple((other or one)[0]),
                base_names=tuple(operation_name(o) for o in one),
                test_names=tuple(operation_name(o) for o in other),
            )
        )
    return out


def _known(values: set[int | None]) -> list[int]:
    return sorted(v for v in values if v is not None)


def _ranked(measures: list[tuple[tuple[int, int], bool | None]]) -> tuple[int, bool | None]:
    """What orders a row: what its transfers take, or what nothing hides of them, whichever changed more for sure."""
    changes = [(told, test - base) for (base, test), told in measures]
    told, delta = max(changes, key=lambda c: (c[0] is True, abs(c[1])))
    return delta, told


def operation_name(operation: Operation) -> str:
    """``"allreduce, dp of 4, 1,048,576 bytes"``."""
    group = operation.purpose or ("group" if operation.size is not None else "")
    parts = [operation.kind]
    if group:
        parts.append(group + (f" of {operation.size:,}" if operation.size is not None else ""))
    if operation.bytes is not None:
        parts.append(f"{operation.bytes:,} bytes")
    return ", ".join(parts)
