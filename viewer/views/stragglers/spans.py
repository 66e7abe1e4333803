"""Who is late in a file that holds the passes of many workers: their compute against the others of their stage."""

from __future__ import annotations

from statistics import median

from viewer.analyses.pipeline.figures import Pipeline, pipeline
from viewer.analyses.pipeline.peers import LATE, OUTSIDE, WorkerRow, worker_rows
from viewer.analyses.pipeline.span_passes import has_pass_spans
from viewer.base.frames import Jump, TableFrame
from viewer.base.selection import Selection, SliceRef
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.store.session import Session
from viewer.views.figures import NONE, shown
from viewer.views.stragglers.frame import StragglersFrame

HEADERS = ("worker", "compute per step", "beyond its stage", "of the phase", "late steps", "late", "stage alone")
HOW = (
    "The worker. A click jumps to its longest pass in the step in which it computes most beyond its stage.",
    "Time in forward and backward passes per step, mean.",
    "Beyond the median of the other workers of its stage (of two the faster one), mean per step. The table is ordered "
    "by it.",
    "The same as a share of the pipelined phase.",
    f"Steps in which it is at least {percent(LATE)} of the phase.",
    f"yes: in most of at least two steps, and {OUTSIDE:g} times the spread of its peers.",
    "The phase with this worker's stage as it is and all others equal, against the phase of equal stages: a median of "
    "replays. Above 1 the stage holds the pipeline up, whoever runs it.",
)
UNEVEN = 1.03
"""A stage that alone makes the phase longer by this factor is named."""


def span_stragglers(session: Session) -> StragglersFrame | None:
    """The verdict and the ranking for such a file; None for other jobs."""
    if not any(has_pass_spans(i.trace) for i in session.inputs):
        return None
    found = pipeline(session)
    if isinstance(found, str):
        return StragglersFrame(f"Late workers cannot be told: {found}.", "", "", None, (), None)
    rows = worker_rows(found)
    alone = _alone(found)
    late = [r for r in rows if r.late]
    return StragglersFrame(
        _verdict(found, rows, late, alone),
        "warning" if late else "",
        "Compared are passes as the trainer timed them: what made one longer is not in the file.",
        *_table(session, found, rows, alone),
        None,
    )


def _alone(found: Pipeline) -> dict[int, float]:
    """Per stage the median over steps and pipelines of what it alone does to the phase."""
    seen: dict[int, list[float]] = {}
    for step in found.steps:
        for line in step.lines:
            for stage, factor in enumerate(line.slowdown):
                seen.setdefault(stage, []).append(factor)
    return {stage: median(values) for stage, values in seen.items()}


def _verdict(found: Pipeline, rows: list[WorkerRow], late: list[WorkerRow], alone: dict[int, float]) -> str:
    def name(row: WorkerRow) -> str:
        return shown(found.layout.workers[row.worker].label, 40)

    compared = [r for r in rows if r.beyond_ns is not None]
    if not compared:
        text = "Late workers cannot be told: every stage has one worker only, so there are no peers."
    elif late:
        first = late[0]
        text = (
            f"{name(first)} is late: it computes {format_duration(first.beyond_ns, 1)} per step "
            f"({percent(first.share or 0, 1)} of the phase) longer than the others of its stage."
        )
        if len(late) > 1:
            text += f" Late as well: {', '.join(name(r) for r in late[1:5])}."
    else:
        most = compared[0]
        text = (
            f"No worker is late: the most that one computes beyond the others of its stage is "
            f"{percent(most.share or 0, 1)} of the phase ({name(most)})."
        )
    slow = max(alone, key=lambda s: alone[s], default=None)
    if slow is not None and alone[slow] >= UNEVEN:
        text += f" Stage {slow} makes the phase {100 * (alone[slow] - 1):.0f} % longer than equal stages would: "
        text += "uneven work, see the Parallel view."
    return text


def _table(
    session: Session, found: Pipeline, rows: list[WorkerRow], alone: dict[int, float]
) -> tuple[TableFrame, tuple[Selection | None, ...]]:
    texts: list[tuple[str, ...]] = []
    keys: list[tuple[object, ...]] = []
    targets: list[Selection | None] = []
    for r in rows:
        worker = found.layout.workers[r.worker]
        factor = alone.get(worker.stage)
        label = shown(worker.label, 40)
        texts.append(
            (
                label,
                format_duration(r.compute_ns, 1),
                NONE if r.beyond_ns is None else format_duration(r.beyond_ns, 1),
                NONE if r.share is None else percent(r.share, 1),
                f"{r.late_steps:,} of {r.steps:,}",
                "yes" if r.late else "no",
                NONE if factor is None else f"{factor:.3f}",
            )
        )
        keys.append((label, r.compute_ns, r.beyond_ns, r.share, r.late_steps, r.late, factor))
        targets.append(_target(session, found, r.worker))
    jumps: list[Jump] = [None if t is None else t.slice for t in targets]
    return TableFrame(HEADERS, texts, keys, jumps, HOW), tuple(targets)


def _target(session: Session, found: Pipeline, worker: int) -> Selection | None:
    mine = [p for (w, _), p in found.layout.passes.items() if w == worker and len(p)]
    if not mine:
        return None
    longest = max(mine, key=lambda p: p.compute_ns)
    row = int(longest.row[int(longest.length.argmax())])
    return Selection(slice=SliceRef(longest.input, row), group=session.group_of(longest.input).id)
