"""Pipeline bubble: from the analysis of pipelines, held against theory."""

from __future__ import annotations

from typing import Final

from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure, RankValue, StepValue
from viewer.analyses.fingerprint.periods import periods
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.pipeline.figures import Pipeline, StepFigures, pipeline
from viewer.analyses.workload import workload
from viewer.base.selection import Selection, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.store.session import Session

NEAR: Final = 1.1
"""Up to this multiple of theory is near it: stages are never quite equal, and every pass has gaps between kernels."""
TITLE: Final = "Pipeline bubble"
CONDITION: Final = "a pipeline of several stages"
HOW: Final = (
    "time in the pipelined phase in which a stage computes none of its passes / the phase, over all stages; optimizer "
    "and gradient reduction are outside"
)

NO_GPU_WORK: Final = "there is no GPU work"
OF_TRAINING: Final = "the bubble is of training's schedules, and the traces are of inference"


def pipeline_bubble(session: Session) -> Figure:
    """The figure of a job; its range is up to a tenth above theory."""
    if session.card.plan.pp == 1:
        return Figure("pipeline_bubble", TITLE, HOW, condition=CONDITION, applies=False, why="the job has no pipeline")
    found = pipeline(session)
    if isinstance(found, str) and not any(len(gpu_work(item.trace)) for item in session.inputs):
        return Figure("pipeline_bubble", TITLE, HOW, condition=CONDITION, why=NO_GPU_WORK)
    if isinstance(found, str) and workload(session) == "inference":
        return Figure("pipeline_bubble", TITLE, HOW, condition=CONDITION, applies=False, why=OF_TRAINING)
    if isinstance(found, str):
        needs = "plan.pp" if session.card.plan.pp is None and "job card" in found else ""
        return Figure("pipeline_bubble", TITLE, HOW, condition=CONDITION, needs=needs, why="" if needs else found)
    steps = steady(session, found)
    middle = sorted(steps, key=lambda s: (s.share, s.number))[(len(steps) - 1) // 2]
    counted, measured = middle.theory_share, middle.least_share
    theory = counted if counted is not None else measured
    theory_how = "" if theory is None else _theory_words(found, middle, counted is not None)
    notes = [found.layout.partial, "a lower bound: stages are missing or their clocks share no time" * middle.floor]
    if measured is not None and counted is not None:
        notes.append(f"with the measured passes of equal stages {percent(measured, 1)}")
    return Figure(
        "pipeline_bubble",
        TITLE,
        f"{HOW}; the step with the median share; {found.layout.passes_from}",
        value=middle.share,
        theory=theory,
        theory_how=theory_how,
        high=None if theory is None else theory * NEAR,
        condition=CONDITION,
        applies=theory is not None,
        why="" if theory is not None else "theory is not known: needs run.schedule",
        note="; ".join(n for n in notes if n),
        steps=tuple(StepValue(s.number, s.share) for s in steps),
        ranks=_ranks(found, steps),
        evidence=_evidence(found, middle),
    )


def steady(session: Session, found: Pipeline) -> tuple[StepFigures, ...]:
    """The steps without warm-up; all of them where steps are numbered otherwise."""
    numbers = {p.number for p in periods(session).every()}
    return tuple(s for s in found.steps if s.number in numbers) or found.steps


def _theory_words(found: Pipeline, step: StepFigures, counted: bool) -> str:
    name = found.schedule.key
    if not counted:
        return f"schedule {name} with the measured forward and backward passes of equal stages"
    m = max(line.micro_batches for line in step.lines)
    chunks = f", {found.layout.chunks} chunks per stage" if found.layout.chunks > 1 else ""
    return f"schedule {name}: {found.stages} stages, {m} micro-batches{chunks}"


def _ranks(found: Pipeline, steps: tuple[StepFigures, ...]) -> tuple[RankValue, ...]:
    shares: dict[int, list[float]] = {}
    for step in steps:
        for stage in step.stages():
            shares.setdefault(stage.worker, []).append(stage.share)
    workers = found.layout.workers
    return tuple(
        RankValue(-1 if workers[w].group is None else workers[w].group or 0, workers[w].label, sorted(v)[len(v) // 2])
        for w, v in sorted(shares.items())
    )


def _evidence(found: Pipeline, step: StepFigures) -> tuple[Evidence, ...]:
    line = max(step.lines, key=lambda x: (x.share, -x.line))
    worst = max(line.stages, key=lambda s: (s.bubble_ns, -s.worker))
    worker = found.layout.workers[worst.worker]
    text = (
        f"step {step.number}, the stage with the most: {worker.label}, {format_duration(worst.bubble_ns)} of "
        f"{format_duration(line.phase_ns)}"
    )
    return (Evidence(text, Selection(range=TimeRange(line.start_ns, line.end_ns), group=worker.group)),)


def first_stages(session: Session) -> tuple[int, ...] | None:
    """RankGroup ids of the ranks of first stages: they wait for no one's output. None where there is no pipeline."""
    if session.card.plan.pp == 1:
        return None
    found = pipeline(session)
    if isinstance(found, str):
        return None
    return tuple(sorted({w.group for w in found.layout.workers if w.stage == 0 and w.group is not None}))
