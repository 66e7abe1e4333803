"""How much of each communication kernel nothing hid, so that the sum over kernels is the device's exposed time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work, unions
from viewer.base.ids import Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


def exposed(trace: Trace) -> I64:
    """Exposed ns of each position of ``gpu_work(trace)``, 0 for what is no communication. Built once.

    An instant at which no compute runs and several communications do is charged to the one that started first (ties:
    the lower lane), so the sum over a device is its ``comm_exposed_ns``.
    """
    return trace.memo("exposed", lambda: _build(trace))


def _build(trace: Trace) -> I64:
    work = gpu_work(trace)
    out = np.zeros(len(work), np.int64)
    for device in work.devices:
        part = work.of_device(device)
        at = part.start + np.flatnonzero(work.paint[part] == Paint.COMM)
        if not len(at):
            continue
        at = at[np.lexsort((work.lane[at], work.start_ns[at]))]
        start, end = work.start_ns[at], work.end_ns[at]
        before = np.maximum.accumulate(end)
        begin = np.minimum(np.maximum(start, np.concatenate((start[:1], before[:-1]))), end)
        compute = unions(trace, device).compute
        out[at] = (end - begin) - (covered(*compute, end) - covered(*compute, begin))
    return out


def covered(start: I64, end: I64, until: I64) -> I64:
    """How much of disjoint, ascending intervals lies before each instant, ns."""
    if not len(start):
        return np.zeros(len(until), np.int64)
    whole = np.concatenate(([0], np.cumsum(end - start)))
    at = np.searchsorted(start, until, "right")
    over = np.where(at > 0, np.maximum(end[np.maximum(at - 1, 0)] - until, 0), 0)
    covered: I64 = whole[at] - over
    return covered
