"""The communication of a job by kind, group and size: counts, time, waiting, exposed time, bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.exposed import exposed
from viewer.analyses.collective.groups import JobGroup, job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import Everything, everything, matches
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.waits import members, sent_waits, waits
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import ABSENT
from viewer.jit.lanes import number_keys
from viewer.store.session import Session

LEAST_REPEATS: Final = 20
"""Kernels of one kind, group and size from which on their shortest ones estimate the transfer."""
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CommunicationRow:
    """All operations of one kind, group and size; lengths in ns.

    ``count`` operations (``kernels`` of ``rank_count`` ranks); ``sum_ns`` adds the kernels' durations, ``exposed_ns``
    what nothing hid of them. ``wait_ns`` and ``transfer_ns`` add up over the kernels of matched operations (wait +
    transfer = sum when all are matched); None where no other member is opened. ``bound`` is "exact" when every member
    of every operation is opened, "lower" when members are missing (wait is a lower bound, transfer an upper one),
    else "none".

    algbw = bytes / transfer, busbw = algbw x factor(kind, members), decimal GB/s, as nccl-tests defines them;
    ``algbw_gbps`` is total bytes over total transfer of the operations, p50 and p01 are over the operations. None
    where the size, the group or the transfer is unknown.

    ``estimated_transfer_ns``: where nothing is matched, the fifth percentile of the durations of at least 20 kernels:
    an estimate of one transfer, as a kernel that waited for nobody is among the shortest.
    """

    kind: Kind
    group: JobGroup | None
    bytes: int | None
    count: int
    kernels: int
    rank_count: int
    sum_ns: int
    exposed_ns: int
    wait_ns: int | None
    transfer_ns: int | None
    algbw_gbps: float | None
    busbw_gbps: float | None
    busbw_p50_gbps: float | None
    busbw_p01_gbps: float | None
    bound: str
    estimated_transfer_ns: int | None = None


def bus_factor(kind: Kind, members_count: int) -> float | None:
    """Busbw / algbw of an operation among so many ranks (nccl-tests, PERFORMANCE.md); None where it is not defined."""
    if members_count < 2:
        return None
    if kind is Kind.ALL_REDUCE:
        return 2 * (members_count - 1) / members_count
    if kind in (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.GATHER, Kind.SCATTER):
        return (members_count - 1) / members_count
    if kind in (Kind.BROADCAST, Kind.REDUCE, Kind.SEND, Kind.RECV):
        return 1.0
    return None


def communication_table(session: Session, rank: int | None = None) -> list[CommunicationRow]:
    """The rows of a job, or of the kernels of one rank (RankGroup id), largest sum first. Built once per session."""
    return session.clocked_memo(("communication_table", rank), lambda: _build(session, rank))


@dataclass(frozen=True, eq=False)
class Keys:
    """The distinct (kind, group, bytes) of a job: int64[n, 3], and per kernel of ``everything`` which one it has."""

    distinct: I64
    which: NDArray[np.int32]

    def sums(self, ns: I64, mine: NDArray[np.bool_] | None = None) -> I64:
        """A figure per kernel, int64[.., kernels], added by key: int64[.., n]; only of some kernels with ``mine``."""
        at = np.arange(len(self.which)) if mine is None else np.flatnonzero(mine)
        out = np.zeros((*ns.shape[:-1], len(self.distinct)), np.int64)
        for place in np.ndindex(*ns.shape[:-1]):
            np.add.at(out[place], self.which[at], ns[place][at])
        return out

    def of_row(self, row: CommunicationRow) -> int:
        """The number of a row's key."""
        group = -1 if row.group is None else row.group.id
        size = ABSENT if row.bytes is None else row.bytes
        return int(np.flatnonzero((self.distinct == (int(row.kind), group, size)).all(axis=1))[0])


def kernel_keys(session: Session) -> Keys:
    """The keys of the communication kernels. Built once."""

    def build() -> Keys:
        every = everything(session)
        keys = np.stack((every.kind.astype(np.int64), every.group.astype(np.int64), every.size), axis=1)
        which = np.empty(len(keys), np.int32)
        first = number_keys(np.ascontiguousarray(keys), which) if len(keys) else np.empty(0, np.int64)
        return Keys(keys[first], which)

    return session.memo("communication_keys", build)


def row_kernels(session: Session, row: CommunicationRow, rank: int | None = None) -> NDArray[np.bool_]:
    """Which kernels of ``everything`` a row stands for."""
    keys = kernel_keys(session)
    which: NDArray[np.bool_] = keys.which == keys.of_row(row)
    return which if rank is None else which & (everything(session).node == rank)


def _build(session: Session, rank: int | None) -> list[CommunicationRow]:
    every = everything(session)
    op, wait, transfer, complete = kernel_waits(session)
    exposed_ns = _exposed(session, every)
    order = np.lexsort((every.size, every.group, every.kind))
    if rank is not None:
        order = order[every.node[order] == rank]
    keys = np.stack((every.kind.astype(np.int64), every.group.astype(np.int64), every.size))[:, order]
    if not len(order):
        return []
    begin = np.flatnonzero(np.concatenate(([True], (keys[:, 1:] != keys[:, :-1]).any(axis=0))))
    groups = job_groups(session).groups
    rows = []
    for part in np.split(order, begin[1:]):
        first = part[0]
        kind, group = Kind(int(every.kind[first])), int(every.group[first])
        size = int(every.size[first])
        rows.append(
            _row(
                kind,
                groups[group] if group >= 0 else None,
                None if size == ABSENT else size,
                every,
                part,
                op[part],
                wait[part],
                transfer[part],
                complete[part],
                int(exposed_ns[part].sum()),
            )
        )
    rows.sort(key=lambda r: (-r.sum_ns, r.kind, r.group.id if r.group else -1, r.bytes or 0))
    return rows


def kernel_waits(session: Session) -> tuple[I64, I64, I64, NDArray[np.bool_]]:
    """What is known of each kernel of ``everything``.

    Its operation (-1 for none), wait, transfer (ABSENT for none), and whether all members are opened.
    """
    every = everything(session)
    count = len(every.kind)
    op = np.full(count, -1, np.int64)
    wait, transfer = np.full(count, ABSENT, np.int64), np.full(count, ABSENT, np.int64)
    complete = np.zeros(count, np.bool_)
    found, told, of = matches(session), waits(session), members(session)
    at = every.places(found.input, found.at)
    op[at], wait[at], transfer[at], complete[at] = of, told.wait, told.transfer[of], told.complete[of]
    pairs, sent = align(session).pairs, sent_waits(session)
    known = sent.wait != ABSENT
    number = len(found) + np.arange(len(pairs))
    op[pairs.receive] = number
    wait[pairs.receive[known]], transfer[pairs.receive[known]] = sent.wait[known], sent.transfer[known]
    complete[pairs.receive] = True
    op[pairs.send], wait[pairs.send], complete[pairs.send] = number, 0, True
    transfer[pairs.send] = every.end[pairs.send] - every.start[pairs.send]
    return op, wait, transfer, complete


def undecided(session: Session) -> NDArray[np.bool_]:
    """Per kernel of ``everything``: whether its waits by durations and by arrivals differ beyond the clocks' doubt."""
    every, found = everything(session), matches(session)
    out = np.zeros(len(every.kind), np.bool_)
    told, of = waits(session), members(session)
    out[every.places(found.input, found.at)] = told.undecided(of) & told.waits[of]
    return out


def _exposed(session: Session, every: Everything) -> I64:
    out = np.zeros(len(every.kind), np.int64)
    for item in session.inputs:
        mine = np.flatnonzero(every.input == item.index)
        if len(mine):
            rows = operations(item.trace).row[every.at[mine]]
            work = gpu_work(item.trace)
            out[mine] = exposed(item.trace)[work.positions(rows)]
    return out


def _row(
    kind: Kind,
    group: JobGroup | None,
    size: int | None,
    every: Everything,
    part: I64,
    op: I64,
    wait: I64,
    transfer: I64,
    complete: NDArray[np.bool_],
    exposed_ns: int,
) -> CommunicationRow:
    matched = (op >= 0) & (transfer != ABSENT)
    alone = int((op < 0).sum())
    _, at = np.unique(op[matched], return_index=True)
    lengths = transfer[matched][at]
    count = len(np.unique(op[op >= 0])) + alone
    bound = "none"
    if matched.any():
        bound = "exact" if bool(matched.all() and complete[matched].all()) else "lower"
    algbw = busbw = middle = low = None
    factor = bus_factor(kind, group.size if group is not None and group.size else 0)
    if kind in (Kind.SEND, Kind.RECV):
        factor = 1.0
    timed = lengths > 0
    if size and timed.any():
        algbw = float(size * timed.sum() / lengths[timed].sum())
        if factor is not None:
            each = size * factor / lengths[timed]
            busbw, middle, low = algbw * factor, float(np.quantile(each, 0.5)), float(np.quantile(each, 0.01))
    return CommunicationRow(
        kind=kind,
        group=group,
        bytes=size,
        count=count,
        kernels=len(part),
        rank_count=len(np.unique(every.node[part])),
        sum_ns=int((every.end[part] - every.start[part]).sum()),
        exposed_ns=exposed_ns,
        wait_ns=int(wait[matched].sum()) if matched.any() else None,
        transfer_ns=int(transfer[matched].sum()) if matched.any() else None,
        algbw_gbps=algbw,
        busbw_gbps=busbw,
        busbw_p50_gbps=middle,
        busbw_p01_gbps=low,
        bound=bound,
        estimated_transfer_ns=_estimate(every.end[part] - every.start[part], kind) if bound == "none" else None,
    )


def _estimate(length: I64, kind: Kind) -> int | None:
    """One transfer by repeats of it; None where there are few, or their parts may be of any size."""
    if len(length) < LEAST_REPEATS or kind in (Kind.ALL_TO_ALL_V, Kind.SEND_RECV, Kind.UNKNOWN):
        return None
    return int(np.percentile(length, 5, method="lower"))
