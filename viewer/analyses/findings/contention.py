"""Contention: kernels that run slower beside communication than alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.contention import contention
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.kernel_costs import (
    largest_kernels,
    much_of,
    rank_costs,
    share_of_step,
    share_of_trace,
    step_saving,
    worst,
)
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

LEAST_SHARE: Final = 0.01
"""Of the step."""
LEAST_RATIO: Final = 1.03
"""Kernels beside communication take at least so many times as long: clocks of GPUs wander by a few percent."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding."""
    costs = rank_costs(session, _slowdown)
    cancel.check()
    top = worst(costs)
    if top is None:
        return
    found = [contention(session.inputs[i].trace) for i in top.group.inputs]
    total, noise = sum(f.total_ns for f in found), sum(f.noise_ns for f in found)
    alone, compared = sum(f.alone_ns for f in found), sum(f.compared for f in found)
    shaped = sum(f.shaped for f in found)
    own = top.median_ns
    share = share_of_step(session, own)
    ratio = (alone + total) / alone if alone else 1.0
    if share is None:
        share = share_of_trace(session, top)
    if total <= noise or ratio < LEAST_RATIO or (share is not None and share < LEAST_SHARE):
        return
    unknown = sum(f.uncompared for f in found)
    much = much_of(session, top, own)
    saving = step_saving(session, top, own, _slowdown)
    yield JobFinding(
        id="contention/all",
        kind="contention",
        title=f"Kernels run {100 * (ratio - 1):.0f} % slower beside communication than alone: {much} on "
        f"{top.group.label}",
        severity="warning",
        saving_ns_per_step=saving.ns,
        saving_how=saving.how
        + "Σ (duration - median duration of the same kernel, shape and grid when no communication runs) per "
        "step, median over the steps. An upper bound: hiding communication is still worth "
        "it where it would cost more exposed.",
        evidence=tuple(largest_kernels(session, top, _slowdown, "lost", 4)),
        next_step="Give communication fewer multiprocessors (NCCL_MAX_CTAS, NCCL_MAX_NCHANNELS, DeepEP num_sms) or a "
        "transport that needs none (copy engines, NVLink SHARP), or move it beside kernels that need little memory "
        "bandwidth.",
        how=f"{compared:,} kernels beside communication are compared with three or more runs alone of the same kernel, "
        f"grid and shapes; {unknown:,} have none and count nothing. The sum is beyond 3 standard deviations of what "
        f"the spread of the runs alone would give by chance ({format_duration(noise, 1)})."
        + ("" if 2 * shaped > compared else " No shapes were recorded: runs of one grid may have had other work."),
        share=saving.share,
        confident=2 * shaped > compared,
        overlaps=("compute",),
    )


def _slowdown(trace: Trace) -> NDArray[np.float64]:
    return contention(trace).slowdown
