"""The clock of a file against the clock of the job."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.clock import Clock

EPOCH = 1_700_000_000_000_000_000
times = st.integers(-(10**12), 10**12)


def test_offset_and_drift_are_what_the_file_is_ahead() -> None:
    clock = Clock(base_ns=EPOCH, offset_ns=1_000, drift_ppb=50_000, t0_ns=EPOCH)
    assert clock.to_session(1_000) == EPOCH
    assert clock.to_raw(EPOCH + 1_000_000_000) == 1_000_000_000 + 1_000 + 50_000
    assert clock.to_session(1_000_051_000) == EPOCH + 1_000_000_000


@given(times, st.integers(-(10**9), 10**9), st.integers(-100_000, 100_000))
def test_there_and_back(raw: int, offset: int, drift: int) -> None:
    clock = Clock(EPOCH, offset, drift, EPOCH + 5)
    assert abs(clock.to_raw(clock.to_session(raw)) - raw) <= 1
    assert abs(int(clock.many_to_session(np.array([raw]))[0]) - clock.to_session(raw)) <= 1


@given(times)
def test_base_time_alone_is_exact(raw: int) -> None:
    clock = Clock(EPOCH)
    assert clock.to_session(raw) == raw + EPOCH
    assert clock.to_raw(raw + EPOCH) == raw
    assert clock.many_to_session(np.array([raw])).tolist() == [raw + EPOCH]


def test_a_clock_that_was_set_step_by_step() -> None:
    clock = Clock(0, 10, 0, 0, held=((100, 10), (200, 40)))
    assert [clock.to_session(t) for t in (50, 150, 200, 250)] == [40, 140, 160, 210]
    assert [clock.to_raw(t) for t in (40, 140, 210)] == [50, 150, 250]
    assert clock.many_to_session(np.array([50, 150, 200, 250])).tolist() == [40, 140, 160, 210]
