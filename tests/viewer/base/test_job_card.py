"""The card as plain data, and the table of its fields."""

from __future__ import annotations

from dataclasses import fields

import pytest

from viewer.base.card_fields import BY_PATH, FIELDS, PARTS, checked
from viewer.base.job_card import EMPTY_CARD


def test_every_field_of_the_card_is_in_the_table_once() -> None:
    real = {f"{part}.{f.name}" for part, _ in PARTS for f in fields(getattr(EMPTY_CARD, part))}
    assert real == set(BY_PATH)
    assert len(FIELDS) == len(BY_PATH)


def test_what_was_filled_in_can_be_told_from_what_was_said() -> None:
    card = EMPTY_CARD.with_value("plan.tp", 8).with_value("plan.dp", 2, "the groups")
    assert (card.value("plan.tp"), card.source("plan.tp")) == (8, None)
    assert (card.value("plan.dp"), card.source("plan.dp")) == (2, "the groups")
    assert card.stated() == EMPTY_CARD.with_value("plan.tp", 8)
    said = card.with_value("plan.dp", 4)
    assert (said.source("plan.dp"), said.stated().plan.dp) == (None, 4)


@pytest.mark.parametrize(
    ("path", "value", "kept"),
    [
        ("model.parameters", "70B", 70 * 10**9),
        ("model.parameters", 7e9, 7 * 10**9),
        ("model.causal", True, True),
        ("run.dtype", "bfloat16", "bf16"),
        ("run.schedule", "1F1B", "1f1b"),
        ("plan.order", "TP-CP-EP-DP-PP", "tp-cp-ep-dp-pp"),
        ("hardware.hosts", {"b": [3, 2], "a": [0]}, (("b", (2, 3)), ("a", (0,)))),
        ("model.trainable_parameters", 0, 0),
    ],
)
def test_values_are_taken(path: str, value: object, kept: object) -> None:
    assert checked(BY_PATH[path], value) == kept


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("model.layers", True, "must be a number"),
        ("model.layers", 0, "must be 1 to"),
        ("model.layers", 1.5, "whole number"),
        ("model.layers", float("nan"), "whole number"),
        ("model.layers", float("inf"), "whole number"),
        ("model.layers", 10**30, "must be 1 to"),
        ("model.parameters", -1, "at least 1"),
        ("model.causal", "yes", "true or false"),
        ("model.name", 3, "a text"),
        ("model.name", "a\nb", "printable"),
        ("run.dtype", "bf17", "one of bf16"),
        ("plan.order", "tp-xp", "each of"),
        ("hardware.hosts", {"a": [0], "b": [0]}, "twice"),
        ("hardware.hosts", {"a": [-1]}, "whole numbers"),
        ("hardware.hosts", [1], "table of hosts"),
    ],
)
def test_wrong_values_are_refused_with_a_reason(path: str, value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        checked(BY_PATH[path], value)
