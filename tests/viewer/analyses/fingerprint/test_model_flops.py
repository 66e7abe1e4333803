"""What a step of a model must compute, by hand."""

from __future__ import annotations

import pytest

from viewer.analyses.fingerprint.model_flops import model_flops, tokens_per_step
from viewer.base.job_card import EMPTY_CARD, JobCard


def card(**values: object) -> JobCard:
    out = EMPTY_CARD
    for path, value in values.items():
        out = out.with_value(path.replace("__", "."), value)  # type: ignore[arg-type]
    return out


SHAPE = {"model__layers": 2, "model__hidden": 8, "run__sequence_length": 4}


@pytest.mark.parametrize(
    ("more", "flops"),
    [
        ({}, 6 * 1_000 * 20),
        ({**SHAPE, "model__causal": True}, (6 * 1_000 + 6 * 2 * 8 * 4) * 20),
        ({**SHAPE, "model__causal": False}, (6 * 1_000 + 12 * 2 * 8 * 4) * 20),
        ({**SHAPE, "model__causal": False, "model__heads": 4, "model__head_dim": 3}, (6_000 + 12 * 2 * 12 * 4) * 20),
        ({"model__active_parameters": 300, "model__experts": 8}, 6 * 300 * 20),
        ({"model__trainable_parameters": 100}, (4 * 1_000 + 2 * 100) * 20),
        ({"model__trainable_parameters": 0}, 4 * 1_000 * 20),
        ({"model__trainable_parameters": 100, "model__active_parameters": 500}, (4 * 500 + 2 * 50) * 20),
    ],
)
def test_flops_of_a_step(more: dict[str, object], flops: float) -> None:
    found = model_flops(card(model__parameters=1_000, run__tokens_per_step=20, **more))
    assert found.flops == pytest.approx(flops)
    assert found.needs == ""


@pytest.mark.parametrize(
    ("values", "tokens", "needs"),
    [
        ({"run__tokens_per_step": 7, "run__global_batch_size": 3, "run__sequence_length": 4}, 7, ""),
        ({"run__global_batch_size": 3, "run__sequence_length": 4}, 12, ""),
        ({"run__micro_batches": 2, "run__micro_batch_size": 3, "plan__dp": 5, "run__sequence_length": 4}, 120, ""),
        ({"run__micro_batches": 2, "run__micro_batch_size": 3, "run__sequence_length": 4}, None, "plan.dp"),
        ({"run__micro_batches": 2, "plan__dp": 5, "run__sequence_length": 4}, None, "run.micro_batch_size"),
        ({"run__micro_batch_size": 2, "plan__dp": 5, "run__sequence_length": 4}, None, "run.micro_batches"),
        ({"plan__dp": 5, "run__sequence_length": 4}, None, "run.global_batch_size"),
        ({"run__global_batch_size": 3}, None, "run.sequence_length"),
        ({}, None, "run.tokens_per_step"),
    ],
)
def test_tokens_of_a_step(values: dict[str, object], tokens: int | None, needs: str) -> None:
    assert tokens_per_step(card(**values))[:2] == (tokens, needs)


def test_experts_need_their_active_parameters() -> None:
    assert model_flops(card(model__parameters=9, model__experts=8)).needs == "model.active_parameters"
    assert model_flops(EMPTY_CARD).needs == "model.parameters"


def test_conventions_are_said() -> None:
    assumed = model_flops(card(model__parameters=1_000, run__tokens_per_step=20, **SHAPE))
    assert any("assumed" in note for note in assumed.notes)
    without = model_flops(card(model__parameters=1_000, run__tokens_per_step=20))
    assert any("model.layers" in note for note in without.notes)
    frozen = model_flops(card(model__parameters=1_000, model__trainable_parameters=1, run__tokens_per_step=20))
    assert "4 N + 2 T" in frozen.how
