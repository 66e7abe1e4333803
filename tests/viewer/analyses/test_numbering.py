from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.analyses.numbering import numbered_rows, numbered_values

numbers = st.one_of(st.integers(-3, 5), st.sampled_from([-(2**63), 2**63 - 1, 2**40]))


@given(st.lists(numbers, max_size=30), st.sampled_from([np.int64, np.int32, np.uint8]))
def test_values_as_numpy_numbers_them(values: list[int], kind: type[np.integer]) -> None:
    limits = np.iinfo(kind)
    column = np.array([v for v in values if limits.min <= v <= limits.max], kind)
    column.flags.writeable = False
    keys, first, number = np.unique(column, return_index=True, return_inverse=True)
    found = numbered_values(column)
    assert found.keys.tolist() == keys.tolist()
    assert found.first.tolist() == first.tolist()
    assert found.number.tolist() == number.tolist()


@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=30))
def test_rows_as_numpy_numbers_them(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    keys, first, number = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    found = numbered_rows(columns)
    assert found.keys.tolist() == keys.tolist()
    assert found.first.tolist() == first.tolist()
    assert found.number.tolist() == number.reshape(-1).tolist()
