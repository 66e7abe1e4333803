"""Drift, changes of level and warm-up of planted series."""

import numpy as np
import pytest

from viewer.analyses.gate.drift import drift

TIMES = np.arange(1_440) * 60.0
HOURS = TIMES / 3_600.0


def noise(seed, sigma=0.01):
    rng = np.random.default_rng(seed)
    wander = rng.normal(0.0, 0.001, len(TIMES))
    for i in range(1, len(TIMES)):
        wander[i] += 0.95 * wander[i - 1]
    outliers = (rng.random(len(TIMES)) < 0.02) * rng.exponential(0.05, len(TIMES))
    return rng.normal(0.0, sigma, len(TIMES)) + wander + outliers


@pytest.mark.parametrize("seed", range(4))
def test_a_tenth_of_a_per_cent_per_hour_is_found_within_the_day(seed):
    found = drift(TIMES, 100.0 * np.exp(0.001 * HOURS + noise(seed)), "lower")
    assert (found.kind, found.worse) == ("drift", True)
    assert found.per_hour == pytest.approx(0.001, rel=0.25)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.high
    assert found.total == pytest.approx(0.024, rel=0.3)


@pytest.mark.parametrize("seed", range(8))
def test_noise_that_wanders_is_steady(seed):
    assert drift(TIMES, 100.0 * np.exp(noise(seed)), "lower").kind == "steady"


def test_what_gets_better_is_not_worse():
    values = 100.0 * np.exp(0.001 * HOURS + noise(1))
    assert drift(TIMES, values, "higher").worse is False
    assert drift(TIMES, values, "higher").kind == "drift"


def test_one_moment_of_change_is_a_level_not_a_drift():
    values = 100.0 * np.exp(0.03 * (TIMES > 40_000) + noise(2))
    found = drift(TIMES, values, "lower")
    assert (found.kind, found.worse) == ("level", True)
    (change,) = found.changes
    assert change.time == pytest.approx(40_000, abs=1_200)
    assert change.change == pytest.approx(0.03, abs=0.005)


def test_a_slow_start_is_set_apart_as_warm_up():
    found = drift(TIMES, 100.0 * np.exp(0.2 * (TIMES < 6_000) + noise(3)), "lower")
    assert found.kind == "steady"
    assert found.warm_up == pytest.approx(100, abs=16)


def test_few_values_and_constants_say_so():
    assert drift(np.arange(5.0), np.ones(5), "lower").kind == "too short"
    assert drift(np.zeros(0), np.zeros(0), "lower").median is None
    assert drift(np.arange(50.0), np.ones(50), "lower").kind == "steady"
    assert drift(np.arange(50.0), np.zeros(50), "lower").kind == "steady"
    assert drift(np.zeros(50), np.arange(50.0), "lower").kind == "steady"
