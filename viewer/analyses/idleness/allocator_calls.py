"""Calls that ask the driver for memory or give some back, by step: a steady step of a caching allocator needs none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.host_time import allocates
from viewer.analyses.names import rows_named
from viewer.analyses.steps import step_table
from viewer.base.ids import Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AllocatorCalls:
    """Rows of ``slices`` by start; ``count`` and ``ns`` int64[steps]: calls begun in each CPU mark, and their sum."""

    rows: I64
    count: I64
    ns: I64


def allocator_calls(trace: Trace) -> AllocatorCalls:
    """The allocator calls of a file. Built once."""
    return trace.memo("allocator_calls", lambda: _build(trace))


def _build(trace: Trace) -> AllocatorCalls:
    s, steps = trace.slices, step_table(trace).steps
    rows = rows_named(trace, (Paint.RUNTIME,), allocates)
    rows = rows[np.argsort(s.start_ns[rows], kind="stable")]
    count, ns = np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64)
    begun = s.start_ns[rows]
    for i, step in enumerate(steps):
        a, b = np.searchsorted(begun, (step.start_ns, step.end_ns), "left")
        count[i], ns[i] = b - a, s.dur_ns[rows[a:b]].sum()
    return AllocatorCalls(rows, count, ns)
