"""Exposed communication taken apart: hand-worked jobs, and the identity on every sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import DemoJob
from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op, python, sync
from tests.support.ranks import RankJob
from viewer.analyses.attribution import attribute
from viewer.analyses.collective.communication import Figures, communication, total
from viewer.analyses.collective.exposed_parts import Hiding, Part
from viewer.analyses.collective.hiding import held
from viewer.analyses.collective.hosts import hosts
from viewer.analyses.collective.volume import volumes
from viewer.analyses.gpu_work import gpu_work
from viewer.base.job_card import EMPTY_CARD, HardwareCard, JobCard, ModelCard, PlanCard, RunCard
from viewer.importers.opening import JobOpener
from viewer.store.cache import default_cache
from viewer.store.session import Session

REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
SIZE = 1 << 20


def reduce_(
    start: int, length: int, seq: int, *, desc: str = "DATA_PARALLEL_GROUP", corr: int = 0, **more: object
) -> Event:
    about = {
        "group": "1", "group_desc": desc, "group_ranks": "[0, 1]", "group_size": 2, "seq": seq, "in_elems": SIZE,
        "dtype": "BFloat16",
    }  # fmt: skip
    usual = {"stream": 20, "collective": "allreduce", "about": about, "corr": corr or None}
    return kernel(REDUCE, start, length, **{**usual, **more})


def pair(first: list[Event], second: list[Event], card: JobCard = EMPTY_CARD) -> Session:
    traces = [make_trace(*e, path=f"rank-{r}.json", rank=r, world_size=4) for r, e in enumerate((first, second))]
    return make_session(*traces, align="none").with_card(card)


def parts(figures: Figures | None) -> dict[str, int]:
    assert figures is not None
    return {Part(i).name: v for i, v in enumerate(figures.parts) if v}


LINK = JobCard(hardware=HardwareCard(link_bytes_per_second=1_000_000_000_000))
"""2 MiB between two ranks take 2,097 ns."""


def test_wait_is_what_a_rank_takes_longer_than_the_last_and_transfer_needs_a_baseline() -> None:
    session = pair([reduce_(0, 9_000, 1)], [reduce_(4_000, 5_000, 1)])
    first, second = (s.figures for s in communication(session))
    assert parts(first) == {"WAIT": 4_000, "NO_BASELINE": 5_000}
    assert parts(second) == {"NO_BASELINE": 5_000}
    assert parts(total(communication(session))) == {"WAIT": 4_000, "NO_BASELINE": 10_000}


def test_beyond_the_baseline_is_rate_and_hidden_time_is_in_no_part() -> None:
    session = pair([reduce_(0, 9_000, 1), kernel("gemm", 5_000, 1_000)], [reduce_(4_000, 5_000, 1)], LINK)
    first, second = (s.figures for s in communication(session))
    assert parts(first) == {"WAIT": 4_000, "UNHIDDEN": 1_097, "RATE": 2_903}
    assert parts(second) == {"UNHIDDEN": 2_097, "RATE": 2_903}


def test_with_members_missing_what_is_slow_may_be_waiting_and_alone_nothing_is_told() -> None:
    session = pair([reduce_(0, 9_000, 1)], [reduce_(4_000, 5_000, 1)], LINK)
    few = [
        replace(e, about={**e.about, "group_ranks": "[0, 1, 2, 3]", "group_size": 4}) for e in (reduce_(0, 9_000, 1),)
    ]
    other = [replace(e, about=few[0].about) for e in (reduce_(4_000, 5_000, 1),)]
    session = pair(few, other, LINK)
    first = communication(session)[0].figures
    assert parts(first) == {"WAIT": 4_000, "UNHIDDEN": 3_146, "MEMBERS_MISSING": 1_854}
    alone = make_session(make_trace(reduce_(0, 9_000, 1), rank=0)).with_card(LINK)
    assert parts(communication(alone)[0].figures) == {"NOT_MATCHED": 9_000}
    assert not communication(alone)[0].figures.has_wait  # type: ignore[union-attr]


def test_a_copy_between_devices_is_communication_that_nothing_splits() -> None:
    copied = kernel("Memcpy PtoP (Device -> Device)", 0, 70, cat="gpu_memcpy", stream=9)
    found = communication(make_session(make_trace(copied, kernel("gemm", 50, 100))))[0]
    assert parts(found.figures) == {"NOT_MATCHED": 50}
    assert found.rest[Part.NOT_MATCHED] == 50


def backward(corr: int, start: int) -> list[Event]:
    return [
        op("autograd::engine::evaluate_function: MmBackward0", start - 5, 90, tid=2),
        call("cudaLaunchKernel", start, 5, corr=corr, tid=2),
    ]


def why(session: Session) -> list[Hiding]:
    return [Hiding(int(h)) for h in held(session, session.inputs[0]).hiding]


def test_a_gradient_reduction_on_the_compute_stream_serialises_the_backward_pass_behind_it() -> None:
    ours = [reduce_(1_000, 5_000, 1, stream=7), *backward(9, 500), kernel("gemm", 6_500, 1_000, corr=9)]
    session = pair(ours, [reduce_(1_000, 5_000, 1, stream=7)])
    assert why(session) == [Hiding.SERIALISED]
    assert communication(session)[0].figures.transfers[Hiding.SERIALISED] == 5_000  # type: ignore[union-attr]
    # The optimizer reads the gradients: it had to wait.
    ends = [reduce_(1_000, 5_000, 1, stream=7), annotation("Optimizer.step#Adam.step", 400, 300),
            call("cudaLaunchKernel", 500, 5, corr=9), kernel("adam", 6_500, 1_000, corr=9)]  # fmt: skip
    assert why(pair(ends, [reduce_(1_000, 5_000, 1)])) == [Hiding.STRUCTURAL]


def test_a_wait_for_the_reductions_event_serialises_too_where_it_says_for_which_stream() -> None:
    def ours(**args: object) -> list[Event]:
        return [reduce_(1_000, 5_000, 1), *backward(9, 500), kernel("gemm", 6_100, 1_000, corr=9),
                sync("Stream Wait Event", 900, 5_120, stream=7, args=args)]  # fmt: skip

    other = [reduce_(1_000, 5_000, 1)]
    assert why(pair(ours(wait_on_stream=20), other)) == [Hiding.SERIALISED]
    assert why(pair(ours(wait_on_stream=24), other)) == [Hiding.UNKNOWN]
    assert why(pair(ours(), other)) == [Hiding.UNKNOWN]


def test_of_other_groups_the_next_compute_needs_the_result_and_late_launches_prove_nothing() -> None:
    ours = [reduce_(1_000, 5_000, 1, desc="TENSOR_MODEL_PARALLEL_GROUP"), *backward(9, 500),
            kernel("gemm", 6_500, 1_000, corr=9)]  # fmt: skip
    other = [reduce_(1_000, 5_000, 1, desc="TENSOR_MODEL_PARALLEL_GROUP")]
    assert why(pair(ours, other)) == [Hiding.STRUCTURAL]
    late = [reduce_(1_000, 5_000, 1, stream=7), *backward(9, 6_200), kernel("gemm", 6_500, 1_000, corr=9)]
    assert why(pair(late, other)) == [Hiding.UNKNOWN]
    far = [reduce_(1_000, 5_000, 1, stream=7), *backward(9, 500), kernel("gemm", 60_500, 1_000, corr=9)]
    assert why(pair(far, other)) == [Hiding.UNKNOWN]


def test_a_host_that_blocks_until_the_end_needs_the_result() -> None:
    ours = [reduce_(1_000, 5_000, 1), call("cudaStreamSynchronize", 900, 5_200),
            call("cudaLaunchKernel", 6_200, 5, corr=9), kernel("gemm", 6_500, 1_000, corr=9)]  # fmt: skip
    assert why(pair(ours, [reduce_(1_000, 5_000, 1)])) == [Hiding.STRUCTURAL]


CARD = JobCard(
    model=ModelCard(parameters=SIZE),
    plan=PlanCard(dp=2, tp=1, pp=1, zero_stage=0),
    run=RunCard(grad_dtype="bf16"),
    hardware=HardwareCard(link_bytes_per_second=1_000_000_000_000),
)


def test_bytes_beyond_the_plan_are_volume() -> None:
    """One step in which the gradients are reduced twice: half of each transfer is too much."""

    def rank(start: int) -> list[Event]:
        return [annotation("ProfilerStep#1", 0, 50_000), call("cudaLaunchKernel", 10, 5, corr=1),
                call("cudaLaunchKernel", 20, 5, corr=2), reduce_(start, 5_000, 1, corr=1),
                reduce_(start + 10_000, 5_000, 2, corr=2)]  # fmt: skip

    session = pair(rank(1_000), rank(1_000), CARD)
    (volume,) = volumes(session)
    assert (volume.moved_bytes, volume.needed_bytes, volume.share) == (4 * SIZE, 2 * SIZE, 0.5)
    assert parts(communication(session)[0].figures) == {"UNHIDDEN": 2_096, "VOLUME": 2_098, "RATE": 5_806}
    assert volumes(pair(rank(1_000), rank(1_000))) == ()


def test_hosts_are_only_what_files_or_the_card_state() -> None:
    session = pair([reduce_(0, 10, 1)], [reduce_(0, 10, 1)])
    assert hosts(session).of == {}
    by_count = session.with_card(JobCard(hardware=HardwareCard(gpus_per_host=2)))
    assert hosts(by_count).of == {0: "host 0", 1: "host 0", 2: "host 1", 3: "host 1"}
    assert hosts(by_count).by_count
    stated = session.with_card(JobCard(hardware=HardwareCard(hosts=(("a", (0,)), ("b", (1,))))))
    assert hosts(stated).of == {0: "a", 1: "b"}


@pytest.mark.parametrize("card", [EMPTY_CARD, LINK])
def test_the_parts_sum_to_the_exposed_time_of_each_rank(card: JobCard) -> None:
    session = RankJob(offsets={1: 250_000}, late_ns={2: 900_000}, lost={3: 0.2}).session().with_card(card)
    for item, found in zip(session.inputs, communication(session), strict=True):
        told = attribute(item.trace, 0)
        assert told is not None
        assert found.figures is not None
        assert sum(found.figures.parts) == found.figures.exposed_ns == told.comm_exposed_ns
        assert found.parts.sum() == told.comm_exposed_ns
        transfer = (Part.NO_BASELINE, Part.RATE, Part.UNHIDDEN, Part.STRUCTURAL, Part.MEMBERS_MISSING, Part.VOLUME)
        assert found.figures.transfer_ns == found.figures.of(transfer)


def test_a_window_cuts_the_parts() -> None:
    session = pair([reduce_(0, 9_000, 1)], [reduce_(4_000, 5_000, 1)])
    found = communication(session, {0: (3_000, 6_000), 1: (0, 100)})
    assert parts(found[0].figures) == {"WAIT": 1_000, "NO_BASELINE": 2_000}
    assert parts(found[1].figures) == {}


def open_(path: Path) -> Session:
    opened = JobOpener([path], cache=default_cache(), given_ranks={}, align="auto", rules=None).open(lambda *_: None)
    return opened.session


def test_a_generated_job_sums_and_waits_no_longer_than_in_truth(demo_job: DemoJob) -> None:
    session = open_(demo_job.folder)
    waited = dict.fromkeys(range(8), 0)
    for c in demo_job.truth["collectives"]:
        for rank, ns in zip(c["ranks"], c["wait_ns"], strict=True):
            waited[rank] += ns
    truth = {r["rank"]: r["device"]["comm_exposed_ns"] for r in demo_job.truth["ranks"]}
    for item, found in zip(session.inputs, communication(session), strict=True):
        assert item.rank is not None
        assert found.figures is not None
        assert found.figures.exposed_ns == truth[item.rank]
        assert found.figures.of((Part.NOT_MATCHED, Part.MEMBERS_MISSING)) == 0
        # Ends of one operation lie up to a microsecond apart.
        assert found.figures.wait_ns <= waited[item.rank] + 1_000 * len(demo_job.truth["collectives"])


def test_every_sample_sums(shared: Path) -> None:
    """The assertion inside runs for every rank; whole jobs and single files."""
    folder = shared / "data"
    for path in [*sorted((folder / "kineto-multirank").iterdir()), *sorted((folder / "kineto-single").iterdir())]:
        session = open_(path)
        for item, found in zip(session.inputs, communication(session), strict=True):
            told = [attribute(item.trace, d) for d in gpu_work(item.trace).devices]
            exposed = sum(t.comm_exposed_ns for t in told if t is not None)
            assert (found.figures is None) == (not told)
            assert found.figures is None or found.figures.exposed_ns == exposed


def test_a_gather_that_queued_compute_begins_right_after_is_what_it_waited_for() -> None:
    ours = [reduce_(1_000, 5_000, 1, desc="", collective="allgather"), *backward(9, 500),
            kernel("gemm", 6_500, 1_000, corr=9)]  # fmt: skip
    other = [reduce_(1_000, 5_000, 1, desc="", collective="allgather")]
    assert why(pair(ours, other)) == [Hiding.STRUCTURAL]
    reduced = [replace(e, collective="allreduce") if e.collective else e for e in ours]
    assert why(pair(reduced, [reduce_(1_000, 5_000, 1, desc="")])) == [Hiding.UNKNOWN]


@pytest.mark.parametrize(
    "around",
    [annotation("Optimizer.step#Adam.step", 7_000, 300), python("torch/nn/utils/clip_grad.py(202): clip", 7_000, 300)],
)
def test_gradients_that_optimizer_or_clipping_reads_next_had_to_come_however_late_it_begins(around: Event) -> None:
    ends = [reduce_(1_000, 5_000, 1), around,
            call("cudaLaunchKernel", 7_100, 5, corr=9), kernel("adam", 90_000, 1_000, corr=9)]  # fmt: skip
    assert why(pair(ends, [reduce_(1_000, 5_000, 1)])) == [Hiding.STRUCTURAL]
