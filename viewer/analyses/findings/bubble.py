"""A pipeline's bubble beyond what its schedule must have, by cause; and theory itself where micro-batches are few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.findings.base import Evidence, JobFinding, Target
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.pipeline.figures import LineFigures, Pipeline, StepFigures, pipeline
from viewer.analyses.pipeline.model import CommKind
from viewer.analyses.pipeline.peers import LATE, OUTSIDE, worker_rows
from viewer.analyses.pipeline.taken_apart import Parts
from viewer.base.selection import SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

SHARE: Final = 0.03
"""Part of the step that a cause must take: as for late ranks, beyond what steps of a steady job differ by."""
ENOUGH: Final = 4
"""Micro-batches per stage from which the bubble of a schedule is small (Huang et al. 2019: M >= 4 K)."""
SAVING_HOW: Final = (
    "Median over the steps of how much longer the replay of the passes gets by this, a mean over the pipelines. An "
    "upper bound: nothing else may then hold the step up."
)
HOW: Final = (
    "The passes of each step are replayed in their order with one more of what really was each time (equal stages, "
    "stages and workers as they are, each pass as it computed, with the time inside it, with its results on the way); "
    f"the differences are the parts of the bubble. A part counts from {percent(SHARE)} of the step in the median step."
)


@dataclass(frozen=True, slots=True)
class _Cause:
    """What a part of the bubble is called and what to do about it."""

    kind: str
    title: str
    next_step: str
    caused_by: tuple[str, ...] = ()


CAUSES: Final = {
    "order_ns": _Cause(
        "bubble-order",
        "the order of its passes costs",
        "Compare the order of passes with the schedule that was meant: warm-up passes, number of chunks "
        "(--num-layers-per-virtual-pipeline-stage), micro-batches that are a multiple of the stages.",
    ),
    "imbalance_ns": _Cause(
        "bubble-uneven",
        "uneven stages cost",
        "Move layers from the slowest stage to the others, embedding, output layer and loss counted as layers "
        "(Megatron --pipeline-model-parallel-layout, --account-for-loss-in-pipeline-split; DeepSpeed "
        "partition_method).",
        ("uneven-stages",),
    ),
    "late_ns": _Cause(
        "bubble-late",
        "workers that are slower than the others of their stage cost",
        "Find out why they are slow: clocks, power, temperature and host load against their peers', or more work.",
        ("late-rank", "uneven-ranks", "late-worker"),
    ),
    "variation_ns": _Cause(
        "bubble-varies",
        "passes of different length cost",
        "Give every micro-batch as much work: sort or pack sequences by length, balance the experts' tokens.",
        ("late-rank",),
    ),
    "inside_ns": _Cause(
        "bubble-inside",
        "time without compute inside the passes costs",
        "Look inside a pass: launch gaps between kernels (graphs, fusion) and collectives that nothing hides (overlap "
        "them, or reduce gradients after the last micro-batch only).",
        ("launch-bound", "serialised-communication", "unhidden-communication"),
    ),
    "p2p_ns": _Cause(
        "bubble-p2p",
        "sends between stages cost",
        "Overlap sends with compute (Megatron's interleaved schedule without --no-overlap-p2p-communication, "
        "batch_isend_irecv, one more micro-batch in flight), place neighbouring stages on one host, or send less "
        "(sequence parallelism scatters what is sent).",
        ("slow-link", "launch-bound"),
    ),
    "rest_ns": _Cause(
        "bubble-host",
        "waits that no dependency explains cost",
        "Look at what the host does between passes: synchronisation, Python, data loading, sends that block.",
        ("sync-drain", "host-bound", "data-loading"),
    ),
}  # fmt: skip
"""Parts of the bubble beside theory. What other findings name at its root is no saving of its own."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """A finding per cause that makes the bubble larger than theory, one for few micro-batches, one for late workers."""
    found = pipeline(session)
    if isinstance(found, str):
        return
    cancel.check()
    steps = found.steps
    if len(steps) > steady_steps(session).first:
        steps = steps[steady_steps(session).first :]
    told = [(s, p) for s in steps if (p := s.parts()) is not None]
    for name in CAUSES:
        yield from _cause(found, name, told, steady_steps(session).step_ns)
    if not told:
        yield from _unexplained(found, steps)
    yield from _few(found)
    if found.layout.timed == "spans":  # of ranks with traces of their own another detector tells more
        yield from _late(found)


def _cause(
    found: Pipeline, name: str, told: list[tuple[StepFigures, Parts]], step_ns: int | None
) -> Iterator[JobFinding]:
    """The finding of one part. Without steps that are marked (``step_ns``) the phase stands for the step."""
    cause = CAUSES[name]
    if not told:
        return
    cost = np.array([getattr(p, name) for _, p in told], np.float64)
    phase = np.array([s.phase_ns for s, _ in told], np.float64)
    saving = round(float(np.median(cost)))
    share = saving / max(step_ns or float(np.median(phase)), 1.0)
    if share < SHARE or saving <= 0:
        return
    crossings = 2 * (found.stages - 1)
    clocks = name in ("p2p_ns", "rest_ns") and bool(found.unsure_ns) and saving < crossings * (found.unsure_ns or 0)
    step = told[int(np.argmax(cost))][0]
    stage = _slowest_label(found, step) if name == "imbalance_ns" else ""
    yield JobFinding(
        id=f"{cause.kind}/pipeline",
        kind=cause.kind,
        title=f"Pipeline bubble: {cause.title} {format_duration(saving, 1)} per step "
        f"({format_share(saving, round(float(np.median(phase))))} of the pipelined phase){stage}",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=SAVING_HOW,
        evidence=(*_bubble_evidence(found, step), *_places(found, step, name)),
        next_step=cause.next_step,
        how=HOW,
        share=share,
        confident=len(told) > 1 and not clocks,
        overlaps=("bubble",),
        caused_by=cause.caused_by,
    )


def _slowest_label(found: Pipeline, step: StepFigures) -> str:
    slowest = {x.slowest for x in step.lines}
    if len(slowest) != 1 or (stage := slowest.pop()) is None:
        return ""
    own = float(np.mean([x.stages[stage].per_micro_ns for x in step.lines]))
    every = float(np.mean([s.per_micro_ns for s in step.stages()]))
    return (
        f": stage {stage} of {found.stages} computes {percent(own / every - 1)} longer than their mean" if every else ""
    )


def _bubble_evidence(found: Pipeline, step: StepFigures) -> tuple[Evidence, ...]:
    line = max(step.lines, key=lambda x: x.share)
    least = "" if step.least_share is None else f", theory {percent(step.least_share, 1)} ({found.schedule.text})"
    return (
        Evidence(
            f"step {step.number}: bubble {percent(step.share, 1)} of {format_duration(step.phase_ns, 1)}{least}",
            TimeRange(line.start_ns, line.end_ns),
        ),
    )


def _places(found: Pipeline, step: StepFigures, name: str) -> Iterator[Evidence]:
    """Where a cause shows in a step."""
    line = max(step.lines, key=lambda x: max((getattr(s.parts, name) for s in x.stages if s.parts), default=0))
    if name == "imbalance_ns":
        for s in sorted(line.stages, key=lambda s: -s.per_micro_ns)[:8]:
            text = f"{_name(found, s.worker)}: {format_duration(round(s.per_micro_ns), 1)} per micro-batch"
            yield Evidence(text, _longest_pass(found, step, s.worker))
    elif name == "p2p_ns":
        yield from _longest_receive(found, step, line)
    else:
        slow = max(line.stages, key=lambda s: s.bubble_ns)
        text = f"{_name(found, slow.worker)} has the largest bubble, {format_duration(slow.bubble_ns, 1)}"
        yield Evidence(text, _longest_pass(found, step, slow.worker))


def _name(found: Pipeline, worker: int) -> str:
    w = found.layout.workers[worker]
    return f"stage {w.stage} ({w.label})"


def _longest_pass(found: Pipeline, step: StepFigures, worker: int) -> Target:
    p = found.layout.passes[worker, step.number]
    return SliceRef(p.input, int(p.row[int(p.length.argmax())])) if len(p) else None


def _longest_receive(found: Pipeline, step: StepFigures, line: LineFigures) -> Iterator[Evidence]:
    best: tuple[int, int, SliceRef] | None = None
    for s in line.stages:
        p = found.layout.passes[s.worker, step.number]
        mine = np.flatnonzero(p.comm.kind == CommKind.RECEIVE)
        if len(mine):
            length = p.comm.end[mine] - p.comm.start[mine]
            at = int(length.argmax())
            if best is None or length[at] > best[0]:
                best = int(length[at]), s.worker, SliceRef(p.input, int(p.comm.row[mine[at]]))
    if best is not None:
        text = f"{_name(found, best[1])} is in its longest receive for {format_duration(best[0], 1)}, waiting included"
        yield Evidence(text, best[2])


def _unexplained(found: Pipeline, steps: tuple[StepFigures, ...]) -> Iterator[JobFinding]:
    beyond = [s.share - s.least_share for s in steps if s.least_share is not None]
    if not beyond or float(np.median(beyond)) < SHARE:
        return
    step = max(steps, key=lambda s: s.share)
    problem = next((x.problem for x in step.lines if x.problem), "")
    yield JobFinding(
        id="bubble/pipeline",
        kind="bubble",
        title=f"The pipeline bubble is {100 * float(np.median(beyond)):.1f} points of its phase larger than theory; "
        f"why cannot be told ({problem})",
        severity="info",
        saving_ns_per_step=None,
        saving_how="",
        evidence=_bubble_evidence(found, step),
        next_step="Open the traces of all stages of one pipeline, with clocks that collectives can align.",
        how="Bubble of the stages that are open against theory with their measured passes; " + HOW,
        confident=False,
        overlaps=("bubble",),
    )


def _few(found: Pipeline) -> Iterator[JobFinding]:
    step = found.usual()
    share = step.least_share
    micro = max(x.micro_batches for x in step.lines)
    if share is None or micro >= ENOUGH * found.stages or found.schedule.key in ("zb1p", "dualpipe", "unknown"):
        return
    chunks = 1 if found.schedule.key == "gpipe" else found.layout.chunks
    twice = (found.stages - 1) / (2 * micro * chunks + found.stages - 1)
    yield JobFinding(
        id="few-micro-batches/pipeline",
        kind="few-micro-batches",
        title=f"{percent(share, 1)} of the pipelined phase is bubble by its schedule alone: {found.stages} stages, "
        f"{micro} micro-batches ({found.schedule.text})",
        severity="info",
        saving_ns_per_step=None,
        saving_how="",
        evidence=_bubble_evidence(found, step),
        next_step=f"Run more and smaller micro-batches per step (twice as many leave {percent(twice, 1)} in theory), "
        "give each stage several model chunks (interleaving, --num-layers-per-virtual-pipeline-stage), or use fewer "
        "stages.",
        how=f"(p - 1) / (v m + p - 1) with p stages, m micro-batches and v chunks; small from m = {ENOUGH} p on.",
        share=share,
        overlaps=("bubble",),
    )


def _late(found: Pipeline) -> Iterator[JobFinding]:
    for row in worker_rows(found):
        if not row.late or row.beyond_ns is None:
            continue
        worker = found.layout.workers[row.worker]
        mine = [s for s in found.steps if (row.worker, s.number) in found.layout.passes]
        step = max(mine, key=lambda s: found.layout.passes[row.worker, s.number].compute_ns)
        longer = format_duration(row.beyond_ns, 1)
        yield JobFinding(
            id=f"late-worker/{worker.label}",
            kind="late-worker",
            title=f"{worker.label} computes {longer} per step longer than the others of its stage "
            f"({format_share(round(1000 * (row.share or 0.0)), 1000)} of the pipelined phase)",
            severity="warning",
            saving_ns_per_step=row.beyond_ns,
            saving_how="Mean over the steps of its compute beyond the median of the workers of its stage. An upper "
            "bound: what it computes beside the critical path costs nothing.",
            evidence=(
                Evidence(
                    f"{row.late_steps} of {row.steps} steps; step {step.number} is its slowest",
                    _longest_pass(found, step, row.worker),
                ),
            ),
            next_step="Compare its GPU's clocks, power and temperature, and its host's load, with its peers'.",
            how=f"Late: at least {percent(LATE)} of the phase in most steps, and {OUTSIDE:g} times the spread of its "
            "peers.",
            share=row.share,
            overlaps=("late", "bubble"),
        )
