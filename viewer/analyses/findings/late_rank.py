"""A rank that is late by its own doing in most steps, while the others wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.as_peers import could_save
from viewer.analyses.collective.causes import (
    COLLECTION,
    EXPLAINS,
    HOST,
    LINK,
    LOADING,
    MORE_WORK,
    ONE_KERNEL,
    SLOWER,
    UNKNOWN,
    Cause,
    cause_of,
    late_steps,
)
from viewer.analyses.collective.lateness import OUTSIDE, SHARE_OF_STEP, Lateness, lateness
from viewer.analyses.collective.persistence import persistence
from viewer.analyses.collective.rank_steps import rank_steps, step_selection
from viewer.analyses.collective.roles import roles
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.fp32_matmul import in_full_fp32_ns
from viewer.analyses.findings.kernel_costs import rank_cost
from viewer.analyses.findings.recompute import recomputed_ns
from viewer.base.selection import Selection
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

F64 = NDArray[np.float64]

NEXT: Final = {
    SLOWER: "Compare clocks, power and temperature of its GPU with its peers' (nvidia-smi -q -d CLOCK,PERFORMANCE,"
    "TEMPERATURE or the vendor's tool); swap it with another host's to see whether the lateness moves with the card.",
    ONE_KERNEL: "Compare this kernel's shapes and its neighbours with a peer's; look for work of this rank alone.",
    MORE_WORK: "Give this rank as much work as its peers: sequence lengths, experts' tokens, layers, extra work of one "
    "rank such as logging or evaluation.",
    LOADING: "Speed up its data loading: more workers, pinned memory, prefetching; check its storage.",
    COLLECTION: "Collect garbage at the same step on all ranks (gc.disable(), then gc.collect() every some steps).",
    HOST: "Compare the load of its host's CPU with its peers': other processes, pinning to cores, NUMA, power mode.",
    LINK: "Look at the path of this link: topology, PCIe width, network port, switch; run nccl-tests on these ranks.",
    UNKNOWN: "Compare one of its late steps with a peer's, lane by lane.",
}
FOLLOWS: Final = {LOADING: ("data-loading",), COLLECTION: ("garbage-collection",), LINK: ("slow-link",)}
"""Causes that findings of other kinds name at their root."""
SHOWN: Final = 4
WORTH: Final = 0.05
"""Differences below this share of the lateness are no evidence for it."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per straggler, most waiting caused first."""
    found = lateness(session)
    if found is None or found.step_ns is None:
        return
    for group in found.ranking():
        cancel.check()
        if found.straggler[found.ranks.index(group)]:
            yield _finding(session, found, group)


def _finding(session: Session, found: Lateness, group: int) -> JobFinding:
    label = session.groups[group].label
    own, inherited, caused = found.of(group) or (0, 0, 0)
    step_ns = found.step_ns or 0
    cause = cause_of(session, group)
    saving = could_save(session, group) or 0
    i = found.ranks.index(group)
    numbers = [s.number for s in rank_steps(session, session.groups[group])]
    late = persistence(found.by_itself[i], float(found.least[i]))
    why = f": {cause.words}" if cause is not None else ""
    code = cause.code if cause is not None else UNKNOWN
    return JobFinding(
        id=f"late-rank/{label}",
        kind="late-rank",
        title=f"{_upper(label)} is late by {format_duration(own, 1)} per step ({format_share(own, step_ns)}){why}",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="Its own lateness at the gradient reduction (an estimate by replay) plus what its compute after "
        "that takes longer than its peers'; median over the steps. An upper bound: when it is as fast as they are, "
        "another rank may be the next to be waited for.",
        evidence=_evidence(session, found, group, cause, caused, inherited, late.words(numbers)),
        next_step=NEXT[code],
        how=f"Its own lateness (not what it inherits from ranks before it) is at least {percent(SHARE_OF_STEP)} of "
        f"the step and twice the clock's doubt in more than half of the steps, and beyond {OUTSIDE:g} times the "
        f"spread of the ranks of its role ({_role(session, group)}). Told by replaying the steps as they depend on "
        "each other; sure where its kernels, its host or its link take longer than its peers'.",
        share=saving / step_ns if step_ns else None,
        confident=code != UNKNOWN,
        overlaps=("late",),
        caused_by=FOLLOWS.get(code, ()) or _of_kernels(session, group, code, own),
    )


def _of_kernels(session: Session, group: int, code: str, own: int) -> tuple[str, ...]:
    """Kinds of findings about its kernels that explain why its compute takes longer."""
    if code not in (SLOWER, ONE_KERNEL, MORE_WORK):
        return ()
    amounts = {"fp32-matmul": in_full_fp32_ns, "recompute": recomputed_ns}
    costs = {kind: rank_cost(session, session.groups[group], amount).median_ns for kind, amount in amounts.items()}
    return tuple(kind for kind, ns in costs.items() if ns is not None and ns >= EXPLAINS * own > 0)


def _evidence(
    session: Session, found: Lateness, group: int, cause: Cause | None, caused: int, inherited: int, pattern: str
) -> tuple[Evidence, ...]:
    i = found.ranks.index(group)
    own = found.by_itself[i]
    worst = max(late_steps(found, group), key=lambda k: float(own[k]))
    label = session.groups[group].label
    out = [
        Evidence(
            f"most late in step {_number(session, group, worst)}, by {format_duration(round(float(own[worst])), 1)}; "
            f"{pattern}",
            step_selection(session, group, worst),
        )
    ]
    if caused > 0:
        waits = f"the other ranks together wait {format_duration(caused, 1)} per step for it"
        victim = _victim(session, found, group, worst)
        out.append(Evidence(waits, victim))
    if cause is not None:
        out += [
            Evidence(f"{seen.what}: {format_duration(seen.extra_ns, 1)} more per step than its peers", seen.where)
            for seen in cause.evidence[:SHOWN]
            if seen.extra_ns >= WORTH * np.nanmean(own)
        ]
    if inherited > found.least[i]:
        out.append(
            Evidence(f"a further {format_duration(inherited, 1)} per step {label} inherits from ranks before it")
        )
    return tuple(out)


def _victim(session: Session, found: Lateness, group: int, step: int) -> Selection | None:
    """The step of the rank that is least late of its own: it waits longest."""
    own = np.where(np.isnan(found.own[:, step]), np.inf, found.own[:, step])
    own[found.ranks.index(group)] = np.inf
    other = int(own.argmin())
    return step_selection(session, found.ranks[other], step) if np.isfinite(own[other]) else None


def _number(session: Session, group: int, step: int) -> int:
    steps = rank_steps(session, session.groups[group])
    return steps[step].number if step < len(steps) else step


def _role(session: Session, group: int) -> str:
    role = roles(session)
    peers = [g.label for g in session.groups if g.id != group and role[g.id] == role[group]]
    if not peers:
        return "it is the only one of its role: compared with ranks that communicate alike"
    return ", ".join(peers[:8]) + (f" and {len(peers) - 8} more" if len(peers) > 8 else "")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
