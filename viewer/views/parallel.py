"""The parallel view: workers by pipeline stage and replica, one step's passes and communication, bubble and theory."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import Final

import numpy as np

from viewer.analyses.pipeline.figures import LineFigures, Pipeline, StepFigures, pipeline
from viewer.analyses.pipeline.model import CommKind, Line, Passes, PassKind, Worker
from viewer.base.pipeline_frame import CELL_NAMES, CellKind, PipelineFrame, PipelineRow
from viewer.base.selection import GroupRef, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.store.session import Session
from viewer.views.figures import shown
from viewer.views.parallel_words import OVER, beyond, note, percent, sentence, stage_told

MANY: Final = 16
"""More workers than these are folded to one row per stage at first."""
MOST_CELLS: Final = 60_000
_COMM_CELL: Final = {
    CommKind.SEND: CellKind.SEND,
    CommKind.RECEIVE: CellKind.RECEIVE,
    CommKind.OTHER: CellKind.OTHER,
}


@dataclass(frozen=True, eq=False)
class ParallelView:
    """What the panel shows.

    ``frame`` is None where there is no pipeline; ``sentence`` then says why. ``steps`` are the step numbers that can be
    chosen, ``step`` the one that is shown; ``folded`` whether replicas share rows, ``can_fold`` whether they could.
    ``span`` is the shown part of session time.
    """

    sentence: str
    tone: str = ""
    note: str = ""
    frame: PipelineFrame | None = None
    steps: tuple[int, ...] = ()
    step: int | None = None
    folded: bool = False
    can_fold: bool = False
    span: TimeRange | None = None


def parallel(session: Session, step: int | None = None, folded: bool | None = None) -> ParallelView:
    """The parallel view of a job.

    Args:
        session: the job.
        step: the number of a step; None for the step with the usual bubble.
        folded: one row per stage instead of one per worker; None for what suits the number of workers.
    """
    found = pipeline(session)
    if isinstance(found, str):
        return ParallelView(f"No pipeline: {found}.", "muted")
    chosen = found.step(step) if step is not None else None
    chosen = chosen or found.usual()
    can_fold = len(found.layout.lines) > 1
    fold = can_fold and (len(found.layout.workers) > MANY if folded is None else folded)
    frame, span = _frame(found, chosen, fold)
    over = beyond(chosen) >= OVER
    return ParallelView(
        sentence(found, chosen),
        "warning" if over and not chosen.floor else "",
        note(found),
        frame,
        tuple(s.number for s in found.steps),
        chosen.number,
        fold,
        can_fold,
        span,
    )


def step_of(session: Session, span: TimeRange | None) -> int | None:
    """The step whose pipelined phase shares most time with a range of session time; None for none."""
    found = pipeline(session)
    if span is None or isinstance(found, str):
        return None
    best, most = None, 0
    for step in found.steps:
        start, end = min(x.start_ns for x in step.lines), max(x.end_ns for x in step.lines)
        common = min(end, span.end_ns) - max(start, span.start_ns)
        if common > most:
            best, most = step.number, common
    return best


@dataclass(frozen=True, slots=True)
class _Placed:
    """A row and whose passes it shows."""

    row: PipelineRow
    worker: int


def _frame(found: Pipeline, step: StepFigures, folded: bool) -> tuple[PipelineFrame, TimeRange]:
    lines = {x.line: x for x in step.lines}
    if folded:
        shown_line = sorted(step.lines, key=lambda x: (x.share, x.line))[(len(step.lines) - 1) // 2]
        chosen = [found.layout.lines[shown_line.line]]
        origin, last = shown_line.start_ns, shown_line.end_ns
    else:
        chosen = list(found.layout.lines)
        origin, last = min(x.start_ns for x in step.lines), max(x.end_ns for x in step.lines)
    margin = (last - origin) // 50
    begin, end = origin - margin, last + margin
    placed: list[_Placed] = []
    for line in chosen:
        for w in line.workers:
            worker = found.layout.workers[w]
            row = (
                _stage_row(found, step, worker, line, begin)
                if folded
                else _worker_row(found, step, worker, line, lines.get(line.index), begin)
            )
            placed.append(_Placed(row, w))
    rows = tuple(p.row for p in placed)
    summary = f"step {step.number}, {len(placed)} rows"
    return _filled(found, step, placed, rows, summary, origin, TimeRange(begin, end)), TimeRange(begin, end)


def _worker_row(
    found: Pipeline, step: StepFigures, worker: Worker, line: Line, figures: LineFigures | None, begin: int
) -> PipelineRow:
    many = len(found.layout.lines) > 1
    heading = line.label if many and worker.stage == 0 else ""
    stage = next((s for s in figures.stages if s.worker == worker.index), None) if figures else None
    label, detail = f"stage {worker.stage}", shown(worker.label, 40)
    if stage is None or figures is None:
        why = "its trace is not open" if worker.group is None else f"no passes in step {step.number}"
        return PipelineRow(label, detail, "", "", f"{label}, {detail}: {why}", _target(worker), True,
                           worker.stage == 0, heading)  # fmt: skip
    phase = (float(figures.start_ns - begin), float(figures.end_ns - begin))
    return PipelineRow(
        label,
        detail,
        ("≥ " if figures.floor else "") + percent(stage.share),
        percent(figures.least_share),
        stage_told(f"{label}, {detail}", stage, figures),
        _target(worker),
        False,
        worker.stage == 0,
        heading,
        phase,
        figures.least_share is not None and stage.share - figures.least_share >= OVER,
    )


def _stage_row(found: Pipeline, step: StepFigures, worker: Worker, line: Line, begin: int) -> PipelineRow:
    """One stage for all its replicas: the passes of one of them, the figures of all."""
    rows = [(s, x) for x in step.lines for s in x.stages if found.layout.workers[s.worker].stage == worker.stage]
    label = f"stage {worker.stage}"
    own = next((x for x in step.lines if x.line == line.index), None)
    if not rows or own is None:
        return PipelineRow(label, "", "", "", f"{label}: no trace of it is open", None, True)
    shares = sorted(s.share for s, _ in rows)
    middle = median_low(shares)
    stage, figures = next((s, x) for s, x in rows if s.share == middle)
    floor = any(x.floor for _, x in rows)
    own_label = found.layout.workers[stage.worker].label
    detail = f"{len(rows)} replicas"
    spread = f"{percent(shares[0])} to {percent(shares[-1])} over {len(rows)} replicas"
    return PipelineRow(
        label,
        detail,
        ("≥ " if floor else "") + percent(middle),
        percent(figures.least_share),
        f"{label}: bubble {spread}; shown: {worker.label}\n" + stage_told(f"median: {own_label}", stage, figures),
        _target(worker),
        False,
        False,
        "",
        (float(own.start_ns - begin), float(own.end_ns - begin)),
        figures.least_share is not None and middle - figures.least_share >= OVER,
    )


def _target(worker: Worker) -> GroupRef | None:
    return None if worker.group is None else GroupRef(worker.group)


def _filled(
    found: Pipeline,
    step: StepFigures,
    placed: list[_Placed],
    rows: tuple[PipelineRow, ...],
    summary: str,
    origin: int,
    span: TimeRange,
) -> PipelineFrame:
    """The frame with the cells of the passes that its rows show; ``origin`` is where the phase begins."""
    begin, end = span.start_ns, span.end_ns
    every: list[tuple[int, Cell, str, int]] = []
    for number, place in enumerate(placed):
        passes = found.layout.passes.get((place.worker, step.number))
        if passes is None:
            continue
        cells = _pass_cells(passes, found.layout.chunks > 1)
        if len(every) + len(cells) < MOST_CELLS:  # then what is drawn below the passes is left out
            cells += _comm_cells(passes, begin, end)
        head = f"{place.row.label}, {place.row.detail}"
        every += [(number, cell, head, passes.input) for cell in sorted(cells)]
    return PipelineFrame(
        rows=rows,
        row=np.array([n for n, *_ in every], np.int64),
        start=np.array([c[0] - begin for _, c, *_ in every], np.float64),
        end=np.array([c[1] - begin for _, c, *_ in every], np.float64),
        kind=np.array([c[2] for _, c, *_ in every], np.uint8),
        text=tuple(c[3] for _, c, *_ in every),
        told=tuple(f"{head}\n{c[4]}" for _, c, head, _ in every),
        refs=tuple(SliceRef(number, c[5]) for _, c, _, number in every),
        span_ns=float(end - begin),
        origin_ns=begin,
        zero_ns=float(origin - begin),
        summary=summary,
    )


Cell = tuple[int, int, int, str, str, int]
"""(start, end, kind, text, tip, row of slices)."""


def _pass_cells(p: Passes, chunks: bool) -> list[Cell]:
    out: list[Cell] = []
    columns = zip(
        *(c.tolist() for c in (p.kind, p.micro, p.chunk, p.start, p.end, p.length, p.busy, p.row)), strict=True
    )
    for kind, micro, chunk, start, end, length, busy, row in columns:
        name = PassKind(kind).text
        what = f"{name}, micro-batch {micro}" if micro >= 0 else name
        if chunks and chunk >= 0:
            what += f", chunk {chunk}"
        tip = f"{what}: {format_duration(length)}"
        if busy < length:
            tip += f", {format_duration(busy)} of it with compute"
        out.append((start, end, kind, str(micro) if micro >= 0 else "", tip, row))
    return out


def _comm_cells(p: Passes, begin: int, end: int) -> list[Cell]:
    out: list[Cell] = []
    c = p.comm
    for start, stop, kind, row in zip(*(x.tolist() for x in (c.start, c.end, c.kind, c.row)), strict=True):
        if stop > begin and start < end:
            cell = _COMM_CELL[CommKind(kind)]
            tip = f"{CELL_NAMES[cell]}: {format_duration(stop - start)}"
            out.append((start, stop, int(cell), "", tip, row))
    return out
