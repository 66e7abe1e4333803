"""Bus bandwidth by rank and step, and links that are slower than others of their kind."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.groups import JobGroup
from viewer.analyses.collective.kinds import POINT_TO_POINT, Kind
from viewer.analyses.collective.matching import everything, matches
from viewer.analyses.collective.rank_times import step_starts
from viewer.analyses.collective.table import CommunicationRow, bus_factor, communication_table
from viewer.analyses.collective.waits import members, sent_waits, waits
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
    """A group, or a pair of ranks, whose transfers are slower than those of ``others`` of the same kind and size.

    GB/s are medians over operations of the transfer alone; ``wait_share`` is waiting / (waiting + transfer), None for a
    pair (a receive is posted early and waits for its send). ``pair`` is (from, to) of sends, None for a group; then
    ``group`` is the process group.
    """

    kind: Kind
    group: JobGroup | None
    bytes: int
    count: int
    busbw_gbps: float
    usual_gbps: float
    others: int
    wait_share: float | None
    pair: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        """Text for people."""
        if self.pair is not None:
            return f"rank {self.pair[0]} → rank {self.pair[1]}"
        return self.group.label if self.group is not None else "group not stated"

    @property
    def usual_ns(self) -> float:
        """What one of its transfers would take at the others' rate, ns."""
        factor = 1.0 if self.pair is not None or self.group is None else bus_factor(self.kind, self.group.size or 0)
        return self.bytes * (factor or 1.0) / self.usual_gbps


def slow_links(session: Session) -> list[SlowLink]:
    """Groups and pairs with low busbw and small wait against others of the same kind, slowest first. Built once."""
    return session.clocked_memo("slow_links", lambda: _slow(session))


def link_kernels(session: Session, link: SlowLink) -> NDArray[np.bool_]:
    """Which kernels of ``everything`` ran over a slow link."""
    every = everything(session)
    same: NDArray[np.bool_] = every.size == link.bytes
    if link.pair is None:
        same &= (every.kind == link.kind) & (every.group == (-1 if link.group is None else link.group.id))
        return same
    source, target = link.pair
    sends = (every.kind == Kind.SEND) & (every.rank == source) & (every.peer == target)
    receives = (every.kind == Kind.RECV) & (every.rank == target) & (every.peer == source)
    same &= sends | receives
    return same


def _slow(session: Session) -> list[SlowLink]:
    alike: dict[tuple[int, int, int], list[CommunicationRow]] = {}
    for row in communication_table(session):
        if row.kind in POINT_TO_POINT or row.bound != "exact" or row.group is None:
            continue
        if row.group.size and row.bytes and row.busbw_p50_gbps:
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
    out += _slow_pairs(session)
    out.sort(key=lambda link: link.busbw_gbps / link.usual_gbps)
    return out


def _slow_pairs(session: Session) -> list[SlowLink]:
    """Pairs of ranks whose sends take longer than those of other pairs of that size.

    A send is buffered and waits for nobody, so its kernel is the transfer: no clock is needed. Where the receive came
    later than its send began, the send may have waited for it, and the operation tells nothing.
    """
    every, pairs, told = everything(session), align(session).pairs, sent_waits(session)
    if not len(pairs):
        return []
    took = every.end[pairs.send] - every.start[pairs.send]
    waited = (told.unsure == ABSENT) | (told.wait > told.unsure)  # the receive was there before the send began
    size = every.size[pairs.send]
    good = np.flatnonzero(waited & (size != ABSENT) & (size > 0) & (took > 0))
    keys = np.stack((size, every.rank[pairs.send], every.peer[pairs.send]), axis=1)[good]
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    middle = [float(np.median(took[good[which == i]])) for i in range(len(distinct))]
    counts = np.bincount(which, minlength=len(distinct))
    out = []
    for i, (moved, source, target) in enumerate(distinct.tolist()):
        others = [middle[j] for j in range(len(distinct)) if j != i and distinct[j, 0] == moved]
        if len(others) < LEAST_OTHERS or counts[i] < LEAST_OPERATIONS:
            continue
        usual = median(others)
        if usual < SLOW * middle[i]:
            rates = moved / middle[i], moved / usual
            out.append(
                SlowLink(Kind.SEND, None, moved, int(counts[i]), *rates, len(others), None, (int(source), int(target)))
            )
    return out
