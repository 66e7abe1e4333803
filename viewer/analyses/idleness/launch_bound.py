"""Launch-bound stretches: runs of kernels that each wait for their own launch; and the gaps inside graph launches.

Looked for among the streams that compute (communication that runs meanwhile hides no launch).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host_time import ALLOCATOR, COLLECTION, LOADING, RECOMPILATION, SYNC_DRAIN
from viewer.analyses.idleness.parts import SLOW_START, UNKNOWN, starving_parts
from viewer.analyses.idleness.split import Split
from viewer.analyses.links import links
from viewer.analyses.steps import step_of_work
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

LONGEST_NS: Final = 200_000
"""A gap up to this length can be the way to one launch: 5 to 50 us with eager operators, some times that with a
profiler that records stacks. In a longer one the host does something else than launching."""
LEAST_KERNELS: Final = 8
"""Fewer kernels in a row that wait for their launch are chance."""
MOST_QUEUED: Final = 2
"""So many kernels in a row may have been queued in time inside a stretch: now and then one is longer."""
_OTHERWISE: Final = (
    *(LOADING, ALLOCATOR, RECOMPILATION, COLLECTION, SYNC_DRAIN, SLOW_START, UNKNOWN),
    *("event", "copy", "other stream", "unproven"),
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of computing work that waits for its launches. Raw ns of the file.

    [start_ns, end_ns) goes from the first of its gaps to the end of its last kernel. Of ``kernels``, ``waiting`` found
    the queue empty and waited ``wait_ns`` in all, ``idle_ns`` of it with the whole device idle (else others ran);
    ``busy_ns`` is how long they ran (sum). ``first_row`` and ``last_row`` are rows of ``slices``; ``step`` is the place
    of the step of the first, None for none.
    """

    device: int
    start_ns: int
    end_ns: int
    kernels: int
    waiting: int
    wait_ns: int
    idle_ns: int
    busy_ns: int
    first_row: int
    last_row: int
    step: int | None
    call_ns: int = 0
    """How long the launch calls of its kernels took (sum)."""


def launch_bound(trace: Trace, device: int) -> tuple[Stretch, ...]:
    """The stretches of a device in time order, among the streams that compute. Built once."""
    return _found(trace, device)[0]


def launch_waits(trace: Trace, device: int) -> tuple[I64, I64]:
    """When computing work waited for its launch in a stretch: disjoint (start, end) of raw ns, ascending."""
    return _found(trace, device)[1]


_Found = tuple[tuple[Stretch, ...], tuple[I64, I64]]
_NONE: _Found = ((), (np.empty(0, np.int64), np.empty(0, np.int64)))


def _found(trace: Trace, device: int) -> _Found:
    return trace.memo(("launch_bound", device), lambda: _build(trace, device))


def _build(trace: Trace, device: int) -> _Found:
    work, call_of = gpu_work(trace), links(trace).call_of
    found = starving_parts(trace, device)
    if found is None or not len(found[1].start):
        return _NONE
    mine, split, parts = found
    n = len(split.start)
    before, after = np.maximum(split.before, 0), np.maximum(split.after, 0)
    has = (split.before >= 0) & (split.after >= 0) & (split.call >= 0)
    same_call = has & (call_of[before] == split.call)
    # Nothing was queued when the work before began: this work waits for its launch, however long that one ran.
    empty = trace.slices.start_ns[np.maximum(split.call, 0)] > work.start_ns[before]
    length = split.end - split.start
    other = parts.by_gap(n, _OTHERWISE)
    waits = has & ~same_call & empty & (other == 0) & (length <= LONGEST_NS)

    at = np.searchsorted(mine, after)
    step_of = step_of_work(trace)
    joins = (np.diff(at) - 1 <= MOST_QUEUED) & waits[1:] & waits[:-1] & (np.diff(step_of[after]) == 0)
    first = np.flatnonzero(np.concatenate(([True], ~joins)))
    last = np.append(first[1:], n)
    idle = _inside(split.start, split.end, *device_gaps(trace, device))
    out, chosen = [], np.zeros(n, np.bool_)
    runs = np.flatnonzero((last - first >= LEAST_KERNELS) & waits[first])
    for a, b in zip(first[runs], last[runs], strict=True):
        chosen[a:b] = True
        rows = mine[at[a] : at[b - 1] + 1]
        step = int(step_of[rows[0]])
        out.append(
            Stretch(
                device=device,
                start_ns=int(split.start[a]),
                end_ns=int(work.end_ns[rows].max()),
                kernels=len(rows),
                waiting=int(b - a),
                wait_ns=int(length[a:b].sum()),
                idle_ns=int(idle[a:b].sum()),
                busy_ns=int((work.end_ns[rows] - work.start_ns[rows]).sum()),
                first_row=int(work.index[rows[0]]),
                last_row=int(work.index[rows[-1]]),
                step=step if step >= 0 else None,
                call_ns=_calls_ns(trace, call_of[rows]),
            )
        )
    return tuple(out), (split.start[chosen], split.end[chosen])


def _calls_ns(trace: Trace, calls: I64) -> int:
    """How long some calls took, each once."""
    calls = np.unique(calls[calls >= 0])
    return int(trace.slices.dur_ns[calls].sum())


def _inside(start: I64, end: I64, other_start: I64, other_end: I64) -> I64:
    """How much of each interval some disjoint intervals cover, ns."""
    sums: I64 = np.concatenate((np.zeros(1, np.int64), np.cumsum(other_end - other_start)))
    if not len(other_start):
        return np.zeros(len(start), np.int64)

    def before(at: I64) -> I64:
        i = np.searchsorted(other_start, at, "right")
        over: I64 = np.where(i > 0, np.maximum(other_end[np.maximum(i - 1, 0)] - at, 0), 0)
        out: I64 = sums[i] - over
        return out

    return before(end) - before(start)


def in_graphs(trace: Trace, split: Split) -> NDArray[np.bool_]:
    """Per gap of a split, whether it lies between two works of one call, that is inside a graph launch."""
    call_of = links(trace).call_of
    if not len(call_of):
        return np.zeros(len(split.start), np.bool_)
    found: NDArray[np.bool_] = (
        (split.before >= 0) & (split.call >= 0) & (call_of[np.maximum(split.before, 0)] == split.call)
    )
    return found
