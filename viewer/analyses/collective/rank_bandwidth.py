"""Bus bandwidth by rank and step, and links that are slower than others of their kind."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.dependencies import step_starts
from viewer.analyses.collective.groups import JobGroup
from viewer.analyses.collective.kinds import POINT_TO_POINT, Kind
from viewer.analyses.collective.matching import matches
from viewer.analyses.collective.table import CommunicationRow, bus_factor, communication_table
from viewer.analyses.collective.waits import members, waits
from viewer.base.ids import ABSENT
from viewer.store.session import Session

F64 = NDArray[np.float64]

SLOW: Final = 0.8
"""A link is slow below this share of the median of the others of its kind, number of members and size."""
LEAST_OTHERS: Final = 2
LEAST_OPERATIONS: Final = 3


def rank_bandwidth(session: Session, ranks: tuple[int, ...], steps: int) -> F64:
    """Busbw by rank (RankGroup ids) and step: float64[ranks, steps] in decimal GB/s, NaN where unknown.

    Of the matched operations that a rank began in the step and whose size is known: the sum of bytes x factor over the
    sum of transfers (the shortest member's duration, so without waiting). Sends and receives are left out.
    """
    found, told, op = matches(session), waits(session), members(session)
    moved, took = np.zeros((len(ranks), steps)), np.zeros((len(ranks), steps))
    size = found.expected()
    factor = np.array(
        [
            np.nan if Kind(int(k)) in POINT_TO_POINT else (bus_factor(Kind(int(k)), int(n)) or np.nan)
            for k, n in zip(found.kind, size, strict=True)
        ]
    )
    good = (found.size_bytes != ABSENT) & (found.size_bytes > 0) & ~np.isnan(factor) & told.complete
    good &= told.transfer > 0
    for i, rank in enumerate(ranks):
        starts = step_starts(session, session.groups[rank])
        mine = np.flatnonzero(found.node == rank)
        mine = mine[good[op[mine]]]
        step = np.searchsorted(starts, told.arrival[mine], "right") - 1
        inside = (step >= 0) & (step < steps)
        which, step = op[mine[inside]], step[inside]
        np.add.at(moved[i], step, found.size_bytes[which] * factor[which])
        np.add.at(took[i], step, told.transfer[which])
    return np.divide(moved, took, out=np.full_like(moved, np.nan), where=took > 0)


@dataclass(frozen=True, slots=True)
class SlowLink:
    """A group whose operations run slower than those of ``others`` groups of the same kind, members and size.

    GB/s are medians over operations of the transfer alone; ``wait_share`` is waiting / (waiting + transfer).
    """

    kind: Kind
    group: JobGroup
    bytes: int
    count: int
    busbw_gbps: float
    usual_gbps: float
    others: int
    wait_share: float


def slow_links(session: Session) -> list[SlowLink]:
    """Groups with low busbw and small wait against others of the same kind, slowest first. Built once."""
    return session.clocked_memo("slow_links", lambda: _slow(session))


def _slow(session: Session) -> list[SlowLink]:
    alike: dict[tuple[int, int, int], list[CommunicationRow]] = {}
    for row in communication_table(session):
        if row.group is not None and row.group.size and row.bytes and row.busbw_p50_gbps and row.bound == "exact":
            alike.setdefault((int(row.kind), row.group.size, row.bytes), []).append(row)
    out = []
    for rows in alike.values():
        for row in rows:
            others = [o.busbw_p50_gbps for o in rows if o is not row and o.busbw_p50_gbps]
            if len(others) < LEAST_OTHERS or row.count < LEAST_OPERATIONS:
                continue
            usual, mine = median(others), row.busbw_p50_gbps or 0.0
            wait, transfer = row.wait_ns or 0, row.transfer_ns or 0
            if mine < SLOW * usual and wait < transfer and row.group is not None and row.bytes:
                share = wait / max(wait + transfer, 1)
                out.append(SlowLink(row.kind, row.group, row.bytes, row.count, mine, usual, len(others), share))
    out.sort(key=lambda link: link.busbw_gbps / link.usual_gbps)
    return out
