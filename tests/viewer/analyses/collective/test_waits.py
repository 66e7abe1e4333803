"""Waiting, transfers, exposed time and bandwidth of communication, against sums done by hand or by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import kernel, make_session, make_trace
from tests.support.ranks import RankJob
from viewer.analyses.attribution import attribute
from viewer.analyses.collective.exposed import exposed
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import matches
from viewer.analyses.collective.table import bus_factor, communication_table
from viewer.analyses.collective.waits import members, sent_waits, waits
from viewer.analyses.gpu_work import gpu_work
from viewer.app.clocks import settle_clocks
from viewer.base.ids import ABSENT
from viewer.exporters.report import report
from viewer.store.session import Session


def two_ranks(*, size: int | None = 2) -> Session:
    """One all-reduce: rank 0 arrives at 100, rank 1 at 160, both end at 200."""
    about = {"group": "0", "group_size": size, "group_ranks": "[0, 1]", "seq": 1, "in_elems": 500, "dtype": "Half"}
    traces = []
    for rank, start in enumerate((100, 160)):
        event = kernel("nccl_AllReduce", start, 200 - start, stream=20, collective="allreduce", about=about)
        traces.append(make_trace(kernel("gemm", 0, 120), event, path=f"{rank}.json", rank=rank, world_size=size))
    return make_session(*traces)


def test_the_shortest_member_is_the_transfer() -> None:
    session = two_ranks()
    found = waits(session)
    assert found.transfer.tolist() == [40]
    assert found.wait.tolist() == found.aligned_wait.tolist() == [60, 0]
    assert (found.last.tolist(), found.complete.tolist(), found.unsure.tolist()) == ([1], [True], [ABSENT])
    (row,) = communication_table(session)
    assert (row.kind, row.count, row.kernels, row.rank_count, row.bytes) == (Kind.ALL_REDUCE, 1, 2, 2, 1000)
    assert (row.sum_ns, row.wait_ns, row.transfer_ns, row.bound) == (140, 60, 80, "exact")
    assert row.exposed_ns == 80 + 40  # 20 ns of rank 0's kernel ran beside the gemm
    assert (row.algbw_gbps, row.busbw_gbps) == (25.0, 25.0)


def test_with_members_missing_it_is_a_bound() -> None:
    session = two_ranks(size=4)
    assert waits(session).complete.tolist() == [False]
    assert communication_table(session)[0].bound == "lower"


def test_one_rank_alone_knows_no_wait() -> None:
    session = make_session(two_ranks().inputs[0].trace)
    (row,) = communication_table(session)
    assert (row.wait_ns, row.transfer_ns, row.algbw_gbps, row.bound, row.count) == (None, None, None, "none", 1)
    assert report(session)["collectives"][0]["wait_ns"] is None


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        (Kind.ALL_REDUCE, 1.75),
        (Kind.ALL_GATHER, 0.875),
        (Kind.REDUCE_SCATTER, 0.875),
        (Kind.ALL_TO_ALL, 0.875),
        (Kind.BROADCAST, 1.0),
        (Kind.ALL_TO_ALL_V, None),
        (Kind.UNKNOWN, None),
    ],
)
def test_factors_of_nccl_tests(kind: Kind, factor: float | None) -> None:
    assert bus_factor(kind, 8) == factor
    assert bus_factor(kind, 1) is None


def test_waits_do_not_depend_on_clocks() -> None:
    still, moved = RankJob(ranks=4).session(), RankJob(ranks=4, offsets={1: 2_000_000, 3: -70_000}).session()
    assert waits(still).wait.tolist() == waits(moved).wait.tolist()
    aligned = settle_clocks(moved, "auto")
    both = waits(aligned)
    op = members(aligned)
    assert int(np.abs(both.wait - both.aligned_wait).max()) < 2_000
    assert not both.undecided(op).any()
    assert int(np.abs(waits(moved).wait - waits(moved).aligned_wait).max()) > 1_000_000


def test_no_member_ends_before_the_last_began() -> None:
    session = settle_clocks(RankJob(ranks=6, offsets={2: 900_000, 5: -3_000_000}, noise_ns=4_000).session(), "auto")
    found, op = waits(session), members(session)
    begun = np.maximum.reduceat(found.arrival, matches(session).offset[:-1])
    assert (found.end - begun[op] > -found.unsure[op]).all()


def test_a_receive_waits_for_its_send() -> None:
    session = settle_clocks(RankJob(ranks=4, offsets={2: 1_000_000}).session(), "auto")
    found = sent_waits(session)
    assert len(found.wait) == 24
    assert (found.wait >= 0).all()
    assert int(found.wait.max()) < 300_000 + 2_000
    assert 58_000 < int(found.transfer.min()) <= int(found.transfer.max()) < 92_000
    apart = sent_waits(RankJob(ranks=4).session())
    assert set(apart.wait.tolist()) == {ABSENT}  # on base times alone nobody knows


def test_rows_sum_to_the_exposed_time_of_the_devices() -> None:
    session = RankJob(ranks=4).session()
    whole = sum(found.comm_exposed_ns for i in session.inputs if (found := attribute(i.trace, 0)) is not None)
    assert sum(r.exposed_ns for r in communication_table(session)) == whole


spans = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.booleans(), st.integers(1, 3)), min_size=1, max_size=25
)


@given(spans)
@settings(max_examples=60)
def test_exposed_time_is_charged_to_the_first_that_started(events: list[tuple[int, int, bool, int]]) -> None:
    trace = make_trace(
        *(
            kernel("nccl_AllReduce" if comm else "gemm", start, dur, stream=stream + (20 if comm else 0))
            for start, dur, comm, stream in events
        )
    )
    work = gpu_work(trace)
    found = exposed(trace)
    expected = np.zeros(len(work), np.int64)
    comm = [i for i in range(len(work)) if trace.name(int(work.index[i])) == "nccl_AllReduce"]
    for t in range(100):
        running = [i for i in range(len(work)) if work.start_ns[i] <= t < work.end_ns[i]]
        ours = [i for i in running if i in comm]
        if ours and len(ours) == len(running):
            expected[min(ours, key=lambda i: (work.start_ns[i], work.lane[i]))] += 1
    # Those that start together on one lane may share differently; the sum per start is the same.
    for start in set(work.start_ns.tolist()):
        at = work.start_ns == start
        assert int(found[at].sum()) == int(expected[at].sum())
    figures = attribute(trace, 0)
    assert figures is not None
    assert int(found.sum()) == figures.comm_exposed_ns
