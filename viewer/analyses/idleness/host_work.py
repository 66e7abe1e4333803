"""Idle time for the host's own work: Python, operators and calls, without what has a cause of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host_time import UNTRACED
from viewer.analyses.idleness.jitter import jitter
from viewer.analyses.idleness.launch_bound import launch_waits
from viewer.analyses.idleness.parts import CODE, idle_parts
from viewer.analyses.idleness.profile import steps_around
from viewer.analyses.idleness.recording import own_ns
from viewer.analyses.links import lanes_of_rows
from viewer.analyses.steps import step_table
from viewer.base.ids import Paint
from viewer.jit.intervals import subtract, union
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

CAUSES: Final = ("python", "operator", "runtime call", "annotation", "other")
BRIEFLY_NS: Final = 1_000_000
"""Python between two recorded slices takes microseconds, some hundred at most; beyond that it may have waited."""


@dataclass(frozen=True, eq=False)
class HostWork:
    """When a device waited for work of its host: disjoint [start, end) of raw ns, ascending.

    ``inside`` int64[steps + 1] are the sums by step, the last entry is for no step; time between steps is left out.
    ``own`` int64[steps + 1] is the part of them that recording stacks and shapes cannot explain.
    ``by_cause`` are ns by cause (steps and none), "untraced" for short times in which nothing was recorded.
    """

    start: I64
    end: I64
    inside: I64
    own: I64
    by_cause: dict[str, int]


def host_work(trace: Trace, device: int) -> HostWork:
    """The idle time for the host's own work. Built once.

    It ends with work that is no communication (who launches a communication late may have waited for peers), and lies
    in no launch-bound stretch and in no held-up slice.
    """
    return trace.memo(("host_work", device), lambda: _build(trace, device))


def _build(trace: Trace, device: int) -> HostWork:
    split, parts = idle_parts(trace, device)
    was, now = steps_around(trace, device, split)
    work, n = gpu_work(trace), len(step_table(trace).steps)
    ends_well = (was == now) & (split.after >= 0)
    if len(work):
        ends_well &= work.paint[np.maximum(split.after, 0)] != Paint.COMM
    brief = (parts.cause == CODE[UNTRACED]) & (parts.end - parts.start <= BRIEFLY_NS)
    chosen = np.flatnonzero((np.isin(parts.cause, [CODE[c] for c in CAUSES]) | brief) & ends_well[parts.gap])
    start, end = parts.start[chosen], parts.end[chosen]
    known = jitter(trace, device)
    waited, host = launch_waits(trace, device), union(start, end)
    rest = subtract(host[0], host[1], waited[0], waited[1])
    left = subtract(rest[0], rest[1], known.start, known.end)
    inside, own, by_cause = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), {}
    # Neighbouring parts were joined: cut at their borders again, so that each piece has one step and one cause.
    borders = np.unique(np.concatenate((left[0], left[1], start)))
    lo, hi = borders[:-1], borders[1:]
    at = np.searchsorted(left[0], lo, "right") - 1
    covered = (at >= 0) & (lo < left[1][np.maximum(at, 0)]) if len(left[0]) else np.zeros(len(lo), np.bool_)
    lo, hi = lo[covered], hi[covered]
    part = chosen[np.searchsorted(start, lo, "right") - 1] if len(lo) else np.empty(0, np.int64)
    step = now[parts.gap[part]]
    place = np.where(step >= 0, step, n)
    np.add.at(inside, place, hi - lo)
    np.add.at(
        own, place, own_ns(trace, lanes_of_rows(trace, split.call[parts.gap[part]]).astype(np.int64), lo, hi, pace=True)
    )
    for cause in (*CAUSES, UNTRACED):
        ns = int((hi - lo)[parts.cause[part] == CODE[cause]].sum())
        if ns:
            by_cause[cause] = ns
    return HostWork(left[0], left[1], inside, own, by_cause)
