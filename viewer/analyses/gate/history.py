"""The runs of a load as series of figures: which of them a new run is judged against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from viewer.analyses.gate.judge import LEAST_HISTORY, Judgement, Limits, judge
from viewer.base.run_record import Accepted, Judged, RunFigure, RunRecord


def comparable(runs: Sequence[RunRecord], record: RunRecord) -> list[RunRecord]:
    """The runs of the same load on the same machine, GPU and world size that came before, oldest first."""
    order = record.time, record.id
    return [r for r in runs if r.place == record.place and (r.time, r.id) < order]


def baseline_runs(
    runs: Sequence[RunRecord], name: str, accepted: Sequence[Accepted] = (), history: int = LEAST_HISTORY
) -> list[RunRecord]:
    """The runs that a new one's figure is judged against, oldest first.

    Left out: runs without the figure or of another unit; runs that were judged as regressions, except the last ones in
    a row (nothing was mended since, and the new run may confirm them); what came before a level that a person accepted;
    what came before an improvement once enough runs have confirmed it to judge by them.
    """
    with_figure = [r for r in runs if name in r.figures and math.isfinite(r.figures[name].value)]
    if with_figure:
        unit = with_figure[-1].figures[name].unit
        with_figure = [r for r in with_figure if r.figures[name].unit == unit]
    starts = {a.run for a in accepted}
    first = max((i for i, r in enumerate(with_figure) if r.id in starts), default=0)
    rest, taken = with_figure[first:], with_figure[first].id if with_figure and first else ""
    kept: list[RunRecord] = []
    trailing: list[RunRecord] = []
    for run in rest:
        verdict = run.judged[name].verdict if name in run.judged else ""
        if verdict == "regression" and not _accepted(run, taken, rest):
            trailing.append(run)
        else:
            trailing = []
            kept.append(run)
    return [*_since_improvement(kept, name, history), *trailing]


def _accepted(run: RunRecord, taken: str, rest: Sequence[RunRecord]) -> bool:
    """Whether a run belongs to the level accepted with the first of ``rest``: all regressions after it in a row do."""
    if not taken:
        return False
    for other in rest:
        if other.verdict != "regression":
            return False
        if other.id == run.id:
            return True
    return False


def _since_improvement(runs: list[RunRecord], name: str, history: int) -> list[RunRecord]:
    """The runs since the figure got better for good; all of them where it did not."""
    better = [name in r.judged and r.judged[name].verdict == "improvement" for r in runs]
    at = len(runs)
    while at > 0 and not better[at - 1]:
        at -= 1
    while at > 0 and better[at - 1]:
        at -= 1
    if not any(better):
        return runs
    start = max(0, at - max(0, runs[at].judged[name].agreeing - 1))
    return runs[start:] if len(runs) - start >= history + 2 else runs  # the last two are judged with the new one


def judge_run(
    runs: Sequence[RunRecord], record: RunRecord, accepted: Sequence[Accepted] = (), limits: Limits | None = None
) -> dict[str, Judgement]:
    """Judge each figure of a run against the runs before it (:func:`comparable` ones are taken from ``runs``)."""
    limits = limits or Limits()
    before = comparable(runs, record)
    out = {}
    for name, figure in record.figures.items():
        if not math.isfinite(figure.value):
            continue
        base = baseline_runs([*before, record], name, accepted, limits.history)
        values = [r.figures[name].value for r in base if r.id != record.id]
        out[name] = judge(values, figure.value, figure.better, replace(limits, least=figure.least))
    return out


def overall(figures: dict[str, RunFigure], judged: dict[str, Judgement]) -> str:
    """The verdict of a run: that of the figures that gate; a regression goes before everything."""
    verdicts = [j.verdict for name, j in judged.items() if figures[name].gate]
    if not verdicts:
        return "not enough history"
    for verdict in ("regression", "not enough history", "improvement"):
        if verdict == "not enough history":
            if all(v == verdict for v in verdicts):
                return verdict
        elif verdict in verdicts:
            return verdict
    return "pass"


def with_verdict(record: RunRecord, judged: dict[str, Judgement]) -> RunRecord:
    """The record with what was found about it."""
    plain = {
        name: Judged(j.verdict, j.baseline, j.low, j.high, j.change, j.runs, j.agreeing, j.suspect)
        for name, j in judged.items()
    }
    return msgspec.structs.replace(record, judged=plain, verdict=overall(record.figures, judged))


def first_bad(runs: Sequence[RunRecord], record: RunRecord, name: str) -> tuple[RunRecord | None, RunRecord]:
    """The last good run before a regression of a figure and its first bad one (perhaps ``record`` itself).

    The verdict of a run rests on up to three; the first bad one is the first of those.
    """
    line = [*(r for r in comparable(runs, record) if name in r.figures), record]
    at = len(line) - 1
    while at > 0 and name in line[at - 1].judged and line[at - 1].judged[name].verdict == "regression":
        at -= 1
    agreeing = line[at].judged[name].agreeing if name in line[at].judged else 1
    at = max(0, at - max(0, agreeing - 1))
    return (line[at - 1] if at > 0 else None), line[at]
