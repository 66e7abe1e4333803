"""Robust statistics against worked values and brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analyses.robust import change_points, mann_kendall_p, median, slope_interval, spread, theil_sen

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def test_spread_of_normal_noise_is_its_deviation_whatever_a_few_outliers_are():
    rng = np.random.default_rng(1)
    values = rng.normal(10.0, 2.0, 20_000)
    assert spread(values) == pytest.approx(2.0, rel=0.03)
    values[:500] = 1e9
    assert spread(values) == pytest.approx(2.0, rel=0.06)
    assert spread(np.array([3.0])) == 0.0


@given(st.one_of(st.lists(st.floats(allow_nan=False), min_size=1), st.lists(st.integers(-(2**53), 2**53), min_size=1)))
def test_the_middle_is_the_median(values):
    with np.errstate(all="ignore"):
        assert median(np.array(values)) == pytest.approx(float(np.median(values)), rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("n", [3, 5, 8, 12, 40])
def test_spread_is_right_on_average_for_few_values(n):
    rng = np.random.default_rng(n)
    assert np.mean([spread(rng.normal(0.0, 1.0, n)) for _ in range(6_000)]) == pytest.approx(1.0, rel=0.05)


@given(VALUES)
def test_theil_sen_is_the_median_of_all_slopes(values):
    series = np.array(values)
    times = np.arange(len(series), dtype=np.float64) * 2.0
    slopes = [(series[j] - series[i]) / (times[j] - times[i]) for i, j in itertools.combinations(range(len(series)), 2)]
    assert theil_sen(times, series) == pytest.approx(float(np.median(slopes)), abs=1e-9)


def test_a_slope_survives_outliers_and_lies_in_its_interval():
    rng = np.random.default_rng(2)
    times = np.arange(400.0)
    values = 5.0 + 0.25 * times + rng.normal(0.0, 1.0, 400)
    values[::17] += 500.0
    low, high = slope_interval(times, values)
    assert theil_sen(times, values) == pytest.approx(0.25, rel=0.02)
    assert low < 0.25 < high
    assert high - low < 0.03


def test_equal_times_have_no_slope():
    assert theil_sen(np.zeros(5), np.arange(5.0)) == 0.0
    assert slope_interval(np.zeros(5), np.arange(5.0)) == (0.0, 0.0)


def test_mann_kendall_of_worked_values():
    # 4 values in order: S = 6, variance 26/3 -> z = 5 / sqrt(8.667) = 1.698, two-sided p = 0.0894
    assert mann_kendall_p(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(0.0894, abs=0.0005)
    assert mann_kendall_p(np.array([1.0, 1.0, 1.0, 1.0])) == 1.0
    assert mann_kendall_p(np.array([1.0, 2.0])) == 1.0


def test_wandering_noise_is_no_trend():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(60):
        noise = rng.normal(0.0, 1.0, 200)
        for i in range(1, 200):
            noise[i] += 0.6 * noise[i - 1]
        hits += mann_kendall_p(noise) < 0.01
    assert hits <= 5


def test_levels_are_found_where_they_change():
    rng = np.random.default_rng(4)
    values = np.concatenate((rng.normal(10, 0.1, 40), rng.normal(11, 0.1, 30), rng.normal(9.5, 0.1, 50)))
    values[20] = 14.0
    assert change_points(values) == [40, 70]
    assert change_points(rng.normal(5, 1, 100)) == []
    assert change_points(np.array([1.0, 2.0])) == []
    assert change_points(np.array([1.0] * 6 + [2.0] * 6)) == [6]
