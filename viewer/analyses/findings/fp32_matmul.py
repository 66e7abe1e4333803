"""Matrix products in full 32-bit precision on a device that has matrix units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.kernel_costs import (
    largest_kernels,
    made_once,
    much_of,
    rank_costs,
    share_of_step,
    step_saving,
    worst,
)
from viewer.analyses.flops.ledger import Ledger, families, ledger
from viewer.analyses.flops.main_kernels import NONE, full_fp32
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.names import distinct
from viewer.analyses.peaks import Peaks, peaks_of
from viewer.base.job_card import JobCard
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

F64 = NDArray[np.float64]
NARROW: Final = ("bf16", "fp16")
LEAST_SHARE: Final = 0.002
"""Of the step: below this nobody would look."""
_VOLTA: Final = 7
"""The first compute capability with tensor cores."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding: all such products of the job."""
    traces = [i.trace for i in session.inputs]
    if not any(flagged(t).any() and has_matrix_units(t, session.card) for t in traces):
        return
    cancel.check()
    usual = _usual(session)
    cancel.check()
    excess = made_once(partial(_excess, usual=usual, card=session.card))
    costs = rank_costs(session, excess)
    top = worst(costs)
    if top is None:
        return
    own = top.median_ns
    share = share_of_step(session, own)
    if share is not None and share < LEAST_SHARE:
        return
    ranks = [c.group.label for c in costs if (c.median_ns or 0) > 0 or (own is None and c.whole_ns > 0)]
    spent = sum(_spent(session, i) for i in top.group.inputs)
    much = much_of(session, top, own)
    saving = step_saving(session, top, own, excess)
    where = f"{len(ranks)} ranks ({', '.join(ranks[:4])}{', …' if len(ranks) > 4 else ''})"
    yield JobFinding(
        id="fp32-matmul/all",
        kind="fp32-matmul",
        title=f"Matrix products run in full 32-bit precision on {where if len(ranks) > 1 else ranks[0]}: "
        f"{much} more than the same in 16 bits",
        severity="warning",
        saving_ns_per_step=saving.ns,
        saving_how=saving.how + "Of each kernel what lies beyond the same product in 16 bits goes away: beyond the "
        "median of the job's 16-bit products of equal shape; where there is none, FLOPs ÷ the rate of its 16-bit "
        "products; else by the ratio of the device's peaks. An upper bound.",
        evidence=(
            *largest_kernels(session, top, in_full_fp32_ns, "together"),
            *largest_kernels(session, top, excess, "beyond 16 bits", 1),
        ),
        next_step=(
            "Allow TF32 (torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 for "
            "convolutions) or run these layers under torch.autocast in bf16; "
            if any(_has_tf32(session.inputs[i].trace, session.card) for i in top.group.inputs)
            else "Run these layers under torch.autocast in 16 bits (this device has no TF32); "
        )
        + "keep full precision only where the numbers need it.",
        how="Kernels of matrix products and convolutions whose names say 32-bit arithmetic on the scalar units (sgemm, "
        "simt, ffma) and whose operators, where recorded, have 32-bit operands. TF32 and XF32 kernels use the matrix "
        f"units and do not count. They take {format_duration(spent, 1)} on {top.group.label}.",
        share=saving.share,
        confident=True,
        overlaps=("compute",),
    )


def flagged(trace: Trace) -> NDArray[np.bool_]:
    """Per position of ``gpu_work`` whether it is a product in full 32-bit precision. Built once."""

    def build() -> NDArray[np.bool_]:
        work, found = gpu_work(trace), ledger(trace)
        names = trace.slices.name[work.index]
        product = families(trace) != NONE
        of_name = np.zeros(len(trace.strings) + 1, np.bool_)
        for code in distinct(names[product]):
            of_name[code] = full_fp32(trace.text(code)) is True
        wide = np.array([c.dtype in ("fp32", "") for c in found.costs] + [True], np.bool_)
        out: NDArray[np.bool_] = product & of_name[names] & wide[found.cost]
        return out

    return trace.memo("full_fp32_products", build)


def in_full_fp32_ns(trace: Trace) -> F64:
    """Per position of ``gpu_work`` its duration if it is such a product, else 0."""
    work = gpu_work(trace)
    return np.where(flagged(trace), work.end_ns - work.start_ns, 0).astype(np.float64)


def _spent(session: Session, index: int) -> int:
    return int(in_full_fp32_ns(session.inputs[index].trace).sum())


def has_matrix_units(trace: Trace, card: JobCard) -> bool:
    """Whether the device multiplies matrices faster in 16 bits, by its peaks, else by its compute capability."""
    peaks = peaks_of(trace, card)
    if peaks is not None and (ratio := _ratio(peaks)) is not None:
        return ratio > 1
    majors = [d.properties.get("computeMajor") for d in trace.meta.devices]
    return any(isinstance(m, int) and m >= _VOLTA for m in majors)


def _has_tf32(trace: Trace, card: JobCard) -> bool:
    peaks = peaks_of(trace, card)
    if peaks is not None and peaks.of("tf32") is not None:
        return True
    majors = [d.properties.get("computeMajor") for d in trace.meta.devices]
    return any(isinstance(m, int) and m > _VOLTA for m in majors)


def _ratio(peaks: Peaks) -> float | None:
    narrow, wide = peaks.of("bf16") or peaks.of("fp16"), peaks.of("fp32")
    return narrow / wide if narrow and wide else None


def _usual(session: Session) -> tuple[dict[tuple[str, str], float], float | None]:
    """Median ns of a call in 16 bits by (family, shape) over the job, and their FLOPs per ns all together."""
    lengths: defaultdict[tuple[str, str], list[F64]] = defaultdict(list)
    flops = spent = 0.0
    for item in session.inputs:
        work, found = gpu_work(item.trace), ledger(item.trace)
        length = (work.end_ns - work.start_ns).astype(np.float64)
        for number, cost in enumerate(found.costs):
            if cost.dtype not in NARROW:
                continue
            at = np.flatnonzero(found.cost == number)
            # A call may have run several kernels: what it took in all is shared by its calls.
            took = length[at] if len(at) == found.calls[number] else _per_call(found, length, number)
            lengths[cost.family, cost.shape].append(took)
            flops, spent = flops + cost.flops * float(found.calls[number]), spent + float(length[at].sum())
    medians = {key: float(np.median(np.concatenate(parts))) for key, parts in lengths.items()}
    return medians, flops / spent if spent else None


def _per_call(found: Ledger, length: F64, number: int) -> F64:
    whole = float(length[found.cost == number].sum())
    return np.array([whole / max(1, int(found.calls[number]))])


def _excess(trace: Trace, usual: tuple[dict[tuple[str, str], float], float | None], card: JobCard) -> F64:
    """Per position of ``gpu_work`` the ns beyond the same product in 16 bits."""
    medians, rate = usual
    work, found, mine = gpu_work(trace), ledger(trace), flagged(trace)
    length = (work.end_ns - work.start_ns).astype(np.float64)
    out = np.zeros(len(work))
    peaks = peaks_of(trace, card)
    ratio = _ratio(peaks) if peaks is not None else None
    for at in np.flatnonzero(mine).tolist():
        number = int(found.cost[at])
        expected: float | None = None
        if number >= 0:
            cost = found.costs[number]
            part = float(found.flops[at]) / cost.flops if cost.flops else 1.0
            if (cost.family, cost.shape) in medians:
                expected = medians[cost.family, cost.shape] * part
            elif rate:
                expected = float(found.flops[at]) / rate
        if expected is None and ratio:
            expected = length[at] / ratio
        if expected is not None:
            out[at] = max(0.0, length[at] - expected)
    return out
