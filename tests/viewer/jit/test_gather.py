from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.jit.gather import gather, paint_rows


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_, np.float64, np.int16])
def test_rows_in_another_order(kind: Any) -> None:
    source = np.arange(100, dtype=np.int64).astype(kind)
    order = np.random.default_rng(1).integers(0, 100, 1000, np.int32)
    found = gather(source, order)
    assert found.dtype == source.dtype
    np.testing.assert_array_equal(found, source[order])
    np.testing.assert_array_equal(gather(source[::2], order // 2), source[::2][order // 2])
    np.testing.assert_array_equal(gather(source, order[::3]), source[order[::3]])


@pytest.mark.parametrize("row", [-1, 100, 2**31 - 1])
def test_a_row_out_of_range_is_refused(row: int) -> None:
    with pytest.raises(IndexError):
        gather(np.zeros(100, np.int64), np.array([3, row], np.int32))


@settings(deadline=None)  # the first call compiles
@given(st.data())
def test_paints_by_category_and_name(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 6))
    count = data.draw(st.integers(0, 30))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    cat, name = random.integers(-1, width - 1, (2, count), np.int32, endpoint=True)
    cat, name = np.minimum(cat, width - 2), np.minimum(name, width - 2)
    chosen = random.permutation(width)[: data.draw(st.integers(0, width))]
    number = np.full(width, -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    flat = random.integers(0, 255, width, np.uint8)
    pairs = random.integers(0, 255, len(chosen) * width, np.uint8)
    seen, out = np.zeros(len(pairs), np.uint8), np.zeros(count, np.uint8)
    paint_rows(cat.ctypes.data, name.ctypes.data, number, flat, pairs, seen, out)
    met = set()
    for i in range(count):
        row = number[cat[i]]
        pair = int(row * width + name[i] % width)
        assert out[i] == (flat[cat[i]] if row < 0 else pairs[pair])
        met |= {pair} if row >= 0 else set()
    assert set(np.flatnonzero(seen).tolist()) == met
