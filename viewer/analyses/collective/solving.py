"""Offsets and drifts of all ranks from the differences inside their groups: weighted least squares over the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.differences import Difference
from viewer.analyses.collective.held import CLEAR, FEWEST, bursts, hold, may_stand_still, moving_share, stand_still
from viewer.analyses.collective.lines import STEEPEST, fit, flat

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Witnesses = Callable[[F64, F64], list[tuple[F64, F64, float]]]
"""Offsets and drifts of the ranks -> (time, difference, drift of one against the other) of further matches."""

SURE: Final = 5.0
"""A drift of so many times its error is real."""
COVER: Final = 4.0
"""Standard errors that a stated error of a drift holds: of some hundred ranks none should lie beyond."""
OF_OFFSET: Final = 3.0
"""Standard errors that a stated error of an offset holds (``alignment``)."""
UNTOLD: Final = 1e-4
"""Drifts of two computers' clocks that nothing tells are smaller: crystals are specified to within 50 ppm."""
FEW_POINTS: Final = 12
TAIL: Final = 0.99
TAIL_SIGMAS: Final = 2.5


@dataclass(frozen=True, slots=True)
class Solved:
    """Offsets at t0, drifts, and errors per column; ``begins`` of the bursts where clocks are held.

    ``errors`` are standard errors of the offsets, at t0 and wherever its operations lie. ``slope_errors`` say how far
    the drift may be from ``slopes`` (four standard errors, and what was taken off); NaN where nothing tells of it.
    """

    offsets: F64
    slopes: F64
    errors: F64
    slope_errors: F64
    begins: F64 | None


def solve(
    pairs: list[Difference],
    ranks: int,
    count: int,
    reference: int,
    shift: float,
    steps: F64,
    more: Witnesses | None = None,
) -> Solved:
    """Solve for all columns.

    Args:
        pairs: of one component.
        ranks: how many columns are ranks; the others are medians of groups.
        count: how many columns there are.
        reference: the column whose clock is the job's.
        shift: t0 on the time axis of ``pairs``, ns.
        steps: when the reference's steps begin, ns after t0: between which clocks may be set. Without any, pauses of
            ``pairs`` tell.
        more: further differences of clocks, asked for only where ``pairs`` do not tell whether clocks stand still
            inside bursts of operations.
    """
    begins = steps if len(steps) >= FEWEST else bursts(np.concatenate([p.x for p in pairs]) - shift)
    moved = [replace(p, x=p.x - shift) for p in pairs]
    slopes, unsure = _slopes(moved, ranks, count, reference)
    held = undecided = False
    if slopes[:ranks].any():
        share = moving_share([(p.x, p.y, float(slopes[p.member] - slopes[p.hub])) for p in moved], begins)
        if share[1] > CLEAR and more is not None:
            level, _ = _offsets(moved, slopes, count, reference)
            share = moving_share(more(level[:ranks], slopes[:ranks]), begins)
        held, undecided = stand_still(*share), may_stand_still(*share)
    if held:
        moved = [replace(p, x=hold(p.x, begins) - begins[0]) for p in moved]
        slopes, unsure = _slopes(moved, ranks, count, reference)
    offsets, covariance = _offsets(moved, slopes, count, reference)
    errors = np.sqrt(np.maximum(np.diag(covariance)[:ranks], 0.0))
    turned = np.where(np.isnan(unsure), UNTOLD / OF_OFFSET, unsure / COVER) * _reach(moved, ranks)
    if undecided and not held:  # what the drift makes of the time from burst to burst
        turned = np.hypot(turned, np.abs(slopes[:ranks]) * float(np.diff(begins).max(initial=0.0)) / OF_OFFSET)
    turned[reference] = 0.0
    return Solved(offsets[:ranks], slopes[:ranks], np.hypot(errors, turned), unsure, begins if held else None)


def _offsets(pairs: list[Difference], slopes: F64, count: int, reference: int) -> tuple[F64, F64]:
    rows = []
    for p in pairs:
        line = flat(p.y - (slopes[p.member] - slopes[p.hub]) * p.x)
        rows.append((p.hub, p.member, line.level, line.level_error))
    return _least_squares(rows, count, reference)


def _reach(pairs: list[Difference], ranks: int) -> F64:
    """Per rank how far from the middle of its operations an offset is asked for: at t0, at their first or last."""
    out = np.zeros(ranks)
    for p in pairs:
        low, high = float(p.x.min()), float(p.x.max())
        for i in (p.hub, p.member):
            if i < ranks:
                out[i] = max(out[i], abs(low + high) / 2, (high - low) / 2)
    return out


def _slopes(pairs: list[Difference], ranks: int, count: int, reference: int) -> tuple[F64, F64]:
    """The drift of each column, and how far those of the ranks may be from it (NaN where nothing tells).

    All are 0 where together they are no larger than their errors, or too small to be seen. Else those that are not sure
    by themselves are drawn to 0 by as much as their error exceeds what clocks of this job drift (a random-effects
    estimate, DerSimonian and Laird 1986, around 0).
    """
    scatter = float(np.median([p.line.spread for p in pairs]))
    # One far end among three or four points makes a slope: there the tail of all residuals counts, not their middle.
    off = np.concatenate([np.abs(p.y - p.line.level - p.line.slope * p.x0) for p in pairs])
    tail = max(scatter, float(np.quantile(off, TAIL)) / TAIL_SIGMAS)
    lines = [fit(p.x, p.y, tail if len(p.x) < FEW_POINTS else scatter) for p in pairs]
    both = [(p, f) for p, f in zip(pairs, lines, strict=True) if f.slope_error > 0]
    fitted, covariance = _least_squares([(p.hub, p.member, f.slope, f.slope_error) for p, f in both], count, reference)
    slopes, unsure = np.zeros(count), np.full(ranks, np.nan)
    unsure[reference] = 0.0
    part = components(count, [(p.hub, p.member) for p, _ in both])
    told = np.flatnonzero(
        (part[:ranks] == part[reference]) & (part[:ranks] >= 0) & (np.abs(fitted[:ranks]) <= STEEPEST)
    )
    told = told[told != reference]
    if len(told):
        errors = np.sqrt(np.maximum(np.diag(covariance)[told], 0.0))
        span = max(float(p.x.max() - p.x.min()) for p in pairs)
        slopes[told] = _real(fitted[told], covariance[np.ix_(told, told)], scatter / span)
        unsure[told] = np.abs(fitted[told] - slopes[told]) + COVER * errors
    for hub in range(ranks, count):  # a median's slope is what its members leave
        left = [slopes[p.member] - f.slope for p, f in both if p.hub == hub and p.member in told]
        slopes[hub] = float(np.median(left or [0.0]))
    return slopes, unsure


def _real(fitted: F64, covariance: F64, seen: float) -> F64:
    """What is believed of fitted drifts; a drift below ``seen`` moves no end by more than the ends scatter."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 1e-30))
    sure = np.abs(fitted) > SURE * errors
    count = len(fitted)
    together = float(fitted @ np.linalg.pinv(covariance, hermitian=True) @ fitted)  # chi-squared without drifts
    some = bool(sure.any()) or together > count + SURE * (2.0 * count) ** 0.5 + SURE**2 / 2
    if not some or float(np.abs(fitted).max()) <= seen:
        return np.zeros(count)
    weights = 1.0 / errors**2
    between = max(0.0, (float((weights * fitted**2).sum()) - count) / float(weights.sum()))
    out: F64 = np.where(sure, fitted, fitted * between / (between + errors**2))
    return out


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
    """Values and their covariance from differences (from, to, value, error); 0 for the reference and what it misses."""
    values, covariance = np.zeros(count), np.zeros((count, count))
    if not rows:
        return values, covariance
    matrix, right = np.zeros((count, count)), np.zeros(count)
    for a, b, value, error in rows:
        weight = 1.0 / max(error, 1e-12) ** 2
        matrix[a, a] += weight
        matrix[b, b] += weight
        matrix[a, b] -= weight
        matrix[b, a] -= weight
        right[b] += weight * value
        right[a] -= weight * value
    part = components(count, [(a, b) for a, b, _, _ in rows])
    reached = [i for i in range(count) if part[i] >= 0 and part[i] == part[reference] and i != reference]
    if not reached:
        return values, covariance
    inverse = np.linalg.inv(matrix[np.ix_(reached, reached)])  # positive definite: all hang together with the reference
    values[reached] = inverse @ right[reached]
    covariance[np.ix_(reached, reached)] = inverse
    return values, covariance
