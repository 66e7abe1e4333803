"""The gap between steps: the device idles from the last work of a step to the first of the next."""

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
from viewer.analyses.host_time import ALLOCATOR, COLLECTION, LOADING, RECOMPILATION, UNTRACED
from viewer.analyses.idleness.parts import CAUSES, UNKNOWN
from viewer.analyses.idleness.profile import intervals_of
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

LEFT_OUT: Final = (LOADING, COLLECTION, RECOMPILATION, ALLOCATOR, UNTRACED, UNKNOWN)
"""Findings of their own, and time of which nothing is recorded: who knows what a thread did then."""
REST: Final = tuple(c for c in CAUSES if c not in LEFT_OUT)
NEXT: Final = (
    "Let the host run ahead into the next step: no synchronisation at its end (loss, gradient norm, timers), logging "
    "and checkpoints asynchronous (torch.distributed.checkpoint.async_save) or less often, the next batch on the GPU "
    "before."
)
LEAST: Final = 0.1
"""Of the step. Reading a loss and setting out again costs a few percent of steps of some ten milliseconds."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding."""
    every = rank_idles(session, cancel)

    def ns_of(rank: RankIdle) -> int:
        return rank.between(REST)

    top = worst(every, ns_of)
    if top is None or top[0].step_ns is None or top[1] < LEAST * top[0].step_ns:
        return
    found, ns = top
    ranks = sorted((r for r in every if ns_of(r) >= LEAST * r.whole_ns), key=lambda r: -ns_of(r))
    evidence = gap_evidence(ranks, REST, between=True, inside=False)
    if not evidence:
        return

    def away(rank: RankIdle) -> Intervals:
        return intervals_of(rank.item.trace, rank.device, REST, between=True, inside=False)

    saving, how = saving_of(session, ranks, found, ns, away)
    yield JobFinding(
        id="step-gap",
        kind="step-gap",
        title=f"Between steps the GPU idles {format_duration(ns, 1)}{which_ranks(ranks, every)} "
        f"({format_share(ns, found.whole_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=evidence,
        next_step=advice(session, "step-gap", NEXT),
        how="Idle time from the last work of one step to the first of the next, without data loading, collections, "
        "compilations and allocations (findings of their own), and without time of which nothing is recorded. "
        f"Told from {percent(LEAST)} of the step on.",
        share=share_of(found, ns, saving),
        overlaps=("idle/step-gap",),
    )
