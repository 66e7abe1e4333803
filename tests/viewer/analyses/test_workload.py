"""Training and inference are told apart, and each is told what there is to change for it."""

from __future__ import annotations

import pytest

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op
from viewer.analyses.card_fill import filled_card
from viewer.analyses.findings.advice import SERVING, advice
from viewer.analyses.findings.memory_room import find as find_memory
from viewer.analyses.fingerprint.memory_peak import DevicePeak, RankPeak
from viewer.analyses.fingerprint.whole import fingerprint
from viewer.analyses.workload import ENOUGH, forward_only, workload
from viewer.base.job_card import EMPTY_CARD
from viewer.base.work import CancelToken
from viewer.store.session import Session

FORWARD = [op(f"aten::op{i}", i, 1) for i in range(ENOUGH)]


def job(*events: Event, **meta: object) -> Session:
    return make_session(make_trace(*events, kernel("gemm", 0, 100), **meta))  # type: ignore[arg-type]


def served(*events: Event) -> Session:
    """One iteration of a serving engine, with communication beside a gemm for a fifth of the time."""
    return make_session(
        make_trace(
            annotation("execute_context_0(0)_generation_8(8)", 0, 1_000),
            call("cudaLaunchKernel", 10, 5, corr=1),
            call("cudaLaunchKernel", 20, 5, corr=2),
            kernel("gemm", 100, 700, corr=1),
            kernel("ncclDevKernel_AllReduce", 800, 200, corr=2),
            *events,
            rank=0,
            world_size=2,
        )
    )


@pytest.mark.parametrize(
    ("events", "what", "forward"),
    [
        (FORWARD, "inference", True),
        (FORWARD[:10], "unknown", False),
        ([*FORWARD, op("autograd::engine::evaluate_function: MmBackward0", 0, 5)], "training", False),
        ([*FORWARD, annotation("Optimizer.step#AdamW.step", 0, 5)], "training", False),
        ([*FORWARD, kernel("flash_bwd_dq_dk_dv_loop", 200, 5)], "training", False),
        ([*FORWARD, op("LinearWithGradAccumulationAndAsyncCommunication", 0, 5)], "training", True),
        ([annotation("execute_context_0(0)_generation_8(8)", 0, 50)], "inference", False),
    ],
)
def test_what_a_job_does_is_told_by_its_names(events: list[Event], what: str, forward: bool) -> None:
    session = job(*events)
    assert (workload(session), forward_only(session)) == (what, forward)


def test_one_file_of_training_makes_the_job_training() -> None:
    trains = make_trace(op("MmBackward0", 0, 5), kernel("gemm", 0, 9), rank=1, path="1.json")
    assert workload(make_session(make_trace(*FORWARD, kernel("gemm", 0, 9), rank=0), trains)) == "training"


@pytest.mark.parametrize("kind", sorted(SERVING))
def test_an_engine_is_told_its_own_knobs(kind: str) -> None:
    assert advice(served(), kind, "for training") == SERVING[kind]
    assert advice(job(op("MmBackward0", 0, 5)), kind, "for training") == "for training"
    assert advice(job(), kind, "for training") == "for training"
    assert "optimizer" not in SERVING[kind]
    assert "gradient" not in SERVING[kind]


def test_ranges_of_training_do_not_judge_an_engine() -> None:
    figures = fingerprint(served())
    exposed, bubble = figures["exposed_communication"], figures["pipeline_bubble"]
    assert exposed.value == pytest.approx(0.2, rel=0.2)
    assert (exposed.status, exposed.why) == ("grey", "the range is one of training")
    assert (bubble.value, bubble.needs) == (None, "")
    assert "inference" in bubble.why
    assert figures["mfu"].needs == ""


def test_a_forward_pass_alone_has_no_mfu() -> None:
    events = [annotation("ProfilerStep#1", 0, 500), call("cudaLaunchKernel", 1, 1, corr=1), *FORWARD]
    session = make_session(make_trace(*events, kernel("gemm", 10, 90, corr=1)))
    found = fingerprint(session)["mfu"]
    assert (found.value, found.needs) == (None, "")
    assert "no backward pass" in found.why


def test_without_gpu_work_no_field_of_the_card_is_asked_for() -> None:
    figures = fingerprint(make_session(make_trace(op("MmBackward0", 0, 5), rank=0, world_size=8)))
    assert {f.why for f in figures.figures if f.key in ("mfu", "pipeline_bubble", "step_gap")} == {
        "there is no GPU work"
    }
    assert not any(f.needs for f in figures.figures)


def test_a_job_of_one_rank_has_no_pipeline() -> None:
    session = job(op("MmBackward0", 0, 5), rank=0, world_size=1)
    card = filled_card(session, EMPTY_CARD)
    assert [card.value(f"plan.{n}") for n in ("tp", "cp", "dp", "pp", "ep")] == [1] * 5
    assert fingerprint(session.with_card(card))["pipeline_bubble"].why == "the job has no pipeline"


def test_memory_that_an_engine_fills_with_its_cache_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    peak = RankPeak(0, 0, DevicePeak("cuda:0", 95, None, 96, None, 1))
    monkeypatch.setattr("viewer.analyses.findings.memory_room.rank_peaks", lambda _: (peak,))
    card = EMPTY_CARD.with_value("hardware.memory_bytes", 100)
    assert list(find_memory(served().with_card(card), CancelToken())) == []
    (found,) = find_memory(job(op("MmBackward0", 0, 5)).with_card(card), CancelToken())
    assert found.kind == "memory-peak"
