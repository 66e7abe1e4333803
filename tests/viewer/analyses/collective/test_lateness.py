"""Own and inherited lateness of jobs whose late ranks are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ranks import RankJob
from viewer.analyses.collective.as_peers import as_fast_as_peers
from viewer.analyses.collective.lateness import lateness
from viewer.analyses.collective.roles import roles
from viewer.app.clocks import settle_clocks
from viewer.exporters.report import report
from viewer.jit.replay import replay
from viewer.store.session import Session


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
        "inherited_late_ns": inherited,
        "wait_caused_ns": caused,
        "cause": "one slow kernel",
        "cause_share": row["cause_share"],
        "pattern": "persistent",
        "step_as_peers_ns": as_fast_as_peers(session, 3),
    }
    assert row["cause_share"] > 0.9


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
    value = np.array(base, np.int64)
    count = replay(
        np.searchsorted(source, np.arange(11)).astype(np.int64),
        target,
        lag,
        np.bincount(target, minlength=10).astype(np.int64),
        np.empty(10, np.int64),
        value,
    )
    expected = list(base)
    for _ in range(10):
        for a, b, x in links:
            expected[b] = max(expected[b], expected[a] + x)
    assert count == 10
    assert value.tolist() == expected
