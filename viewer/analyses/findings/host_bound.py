"""The host is slower than the GPU: work of the program that is neither a known stall nor a run of plain launches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.advice import advice
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.idling import (
    Intervals,
    RankIdle,
    gap_evidence,
    rank_idles,
    saving_of,
    share_of,
    which_ranks,
    worst,
)
from viewer.analyses.host_time import UNTRACED
from viewer.analyses.idleness.host_work import CAUSES, host_work
from viewer.analyses.idleness.recording import slowed_by
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

NEXT: Final = (
    "Take Python out of the step: torch.compile or CUDA graphs for the part that repeats, fewer and larger "
    "operators, no loops over tensors (fused or foreach optimizers); move logging, metrics and checks out of the "
    "step."
)
RECORDED: Final = " First profile without with_stack and record_shapes: they slow the host themselves."
LEAST: Final = 0.1
"""Of the step. A host that now and then falls behind costs some percent."""


def _ns(rank: RankIdle) -> int:
    found = host_work(rank.item.trace, rank.device)
    return rank.mean(found.inside) if rank.step_ns is not None else int(found.inside[-1])


def _own(rank: RankIdle) -> int:
    found = host_work(rank.item.trace, rank.device)
    return rank.mean(found.own) if rank.step_ns is not None else int(found.own[-1])


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding."""
    every = rank_idles(session, cancel)
    top = worst(every, _ns)
    if top is None or top[1] < LEAST * top[0].whole_ns:
        return
    found, ns = top
    ranks = sorted((r for r in every if _ns(r) >= LEAST * r.whole_ns), key=lambda r: -_ns(r))
    evidence = gap_evidence(ranks, CAUSES) or gap_evidence(ranks, (UNTRACED,))
    if not evidence:
        return
    by_cause = host_work(found.item.trace, found.device).by_cause
    main = max(by_cause, key=lambda c: by_cause[c])
    saving, how = saving_of(session, ranks, found, ns, _away)
    per = "per step" if found.step_ns is not None else "in all"
    yield JobFinding(
        id="host-bound",
        kind="host-bound",
        title=f"The GPU waits {format_duration(ns, 1)} {per} for the host's own work{which_ranks(ranks, every)} "
        f"({format_share(ns, found.whole_ns)}), most of it {_WORDS[main]}",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=evidence,
        next_step=advice(session, "host-bound", NEXT) + (RECORDED if slowed_by(found.item.trace) else ""),
        how="Idle time inside steps before work that is no communication, while the launching thread was inside "
        "Python, an operator, a call or a named range (or for at most 1 ms in nothing that is recorded); without "
        "synchronisations, data loading, collections, compilations, allocations, launch-bound stretches and held-up "
        f"calls, which have findings of their own. Told from {percent(LEAST)} of the step on. Where stacks or shapes "
        "were recorded, which slows Python and operators by an unknown factor, sure only if as much lies in calls of "
        "the runtime, unrecorded code and Python that runs for long without a call.",
        share=share_of(found, ns, saving),
        overlaps=("idle/host-bound",),
        confident=_own(found) >= LEAST * found.whole_ns,
    )


def _away(rank: RankIdle) -> Intervals:
    found = host_work(rank.item.trace, rank.device)
    return found.start, found.end


_WORDS: Final = {
    "python": "in Python functions",
    "operator": "inside operators",
    "runtime call": "in calls of the runtime",
    "annotation": "in code of named ranges that is not recorded further",
    "other": "in other slices",
    "untraced": "in code that is not recorded",
}
