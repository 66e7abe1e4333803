"""The bubble against jobs whose passes are known to the nanosecond."""

from __future__ import annotations

import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.pipeline_job import Item, PipelineJob, gpipe, interleaved, one_f_one_b, plan
from viewer.analyses.pipeline.figures import Pipeline, pipeline
from viewer.analyses.pipeline.model import PassKind
from viewer.analyses.pipeline.peers import worker_rows
from viewer.app.clocks import settle_clocks
from viewer.base.job_card import JobCard, PlanCard, RunCard
from viewer.store.meta import ProcessGroup
from viewer.store.session import Session

F, B = 1_000_000, 2_000_000


def found(session: Session) -> Pipeline:
    out = pipeline(session)
    assert isinstance(out, Pipeline), out
    return out


def check(job: PipelineJob, out: Pipeline) -> None:
    """Phase, compute and bubble of every worker, and that the parts add up."""
    for step in out.steps:
        for line in step.lines:
            start, end = job.phase(line.line, step.number)
            assert (line.start_ns, line.end_ns) == (start, end)
            for stage in line.stages:
                worker = out.layout.workers[stage.worker]
                assert worker.rank is not None
                rows = job.passes[worker.rank, step.number]
                compute = sum(e - s - job.inside for _, _, _, s, e in rows)
                assert stage.compute_ns == compute
                assert stage.bubble_ns == end - start - compute
                assert stage.parts is not None
                assert stage.parts.total_ns() == stage.bubble_ns
                told = out.layout.passes[stage.worker, step.number]
                seen = sorted(zip(told.start.tolist(), told.end.tolist(), told.kind.tolist(), told.micro.tolist(),
                                  told.chunk.tolist(), strict=True))  # fmt: skip
                assert seen == sorted((s, e, "FBW".index(k), m, c) for k, m, c, s, e in rows)


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("inside", [0, 30_000])
def test_one_forward_one_backward(marks: bool, inside: int) -> None:
    job = PipelineJob(one_f_one_b(4, 6), [F] * 4, [B] * 4, replicas=2, marks=marks, inside=inside)
    out = found(job.session())
    check(job, out)
    assert (out.schedule.key, out.schedule.sure, out.stages, out.layout.chunks) == ("1f1b", 1.0, 4, 1)
    step = out.steps[0]
    assert step.theory_share == pytest.approx(3 / 9)
    assert step.least_share == pytest.approx(3 / 9)
    parts = step.parts()
    assert parts is not None
    assert (parts.theory_ns, parts.order_ns, parts.imbalance_ns, parts.variation_ns) == (3 * (F + B), 0, 0, 0)
    # Six passes of each kind and three more of both on the critical path have the gap inside.
    assert parts.inside_ns == 9 * 2 * inside
    # Six results are on their way on the critical path: forward and backward between four stages.
    assert parts.p2p_ns >= 6 * job.sent
    assert parts.p2p_ns <= 6 * (job.sent + 500) + 6 * (job.sent + 500) * 2


def test_gpipe_and_its_order() -> None:
    job = PipelineJob(gpipe(3, 5), [F] * 3, [B] * 3)
    out = found(job.session())
    check(job, out)
    assert out.schedule.key == "gpipe"
    assert out.steps[0].theory_share == pytest.approx(2 / 7)


def test_interleaved_chunks_by_annotations_and_by_the_card() -> None:
    order = interleaved(2, 4, 2)
    named = PipelineJob(order, [F] * 2, [B] * 2, chunks=2, marks=True)
    out = found(named.session())
    check(named, out)
    assert (out.schedule.key, out.layout.chunks) == ("interleaved", 2)
    assert out.steps[0].theory_share == pytest.approx(1 / (2 * 4 + 1))
    parts = out.steps[0].parts()
    assert parts is not None
    assert parts.theory_ns == F + B  # (p - 1)(F + B) / v with F and B over both chunks
    told = PipelineJob(order, [F] * 2, [B] * 2, chunks=2, card=plan(pp=2, vpp=2))
    check(told, found(told.session()))


@pytest.mark.parametrize(("stages", "micro", "chunks"), [(2, 4, 2), (3, 6, 2), (2, 4, 3)])
def test_interleaved_chunks_by_the_order(stages: int, micro: int, chunks: int) -> None:
    job = PipelineJob(interleaved(stages, micro, chunks), [F] * stages, [B] * stages, chunks=chunks)
    out = found(job.session())
    check(job, out)
    assert (out.schedule.key, out.layout.chunks) == ("interleaved", chunks)
    assert out.steps[0].theory_share == pytest.approx((stages - 1) / (chunks * micro + stages - 1))


def test_a_slow_stage_is_imbalance() -> None:
    job = PipelineJob(one_f_one_b(4, 8), [F, F, F, 2 * F], [B, B, B, 2 * B], sent=0)
    out = found(job.session())
    check(job, out)
    line = out.steps[0].lines[0]
    assert line.slowest == 3
    assert line.slowdown.index(max(line.slowdown)) == 3
    assert max(line.slowdown[:3]) < 1.0
    # With the last stage 6 ms per micro-batch: 8 of them and three times the way there and back at 3 ms.
    means = 8 * 2 * (F + B) + 3 * (F + B)
    equal = (8 + 3) * 5 * (F + B) / 4
    assert line.uneven_ns == means - equal
    slow, fast = line.stages[3].parts, line.stages[0].parts
    assert slow is not None
    assert fast is not None
    assert slow.imbalance_ns < 0 < fast.imbalance_ns
    assert worker_rows(out)[0].late is False


def test_a_slow_worker_among_peers() -> None:
    job = PipelineJob(one_f_one_b(2, 4), [F] * 2, [B] * 2, replicas=3, steps=3, slow={4: 1.2})
    rows = worker_rows(found(job.session()))
    assert (rows[0].worker, rows[0].late, rows[0].late_steps) == (3, True, 3)  # rank 4 = stage 1 of replica 1
    assert rows[0].beyond_ns == round(4 * 0.2 * (F + B))
    assert not any(r.late for r in rows[1:])
    lines = found(job.session()).steps[0].lines
    for line in lines:
        for stage in line.stages:
            assert stage.parts is not None
            assert stage.parts.imbalance_ns == 0  # a slow worker is no slow stage
            assert stage.parts.total_ns() == stage.bubble_ns
            if line.line != 1:
                assert stage.parts.late_ns == 0
    slow, fast = lines[1].stages[1].parts, lines[1].stages[0].parts
    assert slow is not None
    assert fast is not None
    # Four micro-batches of 3.6 instead of 3 ms in the last stage: the phase and its own compute grow alike.
    assert (fast.late_ns, slow.late_ns) == (4 * 600_000, 0)


@pytest.mark.parametrize("told", ["frames", "batched"])
def test_frames_and_batches_of_sends(told: str) -> None:
    job = PipelineJob(one_f_one_b(3, 5), [F] * 3, [B] * 3, **{told: True})  # type: ignore[arg-type]
    out = found(job.session())
    check(job, out)
    assert out.layout.passes_from.startswith("ranges" if told == "frames" else "autograd threads")


def test_passes_for_the_weights_by_annotations() -> None:
    order: list[list[Item]] = []
    for stage in one_f_one_b(2, 4):
        rows: list[Item] = []
        for item in stage:
            rows += [item, ("W", *item[1:])] if item[0] == "B" else [item]
        order.append(rows)
    job = PipelineJob(order, [F] * 2, [F] * 2, [F] * 2, marks=True)
    out = found(job.session())
    check(job, out)
    assert (out.schedule.key, out.steps[0].stages()[0].weight_ns) == ("zb1p", F)
    parts = out.steps[0].parts()
    assert parts is not None
    assert parts.theory_ns == 0 + F  # (p - 1)(F + B - 2 W) with B = 2 W = 2 F
    assert out.steps[0].theory_share is None


def test_chunks_that_go_there_and_back() -> None:
    # Stage 0 holds the first and the last of four virtual stages: the loss is its own.
    order: list[list[Item]] = [
        [("F", 0, 0), ("F", 1, 0), ("F", 0, 1), ("B", 0, 1), ("F", 1, 1), ("B", 1, 1), ("B", 0, 0), ("B", 1, 0)],
        [("F", 0, 0), ("F", 0, 1), ("F", 1, 0), ("F", 1, 1), ("B", 0, 1), ("B", 0, 0), ("B", 1, 1), ("B", 1, 0)],
    ]
    job = PipelineJob(order, [F] * 2, [B] * 2, chunks=2, marks=True, there_and_back=True)
    out = found(job.session())
    check(job, out)
    assert (out.schedule.key, out.layout.chunks) == ("unknown", 2)
    parts = out.steps[0].parts()
    assert parts is not None
    assert parts.order_ns == 0
    # What is neither theory nor on its way between stages is a few us before each pass.
    assert 0 <= parts.rest_ns < 2 * 8 * 1_000


def test_helpers_and_the_optimizer_are_no_passes() -> None:
    job = PipelineJob(one_f_one_b(3, 4), [F] * 3, [B] * 3, helpers=True)
    out = found(job.session())
    for step in out.steps:
        for stage in step.stages():
            told = out.layout.passes[stage.worker, step.number]
            assert (told.count(PassKind.FORWARD), told.count(PassKind.BACKWARD)) == (4, 4)
            assert stage.forward_ns is not None
            assert F <= stage.forward_ns <= F + 150


def test_stages_from_sends_and_from_the_plan() -> None:
    silent = PipelineJob(one_f_one_b(3, 4), [F] * 3, [B] * 3, replicas=2, groups=False)
    out = found(silent.session())
    check(silent, out)
    assert out.layout.stages_from == "sends between ranks"
    told = PipelineJob(
        one_f_one_b(3, 4), [F] * 3, [B] * 3, replicas=2, groups=False, peers=False, card=plan(pp=3, dp=2)
    )
    out = found(told.session())
    check(told, out)
    assert out.layout.stages_from == "the parallel plan of the job card"


def test_groups_of_the_head_name_the_stages() -> None:
    silent = PipelineJob(one_f_one_b(2, 4), [F] * 2, [B] * 2, groups=False, peers=False, batched=True)
    session = silent.session()
    assert isinstance(pipeline(session), str)
    for item in session.inputs:
        item.trace.meta.groups.append(ProcessGroup("3", "mesh_pp", 2, [0, 1], True))
        item.trace.meta.groups.append(ProcessGroup("4", "mesh_app", 2, [0, 7], True))
    out = found(make_session(*(i.trace for i in session.inputs)))
    check(silent, out)
    assert out.layout.stages_from == "process groups"


def test_a_ring_of_sends_is_no_pipeline() -> None:
    traces = []
    for rank in range(4):
        ring = {"group_size": 4, "in_elems": 8, "dtype": "Float"}
        to, come = ring | {"dst": (rank + 1) % 4}, ring | {"src": (rank - 1) % 4}
        traces.append(
            make_trace(
                kernel("ncclDevKernel_SendRecv", 1_000 * rank, 50, stream=28, collective="send", about=to),
                kernel("ncclDevKernel_SendRecv", 1_000 * rank, 90, stream=24, collective="recv", about=come),
                rank=rank,
                rank_source="distributedInfo",
                path=f"r{rank}.json",
            )
        )
    assert "no group of ranks, send or receive shows a pipeline" in str(pipeline(make_session(*traces)))


def test_one_rank_says_what_it_can() -> None:
    job = PipelineJob(one_f_one_b(4, 6), [F] * 4, [B] * 4, without_file=(0, 2, 3))
    out = found(job.session())
    assert out.layout.partial == "3 of 4 ranks of its pipelines are not open"
    step = out.steps[0]
    (stage,) = step.stages()
    rows = job.passes[1, 0]
    assert stage.bubble_ns == rows[-1][4] - rows[0][3] - 6 * (F + B)
    assert step.floor
    assert stage.parts is None
    assert out.schedule.key == "1f1b"
    assert step.theory_share == pytest.approx(3 / 9)


def test_clocks_move_no_figure() -> None:
    job = PipelineJob(one_f_one_b(3, 5), [F] * 3, [B] * 3, steps=6, offsets={1: 2_000_000, 2: -700_000})
    session = job.session()
    out = found(settle_clocks(session, "auto", {}))
    assert out.unsure_ns is not None
    for step in out.steps:
        start, end = job.phase(0, step.number)
        for stage in step.stages():
            assert abs(stage.bubble_ns - (end - start - 5 * (F + B))) <= out.unsure_ns


def test_the_first_stage_tells_the_phase_without_clocks() -> None:
    job = PipelineJob(one_f_one_b(3, 5), [F] * 3, [B] * 3, offsets={1: 4_000_000, 2: -700_000})
    out = found(job.session())
    assert out.unsure_ns is None
    for step in out.steps:
        start, end = job.phase(0, step.number)
        assert [s.bubble_ns for s in step.stages()] == [end - start - 5 * (F + B)] * 3
        assert step.lines[0].problem == "the clocks of its ranks are not aligned"
        assert (step.parts(), step.floor) == (None, False)
    # Clocks that nobody aligned may be right: then everything follows the order of passes.
    assert found(PipelineJob(one_f_one_b(3, 5), [F] * 3, [B] * 3).session()).steps[0].parts() is not None


def test_why_there_is_none() -> None:
    alone = make_session(make_trace(kernel("gemm", 0, 10), rank=0))
    assert pipeline(alone) == "no group of ranks, send or receive shows a pipeline, and the job card names none"
    unranked = make_session(make_trace(kernel("gemm", 0, 10)))
    assert pipeline(unranked) == "no trace states its rank"
    none = alone.with_card(JobCard(plan=PlanCard(pp=1)))
    assert pipeline(none) == "the job card says that there is no pipeline (plan.pp = 1)"
    wrong = PipelineJob(one_f_one_b(3, 4), [F] * 3, [B] * 3, card=plan(pp=2))
    assert pipeline(wrong.session()) == ("process groups show pipelines of 3 stages, the job card says 2: correct it")
    odd = alone.with_card(JobCard(plan=PlanCard(pp=4, tp=3)))
    assert isinstance(pipeline(odd), str)
    assert "4 pipeline stages" in str(pipeline(odd))


def test_the_card_names_the_schedule() -> None:
    job = PipelineJob(
        one_f_one_b(4, 6), [F] * 4, [B] * 4, card=JobCard(plan=PlanCard(pp=4), run=RunCard(schedule="zb1p"))
    )
    out = found(job.session())
    assert (out.schedule.key, out.schedule.source) == ("zb1p", "job card")
    assert out.steps[0].theory_share is None
    parts = out.steps[0].parts()
    assert parts is not None
    assert parts.theory_ns == 3 * (F + B)  # no pass for the weights was seen: W = 0
