"""Faults planted by the generator of sample jobs: each is found and read first; the clean job has none.

The generator belongs to the folder of sample traces; the tests skip where that is absent.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.ranking import ranked
from viewer.analyses.findings.registry import job_findings
from viewer.app.analyze import open_job
from viewer.app.options import JobOptions
from viewer.store.session import Session
from viewer.views.findings import findings_frame, page_basis

FIRST = {
    "straggler": "late-rank",
    "data-loading": "data-loading",
    "no-overlap": "serialised-communication",
    "small-messages": "small-messages",
    "launch-bound": "launch-bound",
    "sync-in-step": "sync-drain",
    "fp32-gemm": "fp32-matmul",
}
"""Fault -> kind of the finding that is read first."""
NEAR = 0.1
"""How far a saving may be from what the fault truly costs."""


@pytest.fixture(scope="module")
def job(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes a job with a fault ("" for none): its session and its truth."""
    generator = shared / "bench" / "make_trace.py"
    if not generator.is_file():
        pytest.skip("no generator of sample jobs")

    def make(fault: str) -> tuple[Session, dict[str, Any]]:
        folder = tmp_path_factory.mktemp(fault or "clean")
        words = [] if fault == "straggler" else ["--straggler", "-1", *(["--fault", fault] if fault else [])]
        size = ["--ranks", "8", "--events-per-rank", "16000", "--layers", "2", "--jobs", "1"]
        command = [sys.executable, str(generator), "--out", str(folder), *size, *words]
        subprocess.run(command, check=True, capture_output=True)
        truth = json.loads((folder / "truth.json").read_text())
        return open_job(sorted(folder.glob("rank-*")), JobOptions()).session, truth

    return make


def worth_a_change(session: Session) -> list[JobFinding]:
    assert not [f for f in job_findings(session) if f.kind == "detector-failed"]
    return [r.finding for r in ranked(job_findings(session)) if r.finding.confident and r.finding.severity != "info"]


def test_a_clean_job_has_nothing_to_change(job: Any) -> None:
    session, _ = job("")
    assert [f.id for f in worth_a_change(session)] == []
    assert findings_frame(page_basis(session), job_findings(session)).tone == ""


@pytest.mark.parametrize("fault", FIRST)
def test_a_fault_is_read_first(job: Any, fault: str) -> None:
    session, truth = job(fault)
    first = worth_a_change(session)[0]
    assert first.kind == FIRST[fault]
    assert first.saving_ns_per_step
    if truth["faults"]:
        # The kernels of the launch-bound job are shorter as well: it is measured by the same with free launches.
        cost = truth["faults"][0].get("saving_ns_per_step", truth["faults"][0]["cost_ns_per_step"])
        assert first.saving_ns_per_step == pytest.approx(cost, rel=NEAR)


def test_both_faults_of_the_demo_job_are_found(demo_job: Any) -> None:
    """Its parameters are sharded: ranks meet in every layer, so a slow one is never far behind."""
    session = open_job([demo_job.folder], JobOptions()).session
    faults = demo_job.truth["faults"]
    found = worth_a_change(session)
    assert [f.kind for f in found[:2]] == ["data-loading", "late-rank"]
    assert f"rank {faults['late_data']['rank']} only" in found[0].title
    assert found[1].id == f"late-rank/rank {faults['slow_rank']['rank']}"
    assert "its kernels are 11 % slower everywhere" in found[1].title
