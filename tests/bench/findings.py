"""Whether findings are right: jobs with a planted fault, whose true cost is known, and jobs without any.

With ``--generator make_trace.py`` (a script that writes jobs with ``truth.json``): every fault of it over seeds, ranks,
sizes and recordings, and clean jobs. Without one: the job that ``rankscope demo`` writes.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.bench.figure import figure
from tests.bench.generated import generated

KINDS: Final = {
    "straggler": "late-rank",
    "data-loading": "data-loading",
    "no-overlap": "serialised-communication",
    "small-messages": "small-messages",
    "launch-bound": "launch-bound",
    "sync-in-step": "sync-drain",
    "fp32-gemm": "fp32-matmul",
}
"""Fault -> kind of the finding that has to be read first."""
NEAR: Final = 0.1
"""How far a saving may be from what the fault costs."""
LEAST: Final = 0.01
"""Of the step: what costs less need not be told."""
LATE: Final = 0.03
"""Of the step: a rank that is less late is none by definition."""
BASE: Final = ("--ranks", "8", "--events-per-rank", "16000", "--layers", "2")
VARIANTS: Final[tuple[tuple[str, ...], ...]] = (
    (*BASE, "--seed", "1"),
    (*BASE, "--seed", "2", "--microbatches", "4"),
    (*BASE, "--seed", "3", "--max-offset-us", "800000", "--drift-ppm", "8"),
    (*BASE, "--seed", "4", "--end-noise-ns", "6000"),
    (*BASE, "--seed", "5", "--drop-collectives", "5", "--drop-ranks", "3,4"),
    (*BASE, "--seed", "6", "--no-rank-file", "2"),
    (*BASE, "--seed", "7", "--gap-us", "1500"),
    ("--ranks", "8", "--events-per-rank", "40000", "--layers", "6", "--microbatches", "8", "--seed", "8"),
    ("--ranks", "16", "--events-per-rank", "12000", "--layers", "1", "--microbatches", "4", "--seed", "9"),
    ("--ranks", "2", "--events-per-rank", "16000", "--layers", "2", "--seed", "10"),
    ("--ranks", "1", "--events-per-rank", "16000", "--layers", "2", "--seed", "11"),
)
"""Shapes of job and recording that every fault and the clean job are made in."""
CLEAN: Final[tuple[tuple[str, ...], ...]] = (
    ("--ranks", "64", "--events-per-rank", "6000", "--layers", "1", "--microbatches", "1", "--seed", "21"),
    (*BASE, "--seed", "22", "--gap-us", "8000"),
    (*BASE, "--seed", "23", "--end-bias-ns", "3000"),
    (*BASE, "--seed", "24", "--ts-base", "epoch"),
    ("--ranks", "4", "--events-per-rank", "8000", "--layers", "1", "--microbatches", "1", "--seed", "25"),
)
"""More clean jobs."""
SLOW: Final = ("5:1.05", "5:1.1", "5:1.3", "5:1.5", "3:1.2", "2:1.3,5:1.15")
"""Slow ranks and how many times as long their compute takes."""


@dataclass
class Tally:
    """What came of all runs of one fault."""

    runs: int = 0
    first: int = 0
    near: int = 0
    few: int = 0
    floors: int = 0
    worst: float = 0.0
    said: list[str] = field(default_factory=list)


def _make(generator: Path, folder: Path, options: tuple[str, ...]) -> dict[str, Any]:
    return generated(generator, folder, ("--jobs", "1", *options))


def _sends(generator: Path, options: tuple[str, ...]) -> float:
    """What sends between stages cost a clean job, ns per step: its schedule against the same with sends that take no
    time. 0 where the generator has no such schedule."""
    spec = importlib.util.spec_from_file_location("generator_of_jobs", generator)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    if not hasattr(made, "Schedule"):
        return 0.0

    # The same random numbers, and no time for sends: what is drawn for them comes to nothing.
    none = property(lambda it: 0 * it.drawn, lambda it, drawn: setattr(it, "drawn", drawn))
    without_sends = type("WithoutSends", (made.Schedule,), {"xfer": none})
    asked = made.parse(["--out", "unused", "--straggler", "-1", *options])
    shape = made.setup(asked)
    real, free = (schedule(asked, *shape).steplen for schedule in (made.Schedule, without_sends))
    return float((real - free).mean())


def _is_real(found: Any, truth: dict[str, Any], sends: float = 0.0) -> bool:
    """Whether a finding beside the fault tells of something that the job has: its gap between steps, its sends."""
    if found.kind == "bubble-p2p":
        return bool(abs(found.saving_ns_per_step - sends) <= NEAR * sends)
    if found.kind != "step-gap":
        return False
    gaps = [s["gap_to_next_ns"] for r in truth["ranks"] for s in r["steps"] if s["gap_to_next_ns"] is not None]
    return bool(gaps) and found.saving_ns_per_step <= (1 + NEAR) * sum(gaps) / len(gaps)


def _seen(truth: dict[str, Any]) -> bool:
    """Whether a rank that has the fault is open."""
    return any(r["rank"] in truth["faults"][0]["ranks"] for r in truth["ranks"])


def _sure(folder: Path) -> list[Any]:
    """What a person would read as worth a change, in order."""
    from viewer.analyses.findings.registry import job_findings
    from viewer.app.analyze import open_job
    from viewer.app.options import JobOptions

    session = open_job([folder], JobOptions()).session
    found = job_findings(session)
    assert not [f for f in found if f.kind == "detector-failed"], "a detector failed"
    return [f for f in found if f.confident and f.severity != "info"]


def _true_cost(truth: dict[str, Any], without: dict[str, Any] | None) -> float:
    """What the fault costs, ns per step."""
    if without is not None:
        steps = zip(truth["true_step_ns"], without["true_step_ns"], strict=True)
        return sum(a - b for a, b in steps) / len(truth["true_step_ns"])
    fault = truth["faults"][0]
    # Its kernels are shorter too: the same kernels with free launches are the measure.
    return float(fault.get("saving_ns_per_step", fault["cost_ns_per_step"]))


def _step(truth: dict[str, Any]) -> float:
    return sum(truth["true_step_ns"]) / len(truth["true_step_ns"])


def _judge(
    tally: Tally, name: str, kind: str, cost: float, truth: dict[str, Any], found: list[Any], options: str
) -> None:
    """``cost`` is what the fault costs per step; what costs too small a part of the step is no fault.

    Of few ranks the files do not say what the others do: the saving is a floor then, and must not be above the cost.
    """
    if cost < (LATE if name.startswith("slow") else LEAST) * _step(truth):
        return
    few = 2 * truth["ranks_written"] < truth["world_size"]
    tally.runs += 1
    right = bool(found) and found[0].kind == kind
    tally.first += right
    saving = next((f.saving_ns_per_step for f in found if f.kind == kind), None)
    error = (saving - cost) / cost if saving is not None else None
    tally.few += few
    if error is not None:
        tally.near += abs(error) <= NEAR
        tally.floors += few and -1 < error < -NEAR
        tally.worst = max(tally.worst, abs(error), key=abs)
    if not right or error is None or abs(error) > NEAR:
        size = f"{'no saving' if error is None else f'saving {error:+.0%}'} of {cost / 1e6:.2f} ms"
        tally.said.append(f"{name} [{options}]: {size}; read: {', '.join(f.id for f in found[:4]) or 'nothing'}")


def _short(options: tuple[str, ...]) -> str:
    return " ".join(options).replace("--", "")


def _generated(generator: Path, folder: Path, only: str, scale: float) -> Iterator[dict[str, Any]]:
    count = max(1, round(len(VARIANTS) * scale))
    variants = VARIANTS[:count] if scale < 1 else VARIANTS
    said: list[str] = []
    if not only or only == "clean":
        wrong: Counter[str] = Counter()
        jobs = [*variants, *(CLEAN if scale >= 1 else ())]
        bad = gaps = sends = 0
        for options in jobs:
            truth = _make(generator, folder, ("--straggler", "-1", *options))
            every = _sure(folder)
            costs = _sends(generator, options) if any(f.kind == "bubble-p2p" for f in every) else 0.0
            found = [f for f in every if not _is_real(f, truth, costs)]
            gaps += any(f.kind == "step-gap" for f in every)
            sends += costs > 0 and not any(f.kind == "bubble-p2p" for f in found)
            bad += bool(found)
            wrong.update({f.kind for f in found})
            if found:
                said.append(f"clean [{_short(options)}]: {'; '.join(f.title for f in found)}")
        yield figure("clean jobs", len(jobs), "", "", None)
        yield figure("clean jobs with a confident finding", bad, "", "0", bad == 0)
        yield figure("clean jobs whose gap between steps is told, not larger than it is", gaps, "", "", None)
        yield figure("clean jobs whose sends are told, within 10 % of what they cost", sends, "", "", None)
        for kind, times in wrong.most_common():
            yield figure(f"clean jobs with {kind}", times, "", "0", False)
    for name, kind in KINDS.items():
        if only and only != name:
            continue
        tally = Tally()
        if name == "straggler":
            for options in variants:
                if "8" not in options[1]:
                    continue
                without = _make(generator, folder, ("--straggler", "-1", *options))
                for slow in SLOW if options is variants[0] else ("5:1.18",):
                    truth = _make(generator, folder, ("--straggler", slow, *options))
                    cost = _true_cost(truth, without)
                    _judge(tally, f"slow {slow}", kind, cost, truth, _sure(folder), _short(options))
        else:
            for options in variants:
                truth = _make(generator, folder, ("--straggler", "-1", "--fault", name, *options))
                if _seen(truth):
                    found = [f for f in _sure(folder) if not _is_real(f, truth)]
                    _judge(tally, name, kind, _true_cost(truth, None), truth, found, _short(options))
        yield figure(f"{name}: jobs", tally.runs, "", "", None)
        yield figure(f"{name}: read first", tally.first, "jobs", f"{tally.runs}", tally.first == tally.runs)
        if tally.floors:
            yield figure(f"{name}: saving of few ranks of many, a floor", tally.floors, "jobs", f"{tally.few}", None)
        wanted = tally.runs - tally.floors
        yield figure(f"{name}: saving within 10 %", tally.near, "jobs", f"{wanted}", tally.near == wanted)
        yield figure(f"{name}: largest error of a saving", 100 * tally.worst, "%", "", None)
        said += tally.said
    for line in said:
        sys.stdout.write(f"  {line}\n")


def _own(folder: Path) -> Iterator[dict[str, Any]]:
    """The demo job: a slow rank and a late loader."""
    from viewer.app.demo.job import write_demo_job

    truth = write_demo_job(folder)
    found = _sure(folder)
    wanted = ["data-loading", f"late-rank/rank {truth['faults']['slow_rank']['rank']}"]
    right = [f.id for f in found[:2]] == wanted
    yield figure("the demo job's faults are read first", float(right), "", "1", right)


def figures(folder: Path, generator: Path | None, only: str, scale: float) -> Iterator[dict[str, Any]]:
    """Figures of all jobs; those that were not right are listed.

    Args:
        folder: for jobs, emptied between them.
        generator: the script that makes jobs; None for the project's own job.
        only: one fault, or "clean"; "" for all.
        scale: below 1 fewer shapes.
    """
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    if generator is None:
        yield from _own(folder / "job")
        return
    yield from _generated(generator, folder / "job", only, scale)
