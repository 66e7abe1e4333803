"""Differences of clocks: the ends of each rank of a group against a hub, operation by operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.evidence import Evidence
from viewer.analyses.collective.jumps import Jump, find_jump
from viewer.analyses.collective.lines import STEEPEST, Line, fit, flat
from viewer.analyses.collective.one_job import of_one_job

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

MANY: Final = 4
"""Members of a group whose median is a better measure than one of them."""
MOST: Final = 500
"""Operations of one group from which the lines are drawn."""
FEWEST: Final = 3
"""Matches that must agree before a clock is moved."""
WIDEST_NS: Final = 1_000_000.0
"""Ends that scatter more than this do not end together."""


@dataclass(slots=True)
class Difference:
    """One member against the hub of its group: columns of the least squares."""

    hub: int
    member: int
    x: F64
    y: F64
    line: Line
    """Fitted over ``x0``, the times before they were moved."""
    x0: F64
    jump: Jump | None = None
    """Of the member against the hub; the line is that of what is left without it."""


def differences(found: Evidence, node: I64, used: NDArray[np.bool_]) -> list[Difference]:
    """Each group's members against a hub; a member that shares nothing with the hub finds another one.

    The hub of a group of four or more is the median of its members, a column of its own beyond those of the ranks: one
    member's noise would else be in all its differences.
    """
    at = np.flatnonzero(used)
    group = found.matches.group[found.op[at]].astype(np.int64)
    unknown = group < 0  # matched by Comms Id alone: the set of members stands for the group
    if unknown.any():
        group = np.where(unknown, group.max(initial=0) + 1, group)
    out: list[Difference] = []
    virtual = len(found.ranks)
    for g in np.unique(group):
        mine = at[group == g]
        ops, op = np.unique(found.op[mine], return_inverse=True)
        if len(ops) > MOST:  # evenly spread ones tell as much
            chosen = np.zeros(len(ops), np.bool_)
            chosen[np.linspace(0, len(ops) - 1, MOST).astype(np.int64)] = True
            mine = mine[chosen[op]]
            ops, op = np.unique(found.op[mine], return_inverse=True)
        columns, member = np.unique(node[mine], return_inverse=True)
        ends = np.full((len(ops), len(columns)), np.nan)
        ends[op, member] = found.end[mine]
        starts = np.full_like(ends, np.nan)
        starts[op, member] = found.start[mine]
        for part in of_one_job(starts, ends):
            virtual += _lines(ends[:, part], columns[part], virtual, out)
    return out


def _lines(ends: F64, columns: I64, virtual: int, out: list[Difference]) -> int:
    """Add the differences of some members of a group; how many columns beyond those of the ranks they need."""
    pairs = _against_members(ends)
    if len(columns) >= MANY and len(pairs) == len(columns) - 1:
        pairs = _against_median(ends, pairs)
    for hub, m, x, seen in pairs:
        y, jump = seen, find_jump(x, seen)
        if jump is not None:
            y = seen - np.where(x > jump.at_ns, jump.by_ns, 0.0)
        line = fit(x, y)
        if abs(line.slope) > STEEPEST:
            line = flat(y)
        if line.spread <= WIDEST_NS and line.count >= FEWEST:
            out.append(Difference(virtual if hub < 0 else int(columns[hub]), int(columns[m]), x, y, line, x, jump))
    return int(bool(pairs and pairs[0][0] < 0))


_Differences = list[tuple[int, int, F64, F64]]
"""(hub or -1 for the median, member, times, differences)."""


def _against_members(ends: F64) -> _Differences:
    there = ~np.isnan(ends)
    out: _Differences = []
    left = set(range(ends.shape[1]))
    while left:
        hub = max(left, key=lambda c: (int(there[:, c].sum()), -c))
        left.discard(hub)
        for m in sorted(left):
            both = there[:, hub] & there[:, m]
            if int(both.sum()) >= FEWEST:
                out.append((hub, m, ends[both, hub], ends[both, m] - ends[both, hub]))
                left.discard(m)
    return out


def _against_median(ends: F64, pairs: _Differences) -> _Differences:
    """Each member against the median of all, which is taken once their offsets, then their drifts are removed."""
    members = ends.shape[1]
    level, slope = np.zeros(members), np.zeros(members)
    for hub, m, _, y in pairs:
        level[m] = level[hub] + float(np.median(y))
    enough = (~np.isnan(ends)).sum(axis=1) >= MANY - 1
    ends = ends[enough]
    there = ~np.isnan(ends)
    out: _Differences = []
    for _ in range(2):
        zero = float(np.nanmin(ends)) if there.any() else 0.0
        centre = np.nanmedian(ends - level - slope * (ends - zero), axis=1)
        out = [
            (-1, m, centre[there[:, m]], ends[there[:, m], m] - centre[there[:, m]])
            for m in range(members)
            if int(there[:, m].sum()) >= FEWEST
        ]
        for _, m, x, y in out:
            line = fit(x - zero, y)
            level[m], slope[m] = line.level, line.slope
    return out if len(out) == members else pairs
