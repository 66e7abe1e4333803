"""Recomputation: what running forward kernels again in the backward pass costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.kernel_costs import largest_kernels, made_once, much_of, rank_costs, step_saving, worst
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.recompute import recomputed
from viewer.base.units import format_share
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

F64 = NDArray[np.float64]
LARGE: Final = 0.1
"""Of the step: from here on it is worth weighing against memory. Full recomputation costs up to a quarter of the
compute (one forward pass beside one forward and two backward ones)."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding."""
    again = made_once(recomputed_ns)
    costs = rank_costs(session, again)
    cancel.check()
    top = worst(costs)
    if top is None:
        return
    own = top.median_ns
    much = much_of(session, top, own)
    saving = step_saving(session, top, own, again)
    whole = sum(_compute_ns(session.inputs[i].trace) for i in top.group.inputs)
    yield JobFinding(
        id="recompute/all",
        kind="recompute",
        title=f"Recomputation takes {much} on {top.group.label}: forward kernels run again in the backward pass",
        severity="warning" if (saving.share or 0) >= LARGE else "info",
        saving_ns_per_step=saving.ns,
        saving_how=saving.how
        + "Time of the forward kernels that run again, summed per step, median over the steps. An upper bound: without "
        "recomputation their results take memory, which may not be there.",
        evidence=tuple(largest_kernels(session, top, again, "again", 4)),
        next_step="Where the Memory panel shows room, recompute less: selective recomputation (Megatron "
        "--recompute-granularity selective, torch's selective activation checkpointing), or fewer layers. Where "
        "memory is full it is the price of fitting in.",
        how="GPU work launched inside a checkpointed backward (CheckpointFunctionBackward, torch.utils.checkpoint) "
        "or in a forward operator that runs inside a backward pass, with no backward operator between. "
        f"It is {format_share(round(top.whole_ns), whole)} of all GPU work of {top.group.label}.",
        share=saving.share,
        confident=True,
        overlaps=("compute",),
    )


def recomputed_ns(trace: Trace) -> F64:
    """Per position of ``gpu_work`` its duration if it is recomputed, else 0."""
    work = gpu_work(trace)
    return np.where(recomputed(trace), work.end_ns - work.start_ns, 0).astype(np.float64)


def _compute_ns(trace: Trace) -> int:
    work = gpu_work(trace)
    return int((work.end_ns - work.start_ns).sum())
