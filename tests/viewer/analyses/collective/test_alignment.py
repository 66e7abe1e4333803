"""Clocks of jobs whose true offsets and drifts are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ranks import BASE, STEP_NS, RankJob
from viewer.analyses.collective.alignment import Alignment, align, clocks_of
from viewer.store.session import Session


def offset_errors(job: RankJob, found: Alignment) -> dict[int, int]:
    """Estimate minus truth at t0, by rank, ns."""
    assert found.t0_ns is not None
    t0 = found.t0_ns

    def ahead(rank: int) -> int:
        return job.clock(rank, t0) - job.clock(0, t0)

    return {c.rank: c.offset_ns - ahead(c.rank) for c in found.clocks if c.connected and c.rank is not None}


def test_offsets_of_ranks_that_meet_only_through_others() -> None:
    job = RankJob(ranks=8, offsets={1: 2_500_000, 3: -1_000_000, 6: 77_000})
    found = align(job.session())
    assert (found.method, found.reference, found.match_rate) == ("collectives", 0, 1.0)
    assert all(c.connected for c in found.clocks)
    assert max(abs(e) for e in offset_errors(job, found).values()) < 400
    assert {c.drift_ppb for c in found.clocks} == {0}


def test_drift() -> None:
    job = RankJob(ranks=4, steps=40, offsets={1: 900_000}, drift_ppm={1: 20.0, 2: -50.0, 3: 7.5})
    found = align(job.session())
    drifts = {c.rank: c.drift_ppb / 1000 for c in found.clocks}
    assert drifts == pytest.approx({0: 0.0, 1: 20.0, 2: -50.0, 3: 7.5}, abs=0.5)
    assert max(abs(e) for e in offset_errors(job, found).values()) < 1_000


def test_the_session_then_shows_all_ends_together() -> None:
    job = RankJob(ranks=6, steps=30, offsets={2: 3_000_000, 5: -2_000_000}, drift_ppm={4: 30.0}, noise_ns=200)
    session = job.session()
    aligned = session.with_clocks(clocks_of(session, align(session)), "collectives")
    ends = _world_ends(aligned)
    assert ends.shape == (30, 6)
    assert int((ends.max(axis=1) - ends.min(axis=1)).max()) < 1_500
    assert int((_world_ends(session).max(axis=1) - _world_ends(session).min(axis=1)).min()) > 1_000_000


def _world_ends(session: Session) -> np.ndarray:
    columns = []
    for item in session.inputs:
        s, c = item.trace.slices, item.trace.collectives
        rows = [int(r) for r, g in zip(c.slice, c.group, strict=True) if item.trace.text(int(g)) == "0"]
        rows.sort(key=lambda r: int(s.start_ns[r]))
        columns.append([item.clock.to_session(int(s.start_ns[r] + s.dur_ns[r])) for r in rows])
    return np.array(columns).T


def test_a_duration_never_changes() -> None:
    job = RankJob(ranks=4, drift_ppm={3: 50.0})
    session = job.session()
    aligned = session.with_clocks(clocks_of(session, align(session)), "collectives")
    for before, after in zip(session.inputs, aligned.inputs, strict=True):
        assert before.trace is after.trace


def test_lost_operations_and_a_missing_file() -> None:
    job = RankJob(ranks=8, steps=30, offsets={3: 1_200_000, 7: -800_000}, lost={3: 0.1, 4: 0.1}, without_file=(2,))
    found = align(job.session())
    assert found.match_rate is not None
    assert 0.9 < found.match_rate < 1.0
    assert {c.rank for c in found.clocks if c.connected} == {0, 1, 3, 4, 5, 6, 7}
    assert max(abs(e) for e in offset_errors(job, found).values()) < 600


def test_the_truth_lies_in_the_interval_that_causality_gives() -> None:
    job = RankJob(ranks=6, offsets={1: 400_000, 4: -3_000_000}, noise_ns=3_000)
    found = align(job.session())
    for c in found.clocks:
        truth = job.offsets.get(c.rank or 0, 0)
        assert c.low_ns is not None
        assert c.high_ns is not None
        assert c.low_ns <= truth <= c.high_ns
        assert c.low_ns <= c.offset_ns <= c.high_ns


def test_far_ends_do_not_count() -> None:
    job = RankJob(ranks=4, steps=40, offsets={1: 100_000})
    session = job.session()
    trace = session.inputs[1].trace
    late = np.array(trace.slices.dur_ns)
    late[trace.collectives.slice[::4]] += 5_000_000  # a quarter of the ends are wrong by 5 ms
    trace.slices.replace("dur_ns", late)
    assert abs(offset_errors(job, align(session))[1]) < 1_000


def test_without_shared_operations_nothing_moves() -> None:
    alone = RankJob(ranks=4, offsets={2: 500_000}, without_file=(1, 2, 3)).session()
    found = align(alone)
    assert (found.reference, found.method) == (None, "base")
    assert [(c.connected, c.offset_ns, c.why) for c in found.clocks] == [
        (False, 0, "no operation is shared with another opened rank")
    ]
    assert clocks_of(alone, found) == [alone.inputs[0].clock]


def test_sends_alone_move_nothing() -> None:
    session = RankJob(ranks=4, world_operations=False, offsets={2: 50_000}).session()
    found = align(session)
    # Two data-parallel pairs that only a pipeline joins: the one with rank 0 is aligned, the other is left alone.
    assert [(c.rank, c.connected) for c in found.clocks] == [(0, True), (1, True), (2, False), (3, False)]
    assert (
        found.clocks[2].why
        == "its operations join it with none of the aligned ranks: others are missing, or it is of another run"
    )
    assert found.clocks[2].offset_ns == 0


def test_fewer_than_three_matches_move_nothing() -> None:
    session = RankJob(ranks=2, steps=2, world_operations=False, sends=False, offsets={1: 9_000}).session()
    trace = session.inputs[1].trace
    kept = trace.collectives.slice[:2]
    kind = np.array(trace.slices.paint)
    gone = [int(r) for r in trace.collectives.slice if int(r) not in kept.tolist()]
    kind[gone] = 1  # no communication any more
    trace.slices.replace("paint", kind)
    assert [c.connected for c in align(session).clocks] == [False, False]


def test_base_times_of_two_origins_are_added_first() -> None:
    session = RankJob(ranks=2, bases={1: BASE - 7_889_238_000_000_000}, offsets={1: 4_000}).session()
    found = align(session)
    assert abs(found.clocks[1].offset_ns - 4_000) < 400


@pytest.mark.parametrize(
    "states",
    [
        ("comms_id",),
        ("group", "group_size", "seq"),
        ("group_ranks", "seq"),
        ("group", "group_ranks", "group_size", "in_elems", "dtype"),
    ],
    ids=["comms id", "no list of ranks", "no name", "no number"],
)
def test_what_little_the_kernels_state_is_enough(states: tuple[str, ...]) -> None:
    job = RankJob(ranks=4, offsets={1: 800_000, 2: -70_000}, states=states, sends=False)
    found = align(job.session())
    assert found.match_rate == 1.0
    assert max(abs(e) for e in offset_errors(job, found).values()) < 600


def test_without_numbers_a_lost_one_shifts_nothing() -> None:
    states = ("group", "group_ranks", "group_size", "in_elems", "dtype")
    job = RankJob(ranks=4, steps=40, offsets={1: 800_000}, states=states, lost={1: 0.05, 3: 0.05}, seed=5)
    found = align(job.session())
    assert max(abs(e) for e in offset_errors(job, found).values()) < 600


@given(
    st.integers(0, 10**6),
    st.dictionaries(st.integers(1, 4), st.integers(-3_000_000, 3_000_000)),
    st.dictionaries(st.integers(1, 4), st.integers(-50, 50)),
)
@settings(max_examples=15)
def test_any_offsets_and_drifts(seed: int, offsets: dict[int, int], drifts: dict[int, int]) -> None:
    job = RankJob(ranks=5, steps=25, seed=seed, offsets=offsets, drift_ppm={r: float(d) for r, d in drifts.items()})
    found = align(job.session())
    errors = offset_errors(job, found)
    assert max(abs(e) for e in errors.values()) < 2_000
    for c in found.clocks:
        assert abs(c.drift_ppb / 1000 - drifts.get(c.rank or 0, 0)) < 1.0
        assert c.low_ns is not None
        assert c.low_ns <= c.offset_ns


def test_a_clock_that_is_set_between_the_steps_is_seen() -> None:
    job = RankJob(ranks=4, steps=20, offsets={1: 5_000}, noise_ns=200)
    even = job.clock

    def stepwise(rank: int, true_ns: int) -> int:
        return even(rank, true_ns) + (2_000 * ((true_ns - BASE) // STEP_NS) if rank == 1 else 0)

    job.clock = stepwise  # type: ignore[method-assign]
    found = align(job.session())
    clock = found.clocks[1]
    assert len(clock.held) == 20
    assert clock.drift_ppb == pytest.approx(2_000 / STEP_NS * 1e9, rel=0.01)
    assert abs(clock.offset_ns - 5_000) < 400


def test_residuals_before_and_after() -> None:
    found = align(RankJob(ranks=4, offsets={1: 1_000_000}).session())
    assert len(found.residual_group) == len(found.residual_before) == len(found.residual_after)
    assert set(found.residual_group.tolist()) == {0, 1, 2, 3}
    assert np.abs(found.residual_before).max() > 400_000
    assert np.abs(found.residual_after).max() < 1_000


def test_drifts_are_within_their_stated_errors() -> None:
    drifts = {1: 20.0, 2: -50.0, 3: 7.5, 5: -3.0}
    found = align(RankJob(ranks=6, steps=25, drift_ppm=drifts, noise_ns=6_000).session())
    for c in found.clocks:
        assert c.drift_error_ppb is not None
        assert abs(c.drift_ppb - 1_000 * drifts.get(c.rank or 0, 0.0)) <= c.drift_error_ppb
    assert found.clocks[0].drift_error_ppb == 0
    assert all((c.drift_error_ppb or 0) > 100 for c in found.clocks[1:])


def test_a_short_recording_does_not_tell_drifts() -> None:
    job = RankJob(ranks=2, steps=1, offsets={1: 80_000}, drift_ppm={1: 40.0})
    clock = align(job.session()).clocks[1]
    assert clock.connected
    assert (clock.drift_ppb, clock.drift_error_ppb) == (0, None)
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns - 80_000) <= clock.uncertainty_ns


def test_drifts_that_no_rank_shows_by_itself_are_seen_together() -> None:
    drifts = {r: (-1) ** r * 12.0 for r in range(1, 8)}
    job = RankJob(ranks=8, steps=14, drift_ppm=drifts, noise_ns=12_000)
    found = align(job.session())
    assert sum(c.drift_ppb != 0 for c in found.clocks) >= 5
    for c in found.clocks:
        assert abs(c.drift_ppb - 1_000 * drifts.get(c.rank or 0, 0.0)) <= (c.drift_error_ppb or 0)


@pytest.mark.parametrize("seed", [1, 2, 3, 953])
def test_without_drifts_none_is_stated(seed: int) -> None:
    found = align(RankJob(ranks=6, steps=10, seed=seed, offsets={1: 5_000}, noise_ns=4_000).session())
    assert {c.drift_ppb for c in found.clocks} == {0}


def test_files_that_name_no_groups_say_so() -> None:
    found = align(RankJob(ranks=4, states=("in_elems", "dtype")).session())
    assert found.reference is None
    said = "no communication kernel in the file states its group: nothing tells what belongs together"
    assert {c.why for c in found.clocks} == {said}
