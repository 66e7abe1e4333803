"""What encloses slices of threads: the nearest of a kind, and the operator behind each piece of GPU work."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import named_where
from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.jit.grouping import nearest_flagged
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bools = NDArray[np.bool_]

GRAPH_LAUNCH = re.compile(r"^(?:cuda|cu|hip)GraphLaunch", re.IGNORECASE)


def levels(trace: Trace) -> list[tuple[int, int]]:
    """Rows of ``slices`` [begin, end) of each level of each thread, upper levels of a thread first."""
    thread = np.array([lane.kind == LaneKind.THREAD for lane in trace.lanes], np.bool_)
    r = trace.rows
    return [(int(r.begin[i]), int(r.end[i])) for i in range(len(r)) if thread[r.lane[i]]]


def nearest(trace: Trace, flagged: Bools) -> I32:
    """For every slice the nearest flagged one at or around it on its thread; -1 without one (off threads: itself).

    Args:
        trace: the file.
        flagged: one entry per row of ``slices``.
    """
    out = np.empty(len(flagged), np.int32)
    nearest_flagged(flagged, trace.slices.parent, out)
    return out


def operator_of_work(trace: Trace) -> I64:
    """The innermost operator around the launch of each position of ``gpu_work``; -1 without one. Built once.

    Where the file holds no launch inside an operator, the operator of the same External id; not for what a graph
    launch started, which belongs to many.
    """
    return trace.memo("operator_of_work", lambda: _operators(trace))


def operators(trace: Trace) -> I32:
    """For every slice the nearest operator at or around it on its thread; -1 without one. Built once."""
    return trace.memo("nearest_operator", lambda: nearest(trace, np.asarray(trace.slices.paint == Paint.OPERATOR)))


def graph_calls(trace: Trace) -> Bools:
    """bool[strings + 1]: names of calls that launch a graph, by index into strings."""

    def build() -> Bools:
        return named_where(trace, (Paint.RUNTIME,), GRAPH_LAUNCH.match)

    return trace.memo("graph_calls", build)


def _operators(trace: Trace) -> I64:
    s, work = trace.slices, gpu_work(trace)
    call = links(trace).call_of
    out = np.where(call >= 0, operators(trace)[np.maximum(call, 0)], -1).astype(np.int64)
    graph = (call >= 0) & graph_calls(trace)[s.name[np.maximum(call, 0)]]
    ext = s.ext[work.index]
    lost = np.flatnonzero((out < 0) & ~graph & (ext != ABSENT) & (ext != 0))
    if len(lost):
        rows = np.flatnonzero((s.paint == Paint.OPERATOR) & (s.ext != ABSENT) & (s.ext != 0))
        ids, first, count = np.unique(s.ext[rows], return_index=True, return_counts=True)
        at = np.minimum(np.searchsorted(ids, ext[lost]), max(0, len(ids) - 1))
        if len(ids):
            sure = (ids[at] == ext[lost]) & (count[at] == 1)
            out[lost[sure]] = rows[first[at[sure]]]
    return out
