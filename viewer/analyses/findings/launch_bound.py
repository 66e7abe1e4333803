"""Launch-bound stretches: kernels shorter than the way to their launch; and gaps inside graph launches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.advice import advice
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.idling import SHOWN, RankIdle, rank_idles, saving_of, share_of, short, which_ranks, worst
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.launch_bound import LEAST_KERNELS, LONGEST_NS, Stretch, launch_waits
from viewer.analyses.idleness.profile import graph_gaps
from viewer.analyses.idleness.recording import slowed_by
from viewer.analyses.links import links
from viewer.base.selection import Selection, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

NEXT: Final = (
    "Launch less: CUDA graphs for the part that repeats (torch.compile with mode='reduce-overhead', "
    "torch.cuda.graphs), fused kernels, fused or foreach optimizers, larger micro-batches."
)
LEAST: Final = 0.05
"""Of the step. Every eager program waits for some launches; below this capturing graphs is not worth their limits."""


def _waits(rank: RankIdle) -> int:
    return rank.mean(rank.idle.launching) if rank.step_ns is not None else int(rank.idle.launching[-1])


def _in_graph(rank: RankIdle) -> int:
    return rank.mean(rank.idle.in_graph) if rank.step_ns is not None else int(rank.idle.in_graph[-1])


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most two: stretches that wait for launches, and gaps between the kernels of a graph."""
    every = rank_idles(session, cancel)
    top = worst(every, _waits)
    if top is not None and top[1] >= LEAST * top[0].whole_ns:
        yield _stretches(session, every, *top)
    top = worst(every, _in_graph)
    if top is not None and top[1] >= LEAST * top[0].whole_ns:
        yield _graphs(session, every, *top)


def _stretches(session: Session, every: list[RankIdle], found: RankIdle, ns: int) -> JobFinding:
    ranks = sorted((r for r in every if _waits(r) >= LEAST * r.whole_ns), key=lambda r: -_waits(r))
    steady = set(found.steady.tolist())
    mine = [s for s in found.idle.stretches if not steady or s.step in steady]
    kernels, waiting = sum(s.kernels for s in mine), sum(s.waiting for s in mine)
    idle = sum(s.idle_ns for s in mine) // max(1, len(steady))
    ran = sum(s.busy_ns for s in mine) // max(1, kernels)
    saving, how = saving_of(session, ranks, found, ns, lambda r: launch_waits(r.item.trace, r.device))
    per, count = ("per step", waiting // len(steady)) if steady else ("in all", waiting)
    return JobFinding(
        id="launch-bound",
        kind="launch-bound",
        title=f"{count:,} kernels {per} wait for their own launch{which_ranks(ranks, every)}: "
        f"{format_duration(ns, 1)} ({format_share(ns, found.whole_ns)}), they run {format_duration(ran, 1)} on average",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=tuple(_evidence(r, s) for r in ranks[:2] for s in _longest(r)[: SHOWN // 2]),
        next_step=advice(session, "launch-bound", NEXT),
        how=f"Runs of at least {LEAST_KERNELS} kernels on computing streams of which each found the queue empty when "
        f"the one before began, and waited at most {format_duration(LONGEST_NS, 0)} for its launch, without a "
        f"synchronisation, a wait or a copy in between. Told from {percent(LEAST)} of the step on; where stacks or "
        "shapes were recorded, which slows the host, sure if the launch calls alone take longer than the kernels.",
        share=share_of(found, ns, saving),
        confident=_sure(found, mine),
        overlaps=("idle/launch-bound", "exposed") if idle < ns * 9 // 10 else ("idle/launch-bound",),
    )


def _sure(rank: RankIdle, stretches: list[Stretch]) -> bool:
    """Whether kernels would wait without the recording as well: their launch calls alone take longer than they run."""
    calls, ran = sum(s.call_ns for s in stretches), sum(s.busy_ns for s in stretches)
    return not slowed_by(rank.item.trace) or calls >= ran


def _longest(rank: RankIdle) -> list[Stretch]:
    steady = set(rank.steady.tolist())
    return sorted((s for s in rank.idle.stretches if not steady or s.step in steady), key=lambda s: -s.wait_ns)


def _evidence(rank: RankIdle, stretch: Stretch) -> Evidence:
    to = rank.item.clock.to_session
    place = TimeRange(to(stretch.start_ns), to(stretch.end_ns))
    text = (
        f"{rank.label}: {stretch.kernels:,} kernels from {short(rank.item.trace.name(stretch.first_row))} on wait "
        f"{format_duration(stretch.wait_ns, 1)} of {format_duration(place.length_ns, 1)}"
    )
    return Evidence(text, Selection(range=place, group=rank.group))


def _graphs(session: Session, every: list[RankIdle], found: RankIdle, ns: int) -> JobFinding:
    ranks = sorted((r for r in every if _in_graph(r) >= LEAST * r.whole_ns), key=lambda r: -_in_graph(r))
    saving, how = saving_of(session, ranks, found, ns, lambda r: graph_gaps(r.item.trace, r.device))
    start, end = graph_gaps(found.item.trace, found.device)
    count = len(start) // max(1, found.idle.in_graph.size - 1)
    per = "per step" if found.step_ns is not None else "in all"
    at, to = int((end - start).argmax()), found.item.clock.to_session
    work = gpu_work(found.item.trace)
    call_of = links(found.item.trace).call_of
    kernels = int((call_of >= 0).sum())
    place = TimeRange(to(int(start[at])), to(int(end[at])))
    return JobFinding(
        id="graph-gaps",
        kind="graph-gaps",
        title=f"Between the kernels of graph launches the GPU idles {format_duration(ns, 1)} {per}"
        f"{which_ranks(ranks, every)} ({format_share(ns, found.whole_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=(
            Evidence(
                f"{found.label}: the longest of some {count:,} gaps {per}", Selection(range=place, group=found.group)
            ),
            Evidence(f"{kernels:,} of {len(work):,} works of {found.label} have a launch call in the file"),
        ),
        next_step="The launch is not the limit inside a graph: fuse small kernels (torch.compile, fused norms, "
        "activations and attention), or let independent branches of the graph run on streams of their own.",
        how="Idle time between two works that one call (a graph launch) started. "
        f"Told from {percent(LEAST)} of the step on.",
        share=share_of(found, ns, saving),
        overlaps=("idle/graph-gaps",),
    )
