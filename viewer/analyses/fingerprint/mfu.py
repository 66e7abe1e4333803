"""Model FLOPs utilisation (MFU): what the model needs / what its GPUs could do in the time of the step. And HFU."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure, PerRank, over_ranks, over_steps, usual, worst
from viewer.analyses.fingerprint.model_flops import model_flops
from viewer.analyses.fingerprint.periods import Period, Periods, periods, selection_of
from viewer.analyses.flops.ledger import ledger
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.pipeline.figures import pipeline
from viewer.analyses.workload import forward_only
from viewer.base.job_card import JobCard
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.store.session import Session

LOW: Final = 0.40
HIGH: Final = 0.55
"""Where well set-up training of dense models lies."""
ENOUGH: Final = 0.95
"""Coverage of the time of products and attention from which on FLOPs of operators are claimed."""
CONDITION: Final = "a dense model, matrix products in 16 bits"
HOW: Final = "FLOPs that the model needs in one step / (time of the step x GPUs x dense peak of the dtype)"
_SIXTEEN: Final = ("bf16", "fp16")


def card_of(session: Session) -> JobCard:
    """The card, with the micro-batches that the pipeline's passes show where it names none."""
    card = session.card
    if card.run.micro_batches is not None or card.plan.pp is None or card.plan.pp < 2:
        return card
    found = pipeline(session)
    if isinstance(found, str) or not found.steps:
        return card
    count = max(line.micro_batches for line in found.usual().lines)
    return card.with_value("run.micro_batches", count, "passes of the pipeline") if count > 0 else card


def mfu(session: Session) -> Figure:
    """The figure of a job, or what it needs."""
    card, found = card_of(session), periods(session)
    applies, why_not = _applies(card)
    base = {"low": LOW, "high": HIGH, "lower_is_better": False, "condition": CONDITION, "applies": applies}
    if not found.every():
        return Figure("mfu", "MFU", HOW, why="there is no GPU work", **base)  # type: ignore[arg-type]
    if found.serving:
        why = "the steps are those of a serving engine, and MFU is of training"
        return Figure("mfu", "MFU", HOW, why=why, **base)  # type: ignore[arg-type]
    if forward_only(session):
        why = "no backward pass is in the traces, and MFU is of whole training steps"
        return Figure("mfu", "MFU", HOW, why=why, **base)  # type: ignore[arg-type]
    told = model_flops(card)
    missing = missing_field(card)
    if missing:
        return Figure("mfu", "MFU", HOW, needs=missing, **base)  # type: ignore[arg-type]
    if not found.by_step:
        why = "no step is marked in the traces: mark them with the profiler's schedule or with record_function"
        return Figure("mfu", "MFU", HOW, why=why, **base)  # type: ignore[arg-type]
    at_peak = ns_at_peak(card)
    assert at_peak is not None
    values = {group: {p.number: at_peak / p.length_ns for p in of_rank} for group, of_rank in found.of_group.items()}
    value = usual(values)
    theory, theory_how = _theory(card)
    notes = [why_not, *told.notes]
    if value is not None and value > 1:
        notes.append("more than the peak: the card contradicts the traces (model, tokens, GPUs or peak)")
    return Figure(
        "mfu",
        "MFU",
        f"{HOW}: {told.how}; {found.words}; the time of a step goes from the end of the one before to its own end",
        value=value,
        theory=theory,
        theory_how=theory_how,
        why="" if applies else why_not,
        note="; ".join(n for n in notes if n),
        steps=over_steps(values),
        ranks=over_ranks(session, values),
        evidence=_evidence(session, found, values),
        **base,  # type: ignore[arg-type]
    )


def missing_field(card: JobCard) -> str:
    """The first field that MFU lacks, "" where it lacks none."""
    told = model_flops(card)
    if told.flops is None:
        return told.needs
    if card.plan.world_size is None:
        return "plan.world_size"
    if card.hardware.peak_flops is None:
        return "run.dtype" if card.run.dtype is None else "hardware.peak_flops"
    return ""


def mfu_applies(session: Session) -> bool:
    """Whether there are steps of training to take it over."""
    found = periods(session)
    return found.by_step and not found.serving and not forward_only(session)


def ns_at_peak(card: JobCard) -> float | None:
    """How long a GPU would take for its share of one step at the peak, ns; None where a field is missing."""
    told = model_flops(card).flops
    if told is None or missing_field(card):
        return None
    assert card.plan.world_size is not None
    assert card.hardware.peak_flops is not None
    return told * 1e9 / (card.plan.world_size * card.hardware.peak_flops)


def _applies(card: JobCard) -> tuple[bool | None, str]:
    if card.model.experts is not None and card.model.experts > 1:
        return False, "the range is one of dense models, and this one has experts"
    if card.run.dtype is None:
        return None, ""
    if card.run.dtype not in _SIXTEEN:
        return False, f"the range is one of products in 16 bits, and these are in {card.run.dtype}"
    return True, ""


def _theory(card: JobCard) -> tuple[float | None, str]:
    """What recomputation and the pipeline's fill and drain leave, all else being free."""
    share, parts = 1.0, []
    if card.run.recompute == "full":
        share *= 3 / 4
        parts.append("full recomputation (3/4)")
    p, m = card.plan.pp, card.run.micro_batches
    if p is not None and p > 1:
        if m is None:
            return None, ""
        chunks = card.plan.vpp or 1
        share *= 1 - (p - 1) / (chunks * m + p - 1)
        parts.append("the pipeline's fill and drain")
    if not parts:
        return None, ""
    return share, f"what {' and '.join(parts)} leave when every kernel ran at the peak: an upper bound"


def _evidence(session: Session, found: Periods, values: PerRank) -> tuple[Evidence, ...]:
    at = worst(values, highest=False)
    if at is None:
        return ()
    period = found.find(*at)
    label = session.groups[period.group].label
    text = f"the longest step: {label}, step {period.number}, {format_duration(period.length_ns)}"
    return (Evidence(text, selection_of(session, period)),)


def hfu(session: Session) -> tuple[float | None, str]:
    """(hardware FLOPs utilisation, how or why not): FLOPs of the operators that ran / what the GPUs could have done."""
    peak = session.card.hardware.peak_flops
    found = periods(session)
    if peak is None:
        return None, "needs " + ("run.dtype" if session.card.run.dtype is None else "hardware.peak_flops")
    if not found.by_step:
        return None, "no step is marked"
    per_rank: dict[int, dict[int, float]] = {}
    for group, of_rank in found.of_group.items():
        for period in of_rank:
            trace = session.inputs[period.input].trace
            coverage = ledger(trace).coverage
            if coverage is None or coverage < ENOUGH:
                seen = "none" if coverage is None else f"{percent(coverage)}"
                return None, (
                    f"recorded shapes explain {seen} of the time of matrix products and attention, less than "
                    f"{percent(ENOUGH)}: profile with record_shapes"
                )
            if period.step is not None and period.span_ns:
                per_rank.setdefault(group, {})[period.number] = _flops(session, period) * 1e9 / (period.span_ns * peak)
    value = usual(per_rank)
    if value is not None and value > 1:
        return None, "recorded shapes claim more FLOPs than the peak allows: peak, dtype or times contradict each other"
    return value, f"FLOPs of operators from their recorded shapes / (time of the step x peak); {found.words}"


def _flops(session: Session, period: Period) -> float:
    trace = session.inputs[period.input].trace
    assert period.step is not None
    return float(np.nansum(ledger(trace).flops[gpu_work(trace).positions(period.step.rows)]))
