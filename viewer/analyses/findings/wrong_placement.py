"""Tensor-parallel groups that reach over several hosts although one host would hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from viewer.analyses.collective.baseline import baseline
from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.groups import JobGroup, job_groups
from viewer.analyses.collective.hosts import hosts, hosts_of_group
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.table import bus_factor, kernel_waits
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.communicating import longest
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_faster
from viewer.base.ids import ABSENT
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding for all of them; only where files or the card state the hosts."""
    placed = hosts(session)
    room = max(Counter(placed.of.values()).values(), default=0)
    wrong = [g for g in job_groups(session).groups if _wrong(session, g, room)]
    if not wrong:
        return
    cancel.check()
    every, step_ns = everything(session), steady_steps(session).step_ns
    which = np.isin(every.group, [g.id for g in wrong])
    saving = _saving(session, which)
    exposed = np.where(which, exposed_of(session).parts.sum(axis=0), 0)
    first = wrong[0]
    told = ", ".join(f"rank {r} on {placed.of[r]}" for r in (first.ranks or ())[:8])
    by_count = " by the number of GPUs per host" if placed.by_count else ""
    yield JobFinding(
        id="wrong-placement/tp",
        kind="wrong-placement",
        title=f"{len(wrong)} tensor-parallel group{'s' if len(wrong) > 1 else ''} reach over hosts ({first.label}) "
        f"although a host holds {room:,} of these ranks"
        + ("" if saving is None else f": up to {format_duration(saving, 1)} per step"),
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="The steps replayed with these transfers at the link's rate inside a host (a table figure without "
        "latency): an upper bound."
        if saving is not None
        else "Not computable: needs hardware.link_bytes_per_second on the job card, aligned clocks and steps.",
        evidence=(
            Evidence(f"hosts as stated by the {placed.stated}{by_count}: {told}"),
            *longest(session, which, exposed, "exposed in one operation"),
        ),
        next_step="Make tensor-parallel ranks neighbours inside one host: tp first in the order of dimensions "
        "(Megatron's default tp-cp-ep-dp-pp), and as many processes per host as it has GPUs.",
        how="Groups that descriptions or names call tensor-parallel, whose ranks are on more than one host, and of "
        "which one host could hold all members. Their operations lie on the critical path of every layer.",
        share=saving / step_ns if saving is not None and step_ns else None,
        confident=not placed.by_count,
        overlaps=("exposed",),
    )  # fmt: skip


def _wrong(session: Session, group: JobGroup, room: int) -> bool:
    reach = hosts_of_group(session, group) if group.purpose == "tp" else None
    return reach is not None and reach > 1 and len(group.ranks or ()) <= room


def _saving(session: Session, which: np.typing.NDArray[np.bool_]) -> int | None:
    """What transfers at the rate of the link inside a host would save per step."""
    every, rate = everything(session), baseline(session).link_bytes_per_second
    _, _, transfer, _ = kernel_waits(session)
    if rate is None:
        return None
    groups = job_groups(session).groups
    less = np.zeros(len(every.kind), np.int64)
    for i in np.flatnonzero(which & (transfer != ABSENT) & (every.size > 0)).tolist():
        factor = bus_factor(Kind(int(every.kind[i])), groups[int(every.group[i])].size or 0)
        if factor is not None:
            less[i] = max(int(transfer[i]) - round(int(every.size[i]) * factor * 1e9 / rate), 0)
    return saved_by_faster(session, less)
