"""What one step of a model must compute, from its card: the numerator of MFU.

Per token, with N active parameters of which T are trained: 2 N forward, 2 N for the gradients of inputs, 2 T for those
of weights (6 N when all are trained), as in Kaplan et al. 2020 and Chowdhery et al. 2022 (PaLM, appendix B). Attention
adds, per layer and token, 4 s a forward and twice that backward, with s the sequence's length and a = heads x head
size: 12 L a s. A causal mask halves it: scores above the diagonal are no work of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.base.job_card import JobCard


@dataclass(frozen=True, slots=True)
class ModelFlops:
    """FLOPs of the whole job in one step; or "part.field" of the one field of the card that is missing.

    ``notes`` say what was left out or assumed, ``how`` what was multiplied.
    """

    flops: float | None
    needs: str = ""
    how: str = ""
    notes: tuple[str, ...] = ()


def tokens_per_step(card: JobCard) -> tuple[int | None, str, str]:
    """(tokens of the whole job in one step, "part.field" that is missing, how)."""
    run = card.run
    if run.tokens_per_step is not None:
        return run.tokens_per_step, "", "tokens per step of the card"
    if run.sequence_length is None:
        other = run.global_batch_size is not None or run.micro_batches is not None or run.micro_batch_size is not None
        return None, "run.sequence_length" if other else "run.tokens_per_step", ""
    if run.global_batch_size is not None:
        return run.global_batch_size * run.sequence_length, "", "global batch x sequence length"
    count, size, dp = run.micro_batches, run.micro_batch_size, card.plan.dp
    if count is not None and size is not None and dp is not None:
        return count * size * dp * run.sequence_length, "", "micro-batches x micro-batch size x dp x sequence length"
    if count is None and size is None:
        return None, "run.global_batch_size", ""
    return None, "run.micro_batches" if count is None else "run.micro_batch_size" if size is None else "plan.dp", ""


def model_flops(card: JobCard) -> ModelFlops:
    """The FLOPs that the model of a card needs in one training step."""
    model = card.model
    if model.parameters is None and model.active_parameters is None:
        return ModelFlops(None, "model.parameters")
    if model.active_parameters is None and model.experts is not None:
        return ModelFlops(None, "model.active_parameters")
    tokens, needs, how = tokens_per_step(card)
    if tokens is None:
        return ModelFlops(None, needs)
    active = model.active_parameters if model.active_parameters is not None else model.parameters
    assert active is not None
    notes: list[str] = []
    trained = float(active)
    if model.trainable_parameters is not None:
        whole = model.parameters if model.parameters is not None else active
        trained = active * min(1.0, model.trainable_parameters / whole)
        if trained < active:
            notes.append("frozen parameters have no gradients of weights: 4 N + 2 T instead of 6 N")
    attention, note = _attention(card)
    if note:
        notes.append(note)
    per_token = 4.0 * active + 2.0 * trained + attention
    words = "4 N + 2 T" if trained < active else "6 N"
    which = "active parameters" if model.active_parameters is not None else "parameters"
    more = " + attention" if attention else ""
    return ModelFlops(per_token * tokens, "", f"({words} of the {which}{more}) x tokens ({how})", tuple(notes))


def _attention(card: JobCard) -> tuple[float, str]:
    """FLOPs of attention's scores and values per token, forward and backward, and what is to be said of it."""
    model, length = card.model, card.run.sequence_length
    width = model.hidden
    if model.heads is not None and model.head_dim is not None:
        width = model.heads * model.head_dim
    if model.layers is None or width is None or length is None:
        missing = next(
            field
            for field in ("model.layers", "model.hidden", "run.sequence_length")
            if card.value(field) is None or (field == "model.hidden" and width is None)
        )
        return 0.0, f"attention's scores are left out, so this is a little too low: they need {missing}"
    full = 12.0 * model.layers * width * length
    if model.causal is False:
        return full, ""
    assumed = "" if model.causal else "causal attention is assumed, which counts half of the scores"
    return full / 2, assumed
