"""More bytes than the parallel plan needs, and barriers inside the step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analyses.collective.communication import stages
from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.table import kernel_waits
from viewer.analyses.collective.volume import TOLERANCE, Volume, volumes
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.communicating import least_ns, longest, step_counts
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_faster
from viewer.base.ids import ABSENT
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_share
from viewer.base.work import CancelToken
from viewer.store.session import Session


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """Volume beyond the plan, then barriers."""
    least, step_ns = least_ns(session), steady_steps(session).step_ns
    if least is None or not step_ns:
        return
    more = [v for v in volumes(session) if v.share < 1.0]
    if more:
        cancel.check()
        yield from _volume(session, more, least, step_ns)
    cancel.check()
    yield from _barriers(session, least, step_ns)


def _volume(session: Session, more: list[Volume], least: int, step_ns: int) -> Iterator[JobFinding]:
    every = everything(session)
    _, _, transfer, _ = kernel_waits(session)
    less, which = np.zeros(len(every.kind), np.int64), np.zeros(len(every.kind), np.bool_)
    planned = stages(session).has_plan
    for volume in more:
        mine = (every.group == volume.group) & planned & (transfer != ABSENT)
        which |= mine
        less[mine] = np.rint(transfer[mine] * (1 - volume.share)).astype(np.int64)
    saving = saved_by_faster(session, less)
    if saving is None or saving < least:
        return
    worst = min(more, key=lambda v: v.share)
    label = job_groups(session).groups[worst.group].label
    times = worst.moved_bytes / worst.needed_bytes
    yield JobFinding(
        id="extra-collectives/" + label,
        kind="extra-collectives",
        title=f"{label} moves {times:.1f} times the bytes that the plan needs: {format_duration(saving, 1)} per step "
        f"({format_share(saving, step_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="The steps replayed with each of its transfers shorter by the share of bytes beyond the plan.",
        evidence=(
            Evidence(
                f"{format_bytes(worst.moved_bytes)} per step and rank; needed are {format_bytes(worst.needed_bytes)}: "
                f"{worst.how}"
            ),
            *longest(session, which, less, "too much in one operation"),
        ),
        next_step="Look for gradients reduced after every micro-batch (DDP no_sync(), FSDP2 "
        "set_requires_gradient_sync), parameters gathered again in the backward pass (FSDP reshard_after_forward, "
        "ZeRO-3), gradients reduced in fp32, groups that reduce the same twice.",
        how=f"Bytes of reductions and gathers of data-parallel groups per step and rank, more than {TOLERANCE:g} times "
        "what the model and the plan of the job card need.",
        share=saving / step_ns,
        overlaps=("exposed",),
    )


def _barriers(session: Session, least: int, step_ns: int) -> Iterator[JobFinding]:
    every = everything(session)
    which = every.kind == Kind.BARRIER
    if not which.any():
        return
    exposed = np.where(which, exposed_of(session).parts.sum(axis=0), 0)
    steps = step_counts(session)
    sums = np.zeros(len(steps), np.int64)
    np.add.at(sums, every.node, exposed)
    count = int(which.sum()) // max(1, int(steps[np.unique(every.node[which])].sum()))
    ranks = [g for g in np.unique(every.node[which]).tolist() if steps[g]]
    if not count or not ranks:
        return  # some at the start or the end: no part of the steps
    # Without it a rank would wait at the next operation: only what even the last rank spends in it goes away.
    saving = min(int(sums[g] // steps[g]) for g in ranks)
    if saving < least:
        return
    yield JobFinding(
        id="repeated-sync/barrier",
        kind="repeated-sync",
        title=f"{count:,} barrier{'s' if count > 1 else ''} per step: {format_duration(saving, 1)} of each step "
        f"({format_share(saving, step_ns)}) on every rank",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="The exposed time in barriers of the rank that spends least in them, per step: what others wait "
        "there they would wait at the next operation.",
        evidence=longest(session, which, exposed, "exposed in one barrier"),
        next_step="Remove them from the step: collectives already make ranks wait for each other. Look for "
        "torch.distributed.barrier in logging, timers (Megatron --no-barrier-with-level-1-timing), checkpoints, "
        "loading.",
        how="Kernels of kind barrier in the steps, at least one per step and rank.",
        share=saving / step_ns,
        overlaps=("exposed",),
    )
