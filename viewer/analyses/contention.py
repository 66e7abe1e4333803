"""Contention: how much longer kernels run beside communication than the same kernels alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.robust import TO_SIGMA
from viewer.analyses.run_kinds import run_kinds
from viewer.jit.grouping import middles_and_spreads
from viewer.jit.intervals import total
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

LEAST_ALONE: Final = 3
"""Runs alone from which on their median says how long a kernel takes."""


@dataclass(frozen=True, eq=False)
class Contention:
    """Contention of a file, ns.

    ``slowdown`` per position of ``gpu_work``: duration - median duration of the same kernel, shape and grid when no
    communication runs on the device; 0 for what runs alone, nan where it never (or hardly ever) runs alone.
    ``total_ns`` adds it over ``compared`` kernels beside communication; for ``uncompared`` others it cannot be told.
    ``noise_ns`` is what chance alone makes of such a sum: 3 standard deviations, from the spread of the runs alone.
    """

    slowdown: F64
    shaped: int
    """How many of the compared kernels have recorded shapes: the others may have had other work."""
    total_ns: int
    compared: int
    uncompared: int
    alone_ns: int
    """What the compared kernels would have taken alone."""
    noise_ns: int

    @property
    def ratio(self) -> float | None:
        """How many times as long kernels take beside communication; None without any."""
        return (self.alone_ns + self.total_ns) / self.alone_ns if self.alone_ns else None


def contention(trace: Trace) -> Contention:
    """The contention of a file. Built once."""
    return trace.memo("contention", lambda: _build(trace))


def beside_communication(trace: Trace) -> NDArray[np.bool_]:
    """Per position of ``gpu_work`` whether communication runs on its device during any of it."""
    work = gpu_work(trace)
    out = np.zeros(len(work), np.bool_)
    for device in work.devices:
        part = work.of_device(device)
        begin, end = unions(trace, device).comm
        if not len(begin):
            continue
        at = np.searchsorted(end, work.start_ns[part], "right")  # the first that ends after its start
        at = np.minimum(at, len(begin) - 1)
        out[part] = (begin[at] < work.end_ns[part]) & (end[at] > work.start_ns[part])
    return out


def _build(trace: Trace) -> Contention:
    work, kinds = gpu_work(trace), run_kinds(trace)
    kind = kinds.kind
    length = (work.end_ns - work.start_ns).astype(np.int64)
    beside = beside_communication(trace)
    slowdown = np.zeros(len(work))
    count = max(1, int(kind.max(initial=-1)) + 1)
    mine = kind >= 0
    median, spread, runs = _middles(kind[mine & ~beside], length[mine & ~beside], count)
    chosen = mine & beside
    known = chosen & (runs[np.maximum(kind, 0)] >= LEAST_ALONE)
    slowdown[chosen] = np.nan
    slowdown[known] = length[known] - median[kind[known]]
    # Each run varies by itself, and the median of a few runs is off by a part of that for all runs of its kind.
    n = np.bincount(kind[known], minlength=count).astype(np.float64)
    variance = spread**2 * (n + np.where(runs > 0, n**2 / np.maximum(runs, 1), 0))
    return Contention(
        slowdown,
        int((known & kinds.shaped).sum()),
        round(float(slowdown[known].sum())),
        int(known.sum()),
        int((chosen & ~known).sum()),
        round(float(median[kind[known]].sum())),
        round(3 * float(np.sqrt(variance[n > 0].sum()))),
    )


def _middles(group: I64, values: I64, count: int) -> tuple[F64, F64, I64]:
    """Per group the median, the robust deviation, and how many there are; 0 for an empty one."""
    runs = np.bincount(group, minlength=count).astype(np.int64)
    begin = np.cumsum(runs) - runs
    twice, fourfold = np.zeros(count, np.int64), np.zeros(count, np.int64)
    middles_and_spreads(group, values, begin, np.empty(len(values), np.int64), twice, fourfold)
    return twice / 2, TO_SIGMA * (fourfold / 4), runs


def communication_ns(trace: Trace) -> int:
    """Length of the unions of communication over the devices of a file."""
    return sum(total(*unions(trace, d).comm) for d in gpu_work(trace).devices)
