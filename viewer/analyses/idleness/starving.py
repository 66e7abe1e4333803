"""When computing work waited for its launch: the gaps of the streams that compute, whatever else ran meanwhile.

A receive that waits on another stream keeps the device from idling, but hides no launch: a host that comes late holds
compute up all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.parts import CODE, Parts, idle_parts, launch_latency, starving_parts
from viewer.analyses.idleness.profile import steps_around
from viewer.analyses.idleness.recording import own_ns
from viewer.analyses.idleness.split import Split
from viewer.analyses.links import lanes_of_rows
from viewer.analyses.steps import step_table
from viewer.jit.intervals import union
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Starving:
    """The gaps between computing work of a device, their parts, and the steps before and after each (-1: none).

    ``held`` tells per gap whether the launch held its work up: it began as soon after its call as launched work does.
    Else it waited for something else as well, and an earlier launch alone would have gained nothing.
    """

    split: Split
    parts: Parts
    was: I64
    now: I64
    held: NDArray[np.bool_]

    def of(self, causes: Sequence[str], *, held: bool = True) -> I64:
        """Positions of the parts inside steps of some causes, of gaps that are held up, or of all."""
        chosen = np.isin(self.parts.cause, [CODE[c] for c in causes]) & (self.was == self.now)[self.parts.gap]
        out: I64 = np.flatnonzero(chosen & (self.held[self.parts.gap] | (not held)))
        return out


def starving(trace: Trace, device: int, *, idle: bool = False) -> Starving | None:
    """The gaps of a device's computing streams, with ``idle`` those of the whole device; None without. Built once."""
    return trace.memo(("starving", device, idle), lambda: _idle(trace, device) if idle else _build(trace, device))


def _idle(trace: Trace, device: int) -> Starving | None:
    split, parts = idle_parts(trace, device)
    if not len(split.start):
        return None
    return Starving(split, parts, *steps_around(trace, device, split), split.host > 0)


def _build(trace: Trace, device: int) -> Starving | None:
    found = starving_parts(trace, device)
    if found is None:
        return None
    _, split, parts = found
    work = gpu_work(trace)
    was, now = steps_around(trace, device, split)
    known = np.flatnonzero((split.host > 0) & (split.call >= 0))
    held = np.zeros(len(split.start), np.bool_)
    call = split.call[known]
    due = trace.slices.start_ns[call] + trace.slices.dur_ns[call] + launch_latency(trace, device)
    held[known] = work.start_ns[split.after[known]] <= due
    return Starving(split, parts, was, now, held)


def starved_by(trace: Trace, device: int, causes: Sequence[str], *, idle: bool = False) -> tuple[I64, I64]:
    """(ns per step that launches held compute up inside steps for some causes, the part recording cannot explain).

    With ``idle`` instead how long the whole device idled inside steps for them.

    Two int64[steps + 1]; the last entry is for no step.
    """
    n, found = len(step_table(trace).steps), starving(trace, device, idle=idle)
    total, own = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    if found is None:
        return total, own
    at = found.of(causes)
    gap = found.parts.gap[at]
    step = np.where(found.now[gap] >= 0, found.now[gap], n)
    start, end = found.parts.start[at], found.parts.end[at]
    np.add.at(total, step, end - start)
    np.add.at(own, step, own_ns(trace, lanes_of_rows(trace, found.split.call[gap]).astype(np.int64), start, end))
    return total, own


def starved_intervals(trace: Trace, device: int, causes: Sequence[str]) -> tuple[I64, I64]:
    """When compute had nothing queued inside steps for some causes: disjoint (start, end) of raw ns, ascending."""
    found = starving(trace, device)
    if found is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = found.of(causes, held=False)
    out: tuple[I64, I64] = union(found.parts.start[at], found.parts.end[at])
    return out
