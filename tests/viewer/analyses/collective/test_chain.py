from __future__ import annotations

from collections.abc import Sequence

from tests.support.build import Event, call, copy, kernel, make_session, make_trace, row_named, rows_named
from viewer.analyses.collective.chain import Cause, Link, late_chain
from viewer.analyses.collective.lookup import member_of, operation_at, place_of
from viewer.app.clocks import settle_clocks
from viewer.store.session import Session

MS = 1_000_000
REDUCE = "ncclDevKernel_AllReduce"


def reduce(group: str, ranks: Sequence[int], number: int, start: int, end: int, corr: int | None = None) -> Event:
    """An all-reduce on its own stream; times in ms."""
    about = {"group": group, "group_ranks": str(list(ranks)), "group_size": len(ranks), "seq": number}
    return kernel(
        f"{REDUCE}_{group}", start * MS, (end - start) * MS, stream=20, corr=corr, collective="allreduce", about=about
    )


def work(name: str, start: float, end: float, **more: object) -> Event:
    """A kernel; times in ms."""
    return kernel(name, round(start * MS), round((end - start) * MS), **more)  # type: ignore[arg-type]


def job(*ranks: Sequence[Event]) -> Session:
    return make_session(
        *(
            make_trace(*events, path=f"r{rank}.json", rank=rank, rank_source="distributedInfo", base_ns=0)
            for rank, events in enumerate(ranks)
        )
    )


def chain(session: Session, rank: int, name: str, at: int) -> list[Link]:
    """The chain of the ``at``-th kernel of that name on a rank."""
    row = rows_named(session.inputs[rank].trace, name)[at]
    place = place_of(session, rank, row)
    assert place is not None
    member = member_of(session, place)
    assert member is not None
    return late_chain(session, member)


def met(ranks: Sequence[int] = (0, 1, 2), group: str = "g") -> list[Event]:
    """All met at 10 ms."""
    return [reduce(group, ranks, 0, 9, 10)]


def test_a_kernel_that_ran_longer_than_on_the_peers() -> None:
    every = (0, 1, 2)
    session = job(
        [*met(), work("gemm", 10, 20), work("norm", 20, 21), reduce("g", every, 1, 21, 30)],
        [*met(), work("gemm", 10, 26), work("norm", 26, 27), reduce("g", every, 1, 27, 30)],
        [*met(), work("gemm", 10, 20), work("norm", 20, 21), reduce("g", every, 1, 21, 30)],
    )
    (link,) = chain(session, 1, f"{REDUCE}_g", 1)
    assert link.cause is Cause.KERNEL
    assert link.row == row_named(session.inputs[1].trace, "gemm")
    assert (link.span_ns, link.part_ns, link.beyond_ns, link.piece_ns) == (17 * MS, 17 * MS, 6 * MS, 16 * MS)
    assert link.peers == 2


def test_a_long_kernel_that_all_have_is_no_cause() -> None:
    every = (0, 1)
    session = job(
        [*met(every), work("long", 10, 30), work("norm", 30, 31), reduce("g", every, 1, 31, 40)],
        [*met(every), work("long", 10, 30), work("norm", 30, 34), reduce("g", every, 1, 34, 40)],
    )
    (link,) = chain(session, 1, f"{REDUCE}_g", 1)
    assert (link.cause, link.beyond_ns) == (Cause.KERNEL, 3 * MS)
    assert link.row == row_named(session.inputs[1].trace, "norm")


def test_a_copy_that_nothing_hid() -> None:
    every = (0, 1)
    session = job(
        [*met(every), work("gemm", 10, 12), reduce("g", every, 1, 12, 20)],
        [*met(every), copy("HtoD", 10 * MS, 5 * MS), work("gemm", 15, 17), reduce("g", every, 1, 17, 20)],
    )
    (link,) = chain(session, 1, f"{REDUCE}_g", 1)
    assert (link.cause, link.part_ns, link.piece_ns) == (Cause.COPY, 5 * MS, 5 * MS)
    assert link.row == row_named(session.inputs[1].trace, "HtoD")


def test_a_host_that_launched_late_and_one_that_had_launched() -> None:
    every = (0, 1, 2)

    def rank(gemm: int, launched: float) -> list[Event]:
        return [
            *met(),
            call("cudaLaunchKernel", round(launched * MS), 5_000, corr=4),
            work("gemm", gemm, gemm + 2, corr=4),
            reduce("g", every, 1, gemm + 2, 30),
        ]

    session = job(rank(10, 9.5), rank(18, 17.9), rank(10, 9.5))
    (late,) = chain(session, 1, f"{REDUCE}_g", 1)
    assert (late.cause, late.piece_ns, late.beyond_ns) == (Cause.HOST, 8 * MS, 8 * MS)
    assert late.gap == (10 * MS, 18 * MS)
    trace = session.inputs[1].trace
    assert (late.row, late.call_row) == (row_named(trace, "gemm"), row_named(trace, "cudaLaunchKernel"))
    queued = job(rank(10, 9.5), rank(18, 9.6), rank(10, 9.5))
    (link,) = chain(queued, 1, f"{REDUCE}_g", 1)
    assert link.cause is Cause.QUEUED


def test_a_rank_that_waited_leads_to_the_one_it_waited_for() -> None:
    """Rank 2's gemm is long; rank 1 waits for it in "b"; rank 0 waits for rank 1 in "a"."""
    a, b, every = (0, 1), (1, 2), (0, 1, 2)
    session = job(
        [*met(), work("gemm", 10, 12), reduce("a", a, 0, 12, 30)],
        [*met(), work("gemm", 10, 12), reduce("b", b, 0, 12, 28), reduce("a", a, 0, 28, 30)],
        [*met(), work("gemm", 10, 27), reduce("b", b, 0, 27, 28)],
    )
    assert every
    first, second = chain(session, 1, f"{REDUCE}_a", 0)
    assert (first.cause, first.place.input) == (Cause.WAIT, 1)
    assert first.row == row_named(session.inputs[1].trace, f"{REDUCE}_b")
    assert (second.cause, second.place.input, second.beyond_ns) == (Cause.KERNEL, 2, 15 * MS)
    assert second.row == row_named(session.inputs[2].trace, "gemm")


def test_the_members_last_met_in_another_group() -> None:
    """The world's operation at 20 ms made rank 1's long kernel before it history."""
    pair, every = (0, 1), (0, 1, 2)
    session = job(
        [*met(pair), work("gemm", 10, 12), reduce("w", every, 0, 12, 20), reduce("g", pair, 1, 22, 25)],
        [
            *met(pair),
            work("gemm", 10, 19),
            reduce("w", every, 0, 19, 20),
            work("z", 20, 24),
            reduce("g", pair, 1, 24, 25),
        ],
        [work("gemm", 10, 12), reduce("w", every, 0, 12, 20)],
    )
    (link,) = chain(session, 1, f"{REDUCE}_g", 1)
    assert link.since_ns == 20 * MS
    assert link.row == row_named(session.inputs[1].trace, "z")


def test_nothing_lies_between() -> None:
    every = (0, 1)
    session = job(
        [*met(every), reduce("g", every, 1, 10, 30)],
        [*met(every), reduce("g", every, 1, 10, 30)],
    )
    (link,) = chain(session, 1, f"{REDUCE}_g", 1)
    assert (link.cause, link.row) == (Cause.NOTHING, -1)


def test_before_the_first_meeting_the_traces_begin() -> None:
    every = (0, 1)
    session = job(
        [work("gemm", 1, 5), reduce("g", every, 0, 5, 9)],
        [work("gemm", 1, 8), reduce("g", every, 0, 8, 9)],
    )
    (link,) = chain(session, 1, f"{REDUCE}_g", 0)
    assert (link.cause, link.since_ns, link.beyond_ns) == (Cause.KERNEL, 1 * MS, 3 * MS)


def test_two_operations_name_the_last_member_of_each() -> None:
    every = (0, 1)
    session = job(
        [*met(every), reduce("g", every, 1, 12, 30)],
        [*met(every), reduce("g", every, 1, 29, 30)],
    )
    place = place_of(session, 0, rows_named(session.inputs[0].trace, f"{REDUCE}_g")[1])
    assert place is not None
    member = member_of(session, place)
    assert member is not None
    from viewer.analyses.collective.chain import last_member

    op, span = operation_at(session, member)
    assert last_member(session, op) - span.start == 1


def test_a_launch_that_came_late_but_would_have_waited_anyway_leads_to_the_other_rank() -> None:
    """Rank 1's device is idle until it launches "b" at 26 ms; rank 2 comes to "b" at 25 ms only."""
    a, b, every = (0, 1), (1, 2), (0, 1, 2)
    meetings = [[reduce("w", every, k, 2 * k, 2 * k + 1) for k in range(5)] for _ in every]
    ranks = [
        [*meetings[0], reduce("a", a, 0, 12, 30)],
        [
            *meetings[1],
            call("cudaLaunchKernel", round(25.9 * MS), 5_000, corr=4),
            reduce("b", b, 0, 26, 27, corr=4),
            reduce("a", a, 0, 28, 30),
        ],
        [*meetings[2], work("gemm", 10, 25), reduce("b", b, 0, 25, 27)],
    ]
    session = settle_clocks(job(*ranks), "auto")
    assert session.clock_method == "collectives"
    first, second = chain(session, 1, f"{REDUCE}_a", 0)
    assert (first.cause, first.gap) == (Cause.WAIT, (9 * MS, 26 * MS))
    assert (second.cause, second.place.input) == (Cause.KERNEL, 2)
    raw = chain(settle_clocks(session, "base"), 1, f"{REDUCE}_a", 0)[0]
    assert raw.cause is Cause.HOST  # without a common clock nothing is said of the other rank
