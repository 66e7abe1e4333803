"""What of the host's time recording it cannot explain.

A profiler that records Python stacks or the shapes of operators spends time at every border of a slice that it writes:
a host that looks slow may only be slow while it is watched. How long a border takes is not in the file, but it is
bounded: so what a thread spent in one slice beyond that bound, between one border and the next, is its own.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.host_time import HOST_CAUSES, ThreadTime, thread_time
from viewer.analyses.idleness.parts import segments
from viewer.analyses.links import lanes_of_rows, links
from viewer.base.ids import Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

SWITCHES: Final = ("with_stack", "record_shapes")
"""What slows every call and operator; memory records are only written where memory is."""
BORDER_NS: Final = 10_000
"""No border of a slice takes longer to record, now and then apart: with stacks and shapes it is 1 to 5 us."""
PAUSE_NS: Final = 500_000
"""Nothing of the recording lasts as long, not even a new buffer: one piece of code that runs longer is slow itself."""
_CALL, _OPERATOR = HOST_CAUSES.index("runtime call"), HOST_CAUSES.index("operator")


def slowed_by(trace: Trace) -> tuple[str, ...]:
    """The switches that slow the host of a file: as it states, else as its Python frames show."""
    facts = trace.meta.facts
    on = [name for name in SWITCHES if facts.get(name) in (1, True)]
    if "with_stack" not in on and trace.memo("has_frames", lambda: _has_frames(trace)):
        on.insert(0, "with_stack")
    return tuple(on)


def _has_frames(trace: Trace) -> bool:
    """Whether the threads that launch work have Python frames."""
    s = trace.slices
    lanes = np.unique(lanes_of_rows(trace, links(trace).calls))
    rows = np.flatnonzero(s.paint == Paint.PYTHON)
    return bool(len(rows) and np.isin(lanes_of_rows(trace, rows), lanes).any())


def own_ns(trace: Trace, lanes: I64, start: I64, end: I64, *, pace: bool = False) -> I64:
    """Per interval of a thread how much of it recording cannot explain, ns.

    All of it where nothing slows the host; else what lies beyond :data:`BORDER_NS` from border to border, and calls of
    the runtime whole: neither stacks nor shapes are recorded inside one. That tells whether something was there at all.
    Whether the program's own pace is slow (``pace``) is told by less, as its pace is what recording changes: by calls,
    by time in which nothing was recorded, and by pieces of Python from :data:`PAUSE_NS` on; not by operators: their
    inputs are recorded inside them, lists of any length.

    Args:
        trace: the file.
        lanes: the launching thread of each interval.
        start: raw ns.
        end: raw ns, above ``start``.
        pace: as above.
    """
    if not len(start) or not slowed_by(trace):
        return end - start
    out = np.zeros(len(start), np.int64)
    for lane in np.unique(lanes):
        mine = np.flatnonzero(lanes == lane)
        time = thread_time(trace, int(lane))
        at, lo, hi, kind, _ = segments(time, start[mine], end[mine])
        length = hi - lo
        if pace:
            whole = (kind == _CALL) | (kind < 0) | ((_whole_ns(time, lo) >= PAUSE_NS) & (kind != _OPERATOR))
            ns = np.where(whole, length, 0)
        else:
            ns = np.where(kind == _CALL, length, np.maximum(length - BORDER_NS, 0))
        np.add.at(out, mine[at], ns)
    return out


def _whole_ns(time: ThreadTime, at: I64) -> I64:
    """How long the pieces of a thread are that some instants lie in, from border to border; 0 outside."""
    i = np.searchsorted(time.start, at, "right") - 1
    inside = (i >= 0) & (i + 1 < len(time.start))
    if not inside.any():
        return np.zeros(len(at), np.int64)
    length = np.diff(time.start)
    out: I64 = np.where(inside, length[np.clip(i, 0, len(length) - 1)], 0)
    return out
