"""One check: figures of a run, a verdict against the runs before it, and the record that is kept."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
import numpy as np

from viewer.analyses.gate.history import comparable, first_bad, judge_run, with_verdict
from viewer.analyses.gate.judge import Judgement, Limits
from viewer.app.gate.environment import gpu_name, local_environment, traced_environment
from viewer.app.gate.manifest import Load, Metric
from viewer.base.findings import Finding
from viewer.base.run_record import RUN_SCHEMA, Commit, RunFigure, RunRecord
from viewer.store.baseline import BaselineStore, Stored, new_id, time_text
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class Checked:
    """A run and what was found about it.

    ``alarm`` is the gating figure that got worse most, "" for none; ``good`` and ``bad`` are the last good run before
    it and the first bad one; ``changed`` lists what differs between them: (name, before, after).
    """

    record: RunRecord
    judged: dict[str, Judgement]
    stored: Stored
    alarm: str = ""
    good: RunRecord | None = None
    bad: RunRecord | None = None
    changed: tuple[tuple[str, str, str], ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What could not be read of the store."""
        return self.stored.findings


def make_record(
    load: Load,
    figures: dict[str, RunFigure],
    session: Session | None,
    *,
    now: datetime,
    machine: str,
    gpu: str | None,
    commit: Commit | None,
    note: str = "",
) -> RunRecord:
    """The record of a run that was not judged yet. ``gpu`` None: what the traces say."""
    world = None
    environment = local_environment()
    if session is not None and session.inputs:
        sizes = {i.trace.meta.world_size for i in session.inputs if i.trace.meta.world_size is not None}
        world = sizes.pop() if len(sizes) == 1 else len(session.groups)
        environment |= traced_environment(session)
    return RunRecord(
        RUN_SCHEMA,
        new_id(now),
        time_text(now),
        load.name,
        with_metrics(figures, load),
        load.kind,
        machine,
        (gpu_name(session) if session is not None else "") if gpu is None else gpu,
        world,
        environment,
        commit,
        note=note,
    )


def with_metrics(figures: dict[str, RunFigure], load: Load) -> dict[str, RunFigure]:
    """The figures with what the manifest says of direction, threshold and gating."""
    out = {}
    for name, figure in figures.items():
        said = load.metrics.get(name, Metric())
        out[name] = msgspec.structs.replace(
            figure,
            better=said.direction or figure.better,
            least=figure.least if said.threshold is None else said.threshold,
            gate=figure.gate if said.gate is None else said.gate,
        )
    return out


def median_figures(runs: Sequence[dict[str, RunFigure]]) -> dict[str, RunFigure]:
    """Of several repeats the median of each figure that all of them have; samples are put together."""
    names = [name for name in runs[0] if all(name in run for run in runs)]
    out = {}
    for name in names:
        same = [run[name] for run in runs]
        samples = [value for figure in same for value in figure.samples]
        out[name] = msgspec.structs.replace(
            same[0], value=float(np.median([f.value for f in same])), samples=samples[:1_000]
        )
    return out


def check_run(store: BaselineStore, record: RunRecord, history: int | None = None) -> Checked:
    """Judge a run against the store; nothing is written. Raises InputError when the store cannot be read."""
    stored = store.read(record.load)
    limits = Limits() if history is None else Limits(history=history)
    judged = judge_run(stored.runs, record, stored.accepted, limits)
    done = with_verdict(record, judged)
    if done.verdict != "regression":
        return Checked(done, judged, stored)
    bad_names = [n for n, j in judged.items() if j.verdict == "regression" and done.figures[n].gate]
    alarm = max(bad_names, key=lambda n: abs(judged[n].change or 0.0))
    good, bad = first_bad(stored.runs, done, alarm)
    return Checked(done, judged, stored, alarm, good, bad, changes(good, bad))


def changes(good: RunRecord | None, bad: RunRecord | None) -> tuple[tuple[str, str, str], ...]:
    """What differs in the environments and commits of two runs: (name, before, after), "" for absent."""
    if good is None or bad is None:
        return ()
    names = sorted({*good.environment, *bad.environment})
    out = [
        (name, before, after)
        for name in names
        if (before := good.environment.get(name, "")) != (after := bad.environment.get(name, ""))
    ]
    before, after = (_commit_text(r.commit) for r in (good, bad))
    if before != after:
        out.append(("commit", before, after))
    return tuple(out)


def _commit_text(commit: Commit | None) -> str:
    return "" if commit is None else commit.sha[:12] + (" with changes" if commit.dirty else "")


def nearest_with_trace(store: BaselineStore, checked: Checked) -> tuple[RunRecord, Path] | None:
    """The latest run before the first bad one whose trace is kept and that was no regression."""
    end = checked.bad or checked.record
    before = [r for r in comparable(checked.stored.runs, end) if r.verdict != "regression"]
    for run in reversed(before):
        path = store.kept_trace(run)
        if path is not None:
            return run, path
    return None


def traces_to_keep(runs: Sequence[RunRecord], keep: int) -> list[str]:
    """Ids of the runs whose packs stay: the last ``keep`` good ones, the last good and first bad one of each alarm."""
    if keep <= 0:
        return []
    kept = {r.id for r in [r for r in runs if r.verdict != "regression"][-keep:]}
    turns = [
        (before.id, after.id)
        for before, after in itertools.pairwise(runs)
        if after.verdict == "regression" and before.verdict != "regression"
    ]
    for pair in turns[-keep:]:
        kept |= set(pair)
    return sorted(kept)
