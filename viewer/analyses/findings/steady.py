"""The steps that findings speak of: warm-up is set apart, and savings are per step of what is left."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from viewer.analyses.collective.rank_steps import RankStep, rank_steps
from viewer.analyses.robust import deviation
from viewer.store.session import Session

SLOW: Final = 1.25
"""A first step this much longer than the median of the later ones is warm-up: compilation, allocation and the choice of
algorithms last for steps, while the steps of a steady job differ by some percent."""
MOST: Final = 3
"""No more than a third of the steps (1 of MOST) are warm-up: a job that never gets steady is no warm-up."""


@dataclass(frozen=True, slots=True)
class SteadySteps:
    """The steps of a job without its warm-up.

    Attributes:
        step_ns: median length over ranks and steady steps, ns; None without steps.
        first: number of leading steps of each rank that are warm-up.
        count: number of steps per rank, the most of all ranks.
        warm_up_ns: median length of the warm-up steps, None without.
        spread_ns: robust spread (1.4826 x the median absolute deviation) of the steady steps' lengths; None below 3.
        ranks: number of ranks that have steps.
    """

    step_ns: int | None
    first: int
    count: int
    warm_up_ns: int | None
    spread_ns: int | None
    ranks: int


def length_of(step: RankStep) -> int:
    """From the end of the step before to its own end on the GPU, ns: what a step takes, its gap in front included."""
    return step.end_ns - step.start_ns


def steady_steps(session: Session) -> SteadySteps:
    """The steps that findings count. Built once per session."""
    return session.clocked_memo("steady_steps", lambda: _build(session))


def steady_of(session: Session, group: int) -> list[RankStep]:
    """The steps of a rank (RankGroup id) without warm-up."""
    return rank_steps(session, session.groups[group])[steady_steps(session).first :]


def _build(session: Session) -> SteadySteps:
    lengths = [[length_of(s) for s in rank_steps(session, g)] for g in session.groups]
    lengths = [x for x in lengths if x]
    if not lengths:
        return SteadySteps(None, 0, 0, None, None, 0)
    count = max(len(x) for x in lengths)
    # Ranks of a job run in step: the median over ranks is the step's length, whoever was late in it.
    per_step = [float(median([x[k] for x in lengths if k < len(x)])) for k in range(count)]
    first = 0
    # The first recorded step has no end of a step before it: its length may be too small, never too large.
    while first < count // MOST and per_step[first] > SLOW * median(per_step[first + 1 :]):
        first += 1
    rest = np.array([n for x in lengths for n in x[first:]], np.int64)
    steady = np.array(per_step[first:])
    spread = deviation(steady) if len(steady) >= 3 else None
    return SteadySteps(
        int(np.median(rest)) if len(rest) else int(np.median(steady)),
        first,
        count,
        round(median(per_step[:first])) if first else None,
        None if spread is None else round(spread),
        len(lengths),
    )
