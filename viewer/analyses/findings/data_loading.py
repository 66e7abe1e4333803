"""The device waits for data: on all ranks, or on one while its peers wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.idling import RankIdle, gap_evidence, rank_idles, saving_of, share_of, which_ranks, worst
from viewer.analyses.host_time import LOADING
from viewer.analyses.idleness.profile import intervals_of
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

CAUSES: Final = (LOADING,)
LEAST: Final = 0.02
LEAST_NS: Final = 500_000
"""Taking a batch that is ready costs the host some hundred microseconds (queue, unpickling, pinned memory), some
percent of a short step: more workers change nothing there."""
NEXT: Final = (
    "Give the DataLoader more workers and prefetch (num_workers, prefetch_factor, persistent_workers=True), pin_memory="
    "True with non_blocking copies; decode, tokenise and augment ahead of time or on the GPU."
)
ALONE_NEXT: Final = (
    "Compare this rank's storage, CPU cores, workers and shard with its peers': a slow disk or mount, longer samples. "
)
ALONE: Final = 3
"""A rank whose loading takes this many times its peers' does so alone."""


def _ns(rank: RankIdle) -> int:
    return rank.inside(CAUSES) + rank.between(CAUSES)


def _least(rank: RankIdle) -> float:
    return max(LEAST * rank.whole_ns, LEAST_NS if rank.step_ns is not None else 0)


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding for the data loading of all ranks."""
    every = rank_idles(session, cancel)
    top = worst(every, _ns)
    if top is None or top[1] < _least(top[0]):
        return
    found, ns = top
    ranks = sorted((r for r in every if _ns(r) >= _least(r)), key=lambda r: -_ns(r))
    others = [_ns(r) for r in every if r.group not in {x.group for x in ranks}]
    alone = bool(others) and ns > ALONE * median(others)
    evidence = gap_evidence(ranks, CAUSES, between=True)
    if not evidence:
        return
    saving, how = saving_of(
        session, ranks, found, ns, lambda r: intervals_of(r.item.trace, r.device, CAUSES, between=True)
    )
    per = "per step" if found.step_ns is not None else "in all"
    wait = ", while its peers wait for it" if alone and len({r.group for r in ranks}) == 1 else ""
    only = " only" if wait else ""
    yield JobFinding(
        id="data-loading",
        kind="data-loading",
        title=f"The GPU waits {format_duration(ns, 1)} {per} for data{which_ranks(ranks, every)}{only} "
        f"({format_share(ns, found.whole_ns)}){wait}",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=evidence,
        next_step=(ALONE_NEXT if wait else "") + NEXT,
        how="Idle time in and before steps while the launching thread was inside a data loader's range and nothing was "
        f"queued. Told from {percent(LEAST)} of the step and {format_duration(LEAST_NS, 1)} on.",
        share=share_of(found, ns, saving),
        overlaps=("idle/data-loading", "late") if wait else ("idle/data-loading",),
    )
