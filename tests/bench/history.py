"""Simulated histories of runs: how often the gate alarms for nothing, and how soon it catches what was planted.

    python -m tests.bench history [--scale S] [--write]

``--write`` puts the table into resources/help/gate.md, between its two marks. The noise is that of a shared machine: a
lognormal bulk, a slow wander (an autoregressive process of neighbouring runs), and runs that somebody else disturbed
(one-sided, 2 % and an exponential tail of 5 % more).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.bench.figure import figure
from viewer.analyses.gate.drift import drift
from viewer.analyses.gate.judge import TAIL_WINDOW, judge

F64 = NDArray[np.float64]
PAGE: Final = Path(__file__).resolve().parents[2] / "resources" / "help" / "gate.md"
BEGIN: Final = "<!-- simulated: begin -->"
END: Final = "<!-- simulated: end -->"
RUNS: Final = 1_000
SEEDS: Final = 20
DAY_VALUES: Final = 1_440


@dataclass(frozen=True, slots=True)
class Noise:
    """Of a machine: relative deviations of the bulk and of the wander, share of disturbed runs."""

    name: str
    bulk: float
    wander: float
    disturbed: float


MACHINES: Final = (
    Noise("a machine of its own", 0.003, 0.001, 0.01),
    Noise("shared, quiet", 0.005, 0.002, 0.03),
    Noise("shared", 0.008, 0.003, 0.03),
    Noise("shared, busy", 0.010, 0.003, 0.05),
)
JUDGED: Final = ("a machine of its own", "shared, quiet", "shared")
"""The machines whose figures have limits; what a busier one gives is in the table too."""


def series(noise: Noise, count: int, rng: np.random.Generator, alike: float = 0.9) -> F64:
    """Logarithms of run times around 0; ``alike`` is the correlation of the wander of neighbours."""
    steps = rng.normal(0.0, noise.wander * np.sqrt(1.0 - alike**2), count)
    wander = np.zeros(count)
    for i in range(1, count):
        wander[i] = alike * wander[i - 1] + steps[i]
    disturbed = rng.random(count) < noise.disturbed
    return np.asarray(rng.normal(0.0, noise.bulk, count) + wander + disturbed * (0.02 + rng.exponential(0.05, count)))


def false_alarms(noise: Noise, runs: int, seeds: int) -> float:
    """Alarms per run on histories in which nothing changes; runs that alarmed leave the baseline when one passes."""
    alarms = total = 0
    for seed in range(seeds):
        good: list[float] = []
        bad: list[float] = []
        for value in np.exp(series(noise, runs, np.random.default_rng(seed))):
            if judge([*good, *bad][-TAIL_WINDOW - 3 :], float(value), "lower").verdict == "regression":
                alarms += 1
                bad.append(float(value))
            else:
                good.append(float(value))
                bad = []
            total += 1
    return alarms / total


def caught(noise: Noise, change: float, within: int, runs: int, seeds: int) -> float:
    """Share of planted changes that alarm within so many runs."""
    hits = tried = 0
    for seed in range(seeds):
        values = np.exp(series(noise, runs, np.random.default_rng(1_000 + seed)))
        for at in range(100, runs - within, 45):
            history = [float(v) for v in values[max(0, at - TAIL_WINDOW) : at]]
            tried += 1
            for value in values[at : at + within] * (1.0 + change):
                found = judge(history, float(value), "lower").verdict
                history.append(float(value))
                if found == "regression":
                    hits += 1
                    break
    return hits / tried


def drifts(noise: Noise, per_hour: float, seeds: int) -> float:
    """Share of days (one value a minute) of that drift that are told to get worse."""
    times = np.arange(DAY_VALUES) * 60.0
    told = 0
    for seed in range(seeds):
        values = np.exp(per_hour * times / 3_600.0 + series(noise, DAY_VALUES, np.random.default_rng(seed), 0.97))
        told += drift(times, values, "lower").worse
    return told / seeds


def figures(scale: float, *, write: bool) -> Iterator[dict[str, Any]]:
    """The figures, and on request the table in the help page."""
    runs, seeds = max(200, round(RUNS * scale)), max(2, round(SEEDS * scale))
    rows = []
    for noise in MACHINES:
        holds = noise.name in JUDGED
        alarms = false_alarms(noise, runs, seeds)
        hits = {change: caught(noise, change, 3, runs, seeds) for change in (0.02, 0.03, 0.05)}
        quiet, found = drifts(noise, 0.0, seeds), drifts(noise, 0.001, seeds)
        rows.append((noise, alarms, hits, quiet, found))
        yield figure(f"false alarms per run, {noise.name}", alarms * 100, "%", "< 1", alarms < 0.01 if holds else None)
        share = hits[0.03]
        yield figure(
            f"3 % caught within 3 runs, {noise.name}", share * 100, "%", ">= 95", share >= 0.95 if holds else None
        )
        yield figure(f"0.1 % per hour found within a day, {noise.name}", found * 100, "%", ">= 95", found >= 0.95)
        yield figure(f"days without drift told to drift, {noise.name}", quiet * 100, "%", "<= 5", quiet <= 0.05)
    if write:
        _write(rows, runs, seeds)


def _write(rows: list[tuple[Noise, float, dict[float, float], float, float]], runs: int, seeds: int) -> None:
    lines = [
        BEGIN,
        f"{runs:,} runs x {seeds} seeds each; days of one value a minute.",
        "",
        "| machine | bulk | wander | disturbed runs | false alarms per run | 2 % caught in 3 runs | 3 % | 5 % | "
        "0.1 %/h found in a day | steady days that alarm |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for noise, alarms, hits, quiet, found in rows:
        cells = [noise.name, f"{noise.bulk:.1%}", f"{noise.wander:.1%}", f"{noise.disturbed:.0%}", f"{alarms:.2%}"]
        cells += [f"{hits[c]:.1%}" for c in (0.02, 0.03, 0.05)] + [f"{found:.0%}", f"{quiet:.0%}"]
        lines.append("| " + " | ".join(cells) + " |")
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + "\n".join([*lines, END]) + after, encoding="utf-8")
