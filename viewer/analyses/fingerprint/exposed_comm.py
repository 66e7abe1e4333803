"""Exposed communication: the share of the step in which a GPU communicates and computes nothing."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.collective.exposed import exposed
from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure, over_ranks, over_steps, usual, worst
from viewer.analyses.fingerprint.periods import Period, periods, selection_of
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.store.session import Session

LOW: Final = 0.05
HIGH: Final = 0.15
CONDITION: Final = "several GPUs that communicate in the step"
TITLE: Final = "Exposed communication"
HOW: Final = (
    "time in which a communication kernel runs and no compute kernel does (unions of intervals) / time of the step; "
    "waiting for late ranks and receives of a pipeline are in it"
)


def exposed_communication(session: Session) -> Figure:
    """The figure of a job."""
    found = periods(session)
    base = {"low": LOW, "high": HIGH, "condition": CONDITION}
    every = found.every()
    if not every:
        return Figure("exposed_communication", TITLE, HOW, why="there is no GPU work", **base)  # type: ignore[arg-type]
    values = {
        group: {p.number: p.comm_exposed_ns / p.span_ns for p in of_rank if p.span_ns}
        for group, of_rank in found.of_group.items()
    }
    communicates = any((gpu_work(session.inputs[p.input].trace).paint == Paint.COMM).any() for p in every)
    at = worst(values)
    return Figure(
        "exposed_communication",
        TITLE,
        f"{HOW}; {found.words}",
        value=usual(values),
        applies=communicates,
        why="" if communicates else "the traces hold no communication",
        steps=over_steps(values) if found.by_step else (),
        ranks=over_ranks(session, values),
        evidence=_evidence(session, found.find(*at)) if communicates and at is not None else (),
        **base,  # type: ignore[arg-type]
    )


def _evidence(session: Session, period: Period) -> tuple[Evidence, ...]:
    label = session.groups[period.group].label
    step = f", step {period.number}" if period.step is not None else ""
    text = f"most of it: {label}{step}, {format_duration(period.comm_exposed_ns)} of {format_duration(period.span_ns)}"
    out = [Evidence(text, selection_of(session, period))]
    trace = session.inputs[period.input].trace
    work = gpu_work(trace)
    inside = np.flatnonzero((work.start_ns >= period.start_ns) & (work.start_ns < period.end_ns))
    if len(inside):
        longest = int(inside[np.argmax(exposed(trace)[inside])])
        row, ns = int(work.index[longest]), int(exposed(trace)[longest])
        if ns:
            out.append(
                Evidence(f"its longest piece: {format_duration(ns)} of one operation", SliceRef(period.input, row))
            )
    return tuple(out)
