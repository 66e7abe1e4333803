"""Step gap: the share of the step in which nothing of the next one computes yet, for want of data mostly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.bubble import first_stages
from viewer.analyses.fingerprint.figure import Figure, over_ranks, over_steps, usual, worst
from viewer.analyses.fingerprint.periods import Period, periods
from viewer.analyses.gpu_work import gpu_work, unions
from viewer.base.ids import Paint
from viewer.base.selection import Selection, TimeRange
from viewer.base.time import format_duration
from viewer.jit.intervals import clip, total
from viewer.store.session import Session

HIGH: Final = 0.01
CONDITION: Final = "at least two steps"
TITLE: Final = "Step gap"
HOW: Final = (
    "from the last end of compute of a step to the first start of compute of the next, 0 where they overlap, without "
    "the time in which communication runs / time of the step"
)


def step_gap(session: Session) -> Figure:
    """The figure of a job."""
    found = periods(session)
    base = {"theory": 0.0, "theory_how": "nothing keeps the next step from being queued in time", "high": HIGH}
    values: dict[int, dict[int, float]] = {}
    first = first_stages(session)
    of_stage = "" if first is None else "; of the ranks of first stages, as later ones wait for their first input"
    if found.by_step:
        for group, of_rank in found.of_group.items():
            if first is not None and group not in first:
                continue
            for p in of_rank:
                gap = gap_of(session, p)
                if gap is not None and p.length_ns:
                    values.setdefault(group, {})[p.number] = min(1.0, gap.length_ns / p.length_ns)
    at = worst(values)
    if at is None:
        why = "there is no GPU work" if not found.every() else "the traces hold fewer than two steps"
        return Figure("step_gap", TITLE, HOW, condition=CONDITION, why=why, **base)  # type: ignore[arg-type]
    period = found.find(*at)
    longest = gap_of(session, period)
    assert longest is not None
    label = session.groups[period.group].label
    text = f"the longest: {label}, before step {period.number}, {format_duration(longest.length_ns)}"
    to = session.inputs[period.input].clock.to_session
    where = Selection(range=TimeRange(to(longest.start_ns), to(longest.end_ns)), group=period.group)
    return Figure(
        "step_gap",
        TITLE,
        f"{HOW}; {found.words}{of_stage}",
        value=usual(values),
        condition=CONDITION,
        applies=True,
        steps=over_steps(values),
        ranks=over_ranks(session, values),
        evidence=(Evidence(text, where),),
        **base,  # type: ignore[arg-type]
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """From the last compute of a step to the first of the next, raw ns; ``length_ns`` is without communication."""

    start_ns: int
    end_ns: int
    length_ns: int


def gap_of(session: Session, period: Period) -> Gap | None:
    """The gap in front of a step; None for the first one, and without compute."""
    step = period.step
    if step is None or step.gap_before_ns is None:
        return None
    trace = session.inputs[period.input].trace
    work = gpu_work(trace)
    at = work.positions(step.rows)
    at = at[work.paint[at] == Paint.COMPUTE]
    first = int(at[np.argmin(work.start_ns[at])])
    end = int(work.start_ns[first])
    start = end - step.gap_before_ns
    communicating = total(*clip(*unions(trace, int(work.device[first])).comm, start, end)) if end > start else 0
    return Gap(start, end, end - start - communicating)
