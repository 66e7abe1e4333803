"""``rankscope check``: run or read loads, judge them against their baseline, record them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from viewer.analyses.gate.judge import LEAST_HISTORY
from viewer.app.analyze import check_writable, open_job, write_file
from viewer.app.console import complain, say, say_bytes
from viewer.app.gate.alarm import Outputs, raise_alarm
from viewer.app.gate.checking import Checked, check_run, make_record, median_figures, traces_to_keep
from viewer.app.gate.environment import commit_of, machine_name
from viewer.app.gate.loads import given_figure, load_output, read_figures
from viewer.app.gate.manifest import Load, Manifest, read_manifest
from viewer.app.options import JobOptions
from viewer.base.errors import InputError, RankscopeError, UsageError
from viewer.base.json_text import encode_json
from viewer.base.run_record import ACCEPT_SCHEMA, Accepted, Commit, RunFigure
from viewer.store.baseline import BaselineStore, new_id, time_text
from viewer.store.session import Session

PASS: Final = 0
REGRESSION: Final = 1
CANNOT_TELL: Final = 2

EPILOG: Final = """\
examples:
  rankscope check --run --manifest perf/loads.toml --baseline perf/baseline --junit check.xml
  rankscope check trace.json.gz --load train-step --baseline perf/baseline
  rankscope check --load decode --baseline perf/baseline --figure tpot_ms=11.8
  rankscope check --accept last --load train-step --baseline perf/baseline --reason "larger batch"

exit status: 0 pass or improvement, 1 regression, 2 not enough history, or a load or an input is wrong
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All options of the command but those of how files make a job."""
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", help="the traces of one run")
    add("--baseline", metavar="DIR", help="the folder of the baseline store (default: what the manifest says)")
    add("--manifest", metavar="FILE", help="a TOML file that names loads, thresholds and directions")
    add("--load", metavar="NAME", action="append", default=[], help="the load; with --run those to run (default: all)")
    add("--run", action="store_true", help="run the commands of the manifest's loads")
    add("--figure", metavar="NAME=VALUE", action="append", default=[], help="a further figure, as in ttft_ms=12.5")
    add("--figures", metavar="FILE", help="further figures as JSON")
    add("--limit", metavar="NAME=VALUE", action="append", default=[], help="a fixed limit: beyond it the check fails")
    add("--no-record", action="store_true", help="judge only, write nothing into the store")
    add("--keep-traces", metavar="N", type=int, help="packs of good runs that stay in the store (default 3; 0: none)")
    add("--allow-new", action="store_true", help="exit with 0 where there is not enough history yet")
    add("--machine", metavar="NAME", help="what runs are compared within (default: this machine's name)")
    add("--gpu", metavar="NAME", help="the GPUs (default: what the traces say)")
    add("--commit", metavar="SHA", help="the commit of the run (default: that of --repo)")
    add("--repo", metavar="DIR", default=".", help="the sources' repository (default: the current folder)")
    add("--note", metavar="TEXT", default="", help="kept with the run")
    add("--accept", metavar="RUN", help="accept the level since a run (its id, or last) as the new baseline")
    add("--reason", metavar="TEXT", default="", help="why it is accepted")
    add("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    add("--junit", metavar="FILE", help="write it as JUnit XML")
    add("--markdown", metavar="FILE", help="write it as Markdown")
    add("--alarm", metavar="DIR", help="where an alarm puts its comparison, picture and bisect script (made if needed)")


def run_check(options: argparse.Namespace, job: JobOptions) -> int:
    """Run the command; returns the exit status.

    Raises:
        RankscopeError: the call, the manifest or the store is wrong.
    """
    manifest = read_manifest(Path(options.manifest)) if options.manifest else None
    if options.keep_traces is not None and options.keep_traces < 0:
        raise UsageError("--keep-traces must be 0 or more.")
    store = BaselineStore(_store_folder(options, manifest))
    for name in ("json", "junit", "markdown"):
        if getattr(options, name) not in (None, "-"):
            check_writable(Path(getattr(options, name)))
    if options.accept:
        return _accept(store, options)
    limits = [given_figure(text) for text in options.limit]
    data: list[dict[str, Any]] = []
    failures: list[str] = []
    beyond: list[str] = []
    for load in _loads(options, manifest):
        try:
            with _measured(load, options, manifest, job) as (figures, session):
                found, over = _one(store, load, figures, session, options, manifest, limits, job)
        except UsageError:
            raise
        except RankscopeError as error:
            failures.append(str(error))
            complain(str(error))
            continue
        data.append(found)
        beyond += over
    return _finish(options, data, failures, beyond)


def _store_folder(options: argparse.Namespace, manifest: Manifest | None) -> Path:
    if options.baseline:
        return Path(options.baseline)
    if manifest is not None and manifest.baseline is not None:
        return manifest.baseline
    if options.limit and options.no_record:
        return Path("no-baseline-is-read")
    raise UsageError("name the baseline store: --baseline DIR, or baseline = in the manifest.")


def _loads(options: argparse.Namespace, manifest: Manifest | None) -> list[Load]:
    given = bool(options.paths or options.figure or options.figures)
    if options.run and manifest is None:
        raise UsageError("--run needs --manifest FILE: it names the commands.")
    if options.run and given:
        raise UsageError("--run measures the manifest's loads: leave out paths and figures, or leave out --run.")
    if manifest is not None and not given:
        names = options.load or [load.name for load in manifest.loads]
        found = [manifest.load(name) for name in names]
        for name, load in zip(names, found, strict=True):
            if load is None:
                known = ", ".join(other.name for other in manifest.loads)
                raise UsageError(f"the manifest has no load {name!r}; it has {known}.")
        return [load for load in found if load is not None]
    if not given:
        raise UsageError("nothing to check: name traces, --figure, or --manifest with --run.")
    if len(options.load) != 1:
        raise UsageError("say which load this run is of: --load NAME.")
    known_load = manifest.load(options.load[0]) if manifest is not None else None
    return [known_load or Load(options.load[0])]


@contextlib.contextmanager
def _measured(
    load: Load, options: argparse.Namespace, manifest: Manifest | None, job: JobOptions
) -> Iterator[tuple[dict[str, RunFigure], Session | None]]:
    """The figures of a load and the session they come from, whose files are there meanwhile."""
    if manifest is None or options.paths or options.figure or options.figures:
        figures, session = _figures_of([Path(p) for p in options.paths], job)
        if options.figures:
            figures |= read_figures(Path(options.figures))
        figures |= dict(given_figure(text) for text in options.figure)
        yield _some(figures, load), session
        return
    repeats: list[dict[str, RunFigure]] = []
    with contextlib.ExitStack() as stack:
        session = None
        for _ in range(load.repeat if options.run and load.command else 1):
            ran = stack.enter_context(load_output(manifest, load, run=options.run))
            figures, session = _figures_of(list(ran.traces), _with_card(job, load, manifest))
            repeats.append(figures | ran.figures)
        yield _some(median_figures(repeats), load), session


def _with_card(job: JobOptions, load: Load, manifest: Manifest) -> JobOptions:
    if not load.job:
        return job
    from viewer.store.card_file import read_card

    return replace(job, card=read_card(manifest.folder / load.job))


def _some(figures: dict[str, RunFigure], load: Load) -> dict[str, RunFigure]:
    if not figures:
        step = "Give a trace with GPU work, or figures."
        raise InputError(f"load {load.name}", "has no figure that could be checked", "", step)
    return figures


def _figures_of(paths: list[Path], job: JobOptions) -> tuple[dict[str, RunFigure], Session | None]:
    if not paths:
        return {}, None
    from viewer.analyses.gate.figures import run_figures

    result = open_job(paths, job)
    if not result.session.inputs:
        raise InputError(str(paths[0]), "no trace of this run could be opened")
    return run_figures(result.session), result.session


def _one(
    store: BaselineStore,
    load: Load,
    figures: dict[str, RunFigure],
    session: Session | None,
    options: argparse.Namespace,
    manifest: Manifest | None,
    limits: list[tuple[str, RunFigure]],
    job: JobOptions,
) -> tuple[dict[str, Any], list[str]]:
    from viewer.exporters.gate_data import run_data

    record = make_record(
        load,
        figures,
        session,
        now=datetime.now(UTC),
        machine=options.machine or machine_name(),
        gpu=options.gpu,
        commit=Commit(options.commit) if options.commit else commit_of(Path(options.repo)),
        note=options.note,
    )
    checked = check_run(store, record, manifest.history if manifest is not None else None)
    kept = 3 if manifest is None else manifest.keep_traces
    keep = kept if options.keep_traces is None else options.keep_traces
    alarm = None
    if checked.alarm:
        where = Path(options.alarm) if options.alarm else None
        path = Path(options.manifest) if options.manifest else None
        alarm = raise_alarm(store, checked, session, Outputs(where, Path(options.repo), path, job))
    findings = [f.message for f in checked.findings]
    if not options.no_record:
        findings += _record(store, checked, session, keep)
    return run_data(checked.record, checked.judged, alarm, findings, recorded=not options.no_record), _beyond(
        figures, limits
    )


def _record(store: BaselineStore, checked: Checked, session: Session | None, keep: int) -> list[str]:
    """Write the run, and its pack where packs are kept; a pack that cannot be written costs the record nothing."""
    import msgspec

    record, said = checked.record, []
    if keep and session is not None:
        from viewer.exporters.pack import write_pack

        try:
            path = store.trace_path(record.load, record.id)
            write_pack(path, session, [i.path for i in session.inputs], lambda *_: None)
            record = msgspec.structs.replace(record, trace=path.name)
        except (RankscopeError, OSError) as error:
            said.append(f"the trace of this run is not kept: {error}")
    store.add(record)
    store.forget_traces(record.load, traces_to_keep([*checked.stored.runs, record], keep))
    return said


def _beyond(figures: dict[str, RunFigure], limits: list[tuple[str, RunFigure]]) -> list[str]:
    out = []
    for name, limit in limits:
        if name not in figures:
            known = ", ".join(figures)
            raise InputError(f"--limit {name}", f"this run has no such figure; it has {known}")
        figure = figures[name]
        worse = figure.value > limit.value if figure.better == "lower" else figure.value < limit.value
        if worse:
            out.append(f"{name} is {figure.value:.6g}, beyond its limit {limit.value:.6g}")
    return out


def _finish(options: argparse.Namespace, data: list[dict[str, Any]], failures: list[str], beyond: list[str]) -> int:
    from viewer.exporters.gate_data import check_data
    from viewer.exporters.gate_junit import check_junit
    from viewer.exporters.gate_text import check_markdown, check_text

    whole = check_data(data, failures)
    if options.json:
        encoded = encode_json(whole)
        say_bytes(encoded) if options.json == "-" else write_file(Path(options.json), encoded)
    if options.junit:
        write_file(Path(options.junit), check_junit(whole))
    if options.markdown:
        write_file(Path(options.markdown), check_markdown(whole).encode("utf-8", "replace"))
    if options.json != "-":
        say(check_text(whole))
    for text in beyond:
        complain(f"limit: {text}")
    if options.limit:
        return REGRESSION if beyond else CANNOT_TELL if failures else PASS
    if whole["verdict"] == "regression":
        return REGRESSION
    if failures:
        return CANNOT_TELL
    unknown = False
    for run in data:
        if run["verdict"] == "not enough history":
            unknown = True
            reasons = [f["reason"] for f in run["figures"] if f["verdict"] == run["verdict"] and f["reason"]]
            complain(f"{run['load']}: no verdict yet: {reasons[0] if reasons else 'no figure of it is judged'}")
    return CANNOT_TELL if unknown and not options.allow_new else PASS


def _accept(store: BaselineStore, options: argparse.Namespace) -> int:
    if len(options.load) != 1:
        raise UsageError("say which load's level is accepted: --load NAME.")
    load = options.load[0]
    runs = store.read(load).runs
    found = [r for r in runs if r.id == options.accept] or (list(runs[-1:]) if options.accept == "last" else [])
    if not found:
        raise UsageError(f"the store has no run {options.accept!r} of the load {load!r}.")
    now = datetime.now(UTC)
    store.accept(load, Accepted(ACCEPT_SCHEMA, found[-1].id, time_text(now), options.reason), new_id(now))
    say(f"{load}: the baseline begins with run {found[-1].id} of {found[-1].time}.")
    there = len(runs) - runs.index(found[-1])
    if there < LEAST_HISTORY:
        count = "1 run is" if there == 1 else f"{there} runs are"
        say(f"{count} at this level; a verdict needs {LEAST_HISTORY}: until then a check cannot tell (exit status 2).")
    return PASS
