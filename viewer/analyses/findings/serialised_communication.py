"""Gradient reductions that the backward pass waits for without need: they run on its stream, or an event holds it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.exposed_parts import Hiding
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.hiding import held
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.roles import roles
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.communicating import bound_ns, least_ns, longest, per_step
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_detaching
from viewer.base.time import format_duration
from viewer.base.units import format_share
from viewer.base.work import CancelToken
from viewer.store.session import Session

REPLAYED = (
    "The steps replayed without these waits (median over the steps); the replay knows no shared link, and hidden "
    "transfers slow the compute beside them: an upper bound."
)
SUMMED = (
    "The exposed time of these kernels per step: of each pipeline stage the rank that has most of it, added over the "
    "stages (without stages, that rank's). An upper bound."
)


MISSING = " Stages of which no rank is open are taken to be like the mean of those that are."


def _missing_stages(session: Session) -> float:
    """How many times more stages the pipeline has than are open; 1 where it is not known."""
    stages, opened = session.card.plan.pp, len(set(roles(session).values()))
    return stages / opened if stages is not None and 0 < opened < stages else 1.0


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding for all of them."""
    least, step_ns = least_ns(session), steady_steps(session).step_ns
    every, exposed = everything(session), exposed_of(session)
    which = exposed.hiding == Hiding.SERIALISED
    if least is None or not step_ns or not which.any():
        return
    cancel.check()
    lost = np.where(which, exposed.parts.sum(axis=0), 0)
    most = int(per_step(session, lost).max(initial=0))
    replayed = saved_by_detaching(session, which)
    missing = _missing_stages(session) if replayed is None else 1.0
    saving = round(bound_ns(session, lost) * missing) if replayed is None else replayed
    if saving < least:
        return
    on_stream = sum(
        int((held(session, item).by[every.at[which & (every.input == item.index)]] == 1).sum())
        for item in session.inputs
    )
    same = 2 * on_stream > int(which.sum())
    names = sorted({job_groups(session).groups[g].label for g in np.unique(every.group[which]).tolist() if g >= 0})
    how = "on the compute stream itself" if same else "behind an event that the compute stream waits for"
    yield JobFinding(
        id="serialised-communication",
        kind="serialised-communication",
        title=f"Gradient reductions hold up the backward pass ({how}): {format_duration(saving, 1)} per step "
        f"({format_share(saving, step_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=REPLAYED if replayed is not None else SUMMED + (MISSING if missing > 1 else ""),
        evidence=(
            *longest(session, which, lost, "exposed in one reduction"),
            Evidence(
                f"{int(which.sum()):,} reductions of {', '.join(names[:4])}{' and more' if len(names) > 4 else ''}; "
                f"up to {format_duration(most, 1)} exposed per step of one rank"
            ),
        ),
        next_step="Reduce gradients on a stream of their own and wait for it before the optimizer only: DDP's buckets, "
        "Megatron --overlap-grad-reduce, DeepSpeed overlap_comm, or async_op=True with the wait() at the end."
        if same
        else "Wait for the reductions before the optimizer only (one event or wait() at the end), not inside the "
        "backward pass: Megatron --overlap-grad-reduce, DeepSpeed overlap_comm.",
        how="Reductions of data-parallel groups after which compute of the backward pass, queued before they ended, "
        "began within 30 us on the same stream or behind its wait for an event. The backward pass never reads what "
        "they write.",
        share=saving / step_ns,
        overlaps=("exposed",),
    )
