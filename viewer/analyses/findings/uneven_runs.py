"""Uneven runs: a kernel of which some runs take far longer than the others, with nothing beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.contention import beside_communication
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.kernel_costs import (
    largest_kernels,
    much_of,
    rank_costs,
    share_of_step,
    step_saving,
    worst,
)
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.pace import FAR, LEAST, pace
from viewer.analyses.run_kinds import run_kinds
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

F64 = NDArray[np.float64]
LEAST_RUNS: Final = 8
"""Runs of one kind from which on some of them can be said to be unusual."""
LEAST_SHARE: Final = 0.01
"""Of the step."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding: the rank that loses most by it."""
    costs = rank_costs(session, lost_ns)
    cancel.check()
    # Some steps have it and others not: what it costs per step is the mean.
    means = {c.group.id: float(np.mean(c.per_step)) for c in costs if len(c.per_step)}
    top = max((c for c in costs if c.group.id in means), key=lambda c: means[c.group.id], default=worst(costs))
    if top is None or top.whole_ns <= 0:
        return
    own = round(means[top.group.id]) if top.group.id in means else None
    share = share_of_step(session, own)
    if own == 0 or (share is not None and share < LEAST_SHARE):
        return
    if share is None and top.whole_ns < LEAST_SHARE * sum(_all_ns(session.inputs[i].trace) for i in top.group.inputs):
        return
    traces = [session.inputs[i].trace for i in top.group.inputs]
    runs = sum(int((lost_ns(t) > 0).sum()) for t in traces)
    shaped = sum(int((run_kinds(t).shaped & (lost_ns(t) > 0)).sum()) for t in traces)
    much = much_of(session, top, own)
    saving = step_saving(session, top, own, lost_ns)
    yield JobFinding(
        id="uneven-runs/all",
        kind="uneven-runs",
        title=f"{runs:,} kernel runs on {top.group.label} take far longer than others of the same kernel, grid and "
        f"shapes: {much}",
        severity="warning",
        saving_ns_per_step=saving.ns,
        saving_how=saving.how + "Σ (duration - median of the same kind) over the outliers ÷ steps. An "
        "upper bound: other work may fill the time.",
        evidence=tuple(largest_kernels(session, top, lost_ns, "beyond their median", 4)),
        next_step="See when they happen (Kernels panel, click the row): together on one rank points to a GPU that "
        "lowers its clock (power, heat); scattered, to other processes or copies on the same device.",
        how=f"Runs at least {LEAST} times the median and {FAR:.0f} robust deviations above it, of kinds with at least "
        f"{LEAST_RUNS} runs on the rank; runs beside communication are left out (contention), warm-up steps as well."
        + ("" if 2 * shaped > runs else " No shapes were recorded: runs of one grid may have had other work."),
        share=saving.share,
        confident=runs >= 3 and 2 * shaped > runs,
        overlaps=("compute",),
    )


def lost_ns(trace: Trace) -> F64:
    """Per position of ``gpu_work`` how far an unusually long run lies above the median of its kind, else 0. Kept."""

    def build() -> F64:
        work, kind = gpu_work(trace), run_kinds(trace).kind
        length = work.end_ns - work.start_ns
        out = np.zeros(len(work))
        at = np.flatnonzero((kind >= 0) & ~beside_communication(trace))
        order = at[np.argsort(kind[at], kind="stable")]
        begin = np.flatnonzero(np.diff(kind[order], prepend=-1))
        for mine in np.split(order, begin[1:]):
            if len(mine) < LEAST_RUNS:
                continue
            found = pace(length[mine])
            if found is not None and found.outlier.any():
                far = mine[found.outlier]
                out[far] = length[far] - found.median
        return out

    return trace.memo("lost_to_outliers", build)


def _all_ns(trace: Trace) -> int:
    work = gpu_work(trace)
    return int((work.end_ns - work.start_ns).sum())
