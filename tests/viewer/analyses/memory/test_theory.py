"""Theory of memory against numbers worked out by hand from the papers' formulas."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.memory_job import LAYERS, WEIGHT, Planted, training
from tests.viewer.analyses.memory.test_categories import opened
from viewer.analyses.memory.theory import compare, expected
from viewer.base.job_card import JobCard, ModelCard, PlanCard, RunCard

# The 22B model of Korthikanti et al.: 48 layers, hidden 6144, 64 heads, sequence 2048, micro-batch 4, 8 tensor ranks.
MODEL = ModelCard(parameters=22_000_000_000, layers=48, hidden=6144, heads=64)
RUN = RunCard(
    sequence_length=2048, micro_batch_size=4, recompute="none", dtype="bf16", param_dtype="bf16", grad_dtype="fp32",
    optimizer="AdamW", master_weights=True,
)  # fmt: skip
CARD = JobCard(MODEL, PlanCard(tp=8, pp=1, dp=4), RUN)
SBH = 2048 * 4 * 6144


def parts(card: JobCard) -> dict[str, tuple[int | None, int | None, str]]:
    return {e.category: (e.low, e.high, e.needs) for e in expected(card)}


def test_weights_gradients_and_states_by_type_and_shards() -> None:
    told = parts(CARD)
    count = 22_000_000_000 // 8
    assert told["weights"][:2] == (2 * count,) * 2
    assert told["gradients"][:2] == (4 * count,) * 2
    assert told["optimizer"][:2] == (12 * count,) * 2
    for stage, shards in ((1, (1, 1, 4)), (2, (1, 4, 4)), (3, (4, 4, 4))):
        told = parts(replace(CARD, plan=replace(CARD.plan, zero_stage=stage)))
        want = [2 * count // shards[0], 4 * count // shards[1], 12 * count // shards[2]]
        assert [told[c][0] for c in ("weights", "gradients", "optimizer")] == want


def test_states_without_master_weights_have_the_type_of_the_weights() -> None:
    count = 22_000_000_000 // 8
    assert parts(replace(CARD, run=replace(RUN, master_weights=False)))["optimizer"][0] == 4 * count
    assert parts(replace(CARD, run=replace(RUN, optimizer="momentum")))["optimizer"][0] == 8 * count
    assert parts(replace(CARD, run=replace(RUN, master_weights=None)))["optimizer"][2] == "run.master_weights"
    assert parts(replace(CARD, run=replace(RUN, optimizer="mine")))["optimizer"][0] is None


def test_activations_as_in_the_paper() -> None:
    """Table 2: s b h (10 + 24 / t + 5 a s / (h t)) with tensor parallelism, all / t with sequence parallelism."""
    low, high, _ = parts(CARD)["activations"]
    assert low == 48 * SBH * 13
    assert high == round(48 * SBH * (13 + 5 * 64 * 2048 / 6144 / 8))
    sequence = replace(CARD, plan=replace(CARD.plan, sequence_parallel=True))
    assert parts(sequence)["activations"][0] == 48 * SBH * 34 // 8
    selective = replace(CARD, run=replace(RUN, recompute="selective"))
    assert parts(selective)["activations"][:2] == (48 * SBH * 13,) * 2
    full = replace(CARD, run=replace(RUN, recompute="full"))
    assert parts(full)["activations"][:2] == (48 * 2 * SBH + 13 * SBH,) * 2
    context = replace(CARD, plan=replace(CARD.plan, cp=2))
    assert parts(context)["activations"][0] == 48 * SBH * 13 // 2


@pytest.mark.parametrize(
    ("schedule", "layers"), [("1f1b", 12 * 4), ("gpipe", 12 * 16), ("interleaved", 12 * 4 * (1 + 3 / 8))]
)
def test_micro_batches_in_flight_on_the_first_stage(schedule: str, layers: float) -> None:
    card = replace(
        CARD, plan=replace(CARD.plan, pp=4, vpp=2), run=replace(RUN, micro_batches=16, schedule=schedule)
    )  # fmt: skip
    assert parts(card)["activations"][0] == round(layers * SBH * 13)
    assert parts(replace(card, run=RUN))["activations"][2] == "run.micro_batches"


def test_experts_are_split_over_their_ranks() -> None:
    """Dense 4, experts of 1: all 4 + 8 x 1 = 12, active 4 + 2 x 1 = 6 (in billions); 4 ranks hold 4 + 2."""
    model = replace(MODEL, parameters=12_000, active_parameters=6_000, experts=8, experts_per_token=2)
    card = JobCard(model, PlanCard(ep=4), RUN)
    assert parts(card)["weights"][0] == 2 * 6_000
    assert parts(replace(card, model=replace(model, active_parameters=None)))["weights"][2] == "model.active_parameters"


def test_an_empty_card_says_what_it_needs() -> None:
    told = parts(JobCard())
    assert all(low is None and needs for low, _, needs in told.values())


def test_a_job_is_held_against_its_card(tmp_path: Path) -> None:
    session, item = opened(tmp_path, training(Planted(steps=8)))
    count = LAYERS * WEIGHT // 4
    run = RunCard(param_dtype="fp32", optimizer="adam")
    session = session.with_card(JobCard(ModelCard(parameters=count), PlanCard(), run))
    told = {c.expected.category: (c.measured, c.unexplained) for c in compare(session, item, 0)}
    assert told["weights"] == (LAYERS * WEIGHT, 0)
    assert told["optimizer"] == (2 * LAYERS * WEIGHT, 0)
    assert told["gradients"] == (WEIGHT, WEIGHT - LAYERS * WEIGHT)  # at the peak the backward pass has just begun
    assert told["activations"][1] is None
    more = session.with_card(JobCard(ModelCard(parameters=count // 2), PlanCard(), run))
    assert compare(more, item, 0)[0].unexplained == LAYERS * WEIGHT // 2
