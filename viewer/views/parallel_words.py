"""The pipeline in words: its bubble against theory, what it is made of, and where that is known from."""

from __future__ import annotations

from typing import Final

from viewer.analyses.pipeline.figures import LineFigures, Pipeline, StageFigures, StepFigures
from viewer.analyses.pipeline.peers import worker_rows
from viewer.analyses.pipeline.taken_apart import Parts
from viewer.base.time import format_duration
from viewer.views.figures import shown

OVER: Final = 0.03
"""A bubble beyond theory by this share of the phase stands out: as for findings."""
SHARES: Final = (
    "Theory is a share of the phase that equal stages would have, the parts are shares of the measured phase."
)
PART_WORDS: Final = {
    "theory_ns": "theory",
    "order_ns": "order of passes",
    "imbalance_ns": "uneven stages",
    "late_ns": "slow workers",
    "variation_ns": "passes vary",
    "inside_ns": "inside passes",
    "p2p_ns": "sends on their way",
    "rest_ns": "rest",
}


def percent(share: float | None) -> str:
    """A share as text."""
    return "–" if share is None else f"{100 * share:.1f} %"


def beyond(step: StepFigures) -> float:
    """Share of the phase that the bubble has beyond theory; 0 where there is no theory."""
    least = step.least_share
    return 0.0 if least is None else step.share - least


def sentence(found: Pipeline, step: StepFigures) -> str:
    """The step's bubble against theory, and what it is made of, in one or two sentences."""
    counts = {x.micro_batches for x in step.lines}
    micro = " or ".join(f"{c:,}" for c in sorted(counts))
    chunks = f" × {found.layout.chunks} chunks" if found.layout.chunks > 1 else ""
    kind = found.schedule.text
    if found.schedule.source == "order" and 0 < found.schedule.sure < 1:
        kind = f"{kind}?"
    least = " at least" if step.floor else ""
    text = (
        f"Bubble{least} {percent(step.share)} of the pipelined phase of {format_duration(step.phase_ns)}, "
        f"theory {percent(step.least_share)} ({kind}, {found.stages} stages{chunks}, {micro} micro-batches)."
    )
    parts = step.parts()
    if parts is not None and step.phase_ns:
        more = [(k, getattr(parts, k)) for k in PART_WORDS if k != "theory_ns"]
        large = [(k, ns) for k, ns in sorted(more, key=lambda b: -b[1]) if ns >= 0.005 * step.phase_ns]
        if large:
            text += (
                " Beyond theory: "
                + ", ".join(f"{PART_WORDS[k]} {percent(ns / step.phase_ns)}" for k, ns in large[:4])
                + "."
            )
        uneven = [x for x in step.lines if x.uneven_ns and x.uneven_ns >= OVER * x.phase_ns]
        slowest = {x.slowest for x in uneven}
        if len(uneven) * 2 > len(step.lines) and len(slowest) == 1:
            text += f" Stage {slowest.pop()} computes longest."
    if found.unsure_ns is None and any(x.problem for x in step.lines):
        text += " The clocks of its ranks are not aligned: rows are shifted against each other by their offsets."
    if found.layout.partial:
        text += f" {found.layout.partial[:1].upper()}{found.layout.partial[1:]}."
    late = [r for r in worker_rows(found) if r.late]
    if late:
        first = found.layout.workers[late[0].worker]
        longer = format_duration(late[0].beyond_ns)
        label = shown(first.label, 40)
        text += f" {label[:1].upper()}{label[1:]} computes {longer} per step longer than the others of its stage."
    return text


def note(found: Pipeline) -> str:
    """Where stages and passes are known from, and how sure the borders are."""
    layout = found.layout
    parts = [f"Stages: {layout.stages_from}", f"passes: {layout.passes_from}"]
    source = {"order": "schedule: their order", "job card": "schedule: job card"}.get(found.schedule.source)
    if source:
        parts.append(source)
    if found.unsure_ns is None:
        parts.append("clocks are not aligned")
    elif found.unsure_ns:
        parts.append(f"borders ±{format_duration(found.unsure_ns, 2)}")
    return " · ".join(parts)


def stage_told(name: str, stage: StageFigures, line: LineFigures) -> str:
    """A worker's figures in one step, in lines."""
    out = [
        name,
        f"bubble {format_duration(stage.bubble_ns)} of {format_duration(line.phase_ns)} = {percent(stage.share)}"
        + (" (a lower bound: the first stage is not open)" if line.floor else ""),
        f"compute {format_duration(stage.compute_ns)} in {stage.micro_batches:,} micro-batches"
        f" · forward {format_duration(stage.forward_ns)} · backward {format_duration(stage.backward_ns)}"
        + (f" · weights {format_duration(stage.weight_ns)}" if stage.weight_ns is not None else ""),
    ]
    if line.theory_share is not None:
        out.append(f"theory by counting {percent(line.theory_share)}, with measured passes {percent(line.least_share)}")
    if stage.parts is not None:
        out.append("made of: " + part_words(stage.parts))
    elif line.problem:
        out.append(f"not taken apart: {line.problem}")
    return "\n".join(out)


def part_words(parts: Parts) -> str:
    """What a bubble is made of, largest first, in one line."""
    told = [(getattr(parts, k), word) for k, word in PART_WORDS.items() if getattr(parts, k)]
    return ", ".join(f"{word} {format_duration(ns)}" for ns, word in sorted(told, key=lambda t: -abs(t[0])))
