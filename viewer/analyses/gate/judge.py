"""Whether a run is worse than those before it: one figure against its history.

The noise of a shared machine has a bulk and a tail: most runs lie within a per cent or so, a few are far off because
somebody else was busy. So one run alone counts only when it is beyond everything that was seen; otherwise two or three
runs must agree. All limits are relative to the median of the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from viewer.analyses.robust import F64, spread

Verdict = Literal["pass", "regression", "improvement", "not enough history"]
Direction = Literal["lower", "higher"]
"""What is better."""

LEAST_HISTORY: Final = 8
WINDOW: Final = 60
"""Runs of the moving baseline."""
TAIL_WINDOW: Final = 240
"""Runs among which the largest deviation is looked for: outliers are rarer than the bulk."""
FLOOR: Final = 0.0005
"""No machine repeats itself better than this share: a band is never narrower."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When runs count as changed, in spreads of the baseline's noise and as least relative effects.

    A single run counts beyond ``one`` spreads, ``tail`` times the largest deviation that was seen, and ``alone`` (a
    share; twice it while fewer than ``window`` runs are known). Two runs count when each is beyond ``two`` spreads;
    three when their deviations in spreads, counted as :func:`_counted` does, add up to ``three`` and each is beyond
    ``each``. ``least`` is the effect (share of the baseline) below which nothing counts.
    """

    one: float = 8.0
    two: float = 2.5
    three: float = 4.9
    each: float = 0.4
    least: float = 0.01
    tail: float = 2.5
    alone: float = 0.05
    window: int = WINDOW
    history: int = LEAST_HISTORY


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one figure of a run says.

    Attributes:
        verdict: the answer.
        value: the run's.
        baseline: the median of the baseline; None without enough history.
        low, high: the band of single runs' noise (baseline -+ ``two`` spreads or ``least``), in the figure's unit.
        change: (level - baseline) / baseline, where level is what was judged: the run, or the median of the last runs.
        spread: relative standard deviation of the baseline's bulk.
        runs: how many runs the baseline has.
        agreeing: how many of the last runs (1 to 3, this one included) the verdict rests on; 0 for none.
        suspect: this run alone is outside the band and nothing confirms it yet: run the load again.
        reason: one sentence.
    """

    verdict: Verdict
    value: float
    baseline: float | None
    low: float | None
    high: float | None
    change: float | None
    spread: float | None
    runs: int
    agreeing: int
    suspect: bool
    reason: str


def judge(history: Sequence[float], value: float, better: Direction, limits: Limits | None = None) -> Judgement:
    """Judge a run's figure.

    Args:
        history: the figure of earlier runs of the same load on the same kind of machine, oldest first; runs that were
            judged as regressions are among them only when they are the last ones (nothing was mended since).
        value: the run's.
        better: whether less or more is better.
        limits: when it counts as changed.

    Returns:
        A :class:`Judgement`. Changes are judged as logarithms of ratios where all values are positive, else as
        differences over the baseline.
    """
    limits = limits or Limits()
    series = np.array([*history, value], dtype=np.float64)
    recent = min(3, max(1, len(series) - limits.history))
    before = series[: len(series) - recent]
    base = before[-limits.window :]
    if len(base) < limits.history:
        return _unjudged(value, len(base), limits)
    centre = float(np.median(base))
    if centre == 0.0:
        return _against_zero(base, value, better)
    sign = 1.0 if better == "lower" else -1.0
    deviations = sign * _relative(base, centre)
    last = sign * _relative(series[-recent:], centre)
    scale = max(spread(deviations), FLOOR) * (1.0 + 2.0 / len(base))
    tail = sign * _relative(before[-TAIL_WINDOW:], centre)
    worse = _agreeing(last, tail, scale, limits)
    improved = _agreeing(-last, -tail, scale, limits)
    edge = max(limits.two * scale, limits.least)
    low, high = sorted((_back(centre, -edge), _back(centre, edge)))
    agreeing = worse or improved
    level = float(np.median(last[-max(1, agreeing) :]))
    verdict: Verdict = "regression" if worse else "improvement" if improved else "pass"
    change = sign * level
    change = math.expm1(change) if centre > 0.0 and (series > 0.0).all() else change
    suspect = verdict == "pass" and float(last[-1]) > edge
    return Judgement(
        verdict,
        value,
        centre,
        low,
        high,
        change,
        scale,
        len(base),
        agreeing,
        suspect,
        _words(verdict, agreeing, suspect),
    )


def _relative(values: F64, centre: float) -> F64:
    """Deviations from the centre: logarithms where they exist, else shares of the centre's size."""
    if centre > 0.0 and (values > 0.0).all():
        return np.asarray(np.log(values / centre))
    return np.asarray((values - centre) / abs(centre))


def _back(centre: float, deviation: float) -> float:
    return centre * math.exp(deviation) if centre > 0.0 else centre + abs(centre) * deviation


def _agreeing(last: F64, tail: F64, scale: float, limits: Limits) -> int:
    """On how many of the last runs a change for the worse (positive) rests; 0 for no change."""
    newest = float(last[-1])
    alone = limits.alone * (2.0 if len(tail) < limits.window else 1.0)
    if newest > max(limits.one * scale, limits.tail * float(tail.max()), alone):
        return 1
    scores = last / scale
    if len(last) >= 2 and float(scores[-2:].min()) > limits.two and float(last[-2:].min()) > limits.least:
        return 2
    counted = _counted(scores)
    if len(last) < 3 or float(counted.sum()) <= limits.three or float(scores.min()) <= limits.each:
        return 0
    return 3 if float(np.median(last)) > limits.least else 0


def _counted(scores: F64) -> F64:
    """How much a deviation counts beside others: up to 3 spreads as it is, and less where it is far out.

    What is far out alone is an outlier rather than a small change of level; a large change shows in two runs.
    """
    return np.asarray(np.minimum(np.minimum(scores, 3.0), np.maximum(6.5 - scores, 1.0)))


def _unjudged(value: float, runs: int, limits: Limits) -> Judgement:
    reason = f"{runs} earlier {'run' if runs == 1 else 'runs'}; a verdict needs {limits.history}"
    return Judgement("not enough history", value, None, None, None, None, None, runs, 0, False, reason)


def _against_zero(base: F64, value: float, better: Direction) -> Judgement:
    """A baseline of nothing at all: what is no longer nothing counts, once it is beyond every earlier run."""
    most, least = float(base.max()), float(base.min())
    worse = value > most if better == "lower" else value < least
    improved = value < least if better == "lower" else value > most
    verdict: Verdict = "regression" if worse else "improvement" if improved else "pass"
    agreeing = 1 if verdict != "pass" else 0
    return Judgement(
        verdict, value, 0.0, least, most, None, None, len(base), agreeing, False, _words(verdict, agreeing, False)
    )


def _words(verdict: Verdict, agreeing: int, suspect: bool) -> str:
    if verdict == "pass":
        if suspect:
            return "this run is outside the band of the noise, and no other one confirms it: run the load again"
        return "within the noise of the earlier runs"
    which = {1: "this run is beyond everything seen before", 2: "this run and the one before it are outside the band"}
    return which.get(agreeing, "the median of the last three runs is outside the band")
