"""The report's ``pipeline``: stages, schedule, bubble per step and worker against theory, and its parts."""

from __future__ import annotations

from typing import Any

from viewer.analyses.pipeline.figures import LineFigures, Pipeline, StageFigures, StepFigures, pipeline
from viewer.analyses.pipeline.peers import worker_rows
from viewer.analyses.pipeline.taken_apart import PARTS, Parts
from viewer.store.session import Session

Json = dict[str, Any]

HOW = (
    "phase: first begin of a forward or backward pass to the last end of one, over the stages of one pipeline; bubble: "
    "the phase minus the time in which a compute kernel of the stage's passes runs (a span counts as a whole); "
    "parts by replay of the passes in their order, they add up to the bubble exactly"
)


def pipeline_part(session: Session) -> Json:
    """``pipeline`` of the report; ``problem`` says why where there are no figures.

    ``theory_share`` is by counting ((p-1)/(m+p-1), interleaved (p-1)/(v m+p-1)), ``least_share`` with the measured F, B
    and W of equal stages. ``floor`` marks lower bounds. Phases are ns of session time.
    """
    found = pipeline(session)
    if isinstance(found, str):
        return {"problem": found, "stages": None, "schedule": None, "steps": [], "workers": []}
    layout = found.layout
    return {
        "problem": None,
        "how": HOW,
        "stages": found.stages,
        "chunks": layout.chunks,
        "stages_from": layout.stages_from,
        "passes_from": layout.passes_from,
        "timed": layout.timed,
        "partial": layout.partial or None,
        "unsure_ns": found.unsure_ns,
        "schedule": {"name": found.schedule.key, "source": found.schedule.source or None, "sure": found.schedule.sure},
        "steps": [_step(found, step) for step in found.steps],
        "workers": _workers(session, found),
    }


def with_pipeline(session: Session, ranks: list[Json]) -> list[Json]:
    """The same rows of the report's ``ranks``, each of their steps with a key ``pipeline``: its own bubble, or null."""
    found = pipeline(session)
    told: dict[tuple[int, int], Json] = {}
    if not isinstance(found, str):
        for step in found.steps:
            for line in step.lines:
                for stage in line.stages:
                    own = found.layout.passes[stage.worker, step.number]
                    if found.layout.workers[stage.worker].rank is not None:
                        told[own.input, step.number] = _stage(found, line, stage)
    for rank in ranks:
        for row in rank["steps"]:
            row["pipeline"] = told.get((rank["input"], row["index"]))
    return ranks


def _workers(session: Session, found: Pipeline) -> list[Json]:
    rows = {r.worker: r for r in worker_rows(found)}
    out = []
    for worker in found.layout.workers:
        row = rows.get(worker.index)
        out.append(
            {
                "label": worker.label,
                "rank": worker.rank,
                "stage": worker.stage,
                "pipeline": worker.line,
                "opened": worker.group is not None,
                "inputs": [] if worker.group is None else list(session.groups[worker.group].inputs),
                "compute_ns_per_step": row.compute_ns if row else None,
                "beyond_peers_ns_per_step": row.beyond_ns if row else None,
                "late": row.late if row else None,
            }
        )
    return out


def _step(found: Pipeline, step: StepFigures) -> Json:
    return {
        "index": step.number,
        "bubble_ns": step.bubble_ns,
        "phase_ns": step.phase_ns,
        "share": _share(step.share),
        "theory_share": _share(step.theory_share),
        "least_share": _share(step.least_share),
        "floor": step.floor,
        "parts": _parts(step.parts()),
        "pipelines": [
            {
                "pipeline": line.line,
                "start_ns": line.start_ns,
                "end_ns": line.end_ns,
                "micro_batches": line.micro_batches,
                "share": _share(line.share),
                "theory_share": _share(line.theory_share),
                "theory_ns": line.theory_ns,
                "floor": line.floor,
                "slowest_stage": line.slowest,
                "uneven_ns": line.uneven_ns,
                "stage_slowdown": [_share(x) for x in line.slowdown] or None,
                "problem": line.problem or None,
                "stages": [{"worker": s.worker} | _stage(found, line, s) for s in line.stages],
            }
            for line in step.lines
        ],
    }


def _stage(found: Pipeline, line: LineFigures, stage: StageFigures) -> Json:
    return {
        "stage": found.layout.workers[stage.worker].stage,
        "micro_batches": stage.micro_batches,
        "bubble_ns": stage.bubble_ns,
        "phase_ns": line.phase_ns,
        "share": _share(stage.share),
        "compute_ns": stage.compute_ns,
        "forward_ns": stage.forward_ns,
        "backward_ns": stage.backward_ns,
        "weight_ns": stage.weight_ns,
        "floor": line.floor,
        "parts": _parts(stage.parts),
    }


def _parts(parts: Parts | None) -> Json | None:
    return None if parts is None else {name: getattr(parts, name) for name in PARTS}


def _share(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
