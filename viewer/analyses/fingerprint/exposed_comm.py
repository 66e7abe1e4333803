"""Exposed communication: the share of the step in which a GPU communicates and computes nothing."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.collective.communication import Figures, communication, total
from viewer.analyses.collective.exposed import exposed
from viewer.analyses.collective.exposed_parts import Part
from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure, over_ranks, over_steps, usual, worst
from viewer.analyses.fingerprint.periods import Period, periods, selection_of
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.pipeline.figures import pipeline
from viewer.analyses.workload import workload
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.store.session import Session

LOW: Final = 0.05
HIGH: Final = 0.15
CONDITION: Final = "training on several GPUs that communicate in the step"
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
    serves = workload(session) == "inference"
    why = "the traces hold no communication" if not communicates else "the range is one of training" if serves else ""
    at = worst(values)
    theory, theory_how, note = _theory(session, sum(p.span_ns for p in every))
    return Figure(
        "exposed_communication",
        TITLE,
        f"{HOW}; {found.words}",
        value=usual(values),
        theory=theory,
        theory_how=theory_how,
        note=note,
        applies=communicates and not serves,
        why=why,
        steps=over_steps(values) if found.by_step else (),
        ranks=over_ranks(session, values),
        evidence=_evidence(session, found.find(*at)) if communicates and at is not None else (),
        **base,  # type: ignore[arg-type]
    )


def split_of(session: Session) -> Figures | None:
    """Exposed communication of the periods taken apart, device-ns; None where they are no one window of each input.

    Built once per card.
    """
    return session.card_memo("fingerprint split", lambda: _split(session))


def _split(session: Session) -> Figures | None:
    windows: dict[int, tuple[int, int]] = {}
    exposed_ns: dict[int, int] = {}
    for p in periods(session).every():
        low, high = windows.get(p.input, (p.start_ns, p.end_ns))
        windows[p.input] = min(low, p.start_ns), max(high, p.end_ns)
        exposed_ns[p.input] = exposed_ns.get(p.input, 0) + p.comm_exposed_ns
    if not windows or len(session.inputs) != len(windows):
        return None
    splits = communication(session, windows)
    for index, ns in exposed_ns.items():
        mine = splits[index].figures
        if mine is None or mine.exposed_ns != ns:
            return None  # steps overlap, or a device serves several ranks
    return total(splits)


def _theory(session: Session, span_ns: int) -> tuple[float | None, str, str]:
    """(theory, what it is, a note on what the exposed time is made of)."""
    split = split_of(session)
    if split is None or not split.exposed_ns or not span_ns:
        return None, "", ""
    parts = []
    if split.has_wait:
        collective = split.wait_ns - split.parts[Part.PIPELINE_WAIT]
        parts += [(collective, "waiting for ranks"), (split.parts[Part.PIPELINE_WAIT], "receives of a pipeline")]
    if split.has_rate:
        parts += [
            (split.parts[Part.RATE], "slower than the baseline"),
            (split.parts[Part.VOLUME], "bytes beyond the plan"),
        ]
    told = ", ".join(f"{percent(ns / span_ns, 1)} {words}" for ns, words in parts if ns)
    note = f"of the step: {told}" if told else ""
    if not (split.has_rate and split.has_wait):
        return None, "", note
    if session.card.plan.pp not in (None, 1) or not isinstance(pipeline(session), str):
        return None, "", f"{note}; stages of a pipeline wait for each other where it drains, so theory is not known"
    left = split.unhidden_ns - split.parts[Part.SERIALISED]
    how = (
        "transfers at the baseline's rate that nothing could have hidden: no waiting for ranks, no bytes beyond the "
        "plan, nothing serialised"
    )
    return left / span_ns, how, note


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
