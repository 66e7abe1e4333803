"""Clocks that are set in the middle of a recording are found, named, and in doubt by as much."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ranks import BASE, STEP_NS, RankJob
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.jumps import Jump, find_jump, whose
from viewer.app.clocks import settle_clocks
from viewer.exporters.report_clock import clock_part
from viewer.views.clocks import clock_frame


class Jumping(RankJob):
    """The clock of rank 2 is set by 1.5 ms before step 12."""

    by = 1_500_000

    def clock(self, rank: int, true_ns: int) -> int:
        later = rank == 2 and true_ns >= BASE + 12 * STEP_NS
        return super().clock(rank, true_ns) + (self.by if later else 0)


@pytest.mark.parametrize("by", [1_500_000, -1_500_000, 9_000_000])
@pytest.mark.parametrize("ranks", [6, 3])
def test_a_jump_is_told_with_rank_and_time(by: int, ranks: int) -> None:
    job = Jumping(ranks=ranks, steps=24, offsets={1: 250_000}, drift_ppm={1: 20.0, 2: -35.0})
    job.by = by
    session = settle_clocks(job.session(), "auto")
    found = align(session)
    assert [c.jump is not None for c in found.clocks] == [r == 2 for r in range(ranks)]
    clock = found.clocks[2]
    assert clock.jump is not None
    at, size = clock.jump
    assert size == pytest.approx(by, abs=2_000)
    assert BASE + 11 * STEP_NS < at < BASE + 13 * STEP_NS
    assert all(c.connected for c in found.clocks)
    t0 = found.t0_ns or 0
    assert clock.offset_ns == pytest.approx(job.clock(2, t0) - job.clock(0, t0), abs=1_000)  # before the jump
    assert clock.drift_ppb == pytest.approx(-35_000, abs=1_000)
    assert clock.uncertainty_ns is not None
    assert abs(by) < clock.uncertainty_ns < abs(by) + 10_000
    assert (clock.low_ns, clock.high_ns) == (None, None)
    others = [c.uncertainty_ns or 0 for c in found.clocks if c.group != 2]
    assert max(others) < 10_000
    note = clock_frame(session).sections[0].note
    sign = "+" if by > 0 else "−"
    assert note.startswith(f"The clock of rank 2 jumped by {sign}{abs(by) / 1e6:.3f}"[:38])
    rows = clock_part(session)["ranks"]
    assert [row["jump_ns"] is not None for row in rows] == [r == 2 for r in range(ranks)]
    assert rows[2]["jump_at_ns"] == at


@pytest.mark.parametrize("noise", [300, 6_000, 40_000])
def test_noise_and_drift_are_no_jumps(noise: int) -> None:
    for seed in range(6):
        job = RankJob(
            ranks=6, steps=24, seed=seed, noise_ns=noise, drift_ppm={1: 50.0, 3: -50.0}, offsets={2: 3_000_000}
        )
        assert not any(c.jump for c in align(job.session()).clocks)


def test_single_far_ends_and_clocks_set_at_each_step_are_no_jumps() -> None:
    random = np.random.default_rng(3)
    x = np.arange(200) * 2e6
    far = random.normal(0, 200, 200) + np.where(random.random(200) < 0.05, 400_000, 0)
    assert find_jump(x, far) is None
    stairs = np.floor(np.arange(200) / 10) * 50_000 + random.normal(0, 200, 200)
    assert find_jump(x, stairs) is None
    assert find_jump(x[:7], np.array([0, 0, 0, 1e6, 1e6, 1e6, 1e6])) is None  # too few
    one = find_jump(x, random.normal(0, 200, 200) + np.where(np.arange(200) >= 77, 30_000, 0))
    assert one is not None
    assert one.at_ns == 76.5 * 2e6
    assert one.by_ns == pytest.approx(30_000, abs=1_000)


def test_the_rank_that_jumped_against_several_is_the_one() -> None:
    jump = Jump(5.0, 100.0)
    assert whose([(9, 2, jump)], 8) == {2: jump}
    assert whose([(1, 0, jump), (1, 3, jump)], 8) == {1: Jump(5.0, -100.0)}
    assert whose([(0, 1, jump)], 8) == {1: jump}
    assert whose([(9, 2, jump), (2, 4, jump)], 8) == {2: jump}
