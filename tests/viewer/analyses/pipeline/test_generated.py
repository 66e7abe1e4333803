"""Generated jobs of kernels with known truth: the bubble of every rank and step, to the nanosecond."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from viewer.analyses.findings.bubble import find
from viewer.analyses.pipeline.figures import Pipeline, pipeline
from viewer.app.clocks import settle_clocks
from viewer.base.work import CancelToken
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Session


def made(shared: Path, home: Path, *options: str) -> tuple[Session, dict[str, Any]]:
    tool = shared / "bench" / "make_trace.py"
    command = [sys.executable, str(tool), "--events-per-rank", "9000", "--out", str(home / "job"), "--jobs", "1"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    session = JobOpener([home / "job"], cache=Cache(home / "c")).open().session
    truth: dict[str, Any] = json.loads((home / "job" / "truth.json").read_text())
    return settle_clocks(session, "auto", {}), truth


@pytest.mark.parametrize(
    "options",
    [
        "--ranks 8 --seed 1 --straggler -1",
        "--ranks 8 --seed 2 --straggler 5:1.3,2:1.15 --drift-ppm 50 --end-noise-ns 6000",
        "--ranks 8 --seed 3 --drop-collectives 10 --drop-ranks 3,4",
        "--ranks 8 --seed 4 --no-rank-file 2 --microbatches 6 --layers 1",
        "--ranks 8 --seed 5 --straggler -1 --fault launch-bound",
        "--ranks 3 --seed 6 --straggler -1",
    ],
)
def test_bubble_and_gaps_of_every_rank(shared: Path, tmp_path: Path, options: str) -> None:
    session, truth = made(shared, tmp_path, *options.split())
    out = pipeline(session)
    assert isinstance(out, Pipeline)
    assert (out.schedule.key, out.stages) == ("1f1b", truth["pipeline_stages"])
    if "--ranks 8" in options:  # replicas are named by their place in the data-parallel groups
        assert [x.label for x in out.layout.lines] == ["DP 0", "DP 1"]
    told = {(r["rank"], s["step"]): s for r in truth["ranks"] for s in r["steps"]}
    seen = 0
    for step in out.steps:
        assert step.theory_share == pytest.approx(truth["pipeline_theory_bubble_fraction"])
        for line in step.lines:
            for stage in line.stages:
                rank = out.layout.workers[stage.worker].rank
                true = told[rank, step.number]  # type: ignore[index]
                p = out.layout.passes[stage.worker, step.number]
                assert len(p) == 2 * truth["microbatches"]
                # Every replica's first stage is open, so the phase needs no clock but its own.
                assert stage.bubble_ns == true["pipeline_bubble_ns"]
                assert int((p.length - p.busy).sum()) == true["pipeline_inner_gap_ns"]
                assert stage.parts is None or stage.parts.total_ns() == stage.bubble_ns
                seen += 1
    assert seen == len(told)


def test_a_healthy_job_has_no_finding_of_its_bubble(shared: Path, tmp_path: Path) -> None:
    session, _ = made(shared, tmp_path, "--ranks", "8", "--seed", "7", "--straggler", "-1")
    assert [(f.kind, f.severity) for f in find(session, CancelToken())] == [("few-micro-batches", "info")]
