"""Arrows that the trace itself draws: forward to backward, calls to GPU work, whatever a tool links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import call_of_gpu, launched_under
from viewer.base.ids import ABSENT
from viewer.jit.lanes import number_keys
from viewer.jit.ordering import group_stable
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
_MOST_INSIDE = 64
"""Links of slices inside a slice that are looked at."""


@dataclass(frozen=True, eq=False)
class Flows:
    """Pairs of slices. ``source`` ascends; ``target[i]`` is where the arrow that leaves ``source[i]`` arrives."""

    source: I64
    target: I64

    @cached_property
    def _by_target(self) -> I64:
        return np.argsort(self.target, kind="stable")

    def leaving(self, row: int) -> I64:
        """Where the arrows from a slice arrive."""
        a, b = np.searchsorted(self.source, (row, row + 1))
        return self.target[a:b]

    def arriving(self, row: int) -> I64:
        """Where the arrows to a slice come from."""
        a, b = np.searchsorted(self.target[self._by_target], (row, row + 1))
        return self.source[self._by_target[a:b]]


def flows(trace: Trace) -> Flows:
    """The arrows of a trace. Built once."""
    return trace.memo("flows", lambda: _build(trace))


def _build(trace: Trace) -> Flows:
    """Ends of one (category, id) in the order of time are one chain; a start begins another (ids are used again)."""
    f = trace.flows
    rank = np.zeros(256, np.int64)
    rank[ord("t")], rank[ord("f")] = 1, 2
    order = _by_id(f.cat, f.id, f.time_ns, rank[f.phase])
    cat, ident, phase, row = f.cat[order], f.id[order], f.phase[order], f.slice[order]
    same = (cat[1:] == cat[:-1]) & (ident[1:] == ident[:-1])
    goes_on = (phase[1:] != ord("s")) & (phase[:-1] != ord("f"))
    bound = (row[1:] != ABSENT) & (row[:-1] != ABSENT) & (row[1:] != row[:-1])
    at = np.flatnonzero(same & goes_on & bound)
    source, target = row[at].astype(np.int64), row[at + 1].astype(np.int64)
    pair = np.sort((source << 32) | target)  # rows of slices are int32
    source, target = pair >> 32, pair & 0xFFFFFFFF
    first = np.ones(len(at), np.bool_)
    first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    source, target = source[first], target[first]
    return Flows(source, target)


def _by_id(cat: NDArray[np.int32], ident: I64, time: I64, rank: I64) -> I64:
    """An order in which ends of one category and id are together, by time and rank. They lie in the order of time."""
    if ((time[1:] == time[:-1]) & (rank[1:] < rank[:-1])).any():
        out: I64 = np.lexsort((rank, time, ident, cat))
        return out
    number = np.empty(len(ident), np.int32)
    chains = number_keys(np.stack((cat.astype(np.int64), ident), axis=1), number)
    order: I64 = group_stable(number, len(chains))[0].astype(np.int64)
    return order


def onward(trace: Trace, row: int) -> list[int]:
    """Where a slice leads, the nearest kind first.

    A call: the GPU work that it launched. Another slice of the CPU: where its own arrows go (forward -> backward),
    then the GPU work that was launched inside it, then where arrows from slices inside it go. By start within a kind.
    """
    own = _by_start(trace, flows(trace).leaving(row))
    launched = launched_under(trace, row).tolist()
    return list(dict.fromkeys([*own, *launched, *_inside(trace, row)]))


def origins(trace: Trace, row: int) -> list[int]:
    """Where a slice comes from, the nearest kind first.

    GPU work: its call. A slice of the CPU: where arrows to it come from, else where those to the slices around it do.
    """
    call = call_of_gpu(trace, row)
    if call >= 0:
        return [call]
    if gpu_work(trace).position(row) >= 0:
        return _by_start(trace, flows(trace).arriving(row))
    at, seen = row, 0
    while at >= 0 and seen < 10_000:
        found = _by_start(trace, flows(trace).arriving(at))
        if found:
            return found
        at, seen = int(trace.slices.parent[at]), seen + 1
    return []


def _by_start(trace: Trace, rows: I64) -> list[int]:
    found: list[int] = rows[np.argsort(trace.slices.start_ns[rows], kind="stable")].tolist()
    return found


def _inside(trace: Trace, row: int) -> list[int]:
    """Targets of arrows that leave slices inside this one on its lane, by the start of those slices."""
    lane, s, all_flows = trace.lane_of(row), trace.slices, flows(trace)
    own = trace.row_of(row)
    start, end = int(s.start_ns[row]), int(s.start_ns[row] + s.dur_ns[row])
    out: list[tuple[int, int]] = []
    for below in range(own + 1, lane.row_end):
        a, b = trace.window_rows(below, start, end)
        first, last = np.searchsorted(all_flows.source, (a, b))
        chosen = slice(int(first), min(int(last), int(first) + _MOST_INSIDE))
        sources, targets = all_flows.source[chosen], all_flows.target[chosen]
        out += zip(s.start_ns[sources].tolist(), targets.tolist(), strict=True)
    return [target for _, target in sorted(out)]
