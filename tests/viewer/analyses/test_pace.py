import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.analyses.pace import pace


def test_a_run_far_above_an_even_kernel_is_an_outlier() -> None:
    found = pace(np.array([100, 101, 99, 100, 102, 98, 100, 260], np.int64))
    assert found is not None
    assert found.median == 100
    assert found.outlier.tolist() == [False] * 7 + [True]
    assert 100 < found.limit <= 260


def test_wide_spread_has_no_outliers_and_none_no_pace() -> None:
    found = pace(np.array([50, 100, 150, 200, 250, 300], np.int64))
    assert found is not None
    assert not found.outlier.any()
    even = pace(np.array([100] * 9 + [119], np.int64))
    assert even is not None
    assert not even.outlier.any(), "a fifth above the median is nothing to look at"
    assert pace(np.empty(0, np.int64)) is None


@given(st.lists(st.integers(0, 2**60), min_size=1, max_size=40))
def test_quartiles_are_runs(durations: list[int]) -> None:
    found = pace(np.array(durations, np.int64))
    assert found is not None
    ordered = sorted(durations)
    assert [found.low, found.median, found.high] == [ordered[(len(ordered) - 1) * k // 4] for k in (1, 2, 3)]
