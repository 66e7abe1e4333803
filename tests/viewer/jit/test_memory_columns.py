"""Extremes of stretches, slots of instants and sums by column, against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.analyses.memory.series import StepLine
from viewer.jit.memory_columns import BLOCK, CHUNK, find_slots, lay_changes, sums_after
from viewer.views.memory.levels import line_index


def mapped(values: object) -> np.ndarray:
    array = np.array(values, np.int64)
    array.flags.writeable = False
    return array


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=700),
    st.lists(st.tuples(st.integers(0, 699), st.integers(0, 700)), min_size=1, max_size=20),
    st.integers(1, 40),
)
def test_extremes_of_any_stretch(values: list[int], pairs: list[tuple[int, int]], repeat: int) -> None:
    values = (values * repeat)[:9000]  # up to four levels of blocks
    n = len(values)
    stretches = [(a * n // 700, b * n // 700) for a, b in pairs]
    line = StepLine("allocated", mapped(range(n)), mapped(values), None)
    least, most, at = line_index(line).extremes(*np.array(stretches, np.int64).T.copy())
    assert line_index(line).top == max(values)
    for k, (a, b) in enumerate(stretches):
        part = values[a:b]
        if part:
            assert (least[k], most[k], at[k]) == (min(part), max(part), a + part.index(max(part)))
        else:
            assert (least[k], most[k], at[k]) == (-1, -1, -1)


@settings(max_examples=80)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=200),
    st.lists(st.integers(-5, 400), min_size=1, max_size=30),
    st.sampled_from([0, 0, 1, 7]),
    st.sampled_from([BLOCK, 3, 100]),
)
def test_slots_of_instants(gaps: list[int], at: list[int], slack: int, block: int) -> None:
    time = mapped(np.cumsum(gaps))
    at.sort()
    out, begin = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    find_slots(time, np.ascontiguousarray(time[::block]), block, np.array(at), slack, out, begin)
    for k, t in enumerate(at):
        before = int((time < t).sum())
        if out[k] != before:  # the begin of its block, which is near
            assert slack
            assert out[k] == begin[k] == (before - 1) // block * block
            assert 0 < t - time[out[k]] <= slack
        elif not (slack and before and out[k] % block == 0 and begin[k] == out[k]):
            assert begin[k] == (before if before < len(time) and time[before] == t else before - 1)


@settings(max_examples=60)
@given(
    st.integers(0, 3 * CHUNK + 1),
    st.lists(st.tuples(st.integers(-1, 99), st.integers(-1, 120), st.integers(0, 9), st.integers(0, 2)), max_size=60),
    st.lists(st.tuples(st.integers(-1, 99), st.integers(-9, 9)), max_size=6),
    st.integers(0, 2),
)
def test_sums_by_column_after_any_instant(
    m: int, blocks: list[tuple[int, int, int, int]], rest: list[tuple[int, int]], beyond: int
) -> None:
    blocks = [b for b in blocks if b[0] < m]
    rest = [r for r in rest if r[0] < m]
    made, gone, size, column = (np.array([b[k] for b in blocks], np.int64) for k in range(4))
    rest_at, more = (np.array([r[k] for r in rest], np.int64) for k in range(2))
    changes = sum(b[0] >= 0 for b in blocks) + sum(0 <= b[1] < m for b in blocks) + sum(r[0] >= 0 for r in rest)
    first = np.zeros(m // CHUNK + 2, np.int64)
    of, kind, delta = np.empty(changes, np.uint8), np.empty(changes, np.uint8), np.empty(changes, np.int64)
    sums = np.zeros((m // CHUNK + 1, 4), np.int64)
    place = np.zeros(m + 1, np.int32)
    lay_changes(made, gone, size, column.astype(np.uint8), rest_at, more, 3, first, of, kind, delta, sums, place)
    done = np.arange(m + 1).repeat(2)
    out = np.empty((len(done), 4), np.int64)
    highs, known = np.array([1, 6]), np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    sums_after(done, first, of, kind, delta, sums, done - 1, 5, highs[:beyond], known[:beyond], out)
    for k, d in enumerate(done.tolist()):
        if d - 1 in highs[:beyond]:
            assert out[k].tolist() == known[(d - 1) // 5].tolist()  # these are at hand
            continue
        want = [0] * 4
        for b in blocks:
            want[b[3]] += b[2] * ((b[0] < d) - (0 <= b[1] < d))
        want[3] += sum(v for at, v in rest if at < d)
        assert out[k].tolist() == want
