"""The late rank in one sentence, or why it cannot be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analyses.collective.causes import cause_of, late_steps
from viewer.analyses.collective.kinds import POINT_TO_POINT
from viewer.analyses.collective.lateness import Lateness, lateness
from viewer.analyses.collective.matching import everything, matches
from viewer.analyses.collective.persistence import ONCE, Persistence, persistence
from viewer.analyses.collective.rank_steps import rank_steps
from viewer.analyses.collective.waits import waits
from viewer.analyses.steps import step_table
from viewer.base.ids import ABSENT
from viewer.base.time import format_duration
from viewer.base.units import format_share
from viewer.store.session import Session
from viewer.views.figures import shown

ESTIMATE = "An estimate: the steps are replayed with each rank as fast as the median of its role."


@dataclass(frozen=True, slots=True)
class Verdict:
    """``kind`` is "straggler" (``group`` is the worst one), "none", or "unknown" (it cannot be told)."""

    kind: str
    text: str
    group: int | None = None


def verdict(session: Session) -> Verdict:
    """What can be said of late ranks. Built once per session."""
    return session.clocked_memo("late_verdict", lambda: _build(session))


def _build(session: Session) -> Verdict:
    if len(session.groups) < 2:
        return Verdict("unknown", "Late ranks cannot be told: one rank is open. Open the files of the others as well.")
    if session.clock_method != "collectives":
        return Verdict(
            "unknown",
            "Late ranks cannot be told: the clocks of the ranks are not aligned by their collectives, so nothing says "
            "who arrived when.",
        )
    found = lateness(session)
    if found is None or not (~np.isnan(found.own)).any():
        marked = any(step_table(i.trace).steps for i in session.inputs)
        why = "no step holds operations that several ranks share" if marked else "no steps are marked in the traces"
        return Verdict("unknown", f"Late ranks cannot be told: {why}.")
    if found.steps < 2:
        return Verdict("unknown", _one_step(session, found))
    named = [r for r in found.ranking() if found.straggler[found.ranks.index(r)]]
    if named:
        others = [f"{shown(session.groups[r].label, 40)} (by {_own(found, r)} per step)" for r in named[1:4]]
        also = f". Late as well: {', '.join(others)}" if others else ""
        return Verdict("straggler", f"{late_sentence(session, found, named[0])}{also}.", named[0])
    if _sends_unnamed(session):
        return Verdict(
            "unknown",
            "Late ranks cannot be told: the files do not say between which ranks sends and receives run, so nothing "
            "says who waited for whom along the pipeline.",
        )
    return Verdict("none", _nobody(session, found))


def _sends_unnamed(session: Session) -> bool:
    """Whether most sends and receives name no other rank: lateness that passes through them is not seen."""
    every = everything(session)
    point = np.isin(every.kind, [int(k) for k in POINT_TO_POINT])
    return bool(point.any()) and float((every.peer[point] == ABSENT).mean()) > 0.5


def late_sentence(session: Session, found: Lateness, group: int) -> str:
    """As in: rank 5 is late by 11.3 ms per step (8.7 %), others wait 43.5 ms for it: its kernels are 18 % slower."""
    own, _, caused = found.of(group) or (0, 0, 0)
    share = f" ({format_share(own, found.step_ns)})" if found.step_ns else ""
    text = f"{shown(session.groups[group].label, 40)} is late by {format_duration(own, 1)} per step{share}"
    if caused > 0:
        text += f", others wait {format_duration(caused, 1)} for it"
    cause = cause_of(session, group)
    return f"{text}: {shown(cause.words)}" if cause is not None else text


def pattern(found: Lateness, group: int) -> Persistence:
    """How the late steps of a rank lie."""
    i = found.ranks.index(group)
    return persistence(found.by_itself[i], float(found.least[i]))


def step_numbers(session: Session, group: int) -> list[int]:
    """The numbers of a rank's steps as they are shown."""
    return [step.number for step in rank_steps(session, session.groups[group])]


def _own(found: Lateness, group: int) -> str:
    return format_duration((found.of(group) or (0, 0, 0))[0], 1)


def _nobody(session: Session, found: Lateness) -> str:
    late = [r for r in found.ranking() if late_steps(found, r)]
    if not late:
        return "No straggler: no rank is late by its own doing for 3 % of a step or more."
    once = [r for r in late if pattern(found, r).kind == ONCE]
    if len(late) == 1 or once == late:
        told = [
            f"{shown(session.groups[r].label, 40)} was late {pattern(found, r).words(step_numbers(session, r))}"
            for r in late[:3]
        ]
        return f"No straggler, but {'; '.join(told)}."
    count = f"{len(late)} ranks were late in some of the {found.steps} steps"
    return f"No straggler: waits rotate among ranks (jitter); {count}."


def _one_step(session: Session, found: Lateness) -> str:
    text = "One step only: a straggler cannot be told from jitter."
    told = waits(session)
    group = matches(session).node[told.last[told.waits & told.complete]]
    if len(group) >= 20:
        counts = np.bincount(group)
        top = int(counts.argmax())
        share = format_share(int(counts[top]), len(group))
        rotate = "Waits rotate among ranks: the" if counts[top] < len(group) / 2 else "The"
        name = shown(session.groups[top].label, 40)
        text += f" {rotate} last to arrive is most often {name}, in {share} of operations."
    own = np.nan_to_num(found.own[:, 0])
    most = int(own.argmax())
    if own[most] > 0:
        step = f" ({format_share(int(own[most]), found.step_ns)})" if found.step_ns else ""
        name = shown(session.groups[found.ranks[most]].label, 40)
        text += f" Most late by its own doing: {name}, by {format_duration(int(own[most]), 1)}{step}."
    return text
