"""What files lack of communication is put back where it was: lateness is as in the whole job."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.build import Event
from tests.support.ranks import RankJob
from viewer.analyses.collective.dependencies import dependencies
from viewer.analyses.collective.engine import Engine
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.lateness import lateness
from viewer.analyses.collective.lost import whole
from viewer.analyses.collective.matching import everything
from viewer.app.clocks import settle_clocks
from viewer.store.session import Session


class Lossy(RankJob):
    """Loses the n-th communications that a rank records, by ``gone``."""

    gone: dict[int, set[int]] = {}  # noqa: RUF012

    def session(self) -> Session:
        self._met: dict[int, int] = {}
        return super().session()

    def _is_lost(self, rank: int, event: Event) -> bool:
        if not event.collective:
            return False
        at = self._met[rank] = self._met.get(rank, -1) + 1
        return at in self.gone.get(rank, set())


def job(gone: dict[int, set[int]], late_ns: int = 0) -> Session:
    made = Lossy(ranks=6, steps=12, late_ns={3: late_ns}, offsets={1: 2_000_000, 3: -900_000})
    made.gone = gone
    return settle_clocks(made.session(), "auto")


def spans(session: Session, rank: int) -> set[tuple[int, int, int]]:
    """(kind, begin, end) of a rank's communications, us of session time, with what was put back."""
    seen = whole(session)
    mine = seen.every.node == rank
    return {
        (int(k), round(int(b) / 1e4), round(int(e) / 1e4))
        for k, b, e in zip(seen.every.kind[mine], seen.start[mine], seen.end[mine], strict=True)
    }


def test_a_whole_job_is_left_as_it_is() -> None:
    session = job({})
    seen = whole(session)
    assert not len(seen.put_back)
    assert seen.every is everything(session)


@pytest.mark.parametrize(
    "gone",
    [
        {2: {7, 20, 33}, 5: {11}},  # reductions, sends and receives
        {0: set(range(3, 60, 9))},
        {1: {8, 9}, 3: {8, 9}},  # of neighbours in one step
        {4: {10}, 5: {10}},  # all members of one operation: nothing shows that it was there
    ],
)
def test_what_is_lost_is_put_back_where_it_was(gone: dict[int, set[int]]) -> None:
    session, complete = job(gone), job({})
    back = whole(session).put_back
    if set(gone) == {4, 5}:
        assert not len(back)
        return
    assert sorted(back.tolist()) == sorted(rank for rank, numbers in gone.items() for _ in numbers)
    for rank in gone:
        put, there = spans(session, rank), spans(complete, rank)
        near = {(k, b + i, e + j) for k, b, e in there for i in range(-40, 41) for j in range(-40, 41)}
        assert len(put) == len(there)
        assert put <= near  # to within 400 us: as much as begins vary from step to step


def test_lateness_of_a_job_that_lacks_something_is_that_of_the_whole_one() -> None:
    found = lateness(job({2: set(range(3, 60, 9)), 5: set(range(1, 60, 11))}, 4_000_000))
    usual = lateness(job({}, 4_000_000))
    assert found is not None
    assert usual is not None
    assert found.straggler.tolist() == usual.straggler.tolist() == [False] * 3 + [True] + [False] * 2
    own, true = found.of(3), usual.of(3)
    assert own is not None
    assert true is not None
    assert own[0] == pytest.approx(true[0], rel=0.03)


def test_every_pair_and_operation_is_whole_again() -> None:
    session = job({2: {7, 20, 33}, 5: {11}})
    seen = whole(session)
    sends = seen.every.kind == Kind.SEND
    assert sorted(seen.send.tolist()) == np.flatnonzero(sends).tolist()
    assert len(set(seen.receive.tolist())) == len(seen.receive) == int((seen.every.kind == Kind.RECV).sum())
    assert (seen.start[seen.send] < seen.end[seen.receive]).all()
    _, members = np.unique(seen.op, return_counts=True)
    assert set(members.tolist()) == {2, 6}
    for lane in np.unique(seen.lane):
        mine = np.flatnonzero(seen.lane == lane)
        mine = mine[np.argsort(seen.start[mine])]
        assert (seen.start[mine][1:] >= seen.end[mine][:-1]).all()


def test_edges_that_make_circles_are_left_out_and_all_is_replayed() -> None:
    session = job({})
    graph = dependencies(session)
    ranks = tuple(range(6))
    usual = Engine(graph, ranks, 12)
    one = usual.run(np.ones_like(usual.own_time))
    edges = len(graph.source)
    later = int(graph.ready[graph.ready >= 0][40])
    begins = graph.begin[graph.ready == later]
    earlier = int(begins[np.argmin(graph.time[begins])])
    bent = replace(
        graph,
        source=np.append(graph.source, later),
        target=np.append(graph.target, earlier),
        lag=np.append(graph.lag, 0),
        own=np.append(graph.own, -1).astype(np.int32),
    )
    engine = Engine(bent, ranks, 12)
    assert len(bent.source) == edges + 1
    assert engine.run(np.ones_like(engine.own_time)).tolist() == one.tolist()
