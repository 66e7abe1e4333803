"""What causality allows: no member of an operation ends before its last member began."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.evidence import Evidence

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_ROUNDS = 64


def feasible(
    found: Evidence,
    node: I64,
    count: int,
    reference: int,
    offsets: F64,
    drifted: F64,
    sent: tuple[I64, F64, I64, F64],
) -> tuple[F64, F64, F64]:
    """The interval of each rank's offset against the reference, ns, and the offsets brought inside it.

    For members m and j of an operation: offset_m - offset_j <= end_m - start_j (both on their own, drift-corrected
    clock). Shortest paths over these bounds give the interval; infinite where nothing bounds. Of each operation the
    bounds that can bind are taken: the member that began last on the estimated clock against all, and all against the
    one that ended first. Where the bounds contradict each other (a wrong match), the offset stays as it is.

    Args:
        found: the members.
        node: column of each member's rank, -1 for none.
        count: how many columns.
        reference: the column whose offset is 0.
        offsets: estimates per column.
        drifted: drift x time per member.
        sent: (column, start) of sends and (column, end) of their receives, drift-corrected; column -1 for none.
    """
    bound = np.full((count, count), np.inf)
    at = np.flatnonzero(found.bounding[found.op] & (node >= 0))
    if len(at):
        op, column = found.op[at], node[at]
        start, end = found.start[at] - drifted[at], found.end[at] - drifted[at]
        _collectives(bound, op, column, start, end, offsets)
    source, began, target, ended = sent
    both = (source >= 0) & (target >= 0)
    np.minimum.at(bound, (target[both], source[both]), (ended - began)[both])
    np.fill_diagonal(bound, 0.0)
    high = _shortest(bound, reference)
    low = -_shortest(bound.T, reference)
    clear = low <= high
    moved = np.where(clear, np.clip(offsets, low, high), offsets)
    moved[reference] = 0.0
    return low, high, moved


def _collectives(bound: F64, op: I64, column: I64, start: F64, end: F64, offsets: F64) -> None:
    aligned_start, aligned_end = start - offsets[column], end - offsets[column]
    begin = np.flatnonzero(np.concatenate(([True], op[1:] != op[:-1])))
    size = np.diff(np.concatenate((begin, [len(op)])))
    number = np.repeat(np.arange(len(begin)), size)
    last = _first_where(aligned_start == np.repeat(np.maximum.reduceat(aligned_start, begin), size), number, len(begin))
    first = _first_where(aligned_end == np.repeat(np.minimum.reduceat(aligned_end, begin), size), number, len(begin))
    j = np.repeat(last, size)
    np.minimum.at(bound, (column, column[j]), end - start[j])
    m = np.repeat(first, size)
    np.minimum.at(bound, (column[m], column), end[m] - start)


def _first_where(flag: NDArray[np.bool_], number: I64, count: int) -> I64:
    """The first flagged position of each run."""
    out = np.zeros(count, np.int64)
    at = np.flatnonzero(flag)[::-1]
    out[number[at]] = at
    return out


def _shortest(bound: F64, reference: int) -> F64:
    """Least sum of bounds from the reference to each column: offset_i - offset_reference <= result_i (Bellman-Ford)."""
    best = bound[:, reference].copy()
    best[reference] = 0.0
    for _ in range(_ROUNDS):
        better = np.minimum(best, (bound + best[None, :]).min(axis=1))
        if bool((better >= best).all()):
            break
        best = better
    return best
