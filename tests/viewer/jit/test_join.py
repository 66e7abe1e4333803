from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.jit import reference
from viewer.jit.join import AMBIGUOUS, MOST_CALLS, NO_CALL, join

Call = tuple[int, int, int, int]
keys = st.one_of(st.integers(1, 4), st.sampled_from([-1, 2**62, 2**32, 2**62 + 2**32]))
spans = st.tuples(st.integers(0, 20), st.integers(0, 6))
calls_of = st.lists(st.builds(lambda k, s, p: (k, s[0], s[0] + s[1], p), keys, spans, st.integers(0, 1)), max_size=12)


def run(calls: list[Call], events: list[tuple[int, int]]) -> list[int]:
    c = np.array(calls, np.int64).reshape(-1, 4)
    e = np.array(events, np.int64).reshape(-1, 2)
    columns = [c[:, i].copy() for i in range(4)] + [e[:, i].copy() for i in range(2)]
    return [int(x) for x in join(*columns)]


@settings(deadline=None)  # the first call compiles
@given(calls_of, st.lists(st.tuples(keys, st.integers(0, 30)), max_size=12))
def test_as_the_reference(calls: list[Call], events: list[tuple[int, int]]) -> None:
    assert run(calls, events) == reference.join(calls, events, MOST_CALLS)


def test_one_call_owns_many_events() -> None:
    assert run([(5, 0, 10, 0), (6, 20, 30, 0)], [(5, 40), (6, 41), (5, 42), (7, 43)]) == [0, 1, 0, NO_CALL]


def test_calls_of_two_processes_are_ambiguous() -> None:
    assert run([(5, 0, 10, 0), (5, 20, 30, 1)], [(5, 40)]) == [AMBIGUOUS]


def test_the_outer_of_nested_calls_owns() -> None:
    assert run([(5, 2, 8, 0), (5, 0, 10, 0)], [(5, 40)]) == [1]


def test_a_reused_id_belongs_to_the_last_call_before() -> None:
    calls = [(5, 0, 10, 0), (5, 100, 110, 0)]
    assert run(calls, [(5, 50), (5, 105), (5, -1)]) == [0, 1, 0]


def test_an_id_of_very_many_calls_says_nothing_and_takes_no_time() -> None:
    calls = [(5, 10 * i, 10 * i + 5, 0) for i in range(20_000)]
    assert set(run(calls, [(5, 7 * i) for i in range(20_000)])) == {AMBIGUOUS}
