"""Exposed transfers by cause: slower than the baseline, and more of them than a healthy step has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.baseline import baseline, curve_of
from viewer.analyses.collective.communication import stages
from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.exposed_parts import Hiding, Part
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.table import kernel_keys, kernel_waits
from viewer.analyses.findings.advice import advice
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.communicating import bound_ns, least_ns, longest, per_step, step_counts
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_faster
from viewer.base.ids import ABSENT
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

I64 = NDArray[np.int64]

NEXT: Final = (
    "Overlap it: Megatron --tp-comm-overlap with --sequence-parallel, --overlap-param-gather; FSDP prefetch "
    "(forward_prefetch, set_modules_to_forward_prefetch); DeepSpeed overlap_comm; chunked matrix products. Or fewer "
    "ranks per tensor-parallel group."
)
MUCH: Final = 0.15
"""Exposed communication of dense training is 5 to 15 % of the step: beyond that it is worth a finding of its own."""
SLOW: Final = 0.8
"""Transfers at less than this share of the baseline are slow: beside compute some loss is usual."""
SMALLER: Final = ("serialised-communication", "small-messages", "slow-link", "extra-collectives", "below-baseline")


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """Rates below a measured baseline, then exposed transfer beyond 15 % of the step."""
    least, step_ns = least_ns(session), steady_steps(session).step_ns
    if least is None or not step_ns or not len(everything(session).kind):
        return
    yield from _below(session, least, step_ns)
    cancel.check()
    yield from _much(session, step_ns)


def _measured(session: Session) -> NDArray[np.bool_]:
    """Which kernels of ``everything`` have a measured baseline: a table figure is no ground for a finding."""
    groups, keys = job_groups(session).groups, kernel_keys(session)
    found = np.zeros(len(keys.distinct), np.bool_)
    for i, (kind, number, _) in enumerate(keys.distinct.tolist()):
        group = groups[number] if number >= 0 else None
        point = Kind(kind) in (Kind.SEND, Kind.RECV)
        found[i] = curve_of(session, Kind.SEND_RECV if point else Kind(kind), group) is not None
    out: NDArray[np.bool_] = found[keys.which]
    return out


def _below(session: Session, least: int, step_ns: int) -> Iterator[JobFinding]:
    if not baseline(session).curves:
        return
    every, known = everything(session), stages(session)
    _, _, transfer, complete = kernel_waits(session)
    judged = _measured(session) & known.has_baseline & complete & (transfer > 0)
    ideal = known.ideal + known.volume
    less = np.where(judged, np.maximum(transfer - ideal, 0), 0)
    which = judged & (ideal < SLOW * transfer)
    less[~which] = 0
    if not which.any():
        return
    replayed = saved_by_faster(session, less)
    rate = np.where(which, exposed_of(session).parts[Part.RATE], 0)
    saving = bound_ns(session, rate) if replayed is None else replayed
    if saving < least:
        return
    share = float(np.median(ideal[which] / transfer[which]))
    kinds = sorted({Kind(int(k)).text for k in np.unique(every.kind[which])})
    yield JobFinding(
        id="below-baseline/" + "+".join(kinds),
        kind="below-baseline",
        title=f"{' and '.join(kinds)} run at {percent(share)} of the measured baseline: {format_duration(saving, 1)} "
        f"per step ({format_share(saving, step_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="The steps replayed with these transfers at the baseline (median over the steps)."
        if replayed is not None
        else "Exposed transfer beyond the baseline per step: of each stage the rank that has most of it, added.",
        evidence=(
            *longest(session, which, rate if rate.any() else less, "beyond the baseline"),
            Evidence(f"{int(which.sum()):,} kernels; {baseline(session).sentence}"),
        ),
        next_step="Compare NCCL's version, topology, algorithm, protocol and channels with the baseline run's "
        "(NCCL_DEBUG=INFO; NCCL_ALGO, NCCL_PROTO and NCCL_*_CHANNELS set by hand); look for other traffic on the "
        "links, and for kernels that compete for memory bandwidth and multiprocessors.",
        how=f"Operations of which every member is opened, below {percent(SLOW)} of the rate that nccl-tests measured "
        "for that kind, size and number of members.",
        share=saving / step_ns,
        overlaps=("exposed",),
        caused_by=("slow-link", "small-messages"),
    )


def _much(session: Session, step_ns: int) -> Iterator[JobFinding]:
    exposed, steps = exposed_of(session), step_counts(session)
    _, _, known, complete = kernel_waits(session)
    transfer = exposed.transfers.sum(axis=0)
    ranks = np.flatnonzero(steps > 0)
    if not len(ranks):
        return
    # What even the rank with least of it has: more of it on others is their waiting or their own plan.
    saving = int(per_step(session, transfer)[ranks].min())
    # Without the files of some members waiting for them is in the shortest run: that much is an upper bound.
    proven = int(per_step(session, np.where(complete, transfer, 0))[ranks].min())
    if saving <= MUCH * step_ns:
        return
    sums = exposed.transfers.sum(axis=1)
    whole = max(1, int(sums.sum()))
    why = ", ".join(
        f"{text} {format_share(int(sums[label]), whole)}"
        for label, text in (
            (Hiding.STRUCTURAL, "the next compute needs it"),
            (Hiding.SERIALISED, "independent work stood behind"),
            (Hiding.UNKNOWN, "unknown why"),
        )
        if sums[label]
    )
    yield JobFinding(
        id="exposed-communication",
        kind="exposed-communication",
        title=f"Transfers that nothing hides take {format_duration(saving, 1)} of every step "
        f"({format_share(saving, step_ns)}): {why}",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="Exposed transfer (without waiting) per step, on the rank that has least of it: an upper bound, as "
        "what the next compute needs can only be hidden by cutting it into parts.",
        evidence=longest(session, known != ABSENT, transfer, "exposed transfer in one operation"),
        next_step=advice(session, "exposed-communication", NEXT),
        how=f"Exposed transfer of more than {percent(MUCH)} of the step on every rank, waiting for others left out. "
        "Sure where operations make it whose members are all opened.",
        share=saving / step_ns,
        confident=proven > MUCH * step_ns,
        overlaps=("exposed",),
        caused_by=SMALLER,
    )
