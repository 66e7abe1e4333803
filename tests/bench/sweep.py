"""Whether clocks and lateness are right: generated jobs whose truth is known, over ranks, seeds and recordings.

``python -m tests.bench sweep --generator make_trace.py --json FILE [--ranks 8,64] [--seeds 5] [--seed 1]
[--state FILE]``. Every job has offsets up to 3 ms and drifts up to 50 ppm, and none to three slow ranks; it is recorded
whole, with a tenth of two ranks' collectives missing, with a file missing, and with noisy ends. Of each job are held
against the truth: the offsets at t0, the drifts, what the ranks' stated uncertainties cover, who is named, own and
inherited lateness, and whether an operation ends before its last member began.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.bench.figure import at_most, figure
from tests.bench.generated import generated

CLOCKS: Final = ("--max-offset-us", "3000", "--drift-ppm", "50", "--jobs", "1")
SHAPES: Final = {
    8: ("--events-per-rank", "50000", "--layers", "2", "--microbatches", "8"),
    64: ("--events-per-rank", "15000", "--layers", "1", "--microbatches", "4"),
}
"""Some 12 steps, in half a second: little time in which drifts are to be seen."""
LONG: Final = {
    8: ("--events-per-rank", "200000", "--layers", "1", "--microbatches", "4"),
    64: ("--events-per-rank", "60000", "--layers", "1", "--microbatches", "2"),
}
"""Of the first seed, recorded whole: some seconds."""
FACTORS: Final = (1.2, 1.15, 1.18)
NOISY: Final = "noisy ends"
PARTIAL: Final = ("a tenth lost", "a file missing")
"""Recordings in which lateness is only held against its stated uncertainty."""
OFFSET_NS: Final = 2_000
DRIFT_PPM: Final = 1.0
OWN: Final = 0.05
SHARE: Final = 0.03
"""Of a step: own lateness from which a rank has to be named; between 0.9 and 1.1 times that it may be."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One job: how many ranks and slow ones, how it is recorded, and the generator's options."""

    ranks: int
    slow: int
    recording: str
    options: tuple[str, ...]

    @property
    def key(self) -> str:
        """Tells it from all others."""
        return f"{self.ranks} ranks, {self.slow} slow, {self.recording}: {' '.join(self.options)}"


def slow_ranks(ranks: int, seed: int, count: int) -> list[int]:
    """Slow ranks of different pipeline stages: of two ranks of one stage that are slow, no other tells how slow."""
    stages, replicas = 4, max(ranks, 8) // 4
    draw = np.random.default_rng([seed, ranks, count])
    chosen = draw.permutation(stages)[:count]
    return [int(s * replicas + draw.integers(replicas)) for s in chosen]


def cases(ranks: int, seeds: range) -> Iterator[Case]:
    """All jobs of a size."""
    shape, long_ = (sizes[64 if ranks > 16 else 8] for sizes in (SHAPES, LONG))
    for seed in seeds:
        for slow in range(4):
            who = slow_ranks(ranks, seed, slow)
            named = ",".join(f"{r}:{f}" for r, f in zip(who, FACTORS, strict=False)) or "-1"
            replicas = max(ranks, 8) // 4
            stages = {r // replicas for r in who} if replicas < 4 else set()  # the sole peer of a slow rank is kept
            every = np.random.default_rng(seed).permutation(ranks).tolist()
            others = [r for r in every if r not in who and r // replicas not in stages]
            lossy = ",".join(map(str, sorted((others[0], who[0] if who and seed % 2 else others[1]))))
            recordings: dict[str, tuple[str, ...]] = {
                "whole": (),
                "a tenth lost": ("--drop-collectives", "10", "--drop-ranks", lossy),
                "a file missing": ("--no-rank-file", str(others[0])),
                NOISY: ("--end-noise-ns", "6000"),
            }
            common = ("--ranks", str(ranks), "--seed", str(seed), "--straggler", named, *CLOCKS)
            for name, more in recordings.items():
                yield Case(ranks, slow, name, (*common, *shape, *more))
            if seed == seeds[0]:
                yield Case(ranks, slow, "long", (*common, *long_))


def alone(generator: Path, folder: Path, case: Case) -> dict[int, float]:
    """What the own lateness of each slow rank is in the same job without the others, ns: median of the steps."""
    out: dict[int, float] = {}
    if case.slow < 2:
        return out
    at = case.options.index("--straggler") + 1
    none = ",".join(map(str, range(case.ranks)))
    for one in case.options[at].split(","):
        options = [*case.options[:at], one, *case.options[at + 1 :], "--no-rank-file", none]
        single = generated(generator, folder, tuple(options))
        rank = int(one.split(":")[0])
        steps = next(r for r in single["ranks_without_file"] if r["rank"] == rank)["steps"]
        out[rank] = float(np.median([s["own_late_ns"] for s in steps]))
    return out


def judge(folder: Path, truth: Json, alone: dict[int, float]) -> Json:
    """Open a job and hold it against its truth; ``alone``: own lateness of slow ranks were no other slow, ns.

    Lengths in ns, drifts in ppm; shares of what they belong to.
    """
    from viewer.analyses.collective.alignment import align
    from viewer.analyses.collective.lateness import lateness
    from viewer.app.analyze import open_job
    from viewer.app.options import JobOptions

    session = open_job([folder], JobOptions()).session
    found = align(session)
    offsets, drifts = np.array(truth["clock_offsets_ns"]), np.array(truth["drift_ppm"])
    out: Json = {"connected": all(c.connected for c in found.clocks), "match_rate": found.match_rate}
    reference = session.groups[found.reference].rank if found.reference is not None else None
    if reference is None:
        return out
    off, drift, outside, wide, told = [], [], 0, [], 0
    for clock in found.clocks:
        if not clock.connected or clock.rank is None or clock.uncertainty_ns is None:
            continue
        true = float(offsets[clock.rank] - offsets[reference]), float(drifts[clock.rank] - drifts[reference])
        off.append(clock.offset_ns - true[0])
        wide.append(clock.uncertainty_ns)
        outside += abs(off[-1]) > clock.uncertainty_ns
        if clock.drift_error_ppb is None:
            continue
        error = clock.drift_ppb / 1000 - true[1]
        outside += abs(error) > clock.drift_error_ppb / 1000
        if clock.drift_error_ppb <= 1000 * DRIFT_PPM:  # the span allows it
            told += 1
            drift.append(error)
    out |= {
        "span_s": (truth["true_step_gpu_start_ns"][-1] - truth["true_step_gpu_start_ns"][0]) / 1e9,
        "offset_ns": float(np.abs(off).max()),
        "drift_ppm": float(np.abs(drift).max()) if drift else None,
        "drifts": told / max(len(off), 1),
        "not_covered": outside,
        "uncertainty_ns": max(wide),
        "too_early_ns": too_early(session),
    }
    late = lateness(session)
    if late is not None:
        out |= _named(session, late, truth, alone)
    return out


def too_early(session: Any) -> float:
    """By how much, ns, an operation's end lies before its last member's begin at most, beyond the clocks' doubt."""
    from viewer.analyses.collective.waits import members, waits

    told, op = waits(session), members(session)
    begun = told.aligned_wait + told.arrival  # of the last member, per member
    sure = told.waits[op] & (told.unsure[op] >= 0)
    early = (begun - told.end - told.unsure[op])[sure]
    return float(max(early.max(initial=0), 0))


def _named(session: Any, late: Any, truth: Json, alone: dict[int, float]) -> Json:
    rank_of = {i: session.groups[g].rank for i, g in enumerate(late.ranks)}
    every = {r["rank"]: r for r in (*truth["ranks"], *truth["ranks_without_file"])}
    length = float(np.median(truth["true_step_ns"]))
    named = {rank_of[i] for i in np.flatnonzero(late.straggler)}
    must, may = set(), set()
    own, inherited, covered, own_covered = [], [], 0, 0
    for i, group in enumerate(late.ranks):
        steps = every[rank_of[i]]["steps"]
        mine = np.array([s["own_late_ns"] for s in steps], float)
        most = max(float(np.median(mine)), alone.get(rank_of[i], 0.0))
        must |= {rank_of[i]} if most >= 1.1 * SHARE * length else set()
        may |= {rank_of[i]} if most >= 0.9 * SHARE * length else set()
        said = late.of(group)
        if said is None:
            continue
        passed = float(np.mean([s["inherited_late_ns"] for s in steps]))
        inherited.append((said[1] - passed) / length)
        error = late.errors_of(group)
        own_covered += abs(said[0] - mine.mean()) <= error[0]
        covered += abs(said[1] - passed) <= error[1]
        if rank_of[i] in truth_slow(truth) and np.median(mine) >= SHARE * length:
            own.append((said[0] - mine.mean()) / mine.mean())
    first = [session.groups[g].rank for g in late.ranking()[: len(must)]]
    return {
        "missed": sorted(must - named),
        "wrongly": sorted(named - may),
        "first": sorted(first) == sorted(must),
        "own": [round(x, 4) for x in own],
        "inherited": round(float(np.abs(inherited).max()), 4) if inherited else None,
        "own_covered": own_covered / max(len(inherited), 1),
        "inherited_covered": covered / max(len(inherited), 1),
    }


def truth_slow(truth: Json) -> set[int]:
    """Ranks that were made slow."""
    return {int(s["rank"]) for s in truth["stragglers"]}


def _measured(generator: Path, folder: Path, case: Case, known: Json, state: Path | None) -> Json:
    if case.key in known:
        found: Json = known[case.key]
        return found
    truth = generated(generator, folder / "job", case.options)
    found = json.loads(json.dumps(judge(folder / "job", truth, alone(generator, folder / "alone", case))))
    shutil.rmtree(folder / "cache", ignore_errors=True)
    if state is not None:
        with state.open("a") as file:
            file.write(json.dumps([case.key, found]) + "\n")
    return found


def figures(
    folder: Path, generator: Path, sizes: list[int], seeds: range, state: Path | None, only: str
) -> Iterator[Json]:
    """Figures over all jobs; those that were not right are listed.

    Args:
        folder: for jobs, emptied between them.
        generator: the script that makes jobs.
        sizes: ranks.
        seeds: one job of each kind per seed.
        state: what was measured, one job a line: jobs that it holds are not made again.
        only: text that a job's key must hold.
    """
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    known: Json = {}
    if state is not None and state.exists():
        known = dict(json.loads(line) for line in state.read_text().splitlines())
    for ranks in sizes:
        found = {c: _measured(generator, folder, c, known, state) for c in cases(ranks, seeds) if only in c.key}
        if found:
            yield from _figures(ranks, found)


def _figures(ranks: int, found: dict[Case, Json]) -> Iterator[Json]:
    every = list(found.values())
    by = f"{ranks} ranks"

    def most(key: str, over: list[Json]) -> float:
        return max((abs(f[key]) for f in over if f.get(key) is not None), default=0.0)

    yield figure(f"{by}: jobs", len(every), "", "", None)
    apart = sum(not f["connected"] for f in every)
    yield figure(f"{by}: jobs with a rank that is not aligned", apart, "", "0", apart == 0)
    clear = [f for c, f in found.items() if c.recording != NOISY]
    yield at_most(f"{by}: offsets, largest error", most("offset_ns", clear), "ns", OFFSET_NS)
    noisy = most("offset_ns", [f for c, f in found.items() if c.recording == NOISY])
    yield figure(f"{by}: offsets with noisy ends, largest error", noisy, "ns", "", None)
    yield at_most(f"{by}: drifts told to within 1 ppm, largest error", most("drift_ppm", every), "ppm", DRIFT_PPM)
    told = 100 * float(np.mean([f.get("drifts", 0) for f in every]))
    yield figure(f"{by}: drifts told to within 1 ppm", told, "%", "", None)
    missed = sum(f.get("not_covered", 0) for f in every)
    yield figure(f"{by}: offsets and drifts beyond their uncertainty", missed, "", "0", missed == 0)
    yield figure(f"{by}: largest uncertainty", most("uncertainty_ns", every), "ns", "", None)
    yield at_most(f"{by}: ends before the last begin, beyond doubt", most("too_early_ns", every), "ns", 0)
    for slow in range(4):
        mine = [f for c, f in found.items() if c.slow == slow]
        if not mine:
            continue
        name = f"{by}, {slow} slow"
        wrong = sum(bool(f.get("wrongly", True)) for f in mine)
        yield figure(f"{name}: jobs with a wrong name", wrong, f"of {len(mine)}", "0", wrong == 0)
        if slow:
            lost = sum(bool(f.get("missed", True)) for f in mine)
            behind = sum(not f.get("first", False) for f in mine)
            yield figure(f"{name}: jobs without a right name", lost, f"of {len(mine)}", "0", lost == 0)
            yield figure(f"{name}: jobs ranked otherwise", behind, f"of {len(mine)}", "0", behind == 0)
            full = [f for c, f in found.items() if c.slow == slow and c.recording not in PARTIAL]
            off = max((abs(x) for f in full for x in f.get("own", [])), default=0.0)
            yield at_most(f"{name}: own lateness, largest error", 100 * off, "%", 100 * OWN)
            off = max((abs(x) for f in mine for x in f.get("own", [])), default=0.0)
            yield figure(f"{name}: the same where files lack something", 100 * off, "%", "", None)
        share = min((f.get("own_covered", 1.0) for f in mine), default=1.0)
        yield figure(f"{name}: own lateness within its uncertainty", 100 * share, "%", "100", share == 1.0)
        yield figure(f"{name}: inherited, largest error", 100 * most("inherited", mine), "% of a step", "", None)
        share = min((f.get("inherited_covered", 1.0) for f in mine), default=1.0)
        yield figure(f"{name}: inherited within its uncertainty", 100 * share, "%", "100", share == 1.0)
    for case, f in found.items():
        said = _wrong(f)
        if said:
            sys.stdout.write(f"  {case.key}: {said}\n")


def _wrong(f: Json) -> str:
    """What is not right with a job, "" for nothing."""
    said = []
    if f.get("offset_ns", 0) > OFFSET_NS:
        said.append(f"offset {f['offset_ns']:.0f} ns")
    if (f.get("drift_ppm") or 0) > DRIFT_PPM:
        said.append(f"drift {f['drift_ppm']:.2f} ppm over {f['span_s']:.2f} s")
    said += [f"{k} {f[k]}" for k in ("not_covered", "too_early_ns", "missed", "wrongly") if f.get(k)]
    if not f.get("first", True):
        said.append("ranked otherwise")
    said += [f"own {x:+.1%}" for x in f.get("own", []) if abs(x) > OWN]
    if f.get("own_covered", 1.0) < 1.0:
        said.append(f"own covered {f['own_covered']:.0%}")
    if f.get("inherited_covered", 1.0) < 1.0:
        said.append(f"inherited {f['inherited']:.1%} of a step, covered {f['inherited_covered']:.0%}")
    return "; ".join(said)
