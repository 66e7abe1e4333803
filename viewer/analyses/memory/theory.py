"""What a rank should hold by the job card, category by category, against what it holds at its peak.

Weights, gradients and optimizer state: parameters of the rank x bytes by type, sharded as ZeRO says (Rajbhandari et al.
2020, section 3; FSDP with resharding is stage 3). Activations of a transformer: Korthikanti et al. 2022, "Reducing
Activation Recomputation in Large Transformer Models", section 4 and table 2, for 16-bit activations and a feed-forward
layer of four times the hidden size; their term for attention scores is left out at the low end of the range, as kernels
that never store the scores (FlashAttention) leave it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.analyses.memory.parts import categories_at_peak
from viewer.base.job_card import JobCard
from viewer.store.session import Input, Session

BYTES: Final = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}
STATES: Final = {
    "adam": 2, "adamw": 2, "nadam": 2, "lamb": 2, "fusedadam": 2, "sgd": 0, "momentum": 1, "sgdm": 1, "lion": 1,
    "adagrad": 1, "rmsprop": 1, "muon": 1,
}  # fmt: skip
"""Numbers that an optimizer keeps per parameter."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Bytes of one category on one rank: from ``low`` to ``high``; None with the field of the card that is missing."""

    category: str
    low: int | None
    high: int | None
    how: str
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A category at the peak: ``measured`` bytes, None where the source gives no categories.

    ``unexplained`` is what lies outside of what theory expects (positive: more); None where either is missing.
    """

    expected: Expected
    measured: int | None
    unexplained: int | None


def expected(card: JobCard) -> tuple[Expected, ...]:
    """What a rank should hold of weights, gradients, optimizer state and activations."""
    return _weights(card), _gradients(card), _optimizer(card), _activations(card)


def compare(session: Session, item: Input, device: int) -> tuple[Compared, ...]:
    """Theory against the categories at the peak of a device."""
    found = categories_at_peak(session, item, device)
    out = []
    for one in expected(session.card):
        measured = None if found is None else found[one.category]
        outside = None
        if measured is not None and one.low is not None and one.high is not None:
            outside = measured - one.high if measured > one.high else min(0, measured - one.low)
        out.append(Compared(one, measured, outside))
    return tuple(out)


def rank_parameters(card: JobCard) -> tuple[float | None, str, str]:
    """(parameters that a rank holds before ZeRO, "part.field" that is missing, how)."""
    model, plan = card.model, card.plan
    if model.parameters is None:
        return None, "model.parameters", ""
    tp, pp, ep = plan.tp or 1, plan.pp or 1, plan.ep or 1
    shards = f"parameters / (tp {tp} x pp {pp})"
    if ep == 1 or not model.experts:
        return model.parameters / (tp * pp), "", shards
    if model.active_parameters is None or model.experts_per_token is None:
        return None, "model.active_parameters" if model.active_parameters is None else "model.experts_per_token", ""
    if model.experts <= model.experts_per_token:
        return None, "model.experts", ""
    # P = dense + E x expert, active = dense + k x expert.
    expert = (model.parameters - model.active_parameters) / (model.experts - model.experts_per_token)
    dense = model.active_parameters - model.experts_per_token * expert
    held = (dense + model.experts * expert / ep) / (tp * pp)
    return held, "", f"(dense + experts / ep {ep}) / (tp {tp} x pp {pp}), from all and active parameters"


def _part(
    category: str, card: JobCard, per: float | None, per_how: str, needs: str, stage: int, share: float = 1.0
) -> Expected:
    """Parameters of the rank x bytes of each, over dp from a stage of ZeRO on."""
    count, missing, how = rank_parameters(card)
    if count is None or per is None:
        return Expected(category, None, None, "", missing or needs)
    plan = card.plan
    shards = 1
    if (plan.zero_stage or 0) >= stage:
        if plan.dp is None:
            return Expected(category, None, None, "", "plan.dp")
        shards = plan.dp * (plan.cp or 1)  # context-parallel ranks hold the same weights
    size = round(count * share * per / shards)
    sharded = f" / (dp x cp = {shards}) by ZeRO stage {plan.zero_stage}" if shards > 1 else ""
    return Expected(category, size, size, f"{how} x {per_how}{sharded}")


def _dtype(given: str | None, otherwise: str | None) -> tuple[int | None, str]:
    name = given or otherwise
    return (None, "") if name is None else (BYTES.get(name.lower()), name)


def _weights(card: JobCard) -> Expected:
    size, name = _dtype(
        card.run.param_dtype, card.run.dtype if card.run.dtype not in ("fp8", "fp4", "int8") else "bf16"
    )
    return _part("weights", card, size, f"{size} bytes ({name})", "run.param_dtype", 3)


def _trained(card: JobCard) -> float:
    model = card.model
    if model.trainable_parameters is None or not model.parameters:
        return 1.0
    return model.trainable_parameters / model.parameters


def _gradients(card: JobCard) -> Expected:
    weights, _ = _dtype(card.run.param_dtype, card.run.dtype)
    size, name = _dtype(card.run.grad_dtype, card.run.param_dtype or card.run.dtype)
    if weights is None and size is None:
        return Expected("gradients", None, None, "", "run.grad_dtype")
    return _part("gradients", card, size, f"{size} bytes ({name})", "run.grad_dtype", 2, _trained(card))


def _optimizer(card: JobCard) -> Expected:
    run = card.run
    if run.optimizer is None:
        return Expected("optimizer", None, None, "", "run.optimizer")
    states = STATES.get(run.optimizer.lower().replace("_", "").replace("-", ""))
    if states is None:
        return Expected("optimizer", None, None, f"the states of {run.optimizer} are not known", "run.optimizer")
    weights, name = _dtype(run.param_dtype, run.dtype)
    if weights is None:
        return Expected("optimizer", None, None, "", "run.param_dtype")
    if run.master_weights is None and weights < 4:
        return Expected("optimizer", None, None, "", "run.master_weights")
    master = bool(run.master_weights) and weights < 4
    # With master weights states are kept in fp32; without, optimizers keep them in the type of the weights.
    per = states * (4 if master else weights) + (4 if master else 0)
    how = f"{states} states of {4 if master else weights} bytes" + (
        " and master weights of 4" if master else f" ({name})"
    )
    return _part("optimizer", card, float(per), how, "run.optimizer", 1, _trained(card))


def _activations(card: JobCard) -> Expected:
    model, plan, run = card.model, card.plan, card.run
    for field, value in (
        ("model.layers", model.layers),
        ("model.hidden", model.hidden),
        ("run.sequence_length", run.sequence_length),
        ("run.micro_batch_size", run.micro_batch_size),
        ("run.recompute", run.recompute),
    ):
        if value is None:
            return Expected("activations", None, None, "", field)
    assert model.layers is not None
    assert model.hidden is not None
    assert run.sequence_length is not None
    assert run.micro_batch_size is not None
    t = plan.tp or 1
    s, b, h = run.sequence_length / (plan.cp or 1), run.micro_batch_size, model.hidden
    flight, flight_how, needs = _in_flight(card)
    if flight is None:
        return Expected("activations", None, None, "", needs)
    sbh = s * b * h
    split = t if plan.sequence_parallel else 1
    if run.recompute == "full":
        per = 2 * sbh / split
        work = sbh * 34 / t if plan.sequence_parallel else sbh * (10 + 24 / t)
        size = round(flight * per + work)
        return Expected(
            "activations", size, size, f"2 s b h{_over(split)} x {flight_how} layers, and one layer at work"
        )
    low = sbh * 34 / t if plan.sequence_parallel else sbh * (10 + 24 / t)
    formula = f"34 s b h / {t}" if plan.sequence_parallel else f"s b h (10 + 24 / {t})"
    high = low
    if run.recompute == "none":
        if model.heads is None:
            return Expected("activations", None, None, "", "model.heads")
        high += sbh * 5 * model.heads * s / h / t
        formula += f" to that and 5 a s² b / {t} where attention scores are stored"
    return Expected(
        "activations",
        round(flight * low),
        round(flight * high),
        f"{formula} x {flight_how} layers (16-bit activations)",
    )


def _over(split: int) -> str:
    return f" / {split}" if split > 1 else ""


def _in_flight(card: JobCard) -> tuple[float | None, str, str]:
    """(layers x micro-batches whose activations the first stage holds at once, how, "part.field" that is missing)."""
    plan, run = card.plan, card.run
    layers, pp = card.model.layers or 0, plan.pp or 1
    if pp == 1:
        return float(layers), f"{layers}", ""
    if run.micro_batches is None:
        return None, "", "run.micro_batches"
    if run.schedule is None:
        return None, "", "run.schedule"
    m = run.micro_batches
    if run.schedule == "gpipe":
        return layers / pp * m, f"{layers} / {pp} x {m} micro-batches in flight", ""
    held = min(m, pp)
    if run.schedule == "interleaved":
        v = plan.vpp or 1
        more = 1 + (pp - 1) / (pp * v)
        return layers / pp * held * more, f"{layers} / {pp} x {held} in flight x (1 + (p - 1) / (p v))", ""
    return layers / pp * held, f"{layers} / {pp} x {held} in flight on the first stage", ""
