"""Findings about a pipeline's bubble: each cause by itself, and none that a healthy pipeline triggers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from tests.viewer.analyses.pipeline.test_spans import spans
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.bubble import find
from viewer.base.selection import SliceRef, TimeRange
from viewer.base.work import CancelToken
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Session

F, B = 1_000_000, 2_000_000


def told(session: Session) -> list[JobFinding]:
    return list(find(session, CancelToken()))


def warnings(session: Session) -> list[JobFinding]:
    return [f for f in told(session) if f.severity == "warning"]


def even(**more: object) -> PipelineJob:
    return PipelineJob(one_f_one_b(4, 8), [F] * 4, [B] * 4, steps=3, **more)  # type: ignore[arg-type]


def test_a_healthy_pipeline_has_none_but_its_schedule() -> None:
    (only,) = told(even().session())
    assert (only.kind, only.severity, only.saving_ns_per_step) == ("few-micro-batches", "info", None)
    assert only.title.startswith("27.3 % of the pipelined phase is bubble by its schedule alone: 4 stages, 8 micro")
    assert "twice as many leave 15.8 % in theory" in only.next_step


def test_enough_micro_batches_are_no_finding() -> None:
    assert told(PipelineJob(one_f_one_b(2, 8), [F] * 2, [B] * 2, steps=2).session()) == []
    assert told(make_session(make_trace(kernel("gemm", 0, 10), rank=0))) == []


def test_uneven_stages() -> None:
    job = PipelineJob(one_f_one_b(4, 8), [F, F, 2 * F, F], [B, B, 2 * B, B], steps=3)
    (found,) = warnings(job.session())
    assert (found.kind, found.confident) == ("bubble-uneven", True)
    # Two passes of 1 ms there, 8 x 6 ms with 1 ms of waiting for the first gradient, two of 2 ms back; 11 x 3.75 ms.
    assert found.saving_ns_per_step == pytest.approx(2e6 + 48e6 + 1e6 + 4e6 - 11 * 3.75e6, rel=1e-3)
    assert "stage 2 of 4 computes 60 % longer than their mean" in found.title
    assert isinstance(found.evidence[0].target, TimeRange)
    assert found.evidence[1].text.startswith("stage 2 (rank 2): 6.0 ms per micro-batch")
    assert isinstance(found.evidence[1].target, SliceRef)


def test_slow_sends() -> None:
    (found,) = warnings(even(sent=400_000).session())
    assert found.kind == "bubble-p2p"
    assert found.saving_ns_per_step is not None
    # Six results on the critical path at least, up to two more per micro-batch where stages wait for each other.
    assert 6 * 400_000 <= found.saving_ns_per_step <= (6 + 2 * 8) * 401_000
    assert "longest receive" in found.evidence[-1].text


def test_time_inside_passes() -> None:
    (found,) = warnings(even(inside=200_000).session())
    assert found.kind == "bubble-inside"
    assert found.saving_ns_per_step == pytest.approx(11 * 2 * 200_000, rel=0.01)


def test_without_clocks_the_cause_is_left_open() -> None:
    found = told(even(sent=400_000, offsets={1: 9_000_000}).session())
    assert [(f.kind, f.severity, f.confident) for f in found] == [
        ("bubble", "info", False),
        ("few-micro-batches", "info", True),
    ]
    assert "the clocks of its ranks are not aligned" in found[0].title


def test_a_late_worker_of_a_file_of_spans(tmp_path: Path) -> None:
    events = []
    for step in range(3):
        for replica in range(3):
            for stage, order in enumerate(one_f_one_b(2, 2)):
                at = 40 * step
                for letter, micro, _ in order:
                    (*names, event) = spans(stage, replica, [(letter, micro, at)])
                    event["args"]["step"] = step
                    if replica == 1 and stage == 1:
                        event["dur"] *= 2
                    at += 5
                    events += [*names, event]
    (tmp_path / "t.json").write_text(json.dumps(events))
    session = JobOpener([tmp_path / "t.json"], cache=Cache(tmp_path / "c")).open().session
    late = [f for f in told(session) if f.kind == "late-worker"]
    assert [f.id for f in late] == ["late-worker/PP 1, DP 1"]
    assert late[0].saving_ns_per_step == 6_000  # two micro-batches of 3 us
    assert late[0].evidence[0].text.startswith("3 of 3 steps")


def test_the_job_with_a_slow_last_stage(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/megascale/straggler_ST/timeline-ST.json.gz"
    found = warnings(JobOpener([path], cache=Cache(tmp_path / "c")).open().session)
    assert [f.kind for f in found] == ["bubble-uneven"]
    assert "stage 3 of 4" in found[0].title
    ideal = shared / "data/megascale/straggler_ST/ideal-timeline-ST.json.gz"
    assert warnings(JobOpener([ideal], cache=Cache(tmp_path / "c")).open().session) == []
