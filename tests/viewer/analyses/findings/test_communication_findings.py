"""Faults of communication, planted: found, first, of the right size; and nothing where nothing is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.gradients import GradientJob
from tests.support.ranks import RankJob
from viewer.analyses.findings import serialised_communication, small_messages
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.registry import job_findings
from viewer.app.clocks import settle_clocks
from viewer.base.work import CancelToken
from viewer.store.session import Session

KINDS = ("serialised-communication", "small-messages")


def confident(session: Session) -> list[JobFinding]:
    return [f for f in job_findings(session) if f.confident and f.severity != "info"]


def cost(job: GradientJob) -> tuple[Session, int]:
    """The job's session, and how much longer its step is than that of the same job without a fault."""
    session, healthy = job.session(), GradientJob()
    healthy.session()
    return session, job.step_ns() - healthy.step_ns()


def test_a_healthy_job_has_none() -> None:
    assert confident(GradientJob().session()) == []
    other = settle_clocks(RankJob(ranks=4).session(), "auto")
    assert [f for f in confident(other) if f.kind in KINDS] == []


def test_reductions_on_the_compute_stream_are_first_and_of_the_right_size() -> None:
    session, truth = cost(GradientJob(blocking=True))
    first = confident(session)[0]
    assert first.kind == "serialised-communication"
    assert truth == pytest.approx(2_490_000, rel=0.05)
    assert first.saving_ns_per_step == pytest.approx(truth, rel=0.1)
    assert "on the compute stream itself" in first.title
    assert first.evidence[0].target is not None


def test_small_messages_are_first_and_of_the_right_size() -> None:
    session, truth = cost(GradientJob(pieces=64))
    first = confident(session)[0]
    assert first.kind == "small-messages"
    assert first.saving_ns_per_step == pytest.approx(truth, rel=0.1)
    assert "256 small allreduce messages per step" in first.title
    found = small_messages.trains(session)
    # 64 messages of 48 MiB together become two.
    assert set(found.length[found.less > 0].tolist()) <= {64, 128, 192, 256}
    assert int(found.less.max()) <= 30_000


def test_few_or_large_messages_are_no_train() -> None:
    for job in (GradientJob(pieces=2), GradientJob(pieces=8, transfer_ns=8 * 800_000)):
        assert not (small_messages.trains(job.session()).less > 0).any()


def test_without_steps_or_of_one_rank_nothing_is_found() -> None:
    alone = GradientJob(ranks=1, groups=1, pieces=64, world=8).session()
    for detector in (small_messages, serialised_communication):
        assert list(detector.find(alone, CancelToken())) == []
    assert not np.any(small_messages.trains(alone).less)
