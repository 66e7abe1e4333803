"""Garbage collection, recompilation and allocator calls that the device waits for in steady steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.idling import (
    Intervals,
    RankIdle,
    gap_evidence,
    rank_idles,
    saving_of,
    share_of,
    short,
    which_ranks,
    worst,
)
from viewer.analyses.findings.ranking import LEAST_SHARE
from viewer.analyses.host_time import ALLOCATOR, COLLECTION, RECOMPILATION
from viewer.analyses.idleness.allocator_calls import allocator_calls
from viewer.analyses.idleness.profile import intervals_of
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class _Stall:
    kind: str
    cause: str
    title: str
    next_step: str
    how: str


_STALLS: Final = (
    _Stall(
        "garbage-collection",
        COLLECTION,
        "Python's garbage collection keeps the GPU waiting",
        "Collect at the same step on all ranks: gc.disable(), then gc.collect() every some hundred steps (Megatron "
        "--manual-gc, --manual-gc-interval), and gc.freeze() after the set-up.",
        "collections that the profiler or a Python stack records",
    ),
    _Stall(
        "recompilation",
        RECOMPILATION,
        "Code is compiled inside steady steps, and the GPU waits",
        "TORCH_LOGS=recompiles names what triggers it: shapes that change (torch._dynamo.mark_dynamic, or pad to few "
        "sizes), guards on Python values, autotuning that is not cached. Run every shape once before the run.",
        "compilation by Dynamo, Inductor, Triton or NVRTC, and loading of compiled modules",
    ),
    _Stall(
        "allocator-churn",
        ALLOCATOR,
        "Calls that allocate or free device memory keep the GPU waiting",
        "Keep memory in the caching allocator: no torch.cuda.empty_cache() in the step; against fragmentation "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; near the limit, a lower peak.",
        "driver calls that allocate, free or map memory (cudaMalloc, cudaFree, cuMemMap, the HIP ones), and "
        "empty_cache",
    ),
)


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding of each kind."""
    every = rank_idles(session, cancel)
    for stall in _STALLS:
        cancel.check()
        causes = (stall.cause,)

        def ns_of(rank: RankIdle, causes: tuple[str, ...] = causes) -> int:
            return rank.inside(causes) + rank.between(causes)

        top = worst(every, ns_of)
        if top is None or top[1] < LEAST_SHARE * top[0].whole_ns:
            if stall.cause == ALLOCATOR:
                yield from _calls_in_steps(every, stall)
            continue
        found, ns = top
        ranks = sorted((r for r in every if ns_of(r) >= LEAST_SHARE * r.whole_ns), key=lambda r: -ns_of(r))
        evidence = gap_evidence(ranks, causes, between=True)
        if not evidence:
            continue

        def away(rank: RankIdle, causes: tuple[str, ...] = causes) -> Intervals:
            return intervals_of(rank.item.trace, rank.device, causes, between=True)

        saving, how = saving_of(session, ranks, found, ns, away)
        per = "per step" if found.step_ns is not None else "in all"
        yield JobFinding(
            id=stall.kind,
            kind=stall.kind,
            title=f"{stall.title} {format_duration(ns, 1)} {per}{which_ranks(ranks, every)} "
            f"({format_share(ns, found.whole_ns)})",
            severity="warning",
            saving_ns_per_step=saving,
            saving_how=how,
            evidence=(*evidence, *(_counted(found) if stall.cause == ALLOCATOR else ())),
            next_step=stall.next_step,
            how=f"Idle time in and before steady steps during {stall.how}. Told from {percent(LEAST_SHARE)} of the "
            "step on.",
            share=share_of(found, ns, saving),
            overlaps=(f"idle/{stall.kind}",),
            confident=found.step_ns is not None,
        )


def _per_step(rank: RankIdle) -> int:
    """Allocator calls of a steady step, median."""
    counts = allocator_calls(rank.item.trace).count[rank.steady]
    return int(np.median(counts)) if len(counts) else 0


def _counted(rank: RankIdle) -> tuple[Evidence, ...]:
    """How many calls a steady step makes, with the longest of them."""
    count, trace = _per_step(rank), rank.item.trace
    calls = allocator_calls(trace)
    if not count or not len(calls.rows):
        return ()
    longest = int(calls.rows[int(np.argmax(trace.slices.dur_ns[calls.rows]))])
    ns = rank.mean(calls.ns)
    return (
        Evidence(
            f"{rank.label}: {count:,} such calls per step (median), {format_duration(ns, 1)} in them; the longest is "
            f"{short(trace.name(longest))}",
            SliceRef(rank.item.index, longest),
        ),
    )


def _calls_in_steps(every: list[RankIdle], stall: _Stall) -> Iterator[JobFinding]:
    """For information: steady steps that go to the driver for memory although the GPU does not wait for it."""
    top = worst(every, _per_step)
    if top is None or not top[1]:
        return
    found, count = top
    ranks = sorted((r for r in every if _per_step(r)), key=lambda r: -_per_step(r))
    yield JobFinding(
        id=stall.kind,
        kind=stall.kind,
        title=f"{count:,} {'call' if count == 1 else 'calls'} per step allocate or free device memory"
        f"{which_ranks(ranks, every)}; the GPU does not wait for them",
        severity="info",
        saving_ns_per_step=None,
        saving_how="",
        evidence=_counted(found),
        next_step=stall.next_step,
        how=f"Median over the steady steps of {stall.how.removesuffix(', and empty_cache')} that began in a step's "
        "CPU mark.",
    )
