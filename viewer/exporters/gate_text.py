"""What a check says: lines for people, JSON, and Markdown for a summary page. The same facts in each.

Input is plain data (:func:`viewer.exporters.gate_data.check_data`), so that all outputs say the same.
"""

from __future__ import annotations

import re
from typing import Any, Final

from viewer.base.errors import on_one_line
from viewer.base.units import with_minus

Json = dict[str, Any]

WORDS: Final = {
    "pass": "pass",
    "regression": "REGRESSION",
    "improvement": "improvement",
    "not enough history": "not enough history",
}
_MARKS: Final = re.compile(r"([\\`*_{}\[\]()#+!|<>~&])")
MOST_COMMITS: Final = 20


def check_text(data: Json) -> str:
    """Lines for a terminal."""
    out: list[str] = []
    for run in data["runs"]:
        out.append(f"{run['load']}: {WORDS.get(run['verdict'], run['verdict'])}")
        out += [f"  {row}" for row in _rows(run)]
        out += [f"  {line}" for line in _alarm_lines(run, MOST_COMMITS)]
        out += [f"  note: {text}" for text in run["findings"]]
    for failure in data["failures"]:
        out.append(f"failed: {failure}")
    return "\n".join(on_one_line(line, 2_000) for line in out) + "\n"


def _rows(run: Json) -> list[str]:
    names = [f["name"] for f in run["figures"]]
    width = max((len(n) for n in names), default=0)
    lines = []
    for figure in run["figures"]:
        sign = " " if figure["gate"] else "·"
        text = f"{sign} {figure['name']:<{width}}  {figure['value_text']:>12}"
        if figure["baseline"] is not None:
            change = "" if figure["change"] is None else with_minus(f"{figure['change']:+.1%}")
            text += f"  {change:>7} of {figure['baseline_text']} ({figure['low_text']} to {figure['high_text']})"
        verdict = figure["verdict"]
        if verdict == "regression" and not figure["gate"]:
            verdict = "got worse (not gated)"
        elif figure["suspect"]:
            verdict = "pass, but outside the band: run again"
        lines.append(f"{text}  {WORDS.get(verdict, verdict)}")
    return lines


def _alarm_lines(run: Json, most: int) -> list[str]:
    alarm = run["alarm"]
    if alarm is None:
        return []
    lines = [f"{alarm['figure']}: {alarm['reason']}"]
    if alarm["first_bad"]:
        lines.append(f"first bad run: {alarm['first_bad']}" + _of(alarm["first_bad_commit"]))
    if alarm["last_good"]:
        lines.append(f"last good run: {alarm['last_good']}" + _of(alarm["last_good_commit"]))
    lines += [f"changed: {c['name']}: {c['before'] or 'none'} -> {c['after'] or 'none'}" for c in alarm["changed"]]
    commits = alarm["commits"]
    if commits:
        lines.append(f"{len(commits)} commit{'s' if len(commits) != 1 else ''} between them, newest first:")
        lines += [f"  {c['sha'][:12]} {c['subject']}" for c in commits[:most]]
        if len(commits) > most:
            lines.append(f"  and {len(commits) - most} more")
    lines += alarm["explanation"]
    for name in ("comparison", "picture", "bisect", "trace"):
        if alarm[name]:
            lines.append(f"{name}: {alarm[name]}")
    return lines


def _of(sha: str | None) -> str:
    return f" (commit {sha[:12]})" if sha else ""


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is; line breaks and control characters become spaces."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return _MARKS.sub(r"\\\1", plain)


def check_markdown(data: Json) -> str:
    """A summary for a page: one table per load, and what an alarm brought along."""
    e = escape_markdown
    out = [f"## Performance check: {WORDS.get(data['verdict'], data['verdict'])}", ""]
    for run in data["runs"]:
        where = ", ".join(e(text) for text in (run["machine"], run["gpu"]) if text)
        out += [f"### {e(run['load'])}: {WORDS.get(run['verdict'], run['verdict'])}", ""]
        out += [f"{where}, {run['runs_before']} earlier runs", ""] if where else []
        out += [
            "| figure | value | change | baseline | band | gates | verdict |",
            "|---|---:|---:|---:|---|---|---|",
        ]
        for figure in run["figures"]:
            change = "" if figure["change"] is None else with_minus(f"{figure['change']:+.1%}")
            band = "" if figure["low"] is None else f"{figure['low_text']} to {figure['high_text']}"
            cells = (
                e(figure["name"]),
                e(figure["value_text"]),
                change,
                e(figure["baseline_text"] or ""),
                e(band),
                "yes" if figure["gate"] else "no",
                ("suspect" if figure["suspect"] else WORDS.get(figure["verdict"], figure["verdict"])),
            )
            out.append("| " + " | ".join(cells) + " |")
        lines = _alarm_lines(run, MOST_COMMITS)
        out += ["", *(f"- {e(line.strip())}" for line in lines)] if lines else []
        out += ["", *(f"> {e(text)}" for text in run["findings"])] if run["findings"] else []
        out.append("")
    out += [f"- failed: {e(text)}" for text in data["failures"]]
    return "\n".join(out).rstrip() + "\n"
