"""``rankscope watch``: slow drift over hours or weeks, from logs or from the runs of a baseline store."""

from __future__ import annotations

import argparse
import re
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from viewer.analyses.gate.drift import LEAST_VALUES, drift
from viewer.app.analyze import check_writable, write_file
from viewer.app.console import complain, say, say_bytes
from viewer.app.gate.loads import UNITS, is_higher_better
from viewer.base.errors import InputError, RankscopeError, UsageError
from viewer.base.json_text import encode_json
from viewer.base.run_record import Better
from viewer.exporters.watch_data import Watched, watch_data, watch_markdown, watch_text
from viewer.exporters.watch_svg import watch_svg
from viewer.importers.metric_log import read_metric_log
from viewer.store.baseline import BaselineStore
from viewer.views.figures import plural

STEADY: Final = 0
DRIFTS: Final = 1
WRONG: Final = 2
VALUES_PER_HOUR: Final = 1_000
"""Without times a rate is per so many values."""
_USUAL: Final = re.compile(
    r"time|latency|duration|ttft|tpot|itl|throughput|tokens|samples|tflop|mfu|mem|alloc|reserved|frag|clock|mhz|util|gap"
    r"|power|temp|_ms\b|_ns\b|_us\b|/s\b|per[ _]sec|exposed|busy|idle|bubble|hit[ _]rate|step_s\b",
    re.IGNORECASE,
)

EPILOG: Final = """\
examples:
  rankscope watch train.log --svg watch
  rankscope watch perf/baseline --load train-step
  rankscope watch metrics.jsonl --metric step_time --better step_time=lower

exit status: 0 steady, 1 something got worse, 2 the input is wrong or too short
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All options of the command."""
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="+", help="logs (CSV, JSON lines, text), or the folder of a baseline store")
    add("--metric", metavar="NAME", action="append", default=[], help="only these (default: times, rates, memory, ...)")
    add("--load", metavar="NAME", action="append", default=[], help="of a store: only these loads")
    add("--better", metavar="NAME=lower|higher", action="append", default=[], help="what is better")
    add("--least", metavar="SHARE", type=float, default=0.005, help="least total change that counts (default 0.005)")
    add("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    add("--markdown", metavar="FILE", help="write it as Markdown")
    add("--svg", metavar="FOLDER", help="write a plot of each metric there")


def run_watch(options: argparse.Namespace) -> int:
    """Run the command; returns the exit status. Raises RankscopeError when the call is wrong."""
    better = _better(options.better)
    if not 0.0 < options.least < 10.0:
        raise UsageError("--least must be a share between 0 and 10, as in 0.005 for 0.5 %.")
    for name in ("json", "markdown"):
        if getattr(options, name) not in (None, "-"):
            check_writable(Path(getattr(options, name)))
    series: list[Watched] = []
    failures: list[str] = []
    for text in options.paths:
        try:
            series += _of(Path(text), options, better)
        except RankscopeError as error:
            failures.append(str(error))
            complain(str(error))
    if not series and not failures:
        failures.append("no metric of that name was found")
        complain(failures[0])
    series = [
        msgspec.structs.replace(s, drift=drift(np.array(s.times), np.array(s.values), s.better, options.least))
        for s in series
    ]
    data = watch_data(series, failures)
    _write(options, data, series)
    if any(s.drift is not None and s.drift.worse for s in series):
        return DRIFTS
    short = [s for s in series if s.drift is None or s.drift.kind == "too short"]
    if short and len(short) == len(series):
        most = max(len(s.values) for s in short)
        complain(f"no verdict: {plural(most, 'value')} at most, and drift is told from {LEAST_VALUES} on")
    return WRONG if failures or len(short) == len(series) else STEADY


def _write(options: argparse.Namespace, data: dict[str, Any], series: list[Watched]) -> None:
    if options.json:
        encoded = encode_json(data)
        say_bytes(encoded) if options.json == "-" else write_file(Path(options.json), encoded)
    if options.markdown:
        write_file(Path(options.markdown), watch_markdown(data).encode("utf-8", "replace"))
    if options.svg:
        folder = Path(options.svg)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror or error}.") from None
        from viewer.store.baseline import folder_name

        for number, found in enumerate(series):
            name = folder_name(f"{number:02}-{found.name}")
            write_file(folder / f"{name}.svg", watch_svg(found).encode("utf-8", "replace"))
    if options.json != "-":
        say(watch_text(data))


def _better(words: list[str]) -> dict[str, Better]:
    out: dict[str, Better] = {}
    for word in words:
        name, _, what = word.rpartition("=")
        if not name or what not in ("lower", "higher"):
            raise UsageError(f"--better {word!r} is no NAME=lower or NAME=higher.")
        out[name] = "lower" if what == "lower" else "higher"
    return out


def _of(path: Path, options: argparse.Namespace, better: dict[str, Better]) -> list[Watched]:
    if path.is_dir():
        return _of_store(path, options, better)
    log = read_metric_log(path)
    found = []
    for name, series in log.series.items():
        if name in options.metric or (not options.metric and _USUAL.search(name) and not _counts(series.values)):
            timed = series.times is not None
            times = series.times if series.times is not None else _numbered(len(series.values))
            side = better.get(name) or ("higher" if is_higher_better(name) else "lower")
            unit = UNITS.get(name.rpartition("_")[2].lower(), "")
            found.append(Watched(path.name, name, unit, side, times, series.values, timed))
    if not found:
        known = ", ".join(list(log.series)[:20])
        raise InputError(
            str(path), f"has none of the metrics to watch; it has {known}", "", "Name some: --metric NAME."
        )
    if log.unordered:
        complain(f"{path}: {log.unordered:,} lines go back in time and are left out.")
    return found


def _counts(values: list[float]) -> bool:
    """Whether a series is a counter (samples so far): it only ever grows, and as good as always."""
    grown = np.diff(np.array(values))
    return len(grown) > 2 and bool((grown >= 0.0).all()) and float((grown > 0.0).mean()) > 0.9


def _numbered(count: int) -> list[float]:
    """Times for values without: so many seconds apart that an "hour" is 1,000 values."""
    return [i * 3600.0 / VALUES_PER_HOUR for i in range(count)]


def _of_store(path: Path, options: argparse.Namespace, better: dict[str, Better]) -> list[Watched]:
    store = BaselineStore(path)
    loads = options.load or store.loads()
    if not loads:
        raise InputError(str(path), "is no baseline store with runs", "", "Record runs with rankscope check.")
    found = []
    for load in loads:
        stored = store.read(load)
        for finding in stored.findings:
            complain(finding.message)
        places = sorted({run.place for run in stored.runs}, key=str)
        for place in places:
            runs = [r for r in stored.runs if r.place == place]
            names = dict.fromkeys(n for r in runs for n in r.figures if not options.metric or n in options.metric)
            source = load if len(places) == 1 else f"{load} on {place[1]}"
            for name in names:
                with_it = [r for r in runs if name in r.figures and np.isfinite(r.figures[name].value)]
                last = with_it[-1].figures[name]
                times = [datetime.fromisoformat(r.time.replace("Z", "+00:00")).timestamp() for r in with_it]
                values = [r.figures[name].value for r in with_it]
                found.append(Watched(source, name, last.unit, better.get(name, last.better), times, values, True))
    return found
