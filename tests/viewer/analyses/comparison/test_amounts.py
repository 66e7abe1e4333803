"""Keys of names and sums by key."""

import numpy as np

from tests.support.build import kernel, make_trace
from viewer.analyses.comparison.amounts import Amounts, Keys


def test_what_has_no_name_is_a_key_of_its_own():
    trace = make_trace(kernel("a", 0, 5), kernel("b", 10, 7))
    codes = np.array([0, -1, 1, -1], np.int32)
    keys = Keys()
    numbers = keys.of_names(trace, codes)
    assert keys.known.count("") == 1
    assert numbers.min() >= 0
    amounts = Amounts()
    amounts.add(0, numbers, np.zeros(4, np.int64), np.array([1, 20, 3, 40], np.int64))
    totals = amounts.totals(len(keys))
    assert totals[keys.known.index("")] == 60
    assert sorted(totals.tolist()) == [1, 3, 60]


def test_names_alone_make_no_further_key():
    trace = make_trace(kernel("a", 0, 5))
    keys = Keys()
    keys.of_names(trace, trace.slices.name)
    assert "" not in keys.known
