from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.base.ids import Paint
from viewer.jit import states

BITS = {Paint.COMM: states.COMM_BIT, Paint.COMPUTE: states.COMPUTE_BIT, Paint.MEMORY: states.MEMORY_BIT}
Work = list[tuple[int, int, int]]
work = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8), st.sampled_from([*BITS, Paint.SYNC])), max_size=12
).map(lambda w: sorted((a, a + n, int(p)) for a, n, p in w))


def running(all_work: Work, at: int) -> int:
    """The bits of what runs at an instant."""
    return sum({BITS[Paint(p)] for a, b, p in all_work if a <= at < b and Paint(p) in BITS})


def arrays(all_work: Work) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = np.array(all_work, np.int64).reshape(-1, 3)
    return columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].astype(np.uint8)


def changes(all_work: Work) -> tuple[np.ndarray, np.ndarray]:
    time, state = np.empty(2 * len(all_work), np.int64), np.empty(2 * len(all_work), np.uint8)
    n = states.class_states(*arrays(all_work), time, state)
    return time[:n], state[:n]


@settings(deadline=None)
@given(work)
def test_every_change_is_told_once(all_work: Work) -> None:
    time, state = changes(all_work)
    seen = [(at, running(all_work, at)) for at in range(30) if running(all_work, at) != running(all_work, at - 1)]
    assert list(zip(time.tolist(), state.tolist(), strict=True)) == seen


def test_ends_may_be_the_last_instant() -> None:
    last = 2**63 - 1
    time, state = changes([(0, last, int(Paint.COMM))])
    assert (time.tolist(), state.tolist()) == ([0, last], [states.COMM_BIT, 0])


@settings(deadline=None)
@given(work, st.lists(st.integers(-3, 40), max_size=6))
def test_sums_before_instants(all_work: Work, instants: list[int]) -> None:
    # More changes than one block holds.
    span = 40
    many = [(a + span * k, b + span * k, p) for k in range(20) for a, b, p in all_work]
    time, state = changes(many)
    blocks = np.zeros((max(0, len(time) - 1) // states.BLOCK + 1, 8), np.int64)
    states.block_sums(time, state, blocks)
    at = np.array([i + span * k for k, i in enumerate(instants)], np.int64) * 3
    out = np.zeros((len(at), 8), np.int64)
    states.sums_before(time, state, blocks, at, out)
    first = int(time[0]) if len(time) else 2**62  # before any change nothing is counted, nor idle time
    for row, instant in zip(out.tolist(), at.tolist(), strict=True):
        bits = [running(many, t) for t in range(first, instant)]
        assert row == [bits.count(k) for k in range(8)]


@settings(deadline=None)
@given(st.lists(work.filter(len), max_size=4))
def test_sums_of_parts(parts: list[Work]) -> None:
    bounds = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    most = 2 * max(map(len, parts), default=0)
    out = np.zeros((len(parts), 9), np.int64)
    states.sums_by_part(
        *arrays([w for part in parts for w in part]), bounds, np.empty(most, np.int64), np.empty(most, np.uint8), out
    )
    for row, part in zip(out.tolist(), parts, strict=True):
        bits = [running(part, t) for t in range(30)]
        assert row[1:8] == [bits.count(k) for k in range(1, 8)]
        assert row[8] == max(end for _, end, _ in part)
