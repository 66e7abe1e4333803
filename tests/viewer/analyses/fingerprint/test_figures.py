"""The figures against numbers worked out by hand: four steps of one GPU, 1,000 ns each.

Each step: compute [100, 500), communication [400, 700), compute [700, 900); so 600 computing, 200 exposed, 200 idle.
"""

from __future__ import annotations

import pytest

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from tests.support.ranks import RankJob
from viewer.analyses.fingerprint.exposed_comm import exposed_communication, split_of
from viewer.analyses.fingerprint.figure import Figure
from viewer.analyses.fingerprint.mfu import card_of, hfu, mfu
from viewer.analyses.fingerprint.periods import periods
from viewer.analyses.fingerprint.step_gap import step_gap
from viewer.analyses.fingerprint.waterfall import waterfall
from viewer.analyses.fingerprint.whole import fingerprint
from viewer.app.clocks import settle_clocks
from viewer.base.errors import Cancelled
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.base.selection import Selection, TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session

AT_PEAK = 300
"""ns that the model's FLOPs of one step would take at the peak."""


def card(**more: object) -> JobCard:
    out = EMPTY_CARD.with_value("model.parameters", 5_000).with_value("run.tokens_per_step", 10)
    out = out.with_value("plan.world_size", 1).with_value("hardware.peak_flops", 10**12).with_value("run.dtype", "bf16")
    for path, value in more.items():
        out = out.with_value(path.replace("__", "."), value)  # type: ignore[arg-type]
    return out  # 6 x 5,000 x 10 = 300,000 FLOPs = 300 ns at 1 TFLOPS


def job(*, steps: int = 4, marks: bool = True, communicate: bool = True, **more: object) -> Session:
    events: list[Event] = []
    for k in range(steps):
        at = 1_000 * k
        if marks:
            events.append(annotation(f"ProfilerStep#{k}", at, 1_000))
        work = [("gemm", 100, 400, 7), ("vectorized_elementwise_kernel", 700, 200, 7)]
        if communicate:
            work.append(("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 400, 300, 20))
        for i, (name, start, length, stream) in enumerate(work):
            corr = 10 * k + i + 1
            events.append(call("cudaLaunchKernel", at + 10 + i, 1, corr=corr))
            events.append(kernel(name, at + start, length, corr=corr, stream=stream))
    return make_session(make_trace(*events, rank=0)).with_card(card(**more))


def test_periods_are_steps_from_end_to_end() -> None:
    found = periods(job())
    (mine,) = found.of_group.values()
    assert [(p.start_ns, p.end_ns) for p in mine] == [(0, 900), (900, 1900), (1900, 2900), (2900, 3900)]
    assert [(p.compute_ns, p.comm_exposed_ns, p.idle_ns) for p in mine] == [(600, 200, 100)] + [(600, 200, 200)] * 3
    (whole,) = periods(job(marks=False)).every()
    assert (whole.start_ns, whole.end_ns, whole.idle_ns) == (100, 3900, 600)


def test_mfu_is_the_models_work_over_the_peak() -> None:
    figure = mfu(job())
    assert figure.value == pytest.approx(0.3)
    assert [s.value for s in figure.steps] == pytest.approx([AT_PEAK / 900, 0.3, 0.3, 0.3])
    assert (figure.low, figure.high, figure.applies) == (0.40, 0.55, True)
    assert figure.status == "outside"  # nobody tells what the plan would allow
    assert figure.evidence[0].target == Selection(range=TimeRange(900, 1900), group=0)
    assert "left out" in figure.note  # attention needs layers
    assert mfu(job(run__recompute="full")).theory == pytest.approx(0.75)
    assert mfu(job(run__recompute="full")).status == "bad"


@pytest.mark.parametrize(
    ("missing", "needs"),
    [
        ("model.parameters", "model.parameters"),
        ("run.tokens_per_step", "run.tokens_per_step"),
        ("plan.world_size", "plan.world_size"),
        ("hardware.peak_flops", "hardware.peak_flops"),
    ],
)
def test_mfu_names_the_one_field_that_it_lacks(missing: str, needs: str) -> None:
    session = job()
    figure = mfu(session.with_card(session.card.with_value(missing, None)))
    assert (figure.value, figure.needs, figure.status) == (None, needs, "unknown")


def test_the_peak_of_an_unknown_dtype_is_not_asked_for() -> None:
    session = job()
    without = session.card.with_value("hardware.peak_flops", None).with_value("run.dtype", None)
    assert mfu(session.with_card(without)).needs == "run.dtype"


def test_without_marked_steps_there_is_no_mfu_but_a_reason() -> None:
    figure = mfu(job(marks=False))
    assert (figure.value, figure.needs) == (None, "")
    assert "no step is marked" in figure.why


def test_the_range_is_grey_for_experts_and_for_other_dtypes() -> None:
    assert mfu(job(model__experts=8, model__active_parameters=5_000)).status == "grey"
    assert mfu(job(run__dtype="fp8")).status == "grey"
    assert "fp8" in mfu(job(run__dtype="fp8")).why


def test_a_card_that_contradicts_the_traces_is_said() -> None:
    session = job(model__parameters=50_000)
    assert "contradicts" in mfu(session).note
    found = waterfall(session)
    assert found is not None
    assert "check the job card" in found.problem
    assert found.useful is None


def test_exposed_communication_is_a_share_of_the_step() -> None:
    figure = exposed_communication(job())
    assert figure.value == pytest.approx(0.2)
    assert (figure.status, figure.applies) == ("outside", True)
    assert [s.value for s in figure.steps] == pytest.approx([200 / 900, 0.2, 0.2, 0.2])
    none = exposed_communication(job(communicate=False))
    assert (none.value, none.status) == (0.0, "grey")


def test_exposed_time_is_taken_apart_where_several_ranks_are_open() -> None:
    session = settle_clocks(RankJob(ranks=4, steps=5, sends=False, late_ns={3: 4_000_000}).session(), "auto")
    found = split_of(session)
    every = periods(session).every()
    assert found is not None
    assert found.exposed_ns == sum(p.comm_exposed_ns for p in every)
    figure = exposed_communication(session)
    assert "waiting for ranks" in figure.note
    fall = waterfall(session)
    assert fall is not None
    by_key = {x.key: x.ns for x in fall.losses}
    assert by_key["wait"] == found.wait_ns > 0
    assert by_key["wait"] + by_key["exposed_communication"] == found.exposed_ns


def test_theory_of_exposed_communication_is_what_nothing_could_hide() -> None:
    session = settle_clocks(RankJob(ranks=4, steps=5, sends=False).session(), "auto")
    card = EMPTY_CARD.with_value("hardware.link_bytes_per_second", 450 * 10**9).with_value("plan.pp", 1)
    session = session.with_card(card)
    figure, found = exposed_communication(session), split_of(session)
    assert found is not None
    assert found.has_rate
    span = sum(p.span_ns for p in periods(session).every())
    assert figure.theory is not None
    assert figure.theory * span == pytest.approx(found.unhidden_ns)  # nothing here is serialised
    assert "slower than the baseline" in figure.note
    assert exposed_communication(session.with_card(card.with_value("plan.pp", 2))).theory is None


def test_step_gap_is_from_compute_to_compute() -> None:
    figure = step_gap(job())
    assert figure.value == pytest.approx(0.2)
    assert [s.number for s in figure.steps] == [1, 2, 3]  # the first has none before it
    assert (figure.theory, figure.status) == (0.0, "bad")
    assert figure.evidence[0].target == Selection(range=TimeRange(900, 1100), group=0)
    assert step_gap(job(steps=1)).status == "unknown"


def test_a_serving_engines_steps_have_no_mfu() -> None:
    events: list[Event] = []
    for k in range(3):
        at = 1_000 * k
        events.append(annotation("execute_context_1(8)_generation_0(0)", at, 900))
        events.append(call("cudaLaunchKernel", at + 1, 1, corr=k + 1))
        events.append(kernel("gemm", at + 100, 400, corr=k + 1))
    session = make_session(make_trace(*events, rank=0)).with_card(card())
    figure = mfu(session)
    assert (figure.value, figure.needs) == (None, "")
    assert "serving" in figure.why
    fall = waterfall(session)
    assert fall is not None
    assert fall.useful is None


def test_communication_in_the_gap_is_not_counted_twice() -> None:
    events: list[Event] = []
    for k in range(3):
        at = 1_000 * k
        events.append(annotation(f"ProfilerStep#{k}", at, 1_000))
        work = (("ncclDevKernel_AllGather_RING_LL", 10, 150, 20), ("gemm", 200, 700, 7))
        for i, (name, start, length, stream) in enumerate(work):
            events.append(call("cudaLaunchKernel", at + 1 + i, 1, corr=10 * k + i + 1))
            events.append(kernel(name, at + start, length, corr=10 * k + i + 1, stream=stream))
    figure = step_gap(make_session(make_trace(*events, rank=0)))
    assert figure.value == pytest.approx(0.15)  # 300 from compute to compute, 150 of them communicating


def test_the_waterfall_sums_to_the_peak() -> None:
    found = waterfall(job())
    assert found is not None
    assert {x.key: x.ns for x in found.losses} == {
        "idle": 700,
        "exposed_communication": 800,
        "exposed_memory": 0,
        "other_kernels": 800,
        "kernel_efficiency": 400,
    }
    assert found.useful is not None
    assert (found.useful.ns, found.total_ns) == (4 * AT_PEAK, 3_900)
    session = job()
    more = waterfall(job(model__parameters=8_000))
    assert more is not None
    by_key = {x.key: x.ns for x in more.losses}
    assert by_key["kernel_efficiency"] == 2_400 - 4 * 480  # what is known as products takes less than is needed
    assert "other_kernels" not in by_key
    without = waterfall(session.with_card(EMPTY_CARD))
    assert without is not None
    assert without.useful is None
    assert without.losses[-1].ns == 2_400


def test_recomputation_has_a_row_of_its_own() -> None:
    events: list[Event] = []
    for k in range(3):
        at = 1_000 * k
        events.append(annotation(f"ProfilerStep#{k}", at, 1_000))
        events.append(op("CheckpointFunctionBackward", at + 20, 40, tid=9))
        events.append(op("aten::mm", at + 22, 5, tid=9))
        for i, (begin, thread, start, length) in enumerate(((1, 1, 100, 400), (23, 9, 500, 100))):
            events.append(call("cudaLaunchKernel", at + begin, 1, corr=10 * k + i + 1, tid=thread))
            events.append(kernel("gemm", at + start, length, corr=10 * k + i + 1))
    found = waterfall(make_session(make_trace(*events, rank=0)).with_card(card()))
    assert found is not None
    by_key = {x.key: x.ns for x in found.losses}
    assert by_key["recompute"] == 300
    assert by_key["kernel_efficiency"] == 3 * (400 - AT_PEAK)


def test_hfu_is_not_claimed_without_shapes() -> None:
    value, why = hfu(job())
    assert value is None
    assert "record_shapes" in why
    assert hfu(job(hardware__peak_flops=None))[1] == "needs hardware.peak_flops"


def test_a_pipeline_has_its_bubble_and_a_row_in_the_waterfall() -> None:
    made = PipelineJob(
        one_f_one_b(4, 6), [1_000_000] * 4, [2_000_000] * 4, steps=3, card=EMPTY_CARD.with_value("plan.pp", 4)
    )
    session = made.session()
    found = fingerprint(session)
    bubble = found["pipeline_bubble"]
    start, end = made.phase(0, 1)
    share = 1 - 6 * 3_000_000 / (end - start)
    assert bubble.value == pytest.approx(share)
    assert bubble.theory == pytest.approx(3 / 9)
    assert bubble.status == "ok"
    assert found.waterfall is not None
    by_key = {x.key: x.ns for x in found.waterfall.losses}
    assert by_key["bubble"] > by_key["idle"]
    assert card_of(session).run.micro_batches == 6
    assert card_of(session).source("run.micro_batches") == "passes of the pipeline"
    # Later stages wait for their first input: that is the pipeline's, no want of data.
    assert [r.group for r in found["step_gap"].ranks] == [0]


def test_a_job_without_a_pipeline_has_no_bubble() -> None:
    figure = fingerprint(job(plan__pp=1))["pipeline_bubble"]
    assert (figure.value, figure.applies, figure.needs) == (None, False, "")
    assert "no pipeline" in figure.why


def test_a_session_without_gpu_work_says_so() -> None:
    found = fingerprint(make_session(make_trace(call("cudaFree", 0, 5))))
    assert all(f.value is None and f.status == "unknown" and (f.why or f.needs) for f in found.figures)
    assert found.waterfall is None
    assert fingerprint(Session()).waterfall is None


@pytest.mark.parametrize(
    ("value", "theory", "applies", "status"),
    [
        (None, None, True, "unknown"),
        (0.10, None, True, "ok"),
        (0.20, None, True, "outside"),
        (0.20, 0.25, True, "ok"),
        (0.20, 0.18, True, "bad"),
        (0.20, 0.18, False, "grey"),
        (0.20, 0.18, None, "grey"),
        (0.01, None, True, "ok"),  # less than the range is better
    ],
)
def test_red_needs_both_range_and_theory(value: float | None, theory: float | None, applies: bool, status: str) -> None:
    figure = Figure("x", "X", "how", value=value, theory=theory, low=0.05, high=0.15, applies=applies)
    assert figure.status == status


def test_more_than_the_range_is_fine_where_more_is_better() -> None:
    assert Figure("x", "X", "", value=0.6, low=0.4, high=0.55, lower_is_better=False, applies=True).status == "ok"
    assert Figure("x", "X", "", value=0.3, low=0.4, lower_is_better=False, applies=True).status == "outside"


def test_a_cancelled_fingerprint_is_built_again_when_it_is_asked_for() -> None:
    session = job()
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        fingerprint(session, token)
    assert fingerprint(session) is fingerprint(session, CancelToken())


def test_a_card_that_claims_more_than_the_operators_do_is_said() -> None:
    events: list[Event] = []
    for k in range(3):
        at = 1_000 * k
        events.append(annotation(f"ProfilerStep#{k}", at, 1_000))
        args = {"Input Dims": [[50, 100], [100, 10]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
        events.append(op("aten::mm", at + 5, 20, args=args))  # 2 x 50 x 100 x 10 = 100,000 FLOPs
        events.append(call("cudaLaunchKernel", at + 10, 1, corr=k + 1))
        events.append(kernel("sm90_xmma_gemm_bf16", at + 100, 600, corr=k + 1))
    session = make_session(make_trace(*events, rank=0))
    found = fingerprint(session.with_card(card()))  # claims 300,000
    assert found.hfu == pytest.approx(100 / 1_000, rel=0.01)
    assert "claims 3 times the FLOPs" in found.problem
    assert fingerprint(session.with_card(card(run__tokens_per_step=3))).problem == ""
