"""Faults of communication, planted: found, first, of the right size; and nothing where nothing is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace
from tests.support.gradients import GradientJob
from tests.support.ranks import RankJob
from viewer.analyses.collective.rank_bandwidth import link_kernels, slow_links
from viewer.analyses.findings import (
    exposed_communication,
    extra_collectives,
    serialised_communication,
    small_messages,
    wrong_placement,
)
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.registry import job_findings
from viewer.app.clocks import settle_clocks
from viewer.base.job_card import BaselineCard, HardwareCard, JobCard, ModelCard, PlanCard, RunCard
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

KINDS = (
    "serialised-communication",
    "small-messages",
    "slow-link",
    "wrong-placement",
    "extra-collectives",
    "repeated-sync",
    "exposed-communication",
    "below-baseline",
)


def confident(session: Session) -> list[JobFinding]:
    return [f for f in job_findings(session) if f.confident and f.severity != "info"]


def cost(job: GradientJob) -> tuple[Session, int]:
    """The job's session, and how much longer its step is than that of the same job without a fault."""
    session, healthy = job.session(), GradientJob(ranks=job.ranks, groups=job.groups)
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


@pytest.mark.parametrize("missing", [(1,), (1, 2, 3)])
def test_small_messages_are_seen_where_members_are_not_open(missing: tuple[int, ...]) -> None:
    """A message right after another of its group finds its members together: all of it is transfer."""
    whole = GradientJob(pieces=64)
    _, truth = cost(whole)
    (found,) = small_messages.find(replace(whole, without_file=missing).session(), CancelToken())
    assert found.saving_ns_per_step == pytest.approx(truth, rel=0.1)
    assert not (small_messages.trains(GradientJob(without_file=missing).session()).less > 0).any()


def test_stages_that_are_not_open_are_taken_to_be_like_the_others() -> None:
    job = GradientJob(blocking=True, without_file=(2, 3))
    session = job.session().with_clocks([i.clock for i in job.session().inputs], "base")  # no replay
    (one,) = serialised_communication.find(session, CancelToken())
    (both,) = serialised_communication.find(session.with_card(JobCard(plan=PlanCard(pp=2))), CancelToken())
    assert one.saving_ns_per_step
    assert both.saving_ns_per_step == 2 * one.saving_ns_per_step
    assert "no rank is open" not in one.saving_how
    assert "no rank is open" in both.saving_how


def test_few_or_large_messages_are_no_train() -> None:
    for job in (GradientJob(pieces=2), GradientJob(pieces=8, transfer_ns=8 * 800_000)):
        assert not (small_messages.trains(job.session()).less > 0).any()


def test_messages_with_compute_between_them_are_no_train() -> None:
    """Small tensor-parallel operations of every layer wait for the layer before: joining them is impossible."""

    def rank(number: int) -> Trace:
        events = []
        for k in range(12):
            about = {"group": "1", "group_size": 2, "seq": k, "in_elems": 4_096, "dtype": "BFloat16"}
            at = k * 60_000 + number * 100
            events += [
                kernel("ncclAllReduce", at, 40_000, stream=7, collective="allreduce", about=about),
                kernel("gemm", at + 41_000, 18_000, stream=7),
            ]
        return make_trace(*events, rank=number, path=f"{number}.json", world_size=2)

    assert not small_messages.trains(make_session(rank(0), rank(1))).less.any()


def test_without_steps_or_of_one_rank_nothing_is_found() -> None:
    alone = GradientJob(ranks=1, groups=1, pieces=64, world=8).session()
    for detector in (small_messages, serialised_communication):
        assert list(detector.find(alone, CancelToken())) == []
    assert not np.any(small_messages.trains(alone).less)


def test_a_slow_group_is_first_and_of_the_right_size() -> None:
    session, truth = cost(GradientJob(ranks=8, groups=4, slow={2: 3.0}))
    first = confident(session)[0]
    assert first.id == "slow-link/dp [4, 5]"
    assert truth > 4_000_000
    assert first.saving_ns_per_step == pytest.approx(truth, rel=0.1)
    assert "3 others" in first.title


@dataclass
class SlowPair(RankJob):
    """Sends from rank ``source`` take ``factor`` times as long."""

    source: int = -1
    factor: float = 8.0

    def _send(self, source: int, target: int, at: int) -> None:
        before = len(self._events[source]), len(self._events[target])
        super()._send(source, target, at)
        if source == self.source:
            for rank, first in zip((source, target), before, strict=True):
                event = self._events[rank][first]
                more = round(70_000 * (self.factor - 1))
                self._events[rank][first] = replace(event, dur=event.dur + more)


def test_a_slow_pair_is_named_by_its_two_ranks() -> None:
    session = settle_clocks(SlowPair(ranks=8, steps=8, source=2).session(), "auto")
    (link,) = slow_links(session)
    assert link.pair == (2, 4)
    assert link.label == "rank 2 → rank 4"
    assert link.usual_gbps / link.busbw_gbps == pytest.approx(8, rel=0.2)
    assert link.wait_share is None
    assert int(link_kernels(session, link).sum()) == 16
    assert slow_links(settle_clocks(SlowPair(ranks=8, steps=8).session(), "auto")) == []


def test_a_tensor_parallel_group_over_hosts_is_misplaced_only_where_hosts_are_stated() -> None:
    job = GradientJob(purpose="TENSOR_MODEL_PARALLEL_GROUP")
    session = job.session()

    def found(**hardware: object) -> list[JobFinding]:
        card = JobCard(hardware=HardwareCard(**hardware))  # type: ignore[arg-type]
        return list(wrong_placement.find(session.with_card(card), CancelToken()))

    assert found() == []
    assert found(hosts=(("a", (0, 1)), ("b", (2, 3)))) == []
    (wrong,) = found(hosts=(("a", (0, 2)), ("b", (1, 3))))
    assert wrong.confident
    assert wrong.saving_ns_per_step is None
    assert "rank 0 on a, rank 1 on b" in wrong.evidence[0].text
    (told,) = found(hosts=(("a", (0, 2)), ("b", (1, 3))), link_bytes_per_second=400_000_000_000)
    assert told.saving_ns_per_step is not None
    assert told.saving_ns_per_step > 0
    # One rank per host: a group of two fits none.
    assert found(gpus_per_host=1) == []


def test_bytes_beyond_the_plan_are_found_with_what_they_cost() -> None:
    job = GradientJob(layer_ns=300_000)
    session = job.session()
    once = 4 * (24 << 20)  # elements of all layers
    card = JobCard(
        model=ModelCard(parameters=once // 2),
        plan=PlanCard(dp=2, tp=1, pp=1, zero_stage=0),
        run=RunCard(grad_dtype="bf16"),
    )
    (more,) = extra_collectives.find(session.with_card(card), CancelToken())
    assert more.kind == "extra-collectives"
    assert "moves 2.0 times the bytes" in more.title
    other = GradientJob(layer_ns=300_000, transfer_ns=400_000, own_ns=15_000)
    other.session()
    assert more.saving_ns_per_step == pytest.approx(job.step_ns() - other.step_ns(), rel=0.1)
    enough = replace(card, model=ModelCard(parameters=once))
    assert list(extra_collectives.find(session.with_card(enough), CancelToken())) == []


def test_two_ranks_of_a_large_job_are_no_ground_for_a_finding() -> None:
    few = RankJob(ranks=6, steps=6, without_file=(2, 3, 4, 5))
    session = settle_clocks(few.session(), "auto")
    assert [f for f in confident(session) if f.kind in KINDS] == []


def test_rates_below_a_measured_baseline_are_found_and_those_of_a_table_are_not(tmp_path: Path) -> None:
    job = GradientJob(transfer_ns=3_000_000)
    session = job.session()
    size = 2 * (24 << 20)
    head = "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2 minBytes 8\n"
    row = f"  {size}  1  float  sum  -1  830.0  1 1 0  830.0  1 1 0\n"
    (tmp_path / "base.log").write_text(head + row)
    measured = JobCard(baseline=BaselineCard(str(tmp_path / "base.log")))
    first = next(iter(exposed_communication.find(session.with_card(measured), CancelToken())))
    assert first.kind == "below-baseline"
    assert "at 27 % of the measured baseline" in first.title
    healthy = GradientJob()
    healthy.session()
    assert first.saving_ns_per_step == pytest.approx(job.step_ns() - healthy.step_ns(), rel=0.1)
    table = JobCard(hardware=HardwareCard(link_bytes_per_second=450_000_000_000))
    kinds = {f.kind for f in exposed_communication.find(session.with_card(table), CancelToken())}
    assert kinds == {"exposed-communication"}


def test_transfer_that_nothing_hides_is_a_finding_from_fifteen_percent_of_the_step_on() -> None:
    (much,) = exposed_communication.find(GradientJob(transfer_ns=3_000_000).session(), CancelToken())
    assert much.kind == "exposed-communication"
    assert much.share is not None
    assert much.share > 0.15
    assert much.confident
    assert list(exposed_communication.find(GradientJob().session(), CancelToken())) == []


def test_transfer_of_members_that_are_not_opened_may_be_waiting_and_is_not_sure() -> None:
    whole = GradientJob(transfer_ns=3_000_000, groups=1).session()
    part = make_session(*(i.trace for i in whole.inputs[:2]))
    assert [(f.kind, f.confident) for f in exposed_communication.find(part, CancelToken())] == [
        ("exposed-communication", False)
    ]


def test_barriers_in_every_step_cost_what_even_the_last_rank_spends_in_them() -> None:
    def rank(number: int) -> object:
        events: list[Event] = []
        for step in range(4):
            at = step * 10_000_000
            events += [
                annotation(f"ProfilerStep#{step}", at, 9_000_000),
                call("cudaLaunchKernel", at + 10, 5, corr=2 * step + 1),
                call("cudaLaunchKernel", at + 20, 5, corr=2 * step + 2),
                kernel("gemm", at + 1_000_000, 5_000_000, corr=2 * step + 1),
                kernel("ncclBarrier", at + 7_000_000 - number * 100_000, 600_000 + number * 100_000, stream=20,
                       corr=2 * step + 2, collective="barrier",
                       about={"group": "0", "group_desc": "default_pg", "group_size": 2, "seq": step}),
            ]  # fmt: skip
        return make_trace(*events, rank=number, path=f"{number}.json", world_size=2)

    session = make_session(rank(0), rank(1))  # type: ignore[arg-type]
    (found,) = extra_collectives.find(session, CancelToken())
    assert found.kind == "repeated-sync"
    assert found.saving_ns_per_step == 600_000
    assert found.title.startswith("1 barrier per step")


def test_without_a_replay_the_bound_adds_the_stages_and_takes_the_most_of_each() -> None:
    session = GradientJob(blocking=True, offset_ns=0).session()
    unaligned = session.with_clocks([i.clock for i in session.inputs], "base")
    (found,) = serialised_communication.find(unaligned, CancelToken())
    assert "added over the stages" in found.saving_how
    # Two groups that meet in a reduction of all: two roles, three exposed reductions of 830 us in each.
    assert found.saving_ns_per_step == pytest.approx(2 * 3 * 830_000, rel=0.05)
