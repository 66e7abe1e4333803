"""Trains of messages so small that each one's own cost, whatever its size, is a large part of its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.baseline import curve_of
from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.groups import JobGroup, job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.table import kernel_keys, kernel_waits
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.communicating import bound_ns, least_ns, longest, per_step
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_faster
from viewer.analyses.gpu_work import GpuWork, gpu_work
from viewer.base.ids import ABSENT, Paint
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_share
from viewer.base.work import CancelToken
from viewer.store.session import Session

I64 = NDArray[np.int64]

OWN_NS: Final = 30_000
"""What a message costs whatever its size, where no baseline tells: the smallest all-reduces take 31 to 38 us on public
measurements with nccl-tests (2 to 8 GPUs of DGX A100 and H100)."""
LEAST_PART: Final = 1 / 3
"""Own cost is at least this part of a small message's time."""
NEXT_NS: Final = 30_000
"""Messages of a train follow each other on their stream within this, with no work that lies between two of them."""
SHORTEST: Final = 4
"""Messages in a train from which joining them is worth a thought."""
BUCKET: Final = 25 << 20
"""Joined messages are of this size, the usual bucket of gradients (25 MiB in DistributedDataParallel)."""
KINDS: Final = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.REDUCE, Kind.BROADCAST)


@dataclass(frozen=True, eq=False)
class Trains:
    """Per kernel of ``everything``: own cost that joining takes away (0 for none), length and number of its train."""

    less: I64
    length: I64
    number: I64


def trains(session: Session) -> Trains:
    """The trains of small messages of a job. Built once per card."""
    return session.card_memo("small_message_trains", lambda: _build(session))


def _build(session: Session) -> Trains:
    every = everything(session)
    transfer, own = _transfers(session), _own_cost(session)
    small = (transfer > 0) & (every.size > 0) & np.isin(every.kind, [int(k) for k in KINDS])
    small &= own >= LEAST_PART * np.maximum(transfer, 1)
    alone = np.array([g.size == 1 for g in job_groups(session).groups] + [False], np.bool_)
    small &= ~alone[every.group]  # what a rank sends to itself
    lane = np.zeros(len(every.kind), np.int64)
    until = np.full(len(every.kind), np.iinfo(np.int64).max)
    for item in session.inputs:
        mine = np.flatnonzero(every.input == item.index)
        if len(mine):
            table, work = operations(item.trace), gpu_work(item.trace)
            at = work.positions(table.row[every.at[mine]])
            lane[mine] = work.lane[at] + (np.int64(item.index) << 32)
            until[mine] = _next_work(work, at, table.end_ns[every.at[mine]], item.base_ns)
    order = np.lexsort((every.start, lane))
    same = lane[order][1:] == lane[order][:-1]
    for column in (every.kind, every.group):
        same &= column[order][1:] == column[order][:-1]
    same &= small[order][1:] & small[order][:-1]
    same &= every.start[order][1:] - every.end[order][:-1] <= NEXT_NS
    same &= every.start[order][1:] < until[order][:-1]
    number = np.concatenate(([0], np.cumsum(~same))) if len(order) else order
    length = np.bincount(number)[number] if len(order) else order
    size = np.where(small, every.size, 0)[order]
    total = np.bincount(number, weights=size.astype(np.float64))[number] if len(order) else size
    joined = np.maximum(np.ceil(total / BUCKET), 1)
    gone = small[order] & (length >= SHORTEST) & (joined < length)
    cut = np.where(gone, np.minimum(own, np.where(transfer == ABSENT, 0, transfer))[order], 0)
    less, lengths, numbers = (np.zeros(len(order), np.int64) for _ in range(3))
    numbers[order] = number
    less[order] = np.rint(cut * (1 - joined / np.maximum(length, 1))).astype(np.int64) if len(order) else 0
    lengths[order] = np.where(gone, length, 0)
    return Trains(less, lengths, numbers)


def _transfers(session: Session) -> I64:
    """Transfer per kernel of ``everything``, ABSENT where it cannot be told.

    Where members are not open a kernel's duration holds waiting of unknown length; but one that begins right after
    another of its group on its stream finds the members together: the end of the one before was common to all.
    """
    every = everything(session)
    _, _, transfer, _ = kernel_waits(session)
    order = np.lexsort((every.start, every.group, every.input))
    follows = (every.start[order][1:] - every.end[order][:-1] >= 0) & (
        every.start[order][1:] - every.end[order][:-1] <= NEXT_NS
    )
    for column in (every.input, every.group):
        follows &= column[order][1:] == column[order][:-1]
    after = order[1:][follows & (transfer[order][1:] == ABSENT) & (every.group[order][1:] >= 0)]
    out = transfer.copy()
    out[after] = every.end[after] - every.start[after]
    return out


def _shortened(found: Trains, exposed: I64) -> I64:
    """What joining takes off the exposed time, per kernel: of each train no more than it has.

    A message that compute hides is in the way of those behind it: when it gets shorter, they begin earlier.
    """
    count = int(found.number.max(initial=-1)) + 1
    less = np.bincount(found.number, found.less, count)
    shown = np.bincount(found.number, np.where(found.less > 0, exposed, 0), count)
    part = np.minimum(1.0, np.divide(shown, less, out=np.zeros(count), where=less > 0))
    out: I64 = np.rint(found.less * part[found.number]).astype(np.int64)
    return out


def _next_work(work: GpuWork, at: I64, end: I64, base: int) -> I64:
    """When the work ends that begins first after each kernel on its device and is no communication, raw + base ns.

    What comes after that may have waited for it: it does not follow the kernel without a reason.
    """
    out = np.full(len(at), np.iinfo(np.int64).max)
    for device in work.devices:
        part = work.of_device(device)
        other = part.start + np.flatnonzero(work.paint[part] != Paint.COMM)
        mine = np.flatnonzero(work.device[at] == device)
        if len(other) and len(mine):
            i = np.searchsorted(work.start_ns[other], end[mine], "left")
            has = i < len(other)
            out[mine[has]] = work.end_ns[other[i[has]]] + base
    return out


def _own_cost(session: Session) -> I64:
    """Per kernel what one message of its kind and group costs whatever its size: of the baseline, else OWN_NS."""
    groups = job_groups(session).groups
    keys = kernel_keys(session)
    own = np.full(len(keys.distinct), OWN_NS, np.int64)
    for i, (kind, number, _) in enumerate(keys.distinct.tolist()):
        group: JobGroup | None = groups[number] if number >= 0 else None
        curve = curve_of(session, Kind(kind), group)
        if curve is not None:
            own[i] = round(curve.points[0][1])
    out: I64 = own[keys.which]
    return out


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per kind and group of ranks that do the same, largest first."""
    least, step_ns = least_ns(session), steady_steps(session).step_ns
    found = trains(session)
    which = found.less > 0
    if least is None or not step_ns or not which.any():
        return
    cancel.check()
    every = everything(session)
    replayed = saved_by_faster(session, found.less)
    shown = np.where(which, exposed_of(session).parts.sum(axis=0), 0)
    bound = bound_ns(session, _shortened(found, shown))
    saving = bound if replayed is None else replayed
    if saving < least:
        return
    sizes = every.size[which]
    kinds = sorted({Kind(int(k)).text for k in np.unique(every.kind[which])})
    groups = sorted({job_groups(session).groups[g].label for g in np.unique(every.group[which]).tolist() if g >= 0})
    count = int(per_step(session, which.astype(np.int64)).max(initial=0))
    own = int(np.median(found.less[which]))
    measured = curve_of(session, Kind(int(every.kind[which][0])), None) is not None
    yield JobFinding(
        id="small-messages/" + "+".join(kinds),
        kind="small-messages",
        title=f"{count:,} small {' and '.join(kinds)} messages per step ({format_bytes(int(np.median(sizes)))} each): "
        f"joined they take {format_duration(saving, 1)} less per step ({format_share(saving, step_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=(
            "The steps replayed with messages joined up to 25 MiB: each one that goes takes its own cost with it "
            if replayed is not None
            else "The own cost of the messages that go when they are joined up to 25 MiB, of each train no more than "
            "is exposed "
        )
        + f"({format_duration(own, 1)} each, "
        + ("of the baseline" if measured else "an estimate: the smallest messages of public measurements take 30 us")
        + "). An upper bound: a joined message starts when its last part is ready.",
        evidence=(
            *longest(session, which, shown, "exposed in one of them"),
            Evidence(
                f"trains of up to {int(found.length.max()):,} messages of {', '.join(groups[:4])}"
                f"{' and more' if len(groups) > 4 else ''}, one right after the other on one stream"
            ),
        ),
        next_step="Join them: larger buckets (DDP bucket_cap_mb, Megatron --ddp-bucket-size, DeepSpeed "
        "reduce_bucket_size), larger FSDP units, one flat buffer, or coalesced operations; then look at the bus "
        "bandwidth at the new size.",
        how=f"Messages of known size of which at least a third of the transfer is cost of its own, at least {SHORTEST} "
        "of one kind and group within 30 us of each other on one stream, with no compute between two of them. Where "
        "members are not open, a message right after another of its group is all transfer.",
        share=saving / step_ns,
        overlaps=("exposed",),
    )
