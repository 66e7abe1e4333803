"""Matching operations that carry no number: by kind, size and order, and by the clocks where some are missing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]

REACH: Final = 64
"""How many neighbours in order are tried for each operation when some are missing."""
BIN_NS: Final = 20_000
"""Ends that agree on one difference of two clocks lie in one or two neighbouring bins of this width."""
CLOSE_NS: Final = 200_000
"""Pairs further from the agreed difference than this are none."""


def match_in_order(groups: I64, every: Any, which: I64) -> tuple[I64, I64]:
    """Members and counts of the operations of ``which`` (indexes into ``every``) by group, kind, size and order.

    Ranks with equally many of one (group, kind, size) are matched one by one. Otherwise the rank with most of them is
    the measure, and each other rank's operations are put beside those whose ends differ by the same amount of time.
    """
    if not len(which):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.lexsort((every.start[which], every.node[which], every.size[which], every.kind[which], groups[which]))
    which = which[order]
    group, kind, size, node = groups[which], every.kind[which], every.size[which], every.node[which]
    new = np.concatenate(
        ([True], (group[1:] != group[:-1]) | (kind[1:] != kind[:-1]) | (size[1:] != size[:-1]))
    )  # fmt: skip
    begin = np.flatnonzero(new)
    members: list[I64] = []
    counts: list[I64] = []
    for a, b in zip(begin.tolist(), [*begin[1:].tolist(), len(which)], strict=True):
        part = which[a:b]
        edges = np.flatnonzero(np.concatenate(([True], node[a + 1 : b] != node[a : b - 1])))
        runs = np.split(part, edges[1:])
        if len(runs) < 2:
            continue
        grid = _grid(every, runs)
        there = grid >= 0
        enough = there.sum(axis=1) > 1
        members.append(grid[enough][there[enough]])
        counts.append(there[enough].sum(axis=1))
    if not members:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate(members), np.concatenate(counts)


def _grid(every: Any, runs: list[I64]) -> I64:
    """int64[operations, ranks]: which operation of each rank belongs to each one of the fullest rank; -1 for none."""
    most = max(len(r) for r in runs)
    measure = next(r for r in runs if len(r) == most)
    grid = np.full((most, len(runs)), -1, np.int64)
    for column, run in enumerate(runs):
        if len(run) == most and keeps_step(every.end[measure], every.end[run]):
            grid[:, column] = run
        else:
            a, b = pair_by_ends(every.end[measure], every.end[run])
            grid[a, column] = run[b]
    return grid


def pair_by_ends(one: I64, other: I64) -> tuple[I64, I64]:
    """Positions (in ``one``, in ``other``) of pairs whose ends differ by the same amount, each used once, ascending.

    Both ascend. The difference of the clocks is the one that most pairs agree on; neighbours in order are tried, so a
    run of missing ones longer than REACH ends the search.
    """
    short, long_, swapped = (one, other, False) if len(one) <= len(other) else (other, one, True)
    slack = len(long_) - len(short) + REACH
    shift = np.arange(-REACH, slack + 1)
    at = np.arange(len(short))[:, None] + shift[None, :]
    valid = (at >= 0) & (at < len(long_))
    differences = long_[np.clip(at, 0, len(long_) - 1)] - short[:, None]
    bins, votes = np.unique(differences[valid] // BIN_NS, return_counts=True)
    if not len(bins):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    pairs = votes.copy()
    near = np.flatnonzero(np.diff(bins) == 1)
    pairs[near] += votes[near + 1]
    best = int(np.argmax(pairs))
    inside = valid & ((differences // BIN_NS == bins[best]) | (differences // BIN_NS == bins[best] + 1))
    anchor = int(np.median(np.flatnonzero(inside.any(axis=1))))
    centre = int(np.median(differences[inside]))
    # Clocks drift apart: the difference is followed from where it was seen, to both sides.
    later = _follow(short, long_, range(anchor, len(short)), centre, -1, len(long_))
    first = later[0][1] if later else len(long_)
    pairs_found = [*reversed(_follow(short, long_, range(anchor - 1, -1, -1), centre, -1, first)), *later]
    a = np.array([i for i, _ in pairs_found], np.int64)
    b = np.array([j for _, j in pairs_found], np.int64)
    return (b, a) if swapped else (a, b)


def _follow(short: I64, long_: I64, order: range, centre: int, low: int, high: int) -> list[tuple[int, int]]:
    """Pairs in the order given; each position of ``long_`` strictly between ``low`` and ``high``, and used once."""
    out: list[tuple[int, int]] = []
    forward = order.step > 0
    for i in order:
        j = int(np.searchsorted(long_, short[i] + centre))
        candidates = [k for k in (j - 1, j) if low < k < high]
        if not candidates:
            continue
        nearest = min(candidates, key=lambda k: abs(int(long_[k] - short[i]) - centre))
        off = int(long_[nearest] - short[i]) - centre
        if abs(off) <= CLOSE_NS:
            out.append((i, nearest))
            low, high = (nearest, high) if forward else (low, nearest)
            centre += off // 4
    return out


def keeps_step(one: I64, other: I64) -> bool:
    """Whether ends that are paired in order stay the same distance apart, but for single ones and a slow drift.

    Where both ranks lost equally many, but not the same ones, the distance jumps and stays.
    """
    if len(one) < 3:
        return True
    distance = other - one
    jump = np.abs(np.diff(distance)) > CLOSE_NS
    # A single far end jumps away and back; a shift stays.
    back = np.abs(distance[2:] - distance[:-2]) <= CLOSE_NS
    single = np.zeros(len(jump), np.bool_)
    single[:-1] |= jump[:-1] & jump[1:] & back
    single[1:] |= jump[:-1] & jump[1:] & back
    return not bool((jump & ~single).any())
