"""Hardware FLOPs utilisation (HFU) of one file: its FLOPs by recorded shapes / what its devices could have done."""

from __future__ import annotations

import numpy as np

from viewer.analyses.flops.ledger import ENOUGH, ledger
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.peaks import peaks_of
from viewer.analyses.steps import step_table
from viewer.base.job_card import JobCard
from viewer.base.units import percent
from viewer.store.trace import Trace


def file_hfu(trace: Trace, card: JobCard) -> tuple[float | None, str]:
    """(HFU, how it was computed, or why there is none).

    Over the steps of the file (GPU work that a step launched, first start to last end), else over its whole GPU span:
    Σ FLOPs of a type / dense peak of that type, over the time of the devices. None where shapes explain less than
    ENOUGH of the time of matrix products, convolutions and attention, and where a peak is unknown.
    """
    found, work = ledger(trace), gpu_work(trace)
    coverage = found.coverage
    if coverage is None:
        return None, "no matrix products, convolutions or attention were recorded"
    if coverage < ENOUGH:
        worst = found.gaps[0]
        who = f" ({worst.operator})" if worst.operator else ""
        return None, (
            f"recorded shapes explain {percent(coverage, 1)} of the time of matrix products, convolutions and "
            f"attention, less than {percent(ENOUGH)}; the largest part that they do not: {worst.why}{who}"
        )
    peaks = peaks_of(trace, card)
    if peaks is None:
        return None, "the device is not in the table: state hardware.peak_flops on the job card"
    missing = sorted({c.dtype or "unknown" for c in found.costs if c.flops and peaks.of(c.dtype) is None})
    if missing:
        return None, f"no peak is known for operands of type {', '.join(missing)} on {peaks.device}"
    steps = [s for s in step_table(trace).steps if s.devices]
    if steps:
        at = np.concatenate([work.positions(s.rows) for s in steps])
        time = sum(figures.span_ns for s in steps for _, figures in s.devices)
        over = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    else:
        at = np.arange(len(work))
        parts = [work.of_device(d) for d in work.devices]
        time = sum(int(work.end_ns[p].max() - work.start_ns[p].min()) for p in parts)
        over = "the GPU span of the file, as nothing marks steps"
    if time <= 0:
        return None, "the GPU work has no length"
    rate = np.array([peaks.of(c.dtype) or 1 for c in found.costs], np.float64)
    counted = at[found.cost[at] >= 0]
    ideal_ns = float((found.flops[counted] / rate[found.cost[counted]]).sum()) * 1e9
    value = ideal_ns / time
    if value > 1:
        return (
            None,
            "recorded shapes claim more FLOPs than the peak allows: shapes, times and device do not fit together",
        )
    return value, (
        f"Σ FLOPs by recorded shapes ÷ dense peak of their type ({peaks.source}), over {over}; causal attention counts "
        f"half of its pairs; shapes explain {percent(coverage, 1)} of the time of matrix products, convolutions and "
        "attention"
    )
