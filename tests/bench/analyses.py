"""Analysing a job that is already open: time of the cores for each part, and how it grows with ranks and events.

The time of the cores, all threads, is measured on fresh sessions, so nothing is kept from the run before; the least of
several runs counts. The code is compiled and the files are in the cache. ``--folder`` names a job that is measured
instead of made ones: once, with what a person waits for and the most memory that it takes.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.figure import at_most, figure
from viewer.analyses.card_fill import with_filled_card
from viewer.analyses.findings.registry import DETECTORS, detector, job_findings
from viewer.app.cli import SWITCH_SECONDS
from viewer.app.clocks import settle_clocks
from viewer.app.demo.job import write_demo_job
from viewer.base.job_card import EMPTY_CARD
from viewer.base.work import CancelToken
from viewer.exporters.html_page import html_report
from viewer.exporters.report import encode_report, report
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Session
from viewer.views.findings import page_basis
from viewer.views.three_moves import three_moves

RUNS = 3
EVENTS_OF_STEP = 5_000
SIZES = ((8, 50_000), (16, 50_000), (32, 50_000), (8, 100_000), (8, 200_000))
"""(ranks, events per rank) between which growth is measured; the first is the smallest of both."""
LIMIT_C = 1.0
"""Seconds for 8 ranks of 250,000 events."""
LIMIT_LARGE = 30.0
"""Seconds for 64 ranks of 1,000,000 events."""


class _Clock:
    """Seconds of the cores by part, in the order in which they came; of several runs the least."""

    def __init__(self) -> None:
        self.least: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        begin = time.process_time()
        result = work()
        used = time.process_time() - begin
        self.least[name] = min(used, self.least.get(name, used))
        return result


def _opened(paths: list[Path], cache: Cache) -> Session:
    return JobOpener(paths, cache=cache).open().session


def analyse(session: Session, clock: _Clock) -> None:
    """All that the window and the report ask of a job, in the order in which the window asks."""
    session = clock("clocks aligned", lambda: settle_clocks(session, "auto"))
    session = clock("job card", lambda: with_filled_card(session, EMPTY_CARD))
    clock("three moves", lambda: (page_basis(session), three_moves(session)))
    token = CancelToken()
    for name in DETECTORS:
        clock(f"findings: {name}", lambda name=name: tuple(detector(name)(session, token)))
    job_findings(session)  # keeps them
    data = clock("report", lambda: report(session))
    clock("report as JSON", lambda: encode_report(data))
    clock("report as a page", lambda: html_report(session, data, "job"))


def _waited(session: Session) -> tuple[float, float]:
    """Seconds until the first page is there, and until all is, as the command line asks for it."""
    sys.setswitchinterval(SWITCH_SECONDS)
    begin = time.perf_counter()
    session = with_filled_card(settle_clocks(session, "auto"), EMPTY_CARD)
    page_basis(session)
    three_moves(session)
    page = time.perf_counter() - begin
    job_findings(session)
    data = report(session)
    encode_report(data)
    html_report(session, data, "job")
    return page, time.perf_counter() - begin


def job_figures(folder: Path, job: Path) -> Iterator[dict[str, Any]]:
    """Measure a job that is there."""
    cache, paths = Cache(folder / "cache"), sorted(p for p in job.iterdir() if p.name.startswith("rank"))
    analyse(_opened(_job(folder, 2, 5_000), cache), _Clock())  # loads code and rules
    clock = _Clock()
    clock("import", lambda: _opened(paths, cache))
    session = clock("opening", lambda: _opened(paths, cache))
    begin = time.process_time()
    page, everything = _waited(session)
    what = f"{len(paths)} files, {sum(len(i.trace) for i in session.inputs) / 1e6:.1f} M slices"
    for name, seconds in clock.least.items():
        yield figure(f"{what}, {name}", seconds, "s of CPU", "none", None)
    yield figure(f"{what}, the first page, waited", page, "s", "none", None)
    yield figure(f"{what}, everything after opening", time.process_time() - begin, "s of CPU", "none", None)
    yield at_most(f"{what}, everything after opening, waited", everything, "s", LIMIT_LARGE)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield figure(f"{what}, most memory, mapped tables included", peak, "GB", "none", None)


def _whole(paths: list[Path], cache: Cache, runs: int) -> dict[str, float]:
    _opened(paths, cache)
    clock = _Clock()
    for _ in range(runs):
        session = _opened(paths, cache)
        gc.collect()
        analyse(session, clock)
    return clock.least


def _job(folder: Path, ranks: int, events: int) -> list[Path]:
    """A demo job: a rank has about 5,000 events in a step."""
    target = folder / f"{ranks}x{events}"
    write_demo_job(target, ranks, steps=max(2, events // EVENTS_OF_STEP))
    return sorted(target.glob("rank-*"))


def figures(folder: Path, scale: float) -> Iterator[dict[str, Any]]:
    """Measure one size after the other. ``scale`` is the size of the jobs."""
    cache = Cache(folder / "cache")
    analyse(_opened(_job(folder, 2, 5_000), cache), _Clock())  # loads code and rules
    size = int(250_000 * scale)
    parts, what = _whole(_job(folder, 8, size), cache, RUNS), f"8 x {size // 1000}k events"
    for name, seconds in parts.items():
        if seconds >= 0.02:
            yield figure(f"{what}, {name}", seconds * 1000, "ms of CPU", "none", None)
    yield at_most(f"{what}, everything, after opening", sum(parts.values()), "s of CPU", LIMIT_C)
    paths = _job(folder, 8, size)
    waited = min(_waited(_opened(paths, cache)) for _ in range(RUNS))
    yield figure(f"{what}, the first page, waited", waited[0], "s", "none", None)
    yield at_most(f"{what}, everything, waited", waited[1], "s", LIMIT_C)
    spent = {}
    for ranks, whole in SIZES:
        events = int(whole * scale)
        paths = _job(folder, ranks, events)
        spent[ranks, events] = sum(_whole(paths, cache, 2).values())
        for path in paths:
            path.unlink()
    low = min(spent)
    by_ranks = {r: s for (r, e), s in spent.items() if e == low[1]}
    by_events = {e: s for (r, e), s in spent.items() if r == low[0]}
    grows = _exponent(by_ranks), _exponent(by_events)
    yield at_most("growth with ranks, exponent", grows[0], "", 1.2)
    yield at_most("growth with events per rank, exponent", grows[1], "", 1.2)
    last = max(by_events)
    # What is the same for every size hides growth in small jobs: at least linear is assumed beyond them.
    times = (64 / low[0]) ** max(1.0, grows[0]) * (1_000_000 * scale / last) ** max(1.0, grows[1])
    estimate = by_events[last] * times
    large = f"64 x {int(1000 * scale)}k events, everything, extrapolated from these"
    yield at_most(large, estimate, "s of CPU", LIMIT_LARGE)


def _exponent(spent: dict[int, float]) -> float:
    """The slope of time over size, both as logarithms."""
    return float(np.polyfit(np.log(list(spent)), np.log(list(spent.values())), 1)[0])
