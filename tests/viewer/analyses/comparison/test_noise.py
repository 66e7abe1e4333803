"""What is more than the scatter of steps."""

import numpy as np

from viewer.analyses.comparison.noise import FEWEST, judge
from viewer.analyses.robust import spread


def steps(seed: int, rows: int, count: int, scatter: float = 0.02) -> np.ndarray:
    random = np.random.default_rng(seed)
    level = 10 ** random.uniform(3, 7, rows)
    return level[:, None] * (1 + scatter * np.random.default_rng(seed + 10**6).standard_normal((rows, count)))


def test_two_steps_say_nothing():
    rows = steps(1, 5, FEWEST)
    assert judge(rows, rows) is not None
    assert judge(rows[:, :2], rows) is None
    assert judge(rows, rows[:, :2]) is None


def test_noise_is_seldom_called_a_change():
    for count in (3, 4, 5, 8, 20):
        called = 0
        for seed in range(60):
            level = 10 ** np.random.default_rng(seed).uniform(3, 7, 50)[:, None]
            random = np.random.default_rng([seed, count])
            base, test = (level * (1 + 0.02 * random.standard_normal((50, count))) for _ in range(2))
            found = judge(base, test)
            assert found is not None
            called += int(found.significant.sum())
        assert called <= 6, f"{called} of 3,000 rows at {count} steps"  # 1 in 500


def test_a_shift_of_all_steps_is_one_and_its_band_is_smaller_than_it():
    base, test = steps(3, 40, 6), steps(3, 40, 6) * 1.0
    test[7] *= 1.25
    found = judge(base, test)
    assert found is not None
    assert np.flatnonzero(found.significant).tolist() == [7]
    assert found.band[7] < 0.25 * np.median(base[7])


def test_one_slow_step_is_none():
    base, test = steps(4, 40, 8), steps(5, 40, 8)
    test = base.copy()
    test[3, 5] *= 30
    found = judge(base, test)
    assert found is not None
    assert not found.significant.any()


def test_what_is_new_is_a_change():
    base, test = steps(6, 10, 5), steps(6, 10, 5)
    base[2] = 0
    found = judge(base, test)
    assert found is not None
    assert found.significant[2]


def test_a_steady_row_may_still_move_by_half_a_percent():
    base = np.full((3, 6), 1_000_000.0)
    test = base * np.array([[1.004], [1.02], [1.0]])
    found = judge(base, test)
    assert found is not None
    assert found.significant.tolist() == [False, True, False]


def test_the_spread_of_normal_values():
    values = np.random.default_rng(1).normal(100, 7, 20_001)
    assert abs(spread(values) - 7) < 0.2
    assert spread(values[:1]) == 0.0


def test_what_is_smaller_than_the_least_is_none():
    base = np.full((1, 5), 40.0)
    found, larger = judge(base, base * 3, least_ns=100.0), judge(base, base * 5, least_ns=100.0)
    assert found is not None
    assert larger is not None
    assert not found.significant[0]
    assert larger.significant[0]


def test_the_worst_of_many_ranks_needs_more():
    one, other = judge(steps(8, 9, 6), steps(9, 9, 6)), judge(steps(8, 9, 6), steps(9, 9, 6), chosen_of=100)
    assert one is not None
    assert other is not None
    assert (other.band > one.band).all()
