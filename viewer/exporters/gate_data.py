"""A check as plain data, schema rankscope.check/1: what all its outputs are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from viewer.analyses.gate.judge import Judgement
from viewer.base.run_record import RunFigure, RunRecord
from viewer.base.units import with_minus
from viewer.base.values import format_value

SCHEMA: Final = "rankscope.check/1"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Alarm:
    """What came along with a regression. ``explanation`` are sentences; paths are as text, "" for none."""

    figure: str
    good: RunRecord | None
    bad: RunRecord | None
    changed: tuple[tuple[str, str, str], ...] = ()
    commits: tuple[tuple[str, str], ...] | None = None
    explanation: tuple[str, ...] = ()
    comparison: str = ""
    picture: str = ""
    bisect: str = ""
    trace: str = ""


def check_data(runs: Sequence[Json], failures: Sequence[str]) -> Json:
    """All loads of a check. Its verdict is the worst one; a load that failed to run counts as an error."""
    verdicts = [run["verdict"] for run in runs]
    verdict = "error" if failures else "not enough history"
    for name in ("regression", "error", "not enough history", "improvement", "pass"):
        if name in verdicts or (name == "error" and failures):
            verdict = name
            break
    return {"schema": SCHEMA, "verdict": verdict, "runs": list(runs), "failures": list(failures)}


def run_data(
    record: RunRecord, judged: dict[str, Judgement], alarm: Alarm | None, findings: Sequence[str], *, recorded: bool
) -> Json:
    """One run of a load; values in the figure's unit, changes as shares, None where there is no baseline."""
    return {
        "load": record.load,
        "kind": record.kind,
        "id": record.id,
        "time": record.time,
        "recorded": recorded,
        "machine": record.machine,
        "gpu": record.gpu,
        "world_size": record.world_size,
        "commit": None if record.commit is None else record.commit.sha,
        "environment": dict(record.environment),
        "verdict": record.verdict,
        "runs_before": max((j.runs for j in judged.values()), default=0),
        "figures": [_figure(n, f, judged.get(n)) for n, f in record.figures.items()],
        "alarm": None if alarm is None else _alarm(alarm, judged),
        "findings": list(findings),
    }


def _figure(name: str, figure: RunFigure, judged: Judgement | None) -> Json:
    base, low, high = (None, None, None) if judged is None else (judged.baseline, judged.low, judged.high)
    return {
        "name": name,
        "value": figure.value,
        "value_text": value_text(figure.value, figure.unit),
        "unit": figure.unit,
        "better": figure.better,
        "gate": figure.gate,
        "verdict": "not enough history" if judged is None else judged.verdict,
        "reason": "" if judged is None else judged.reason,
        "change": None if judged is None else judged.change,
        "baseline": base,
        "baseline_text": value_text(base, figure.unit),
        "low": low,
        "low_text": value_text(low, figure.unit),
        "high": high,
        "high_text": value_text(high, figure.unit),
        "spread": None if judged is None else judged.spread,
        "runs": 0 if judged is None else judged.runs,
        "suspect": judged is not None and judged.suspect,
        "how": figure.how,
    }


def _alarm(alarm: Alarm, judged: dict[str, Judgement]) -> Json:
    found = judged[alarm.figure]
    change = "" if found.change is None else with_minus(f" ({found.change:+.1%})")
    return {
        "figure": alarm.figure,
        "reason": found.reason + change,
        "last_good": None if alarm.good is None else alarm.good.id,
        "last_good_commit": _sha(alarm.good),
        "first_bad": None if alarm.bad is None else alarm.bad.id,
        "first_bad_commit": _sha(alarm.bad),
        "changed": [{"name": n, "before": a, "after": b} for n, a, b in alarm.changed],
        "commits": None if alarm.commits is None else [{"sha": s, "subject": t} for s, t in alarm.commits],
        "explanation": list(alarm.explanation),
        "comparison": alarm.comparison,
        "picture": alarm.picture,
        "bisect": alarm.bisect,
        "trace": alarm.trace,
    }


def _sha(record: RunRecord | None) -> str | None:
    return None if record is None or record.commit is None else record.commit.sha


def value_text(value: float | None, unit: str) -> str:
    """A value with its unit; "" for None."""
    return "" if value is None else format_value(value, unit)
