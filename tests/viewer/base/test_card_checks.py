from __future__ import annotations

import pytest

from viewer.base.card_checks import card_problems
from viewer.base.job_card import EMPTY_CARD, JobCard


def card(**values: object) -> JobCard:
    out = EMPTY_CARD
    for path, value in values.items():
        out = out.with_value(path.replace("__", "."), value)  # type: ignore[arg-type]
    return out


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"plan__world_size": 8, "plan__tp": 2, "plan__cp": 1, "plan__dp": 2, "plan__pp": 4},
            "is 16, but the world has 8",
        ),
        ({"plan__world_size": 8, "plan__tp": 3}, "tp is 3, which does not divide"),
        ({"plan__world_size": 8, "plan__tp": 2, "plan__ep": 3}, "ep is 3"),
        ({"model__layers": 6, "plan__pp": 4, "plan__vpp": 2}, "6 layers are too few for 4 stages"),
        ({"model__parameters": 5, "model__active_parameters": 6}, "active"),
        ({"model__parameters": 5, "model__trainable_parameters": 6}, "trainable"),
        ({"model__experts": 2, "model__experts_per_token": 3}, "3 experts of 2"),
        ({"model__heads": 8, "model__kv_heads": 3}, "KV heads"),
        ({"plan__world_size": 2, "hardware__hosts": (("a", (0, 2)),)}, "rank 2"),
    ],
)
def test_what_contradicts_itself_is_said(values: dict[str, object], words: str) -> None:
    (problem,) = card_problems(card(**values))
    assert words in problem


def test_a_card_that_agrees_with_itself_has_no_problem() -> None:
    assert card_problems(EMPTY_CARD) == ()
    whole = {"plan__world_size": 16, "plan__tp": 2, "plan__cp": 1, "plan__dp": 2, "plan__pp": 4, "plan__ep": 2}
    assert card_problems(card(**whole, model__layers=8, model__heads=8, model__kv_heads=2)) == ()
