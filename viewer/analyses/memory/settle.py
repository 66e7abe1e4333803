"""Bytes by category that add up to what the source says is allocated, and are never negative.

A source of totals (a profiler) may lack events. What the total has beyond its blocks was made unseen. Where the blocks
sum to more than the total, frees are missing: the surplus is taken from the blocks whose free nobody saw, first from
those in whose place another was made, then from those that are held to the end.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.figures import device_blocks
from viewer.base.allocator import CATEGORY_NAMES, NEVER, Action, BlockEnd, Category
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

SURE, HELD, REPLACED = range(3)
"""How a block's end is known: by its free or the state at the end; not freed in the events; only by what came after."""
TIERS: Final = 3
_N: Final = len(CATEGORY_NAMES)
REST: Final = TIERS * _N
"""Column of what no block shows; column t * categories + c holds blocks of tier t and category c."""
COLUMNS: Final = REST + 1
SLACK: Final = 0.01
"""Blocks that are surely held may sum to so much more than the total: sizes are rounded, events of one instant come
one by one. Beyond it nothing is said of categories."""


def block_tiers(trace: Trace, device: int) -> U8:
    """uint8[blocks of a device]: SURE, HELD or REPLACED."""

    def build() -> U8:
        b, e, rows = trace.tables["blocks"], trace.tables["allocator_events"], device_blocks(trace, device)
        out = np.full(rows.stop - rows.start, SURE, np.uint8)
        gone, made = b.gone_event[rows], b.made_event[rows]
        if not len(out):
            return out
        told = np.flatnonzero(gone >= 0)
        out[told[e.action[gone[told]] == Action.ALLOC]] = REPLACED
        if trace.tables["memory_devices"].final_pending[device] == ABSENT:  # no state at the end
            out[(b.end_ns[rows] == NEVER) & (made >= 0)] = HELD
        out[b.end[rows] == BlockEnd.GHOST] = REPLACED
        return out

    return trace.memo(("memory tiers", device), build)


def settled(raw: I64, rest_of: int) -> tuple[I64, I64]:
    """Parts that add up.

    Args:
        raw: int64[n, COLUMNS] bytes: blocks by tier and category, and the total less all blocks.
        rest_of: the category of a positive rest.

    Returns:
        int64[categories, n], never negative, each column's sum the total (0 where that is negative); and int64[n], by
        how much the blocks sum to more than the total.
    """
    tiers = raw[:, :REST].reshape(-1, TIERS, _N)
    parts = tiers.sum(axis=1)
    rest = raw[:, REST]
    parts[:, rest_of] += np.maximum(rest, 0)
    over = np.maximum(-rest, 0)
    wrong = np.flatnonzero(over)
    if len(wrong):
        parts[wrong] = _without(tiers[wrong], over[wrong])
    return np.ascontiguousarray(parts.T), over


def _without(tiers: I64, over: I64) -> I64:
    """The blocks less what is too much."""
    left = over.copy()
    tiers = tiers.copy()
    total = np.maximum(tiers.sum(axis=(1, 2)) - over, 0)
    for tier in (REPLACED, HELD):
        left -= _take(tiers[:, tier], left)
    parts = tiers.sum(axis=1)
    wrong = left > SLACK * total
    left -= _take(parts, left)
    parts[wrong] = 0
    parts[wrong, Category.UNKNOWN] = total[wrong]
    out: I64 = parts
    return out


def _take(held: I64, wanted: I64) -> I64:
    """Take bytes from the columns of ``held`` (changed), by their share; how many were there to take."""
    there = held.sum(axis=1)
    taken: I64 = np.minimum(wanted, there)
    share = np.divide(taken, there, out=np.zeros(len(there)), where=there > 0)
    cut = np.minimum((held * share[:, None]).astype(np.int64), held)
    held -= cut
    short = taken - cut.sum(axis=1)  # what rounding left, a few bytes: from the first that have them
    for c in range(held.shape[1]):
        more = np.clip(short, -cut[:, c], held[:, c])
        held[:, c] -= more
        short -= more
    return taken
