from __future__ import annotations

import numpy as np
import pytest

from viewer.analyses.collective.persistence import ONCE, PERSISTENT, ROTATING, persistence

NONE = float("nan")


@pytest.mark.parametrize(
    ("own", "kind", "first", "last", "words"),
    [
        ([0, 1, 0, 1], "", -1, -1, "in no step"),
        ([9, 9, 9, 8, 9], PERSISTENT, -1, -1, "persistent (5 of 5 steps)"),
        ([9, 9, 0, 9, 9], PERSISTENT, -1, -1, "persistent (4 of 5 steps)"),
        ([0, 0, 9, 9, 9, 9], PERSISTENT, 2, -1, "persistent from step 102 on (4 of 6 steps)"),
        ([0, 0, 0, 0, 9, 9, 9], ONCE, 4, -1, "once from step 104 on (3 of 7 steps)"),
        ([0, 0, 9, 9, 0, 0, 0], ONCE, 2, 3, "once, steps 102 to 103"),
        ([0, 0, 9, 0, 0], ONCE, 2, 2, "once, in step 102"),
        ([0, 9, 0, 0, 9, 0, 0], ROTATING, -1, -1, "comes and goes (2 of 7 steps)"),
        ([NONE, 0, NONE, 9, 0], ONCE, 3, 3, "once, in step 103"),
        ([NONE, NONE], "", -1, -1, "unknown"),
    ],
)
def test_patterns(own: list[float], kind: str, first: int, last: int, words: str) -> None:
    found = persistence(np.array(own, np.float64), 5.0)
    assert (found.kind, found.first, found.last) == (kind, first, last)
    assert found.words(range(100, 110)) == words


def test_one_step_off_does_not_hide_a_change() -> None:
    own = np.array([0] * 12 + [9] * 12, np.float64)
    own[3] = 9
    found = persistence(own, 5.0)
    assert (found.kind, found.first, found.last) == (PERSISTENT, 12, -1)


def test_without_a_limit_nothing_is_known() -> None:
    assert persistence(np.ones(4), NONE).words() == "unknown"
