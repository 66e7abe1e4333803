"""The History panel: each figure over the runs of a baseline store, with its band, alarms and commits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viewer.analyses.gate.history import comparable
from viewer.base.frames import TableFrame
from viewer.base.run_history import RunPlotFrame, RunPoint, Tone
from viewer.base.run_record import Judged, RunFigure, RunRecord
from viewer.base.units import with_minus
from viewer.base.values import format_value
from viewer.store.baseline import BaselineStore, Stored
from viewer.views.figures import NONE, Cell, shown

MOST_POINTS = 2_000
"""The latest runs that are shown."""
TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "not enough history": "new", "": "new"}
HEADERS = ("value", "time", "change", "verdict", "commit", "trace", "note")
HOW = (
    "The figure of this run.",
    "When the run was recorded, UTC.",
    "Against the baseline it was judged by: the median of the runs before it. Of several runs where the verdict rests "
    "on several.",
    "As the check said when the run was recorded; suspect: outside the band alone, so that it should be run again.",
    "Commit of the sources; + where files were changed since.",
    "yes: its traces are kept as a pack. A double click opens it.",
    "What was said when it was recorded.",
)


@dataclass(frozen=True, slots=True)
class Place:
    """What runs are compared within."""

    load: str
    machine: str
    gpu: str
    world_size: int | None

    @property
    def text(self) -> str:
        """For a list to choose from."""
        size = "" if self.world_size is None else f"{self.world_size} ranks"
        return " · ".join(shown(t, 80) for t in (self.load, self.machine, self.gpu, size) if t)


@dataclass(frozen=True, eq=False)
class History:
    """All loads of a store. ``problems`` are sentences about what could not be read."""

    folder: Path
    runs: dict[Place, tuple[RunRecord, ...]]
    problems: tuple[str, ...]

    def figures(self, place: Place) -> list[str]:
        """Names of the figures of a place, those that gate first."""
        last: dict[str, RunFigure] = {}
        for run in self.runs[place]:
            last |= run.figures
        return sorted(last, key=lambda name: (not last[name].gate, name))


@dataclass(frozen=True, eq=False)
class HistoryFrame:
    """One figure of one place: the plot, a row per run (latest first), their ids, and a sentence."""

    sentence: str
    tone: Tone
    plot: RunPlotFrame
    table: TableFrame
    runs: tuple[str, ...]


def read_history(folder: Path) -> History:
    """All runs of a store. Raises InputError when it cannot be read."""
    store = BaselineStore(folder)
    runs: dict[Place, list[RunRecord]] = {}
    problems = []
    for load in store.loads():
        stored: Stored = store.read(load)
        problems += [f.message for f in stored.findings]
        for run in stored.runs:
            runs.setdefault(Place(*run.place), []).append(run)
    ordered = sorted(runs.items(), key=lambda pair: pair[1][-1].time, reverse=True)
    return History(folder, {place: tuple(found) for place, found in ordered}, tuple(problems))


def history_frame(history: History, place: Place, figure: str) -> HistoryFrame:
    """One figure over the runs of a place."""
    runs = [r for r in history.runs[place] if figure in r.figures and math.isfinite(r.figures[figure].value)]
    runs = runs[-MOST_POINTS:]
    unit = runs[-1].figures[figure].unit
    runs = [r for r in runs if r.figures[figure].unit == unit]
    store = BaselineStore(history.folder)
    points = tuple(_point(run, figure, unit) for run in runs)
    cells = [_row(run, figure, unit, kept=store.kept_trace(run) is not None) for run in reversed(runs)]
    width = len(HEADERS) if any(run.note for run in runs) else len(HEADERS) - 1
    table = TableFrame(
        HEADERS[:width],
        [tuple(text for text, _ in row[:width]) for row in cells],
        [tuple(key for _, key in row[:width]) for row in cells],
        how=HOW[:width],
    )
    low, high = _range(points)
    title = f"{shown(figure)} · {runs[-1].figures[figure].better} is better"
    plot = RunPlotFrame(title, points, tuple((v, text_of(v, unit)) for v in _ticks(low, high)), low, high)
    sentence, tone = _sentence(runs, figure, unit)
    return HistoryFrame(sentence, tone, plot, table, tuple(r.id for r in reversed(runs)))


def baseline_trace(history: History, place: Place, run: str) -> tuple[Path, Path] | None:
    """The packs of the nearest good run before a run, and of the run itself; None where either is not kept."""
    store = BaselineStore(history.folder)
    record = next(r for r in history.runs[place] if r.id == run)
    own = store.kept_trace(record)
    if own is None:
        return None
    for before in reversed(comparable(history.runs[place], record)):
        kept = store.kept_trace(before) if before.verdict != "regression" else None
        if kept is not None:
            return kept, own
    return None


def text_of(value: float | None, unit: str) -> str:
    """A value with its unit, which may come from a file; a dash for None."""
    return NONE if value is None else shown(format_value(value, unit), 60)


def _judged(run: RunRecord, figure: str) -> Judged:
    return run.judged.get(figure, Judged(""))


def _commit(run: RunRecord) -> str:
    return "" if run.commit is None else shown(run.commit.sha[:10], 12) + ("+" if run.commit.dirty else "")


def _tone(found: Judged) -> Tone:
    return "suspect" if found.suspect else TONES.get(found.verdict, "")


def _verdict(found: Judged) -> str:
    return "suspect" if found.suspect else shown(found.verdict, 40) if found.verdict else "not judged"


def _point(run: RunRecord, figure: str, unit: str) -> RunPoint:
    found, value = _judged(run, figure), run.figures[figure].value
    change = "" if found.change is None else with_minus(f" ({100 * found.change:+.1f} %)")
    lines = [f"{run.time[:16].replace('T', ' ')} UTC", f"{text_of(value, unit)}{change}: {_verdict(found)}"]
    if found.baseline is not None:
        band = f"{text_of(found.low, unit)} to {text_of(found.high, unit)}"
        lines.append(f"baseline {text_of(found.baseline, unit)} of {found.runs} runs, band {band}")
    if run.commit is not None:
        lines.append(f"commit {_commit(run)} {shown(run.commit.subject, 100) if run.commit.subject else ''}".rstrip())
    if run.note:
        lines.append(shown(run.note, 200))
    return RunPoint(
        run.id,
        value,
        found.low,
        found.high,
        found.baseline,
        _tone(found),
        _commit(run),
        "\n".join(lines),
        run.time[:10],
    )


def _row(run: RunRecord, figure: str, unit: str, *, kept: bool) -> list[Cell]:
    found, value = _judged(run, figure), run.figures[figure].value
    return [
        (text_of(value, unit), value),
        (run.time[:16].replace("T", " "), run.time),
        (NONE if found.change is None else with_minus(f"{100 * found.change:+.2f} %"), found.change),
        (_verdict(found), _verdict(found)),
        (_commit(run) or NONE, _commit(run)),
        ("yes" if kept else NONE, kept),
        (shown(run.note, 200) if run.note else "", run.note),
    ]


def _range(points: Sequence[RunPoint]) -> tuple[float, float]:
    """The value axis: all values and bands, with some room."""
    values = [p.value for p in points]
    values += [edge for p in points for edge in (p.low, p.high) if edge is not None]
    low, high = min(values), max(values)
    pad = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad


def _ticks(low: float, high: float) -> list[float]:
    """Round values inside a range, about four."""
    raw = (high - low) / 4.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1.0, 2.0, 2.5, 5.0, 10.0) if size * m >= raw)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step) + 1)]


def _sentence(runs: Sequence[RunRecord], figure: str, unit: str) -> tuple[str, Tone]:
    last, found = runs[-1], _judged(runs[-1], figure)
    count = f"{len(runs):,} run{'' if len(runs) == 1 else 's'}"
    alarms = sum(_judged(r, figure).verdict == "regression" for r in runs)
    value = text_of(last.figures[figure].value, unit)
    change = "" if found.change is None else with_minus(f", {100 * found.change:+.1f} %") + " of its baseline"
    said = f"Last run: {value}{change}: {_verdict(found)}. {count}, {alarms} judged as regressions."
    return said, _tone(found)
