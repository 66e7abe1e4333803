"""Files of two runs that state the same groups and numbers are not put on one clock."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ranks import RankJob
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.one_job import of_one_job
from viewer.store.session import Opened, build_session


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
