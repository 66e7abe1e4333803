"""What a watch found, as plain data (schema rankscope.watch/1), lines for people and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import numpy as np

from viewer.analyses.gate.drift import Drift
from viewer.base.errors import on_one_line
from viewer.base.run_record import Better
from viewer.base.units import with_minus
from viewer.exporters.gate_data import value_text
from viewer.exporters.gate_text import escape_markdown
from viewer.views.figures import plural

SCHEMA: Final = "rankscope.watch/1"
LEAST_WEEKS: Final = 2
MOST_CHANGES: Final = 6
Json = dict[str, Any]


class Watched(msgspec.Struct):
    """One series: ``times`` in s (since 1970 when ``timed``, else 3.6 s apart so that an hour is 1,000 values)."""

    source: str
    name: str
    unit: str
    better: Better
    times: list[float]
    values: list[float]
    timed: bool
    drift: Drift | None = None


def watch_data(series: Sequence[Watched], failures: Sequence[str]) -> Json:
    """All series as plain data; what got worse first."""
    rows = [_row(s) for s in series]
    order = {"drift": 0, "level": 1, "steady": 2, "too short": 3}
    rows.sort(key=lambda r: (not r["worse"], order[r["kind"]]))
    return {"schema": SCHEMA, "series": rows, "failures": list(failures)}


def _row(series: Watched) -> Json:
    found = series.drift
    assert found is not None
    plain = asdict(found)
    for change, level in zip(plain["changes"], found.changes, strict=True):
        change["change"] = level.change
        change["time_text"] = _when(series, level.time)
    return {
        "source": series.source,
        "name": series.name,
        "unit": series.unit,
        "better": series.better,
        "timed": series.timed,
        **plain,
        "hours": found.hours if series.timed else None,
        "median_text": value_text(found.median, series.unit),
        "weeks": _weeks(series) if series.timed else [],
        "sentence": sentence(series),
    }


def _when(series: Watched, after: float) -> str:
    if not series.timed:
        return f"value {round(after / 3.6):,}"
    start = series.times[0]
    if start < 1e8:  # a clock that does not count from 1970
        return f"{after / 3600.0:.2f} h"
    return f"{datetime.fromtimestamp(start + after, UTC):%Y-%m-%d %H:%M} UTC"


def _weeks(series: Watched) -> list[Json]:
    """Medians per ISO week, for series of at least two weeks."""
    if series.times[0] < 1e8 or series.times[-1] - series.times[0] < LEAST_WEEKS * 7 * 86_400:
        return []
    weeks: dict[str, list[float]] = {}
    for time, value in zip(series.times, series.values, strict=True):
        year, week, _ = datetime.fromtimestamp(time, UTC).isocalendar()
        weeks.setdefault(f"{year}-W{week:02}", []).append(value)
    return [{"week": w, "runs": len(v), "median": float(np.median(v))} for w, v in weeks.items()]


def sentence(series: Watched) -> str:
    """What the series does, in words."""
    found = series.drift
    assert found is not None
    if found.kind == "too short":
        return f"{plural(found.values, 'value')}: too few to tell"
    span = f"{found.hours:.3g} h" if series.timed else f"{found.values:,} values"
    warm = f"; the first {found.warm_up:,} values are set apart as the warm-up" if found.warm_up else ""
    per = "h" if series.timed else "1,000 values"
    if found.kind == "drift":
        assert found.per_hour is not None
        assert found.low is not None
        assert found.high is not None
        assert found.total is not None
        way = "worse" if found.worse else "better"
        return (
            with_minus(
                f"drifts {found.per_hour:+.3%} per {per} ({found.low:+.3%} to {found.high:+.3%}), {found.total:+.2%}"
            )
            + f" over {span}: gets {way}{warm}"
        )
    if found.kind == "level":
        parts = [
            f"{'' if c.change is None else with_minus(format(c.change, '+.2%')) + ' '}at {_when(series, c.time)}"
            for c in found.changes[:MOST_CHANGES]
        ]
        more = f" and {len(found.changes) - MOST_CHANGES} more" if len(found.changes) > MOST_CHANGES else ""
        way = "worse" if found.worse else "better"
        return f"changed its level: {', '.join(parts)}{more}: {way} in the end{warm}"
    return f"steady over {span}{warm}"


def watch_text(data: Json) -> str:
    """Lines for a terminal."""
    out = []
    for row in data["series"]:
        sign = "!" if row["worse"] else " "
        out.append(f"{sign} {row['source']}: {row['name']} (median {row['median_text'] or '?'}): {row['sentence']}")
        out += [
            f"    {w['week']}: {value_text(w['median'], row['unit'])} ({w['runs']} values)" for w in row["weeks"][-8:]
        ]
    out += [f"failed: {text}" for text in data["failures"]]
    return "\n".join(on_one_line(line, 2_000) for line in out) + "\n"


def watch_markdown(data: Json) -> str:
    """A table for a page."""
    e = escape_markdown
    out = ["| source | metric | median | what it does |", "|---|---|---:|---|"]
    for row in data["series"]:
        text = f"**{e(row['sentence'])}**" if row["worse"] else e(row["sentence"])
        out.append(f"| {e(row['source'])} | {e(row['name'])} | {e(row['median_text'])} | {text} |")
    out += ["", *(f"- failed: {e(text)}" for text in data["failures"])] if data["failures"] else []
    return "\n".join(out) + "\n"
