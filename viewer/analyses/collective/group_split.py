"""Groups that no name tells apart: several of one size and use are told by which ranks' operations end together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.operations import Operations
from viewer.analyses.robust import deviation
from viewer.base.ids import ABSENT

I64 = NDArray[np.int64]

TOGETHER_NS: Final = 100_000.0
"""Ends of one group's operations scatter less, from one operation to the next."""
CLEARER: Final = 3.0
"""By how many times the best way to group must be better than the next."""
FEWEST: Final = 3
MOST_PAIRS: Final = 64
MOST_RANKS: Final = 1 << 20
"""Ranks of the largest job whose strides are tried: a number beyond it (of a file's name) is no place in a layout."""


def split(users: Sequence[tuple[int, Operations, int]], size: int) -> dict[int, int] | None:
    """Which of several groups of ``size`` ranks each rank is a member of; None where nothing tells.

    Ranks of one group are evenly spaced in every usual layout: neighbours, or a stride apart. Every stride is tried;
    the right one is that by which operations of equal number end together.

    Args:
        users: (rank, its operations, number of its local group).
        size: members of a group.

    Returns:
        The lowest rank of its group, by rank.
    """
    ranks = sorted(r for r, _, _ in users)
    if len(set(ranks)) < len(ranks) or size < 2 or ranks[-1] >= MOST_RANKS:
        return None
    world = -(-(ranks[-1] + 1) // size) * size
    ends = {rank: _ends(table, local) for rank, table, local in users}
    found: list[tuple[float, dict[int, int]]] = []
    for stride in (q for q in range(1, world // size + 1) if world % (size * q) == 0):
        lowest = {r: r // (size * stride) * (size * stride) + r % stride for r in ranks}
        scatter = _scatter(lowest, ends)
        if scatter is not None:
            found.append((scatter, lowest))
    found.sort(key=lambda f: f[0])
    if not found or found[0][0] > TOGETHER_NS:
        return None
    clear = len(found) == 1 or found[0][0] * CLEARER < found[1][0]
    return found[0][1] if clear else None


def _ends(table: Operations, local: int) -> tuple[I64, I64]:
    """Numbers and ends of a group's operations, by number; those that come once."""
    mine = np.flatnonzero((table.group == local) & (table.seq != ABSENT))
    seq, first, count = np.unique(table.seq[mine], return_index=True, return_counts=True)
    once = count == 1
    return seq[once], table.end_ns[mine][first[once]]


def _scatter(lowest: dict[int, int], ends: dict[int, tuple[I64, I64]]) -> float | None:
    """How far differences of ends change from operation to operation in groups of these members: the median pair's."""
    told = []
    pairs = itertools.pairwise(sorted(lowest, key=lambda r: (lowest[r], r)))
    for a, b in [p for p in pairs if lowest[p[0]] == lowest[p[1]]][:MOST_PAIRS]:
        _, one, other = np.intersect1d(ends[a][0], ends[b][0], assume_unique=True, return_indices=True)
        if len(one) > FEWEST:
            told.append(deviation(np.diff(ends[b][1][other] - ends[a][1][one]), 0.0))
    return float(np.median(told)) if told else None
