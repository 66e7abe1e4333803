"""Every kind of finding, in one table: a job with its fault planted, and what must be said of it.

    kind          the finding that must be there, sure
    job           the fault, and what it costs (``tests.support.planted``)
    read          "first" of what is worth a change; "after KIND" where it follows from that; "info" for information
    size          what names it: "saving", or the first "bytes" of its title; "" for none: within 10 % of the cost

And in jobs with nothing wrong no kind at all is found for sure. Caveats have no size: their tests are with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support import planted as job
from tests.support.memory import MIB
from tests.support.memory_job import Planted
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.ranking import ranked
from viewer.analyses.findings.registry import DETECTORS, job_findings
from viewer.base.job_card import JobCard, PlanCard, RunCard
from viewer.store.session import Session

NEAR: Final = 0.1


class Row(NamedTuple):
    """A line of the table."""

    kind: str
    job: Callable[[Path], job.Made]
    read: str = "first"
    size: str = "saving"


NO_WARM_UP = [[x for m in range(8) for x in (("F", m, 0), ("B", m, 0))]] * 4
SCHEDULE = JobCard(plan=PlanCard(pp=4), run=RunCard(schedule="1f1b"))
TABLE: Final = (
    Row("memory-peak", job.nearly_full(900, 910), size=""),
    Row("unused-reserve", job.nearly_full(700, 900), size=""),
    Row("memory-fragmentation", job.fragmentation, size="bytes"),
    Row("out-of-memory", job.out_of_memory, size="second bytes"),
    Row("memory-leak", job.memory(Planted(leak=MIB), MIB), size="bytes"),
    Row("memory-spike", job.memory(Planted(spike=200 * MIB), 200 * MIB), size="bytes"),
    Row("allocator-churn", job.churn, size="bytes"),
    Row("allocator-churn", job.host("allocation")),
    Row("uneven-memory", job.uneven_memory, size="second bytes"),
    Row("reserve-growth", job.reserve_growth, size="bytes"),
    Row("memory-overview", job.memory(Planted(), 0), read="info", size=""),
    Row("late-rank", job.late_rank),
    Row("uneven-ranks", job.uneven_ranks),
    Row("uneven-stages", job.uneven_stages),
    Row("late-stage", job.late_stage),
    Row("serialised-communication", lambda _: job.against(job.GradientJob(blocking=True), job.GradientJob())),
    Row("small-messages", lambda _: job.against(job.GradientJob(pieces=64), job.GradientJob())),
    Row(
        "slow-link",
        lambda _: job.against(job.GradientJob(ranks=8, groups=4, slow={2: 3.0}), job.GradientJob(ranks=8, groups=4)),
    ),
    Row("wrong-placement", job.misplaced),
    Row("extra-collectives", job.twice_the_bytes),
    Row("repeated-sync", job.barriers),
    Row("below-baseline", job.below_baseline),
    Row("exposed-communication", job.exposed),
    Row("bubble-order", job.pipeline(SCHEDULE, order=NO_WARM_UP)),
    Row("bubble-uneven", job.pipeline(forward=[10**6, 10**6, 2 * 10**6, 10**6]), read="after uneven-stages", size=""),
    # The part of the bubble; what the step gains is said of the late rank.
    Row("bubble-late", job.pipeline(replicas=3, slow={4: 2.0}), read="after late-rank", size=""),
    Row("bubble-varies", job.pipeline(uneven=(0.4, 1.6))),
    Row("bubble-inside", job.pipeline(inside=200_000), read="after launch-bound"),
    Row("bubble-p2p", job.pipeline(sent=400_000)),
    Row("bubble-host", job.pipeline(rests={2: 600_000}), read="after host-bound"),
    Row("few-micro-batches", job.pipeline(), read="info", size=""),
    Row("bubble", job.unaligned_pipeline, read="unsure", size=""),
    Row("late-worker", job.late_worker),
    Row("sync-drain", job.host("sync")),
    Row("data-loading", job.host("data-loading")),
    Row("launch-bound", job.launch_bound),
    Row("graph-gaps", job.graph_gaps),
    Row("host-bound", job.host("host-bound")),
    Row("host-jitter", job.host("jitter")),
    Row("garbage-collection", job.host("collection")),
    Row("recompilation", job.host("recompilation")),
    Row("step-gap", job.host("step-gap")),
    Row("profiler-overhead", job.slowed_host, read="info", size=""),
    Row("fp32-matmul", job.fp32),
    Row("recompute", job.recompute),
    Row("contention", job.contention),
    Row("uneven-runs", job.uneven_runs),
)
ELSEWHERE: Final = {*DETECTORS["caveats"], "mfu"}
"""Kinds that say what the data cannot say, or give context: ``test_late_and_uneven``, ``test_memory_and_mfu``."""


def worth_a_change(session: Session) -> list[JobFinding]:
    found = job_findings(session)
    assert not [f for f in found if f.kind == "detector-failed"]
    return [r.finding for r in ranked(found) if r.finding.confident and r.finding.severity != "info"]


def size_of(found: JobFinding, size: str) -> float | None:
    """What a finding says of its size: ns per step or bytes."""
    if size == "saving":
        return found.saving_ns_per_step
    sizes = [float(n) * 1024 ** ("B", "KiB", "MiB", "GiB").index(u)
             for n, u in re.findall(r"([\d.]+) (B|KiB|MiB|GiB)", found.title)]  # fmt: skip
    return sizes[size.startswith("second")] if size else None


@pytest.mark.parametrize("row", TABLE, ids=[f"{i}-{row.kind}" for i, row in enumerate(TABLE)])
def test_what_is_planted_is_found_at_its_place_and_of_its_size(row: Row, tmp_path: Path) -> None:
    session, cost = row.job(tmp_path)
    every = job_findings(session)
    said = [f"{f.id} ({f.saving_ns_per_step}, {f.severity}, {f.confident})" for f in every]
    found = next((f for f in every if f.kind == row.kind), None)
    assert found is not None, said
    assert found.confident is (row.read != "unsure"), said
    assert (found.severity == "info") is (row.read in ("info", "unsure")), said
    if row.read == "first":
        assert worth_a_change(session)[0].kind == row.kind, said
    elif row.read.startswith("after"):
        roots = {r.finding.kind: r.root.split("/")[0] for r in ranked(every)}
        assert roots[row.kind] == row.read.removeprefix("after "), said
    if row.size:
        assert size_of(found, row.size) == pytest.approx(cost, rel=NEAR), (found.title, said)
    assert found.title
    assert found.next_step
    assert found.how
    assert bool(found.saving_how) or found.saving_ns_per_step is None


@pytest.mark.parametrize("clean", job.CLEAN)
def test_where_nothing_is_wrong_nothing_is_found_for_sure(clean: str, tmp_path: Path) -> None:
    assert [(f.id, f.title) for f in worth_a_change(job.CLEAN[clean](tmp_path))] == []


def test_the_table_has_every_kind_and_no_other() -> None:
    kinds = {kind for found in DETECTORS.values() for kind in found}
    assert {row.kind for row in TABLE} == kinds - ELSEWHERE
