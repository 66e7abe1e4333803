"""Files of two runs that state the same groups and numbers are not put on one clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.ranks import BASE, STEP_NS, RankJob
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.matching import matches
from viewer.analyses.collective.one_job import of_one_job, recordings
from viewer.app.clocks import settle_clocks
from viewer.store.session import Opened, build_session
from viewer.views.clocks import clock_frame


def members(seed: int, clocks: list[float], noise: float = 300.0) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of 20 operations of one run, ns: (operations, members)."""
    random = np.random.default_rng(seed)
    begin = np.cumsum(random.normal(30e6, 1e6, 20))
    starts = begin[:, None] - random.uniform(0, 400e3, (20, len(clocks))) + clocks
    ends = begin[:, None] + 60e3 + random.uniform(0, noise, (20, len(clocks))) + clocks
    return starts, ends


def test_members_of_one_run_stay_together_whatever_their_clocks() -> None:
    starts, ends = members(1, [0.0, 3e6, -2e6, 5e5, 1e9])
    assert [p.tolist() for p in of_one_job(starts, ends)] == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("noise", [20e3, 200e3])
def test_noisy_ends_are_of_one_run(noise: float) -> None:
    starts, ends = members(2, [0.0, 3e6, -2e6, 5e5, 0.0, 0.0], noise)
    assert len(of_one_job(starts, ends)) == 1


def test_two_runs_are_told_apart() -> None:
    one, other = members(3, [0.0, 2e6, -1e6]), members(4, [0.0, 5e5])
    starts, ends = np.hstack((one[0], other[0])), np.hstack((one[1], other[1]))
    assert [p.tolist() for p in of_one_job(starts, ends)] == [[0, 1, 2], [3, 4]]


def test_hosts_whose_ends_scatter_against_each_other_are_of_one_run() -> None:
    starts, ends = members(5, [0.0, 2e6, -1e6, 4e6])
    ends[:, 2:] += np.random.default_rng(6).uniform(0, 150e3, 20)[:, None]  # later, but never before a begin
    assert len(of_one_job(starts, ends)) == 1


def test_ranks_of_another_run_are_left_alone() -> None:
    one, other = (RankJob(ranks=8, steps=12, seed=s, late_ns={s: 3_000_000}).session() for s in (1, 2))
    for item in other.inputs:  # its steps take their own time
        s = item.trace.slices
        step = np.searchsorted(np.sort(s.start_ns[s.name == s.name[0]]), s.start_ns)
        s.replace("start_ns", s.start_ns + np.cumsum(np.random.default_rng(7).integers(0, 900_000, 4000))[step])
    mixed = build_session([Opened(i.path, i.trace) for i in (*one.inputs[:4], *other.inputs[4:])])
    found = align(mixed)
    assert [c.connected for c in found.clocks] == [True] * 4 + [False] * 4


HOUR = 3_600_000_000_000


class OtherRun(RankJob):
    """Ranks 4 to 7 are of a run an hour later whose steps take their own time."""

    def clock(self, rank: int, true_ns: int) -> int:
        step = (true_ns - BASE) // STEP_NS
        own = np.cumsum(np.random.default_rng(7).integers(0, 900_000, 100)) if rank >= 4 else np.zeros(100, np.int64)
        return super().clock(rank, true_ns) + (HOUR if rank >= 4 else 0) + int(own[max(step, 0)])


def test_runs_at_different_times_are_left_apart_and_named() -> None:
    session = settle_clocks(OtherRun(ranks=8, steps=12).session(), "auto")
    found = align(session)
    assert [c.connected for c in found.clocks] == [True] * 4 + [False] * 4
    assert all("another time" in c.why for c in found.clocks[4:])
    told = matches(session)
    run = told.run[told.node]
    assert (np.minimum.reduceat(run, told.offset[:-1]) == np.maximum.reduceat(run, told.offset[:-1])).all()
    assert {i.clock.offset_ns for i in session.inputs[4:]} == {0}
    note = clock_frame(session).sections[0].note
    assert note.startswith("Files of different runs, by their times: rank 4, rank 5, rank 6 and 1 more were recorded")


def test_a_clock_that_is_an_hour_off_is_of_the_same_run() -> None:
    session = settle_clocks(RankJob(ranks=8, steps=12, offsets=dict.fromkeys(range(4, 8), HOUR)).session(), "auto")
    found = align(session)
    assert all(c.connected for c in found.clocks)
    assert [round(c.offset_ns / 1e6) for c in found.clocks] == [0] * 4 + [round(HOUR / 1e6)] * 4


def test_members_of_a_pair_that_contradict_each_other_are_apart() -> None:
    one, other = members(3, [0.0]), members(4, [0.0])
    starts, ends = np.hstack((one[0], other[0])), np.hstack((one[1], other[1]))
    assert [p.tolist() for p in of_one_job(starts, ends)] == [[0], [1]]
    starts, ends = members(5, [0.0, 3e6])
    ends[:, 1] += np.random.default_rng(6).uniform(0, 150e3, 20)
    assert len(of_one_job(starts, ends)) == 1
    drifting = 80e-6 * starts[:, 0]
    starts[:, 1] += drifting
    ends[:, 1] += drifting
    assert len(of_one_job(starts, ends)) == 1


MINUTE = 60_000_000_000
NOW = 1_700_000_000_000_000_000


def recorded(spans: list[list[tuple[int, int]]]) -> Any:
    """A session of one rank for each list, with a file for each (begin, end) of it in minutes."""
    groups, inputs = [], []
    for rank, files in enumerate(spans):
        groups.append(SimpleNamespace(id=rank, inputs=range(len(inputs), len(inputs) + len(files))))
        for begin, end in files:
            meta = SimpleNamespace(first_ns=begin * MINUTE, last_ns=end * MINUTE)
            clock = SimpleNamespace(known=True)
            inputs.append(SimpleNamespace(trace=SimpleNamespace(meta=meta), clock=clock, base_ns=NOW))
    return SimpleNamespace(groups=groups, inputs=inputs)


def test_recordings_are_told_apart_by_the_wall_clock() -> None:
    assert recordings(recorded([[(0, 1)], [(0, 2)], [(2, 3)]])).tolist() == [0, 0, 0], "less than a minute between"
    assert recordings(recorded([[(0, 1)], [(9, 10)], [(9, 11)]])).tolist() == [1, 0, 0], "0 has most ranks"
    assert recordings(recorded([])).tolist() == []


def test_a_rank_that_was_recorded_in_parts_joins_what_lies_between_them() -> None:
    assert recordings(recorded([[(0, 1), (9, 10)], [(0, 1)], [(9, 10)]])).tolist() == [0, 0, 0]
    chain = [[(0, 1), (9, 10)], [(9, 10), (18, 19)], [(18, 19)], [(0, 1)], [(30, 31)]]
    assert recordings(recorded(chain)).tolist() == [0, 0, 0, 0, 1]
