"""How long it takes to match the collectives of many ranks and to put the ranks on one clock.

The job is made as tables, as opening it finds them in the cache. Time of the cores is measured, and what a person
waits for; the code is compiled. What must come of it is checked: every collective matched, offsets within 2 us.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.bench.clock_job import INPUTS, METADATA, WAYS, clocks, make_job
from tests.bench.figure import at_least, at_most, figure
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.matching import matches
from viewer.analyses.collective.operations import operations
from viewer.analyses.links import links
from viewer.store.session import Session

RANKS: Final = 64
COLLECTIVES: Final = 20_000
LIMIT_S: Final = 2.0
OFFSET_NS: Final = 2_000


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the cores, and seconds."""
    gc.collect()
    cores, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cores, time.perf_counter() - clock


def _error(session: Session, ranks: int) -> float:
    """The largest error of an offset at t0, ns."""
    found = align(session)
    offsets, drifts = clocks(ranks)
    first = found.t0_ns or 0
    worst = 0.0
    for clock in found.clocks:
        if not clock.connected or clock.rank is None:
            return float("inf")
        # The true clock's 0 is 10 s on that of a rank without an offset.
        true_t0 = (first - session.inputs[0].base_ns - 10_000_000_000 - int(offsets[0])) / (1.0 + drifts[0])
        true = offsets[clock.rank] - offsets[0] + (drifts[clock.rank] - drifts[0]) * true_t0
        worst = max(worst, abs(clock.offset_ns - float(true)))
    return worst


def figures(scale: float) -> Iterator[dict[str, Any]]:
    """Measure one way of stating collectives after the other. ``scale`` is the number of collectives."""
    for way in WAYS:
        align(make_job(16, 400, way))  # compiles
        session = make_job(RANKS, max(int(COLLECTIVES * scale), 400), way)
        yield from _measured(session, way in (METADATA, INPUTS), f"{RANKS} x {int(COLLECTIVES * scale):,}, {way}")


def _measured(session: Session, limited: bool, what: str) -> Iterator[dict[str, Any]]:
    joined = _timed(lambda: [links(i.trace) for i in session.inputs])[0]
    yield figure(f"{what}: launches joined with kernels, which all figures need", joined, "s of CPU", "none", None)
    parts: dict[str, Callable[[], Any]] = {
        "read": lambda: [operations(i.trace) for i in session.inputs],
        "matched": lambda: matches(session),
        "aligned": lambda: align(session),
    }
    spent = {name: _timed(work) for name, work in parts.items()}
    for name, (cores, _) in spent.items():
        yield figure(f"{what}: {name}", cores, "s of CPU", "none", None)
    cores, waited = (sum(t[k] for t in spent.values()) for k in range(2))
    name = f"{what}: read, matched and aligned"
    yield at_most(name, cores, "s of CPU", LIMIT_S) if limited else figure(name, cores, "s of CPU", "none", None)
    yield figure(f"{what}: waited", waited, "s", "none", None)
    yield at_least(f"{what}: matched", 100 * (align(session).match_rate or 0.0), "%", 99.9)
    yield at_most(f"{what}: offsets, largest error", _error(session, RANKS), "ns", OFFSET_NS)
