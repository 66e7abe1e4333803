"""What an alarm brings along: where the figure turned, what changed, the comparison, a picture, a bisect script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from viewer.app.gate.bisect import bisect_script
from viewer.app.gate.checking import Checked, nearest_with_trace
from viewer.app.gate.environment import commits_between
from viewer.app.gate.explaining import Explained, explain
from viewer.app.options import JobOptions
from viewer.base.errors import UsageError
from viewer.base.units import with_minus
from viewer.exporters.gate_data import Alarm, value_text
from viewer.store.baseline import BaselineStore, folder_name
from viewer.store.session import Session
from viewer.store.small_file import write_whole

MOST_SENTENCES = 8


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where an alarm writes (None: nowhere), the sources' repository, the load's manifest, and how files make a job."""

    folder: Path | None
    repository: Path
    manifest: Path | None
    job: JobOptions


def raise_alarm(store: BaselineStore, checked: Checked, session: Session | None, outputs: Outputs) -> Alarm:
    """Put together what is known about a regression. What cannot be had is said, never raised."""
    good, bad = checked.good, checked.bad or checked.record
    commits = None
    if good is not None and good.commit is not None and bad.commit is not None:
        commits = commits_between(outputs.repository, good.commit.sha, bad.commit.sha)
    explanation = _other_figures(checked)
    near = nearest_with_trace(store, checked)
    if outputs.folder is not None:
        try:
            outputs.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{outputs.folder} cannot be made: {error.strerror or error}.") from None
    name = folder_name(checked.record.load)
    bisect = ""
    if outputs.folder is not None and outputs.manifest is not None and good is not None:
        path = outputs.folder / f"{name}.bisect.sh"
        text = bisect_script(outputs.manifest, checked.record.load, checked.alarm, good, bad, outputs.repository)
        bisect = _write(path, text.encode("utf-8", "surrogateescape"), explanation)
    explained = Explained()
    if near is not None and session is not None:
        explained = explain(near[1], session, outputs.folder, name, outputs.job)
        explanation += explained.sentences
    elif session is not None:
        explanation.append("no trace of an earlier good run is kept, so there is nothing to compare this one with")
    return Alarm(
        checked.alarm,
        good,
        bad,
        checked.changed,
        None if commits is None else tuple(commits),
        tuple(explanation),
        explained.comparison,
        explained.picture,
        bisect,
        "" if near is None else str(near[1]),
    )


def _other_figures(checked: Checked) -> list[str]:
    """Which other figures of the run changed with it."""
    out = []
    for name, found in checked.judged.items():
        if name != checked.alarm and found.verdict in ("regression", "improvement") and found.change is not None:
            unit = checked.record.figures[name].unit
            what = "worse" if found.verdict == "regression" else "better"
            before, after = value_text(found.baseline, unit), value_text(found.value, unit)
            out.append(f"{name} got {what} too: {before} -> {after} ({with_minus(format(found.change, '+.1%'))})")
    return out[:MOST_SENTENCES]


def _write(path: Path, data: bytes, explanation: list[str]) -> str:
    """Write a file of the alarm; where that fails the alarm says so and goes on."""
    try:
        write_whole(path, data)
    except OSError as error:
        explanation.append(f"{path} cannot be written: {error.strerror or error}")
        return ""
    return str(path)
