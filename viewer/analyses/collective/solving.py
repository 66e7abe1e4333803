"""Offsets and drifts of all ranks from the differences inside their groups: weighted least squares over the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.differences import STEEPEST, Difference
from viewer.analyses.collective.held import bursts, hold, stand_still
from viewer.analyses.collective.lines import fit, flat

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

SURE: Final = 4.0
"""A drift is believed when it is this many times its error."""
FEW_POINTS: Final = 12
TAIL: Final = 0.99
TAIL_SIGMAS: Final = 2.5


@dataclass(frozen=True, slots=True)
class Solved:
    """Offsets at t0, drifts and errors of the offsets per column; ``begins`` of the bursts where clocks are held."""

    offsets: F64
    slopes: F64
    errors: F64
    begins: F64 | None


def solve(pairs: list[Difference], ranks: int, count: int, reference: int, shift: float) -> Solved:
    """Solve for all columns.

    Args:
        pairs: of one component.
        ranks: how many columns are ranks; the others are medians of groups.
        count: how many columns there are.
        reference: the column whose clock is the job's.
        shift: t0 on the time axis of ``pairs``, ns.
    """
    begins = bursts(np.concatenate([p.x for p in pairs]) - shift)
    moved = [replace(p, x=p.x - shift) for p in pairs]
    slopes = _slopes(moved, ranks, count, reference)
    held = bool(slopes[:ranks].any()) and stand_still(
        [(p.x, p.y, float(slopes[p.member] - slopes[p.hub])) for p in moved], begins
    )
    if held:
        moved = [replace(p, x=hold(p.x, begins) - begins[0]) for p in moved]
        slopes = _slopes(moved, ranks, count, reference)
    rows = []
    for p in moved:
        line = flat(p.y - (slopes[p.member] - slopes[p.hub]) * p.x)
        rows.append((p.hub, p.member, line.level, line.level_error))
    offsets, errors = _least_squares(rows, count, reference)
    return Solved(offsets[:ranks], slopes[:ranks], errors[:ranks], begins if held else None)


def _slopes(pairs: list[Difference], ranks: int, count: int, reference: int) -> F64:
    """The drift of each column, 0 for ranks whose data support none: not larger than its error, or too small to see."""
    scatter = float(np.median([p.line.spread for p in pairs]))
    # One far end among three or four points makes a slope: there the tail of all residuals counts, not their middle.
    off = np.concatenate([np.abs(p.y - p.line.level - p.line.slope * p.x0) for p in pairs])
    tail = max(scatter, float(np.quantile(off, TAIL)) / TAIL_SIGMAS)
    lines = [fit(p.x, p.y, tail if len(p.x) < FEW_POINTS else scatter) for p in pairs]
    both = list(zip(pairs, lines, strict=True))
    slopes, errors = _least_squares(
        [(p.hub, p.member, f.slope, f.slope_error) for p, f in both if f.slope_error > 0], count, reference
    )
    span = max(float(p.x.max() - p.x.min()) for p in pairs)
    every = {i for p in pairs for i in (p.hub, p.member)}
    told = {i for p, f in both if f.slope_error > 0 for i in (p.hub, p.member)}
    real = (np.abs(slopes) > SURE * errors) & (np.abs(slopes) * span > scatter)
    real[ranks:] = False
    if bool((np.abs(slopes[:ranks]) > STEEPEST).any()) or not every <= told:
        real[:] = False
    slopes = np.where(real, slopes, 0.0)
    for hub in range(ranks, count):  # a median's slope is what its members leave
        slopes[hub] = float(np.median([slopes[p.member] - f.slope for p, f in both if p.hub == hub] or [0.0]))
    return slopes


def components(count: int, edges: Sequence[tuple[int, int]]) -> I64:
    """The component of each rank; -1 for one without an edge."""
    parent = list(range(count))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in edges:
        parent[max(root(a), root(b))] = min(root(a), root(b))
    linked = {i for edge in edges for i in edge}
    return np.array([root(i) if i in linked else -1 for i in range(count)], np.int64)


def largest(part: I64) -> int:
    """The component with most ranks; of equals that of the lowest rank."""
    names, sizes = np.unique(part[part >= 0], return_counts=True)
    return int(names[np.argmax(sizes)]) if len(names) else -1


def _least_squares(rows: list[tuple[int, int, float, float]], count: int, reference: int) -> tuple[F64, F64]:
    """Values and their errors from differences (from, to, value, error); the reference is 0, unreached ones too."""
    values, errors = np.zeros(count), np.zeros(count)
    if not rows:
        return values, errors
    matrix, right = np.zeros((count, count)), np.zeros(count)
    for a, b, value, error in rows:
        weight = 1.0 / max(error, 1e-12) ** 2
        matrix[a, a] += weight
        matrix[b, b] += weight
        matrix[a, b] -= weight
        matrix[b, a] -= weight
        right[b] += weight * value
        right[a] -= weight * value
    reached = [i for i in range(count) if matrix[i, i] > 0 and i != reference]
    if not reached:
        return values, errors
    inverse = np.linalg.pinv(matrix[np.ix_(reached, reached)], hermitian=True)
    values[reached] = inverse @ right[reached]
    errors[reached] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return values, errors
