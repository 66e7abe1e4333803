"""One figure against its history: by hand, and on histories with planted changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analyses.gate.judge import Limits, judge

QUIET = [100.0, 100.4, 99.8, 100.1, 99.9, 100.2, 99.7, 100.0, 100.3, 99.9, 100.1, 100.0]


def test_too_little_history_gives_no_verdict():
    found = judge(QUIET[:7], 200.0, "lower")
    assert (found.verdict, found.baseline, found.change, found.runs) == ("not enough history", None, None, 7)
    assert "needs 8" in found.reason


def test_a_run_within_the_noise_passes_and_says_the_band():
    found = judge(QUIET, 100.2, "lower")
    assert found.verdict == "pass"
    assert not found.suspect
    assert found.low is not None
    assert found.high is not None
    assert found.low < 99.5
    assert found.high > 100.5
    assert found.change == pytest.approx(0.002, abs=0.002)


@pytest.mark.parametrize(("better", "bad"), [("lower", 1.3), ("higher", 0.7)])
def test_one_run_far_beyond_everything_is_enough(better, bad):
    found = judge(QUIET, 100.0 * bad, better)
    assert (found.verdict, found.agreeing) == ("regression", 1)
    assert found.change == pytest.approx(bad - 1.0, abs=0.01)
    assert judge(QUIET, 100.0 * bad, "higher" if better == "lower" else "lower").verdict == "improvement"


def test_a_small_change_needs_a_second_run():
    once = judge(QUIET, 103.0, "lower")
    assert (once.verdict, once.suspect) == ("pass", True)
    twice = judge([*QUIET, 103.0], 103.1, "lower")
    assert (twice.verdict, twice.agreeing, twice.suspect) == ("regression", 2, False)
    assert twice.change == pytest.approx(0.03, abs=0.003)


def test_one_outlier_among_good_runs_is_no_regression():
    assert judge([*QUIET, 108.0], 100.1, "lower").verdict == "pass"
    assert judge([*QUIET, 100.0, 108.0], 100.1, "lower").verdict == "pass"


def test_a_history_with_outliers_makes_single_runs_count_less():
    shared = [*QUIET * 5, 112.0, *QUIET]
    assert judge(shared, 118.0, "lower").verdict == "pass"
    assert judge(shared, 150.0, "lower").verdict == "regression"


def test_effects_below_the_least_one_never_count():
    still = [100.0] * 30
    assert judge([*still, 100.8], 100.8, "lower").verdict == "pass"
    assert judge([*still, 101.2], 101.2, "lower").verdict == "regression"
    assert judge([*still, 103.0], 103.0, "lower", Limits(least=0.05)).verdict == "pass"


def test_a_baseline_of_zero_counts_what_is_beyond_every_run():
    none = [0.0] * 10
    assert judge(none, 0.0, "lower").verdict == "pass"
    assert judge(none, 5.0, "lower").verdict == "regression"
    assert judge([*none, 7.0], 5.0, "lower").change is None


def test_negative_values_are_judged_as_differences():
    history = [-10.0, -10.1, -9.9, -10.0, -10.05, -9.95, -10.0, -10.02, -9.98, -10.0, -10.0]
    assert judge(history, -2.0, "lower").verdict == "regression"
    assert judge(history, -18.0, "lower").verdict == "improvement"


@given(st.floats(0.001, 1e12), st.sampled_from(["lower", "higher"]))
def test_the_unit_changes_no_verdict(scale, better):
    values = [*QUIET, 103.0, 103.2]
    plain = judge(values[:-1], values[-1], better)
    scaled = judge([v * scale for v in values[:-1]], values[-1] * scale, better)
    assert plain.verdict == scaled.verdict
    assert scaled.change == pytest.approx(plain.change)


def test_noise_alone_alarms_in_less_than_one_run_of_a_hundred_and_three_per_cent_is_caught():
    rng = np.random.default_rng(5)
    values = 100.0 * np.exp(rng.normal(0.0, 0.006, 1_500) + (rng.random(1_500) < 0.03) * rng.exponential(0.05, 1_500))
    alarms = sum(judge(list(values[i - 60 : i]), values[i], "lower").verdict == "regression" for i in range(60, 1_500))
    assert alarms < 14
    caught = 0
    for at in range(60, 1_460, 20):
        history = list(values[at - 60 : at])
        for value in values[at : at + 3] * 1.03:
            if judge(history, value, "lower").verdict == "regression":
                caught += 1
                break
            history.append(value)
    assert caught >= 67, "of 70"
