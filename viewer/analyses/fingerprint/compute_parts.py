"""Compute time by what it is for: recomputation, other kernels than products, and products themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.fingerprint.periods import Period
from viewer.analyses.flops.ledger import families
from viewer.analyses.flops.main_kernels import NONE
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.recompute import recomputed
from viewer.base.ids import Paint
from viewer.jit.intervals import clip, total, union
from viewer.store.session import Session
from viewer.store.trace import Trace

Intervals = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class ComputeParts:
    """Device-ns; they sum to the compute time.

    ``recomputed_ns``: only forward kernels run that a checkpointed backward pass runs again. ``other_ns``: neither a
    matrix product, a convolution nor attention runs. ``products_ns`` is the rest.
    """

    recomputed_ns: int
    other_ns: int
    products_ns: int


def compute_parts(session: Session, every: Iterable[Period]) -> ComputeParts:
    """The compute time of some periods taken apart."""
    again = other = products = 0
    for period in every:
        trace = session.inputs[period.input].trace
        work = gpu_work(trace)
        if period.step is None:
            devices = list(work.devices)
        else:
            devices = np.unique(work.device[work.positions(period.step.rows)]).tolist()
        for device in devices:
            whole, first, of_products = (_inside(u, period) for u in _unions(trace, int(device)))
            again += whole - first
            other += first - of_products
            products += of_products
    return ComputeParts(again, other, products)


def _inside(intervals: Intervals, period: Period) -> int:
    return int(total(*clip(*intervals, period.start_ns, period.end_ns)))


def _unions(trace: Trace, device: int) -> tuple[Intervals, Intervals, Intervals]:
    """Union of all compute, of what does not run again, and of the products among that; each lies in the one before."""

    def build() -> tuple[Intervals, Intervals, Intervals]:
        work = gpu_work(trace)
        part = work.of_device(device)
        start, end = work.start_ns[part], work.end_ns[part]
        compute = work.paint[part] == Paint.COMPUTE
        first = compute & ~recomputed(trace)[part]
        product = first & (families(trace)[part] != NONE)
        return (
            union(start[compute], end[compute]),
            union(start[first], end[first]),
            union(start[product], end[product]),
        )

    return trace.memo(("compute parts", device), build)
