"""Own and inherited lateness of jobs whose late ranks are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ranks import BASE, STEP_NS, RankJob
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.as_peers import as_fast_as_peers
from viewer.analyses.collective.dependencies import dependencies
from viewer.analyses.collective.lateness import lateness
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.roles import roles
from viewer.app.clocks import settle_clocks
from viewer.base.frames import TableFrame
from viewer.exporters.report import report
from viewer.jit.replay import places_before, replay, replay_in_order
from viewer.store.session import Session
from viewer.views.stragglers.panel import stragglers


def aligned(job: RankJob) -> Session:
    return settle_clocks(job.session(), "auto")


def test_the_late_rank_is_named_with_its_own_lateness() -> None:
    session = aligned(RankJob(ranks=6, steps=12, late_ns={3: 4_000_000}, offsets={1: 2_000_000, 3: -900_000}))
    found = lateness(session)
    assert found is not None
    assert found.straggler.tolist() == [False, False, False, True, False, False]
    assert found.ranking()[0] == 3
    own, inherited, caused = found.of(3) or (0, 0, 0)
    assert own == pytest.approx(4_000_000, rel=0.05)
    assert inherited < 200_000
    # Its partner waits for it in each step's first reduction, everybody in the last.
    assert caused > 3_500_000
    row = report(session)["ranks"][3]["straggler"]
    assert row == {
        "is_straggler": True,
        "own_late_ns": own,
        "own_late_error_ns": row["own_late_error_ns"],
        "inherited_late_ns": inherited,
        "inherited_late_error_ns": row["inherited_late_error_ns"],
        "wait_caused_ns": caused,
        "cause": "one slow kernel",
        "cause_share": row["cause_share"],
        "pattern": "persistent",
        "step_as_peers_ns": as_fast_as_peers(session, 3),
    }
    assert row["cause_share"] > 0.9
    assert abs(own - 4_000_000) <= row["own_late_error_ns"] < 400_000
    assert inherited <= row["inherited_late_error_ns"] < 400_000


def test_nobody_is_named_where_nobody_is_late() -> None:
    found = lateness(aligned(RankJob(ranks=6, steps=12, offsets={2: 2_500_000})))
    assert found is not None
    assert not found.straggler.any()
    assert max(abs((found.of(r) or (0, 0, 0))[0]) for r in found.ranks) < 300_000


def test_without_aligned_clocks_there_is_none() -> None:
    session = RankJob(ranks=4).session()
    assert lateness(session) is None
    assert report(session)["ranks"][0]["straggler"] is None


def test_ranks_of_one_stage_have_one_role() -> None:
    session = RankJob(ranks=6).session()
    assert roles(session) == {0: 0, 1: 0, 2: 2, 3: 2, 4: 4, 5: 4}


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 50)), max_size=30)


@given(edges, st.lists(st.integers(0, 100), min_size=10, max_size=10))
@settings(max_examples=100)
def test_replay_against_relaxation(links: list[tuple[int, int, int]], base: list[int]) -> None:
    links = [(a, b, lag) for a, b, lag in links if a < b]  # no circles
    order = sorted(links)
    source = np.array([a for a, _, _ in order], np.int64)
    target = np.array([b for _, b, _ in order], np.int64)
    lag = np.array([x for _, _, x in order], np.int64)
    value, again = np.array(base, np.int64), np.array(base, np.int64)
    offset, queue = np.searchsorted(source, np.arange(11)).astype(np.int64), np.empty(10, np.int64)
    count = replay(offset, target, lag, np.bincount(target, minlength=10).astype(np.int64), queue, value)
    replay_in_order(queue, offset, target, lag, again)
    expected = list(base)
    for _ in range(10):
        for a, b, x in links:
            expected[b] = max(expected[b], expected[a] + x)
    assert count == 10
    assert value.tolist() == again.tolist() == expected


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4), st.data())
def test_places_in_groups(groups: list[list[int]], data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.tuples(st.integers(0, len(groups) - 1), st.integers(-1, 11)), max_size=8))
    out = np.empty(len(asked), np.int64)
    places_before(
        np.cumsum([0, *map(len, groups)]).astype(np.int64),
        np.array([v for g in groups for v in sorted(g)], np.int64),
        np.array([g for g, _ in asked], np.int64),
        np.array([v for _, v in asked], np.int64),
        out,
    )
    assert out.tolist() == [sum(v < wanted for v in groups[g]) for g, wanted in asked]


@pytest.mark.parametrize("late", [{3: 4_000_000, 4: 3_000_000}, {1: 3_500_000, 2: 3_000_000, 5: 4_000_000}])
def test_several_late_ranks_are_all_named(late: dict[int, int]) -> None:
    found = lateness(aligned(RankJob(ranks=6, steps=12, late_ns=late, offsets={1: 2_000_000})))
    assert found is not None
    assert {found.ranks[i] for i in np.flatnonzero(found.straggler)} == set(late)
    assert set(found.ranking()[: len(late)]) == set(late)
    # In the last reduction they hide each other: alone each keeps the others waiting.
    assert all((found.of(r) or (0, 0, 0))[2] > 0 for r in late)


def test_ranks_that_hide_each_other_cause_less_than_each_would_alone() -> None:
    late = {3: 4_000_000, 4: 3_000_000}
    found = lateness(aligned(RankJob(ranks=6, steps=12, late_ns=late, noise_ns=0)))
    alone = [lateness(aligned(RankJob(ranks=6, steps=12, late_ns={r: ns}, noise_ns=0))) for r, ns in late.items()]
    assert found is not None
    assert all(a is not None for a in alone)
    apart = [(a.of(r) or (0, 0, 0))[2] for a, r in zip(alone, late, strict=True) if a is not None]
    shared = [(found.of(r) or (0, 0, 0))[2] for r in late]
    # Both keep the last reduction waiting: together less than each by itself would.
    assert all(0 < s < a for s, a in zip(shared, apart, strict=True))


def test_without_a_peer_ranks_that_run_the_same_kernels_tell() -> None:
    session = aligned(RankJob(ranks=6, steps=12, late_ns={5: 4_000_000}, without_file=(4,)))
    found = lateness(session)
    assert found is not None
    # Its peer is not open; ranks of other roles run the same kernels, so they tell.
    assert found.of(4) is not None
    assert found.ranking()[0] == 4


def test_a_rank_whose_clock_is_not_aligned_has_no_error_to_state() -> None:
    # Ranks 2 and 3 meet the others by sends alone: their clocks are left as they are.
    session = aligned(RankJob(ranks=4, steps=6, world_operations=False, late_ns={3: 4_000_000}))
    found = lateness(session)
    assert found is not None
    assert found.of(3) is not None
    assert found.errors_of(3) is None
    row = report(session)["ranks"][3]["straggler"]
    assert (row["own_late_error_ns"], row["inherited_late_error_ns"]) == (None, None)
    assert "±" not in " ".join(next(r for r in (stragglers(session).table or fail()).rows if r[0] == "rank 3")[2:4])


def fail() -> TableFrame:
    raise AssertionError("no table")


class LateReceive(RankJob):
    """In step 3 rank 2 asks for what rank 0 sent when all of it is there."""

    def _send(self, source: int, target: int, at: int) -> None:
        super()._send(source, target, at)
        if source == 0 and (at - BASE) // STEP_NS == 3:
            received = self._events[target][-1]
            self._events[target][-1] = replace(received, start=at + 150_000, dur=40_000)


def test_a_receive_that_came_late_would_have_waited_had_its_rank_been_faster() -> None:
    late = aligned(LateReceive(ranks=4, steps=8, noise_ns=0))
    graph, pairs, every = dependencies(late), align(late).pairs, everything(late)
    from_zero = every.node[pairs.send] == 0
    send, receive = pairs.send[from_zero], pairs.receive[from_zero]
    waited = graph.time[graph.begin[receive]] <= graph.time[graph.begin[send]]
    assert waited.tolist() == [k != 3 for k in range(8)]
    since = graph.time[graph.end[receive]] - graph.time[graph.begin[send]]
    length = graph.time[graph.end[receive]] - graph.time[graph.begin[receive]]

    def lag(source: int, target: int) -> int:
        (found,) = graph.lag[(graph.source == source) & (graph.target == target)].tolist()
        return int(found)

    for k in range(8):
        a, b = int(send[k]), int(receive[k])
        after_send = lag(int(graph.begin[a]), int(graph.end[b]))
        after_own = lag(int(graph.begin[b]), int(graph.end[b]))
        assert after_send == (round(float(np.median(since[waited]))) if k == 3 else since[k])
        assert after_own == (length[3] if k == 3 else min(since[waited].min(), length.min()))
