"""What the matched operations say about the clocks, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import END_TOGETHER, NEEDS_ALL
from viewer.analyses.collective.matching import Matches, matches, nodes
from viewer.analyses.collective.operations import operations
from viewer.store.session import Session

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Members of all operations of ``matches``, in its order.

    ``start`` and ``end`` are raw + base time minus ``zero_ns``, ns. ``op`` is the operation of each member. Per
    operation: ``together`` (its ends are evidence) and ``bounding`` (no member ends before the last one began).
    ``ranks`` are the ids of rank groups of the session that may be aligned, ascending by rank.
    """

    matches: Matches
    zero_ns: int
    start: I64
    end: I64
    op: I64
    together: Bools
    bounding: Bools
    ranks: tuple[int, ...]


def evidence(session: Session) -> Evidence:
    """Gather it once; it does not depend on the clocks."""
    return session.memo("clock_evidence", lambda: _build(session))


def _build(session: Session) -> Evidence:
    found = matches(session)
    start = np.empty(len(found.node), np.int64)
    end = np.empty(len(found.node), np.int64)
    for item in session.inputs:
        mine = found.input == item.index
        if mine.any():
            table = operations(item.trace)
            at = found.at[mine]
            start[mine] = table.start_ns[at] + item.base_ns
            end[mine] = table.end_ns[at] + item.base_ns
    zero = int(start.min()) if len(start) else 0
    known = nodes(session)
    usable = sorted(
        (
            g
            for g in session.groups
            if all(known[i] >= 0 and session.inputs[i].clock.known for i in g.inputs) and g.inputs
        ),
        key=lambda g: (g.rank is None, g.rank if g.rank is not None else 0, g.id),
    )
    kinds = found.kind
    return Evidence(
        found,
        zero,
        start - zero,
        end - zero,
        np.repeat(np.arange(len(found)), found.present()),
        np.isin(kinds, [int(k) for k in END_TOGETHER]),
        np.isin(kinds, [int(k) for k in NEEDS_ALL]),
        tuple(g.id for g in usable),
    )
