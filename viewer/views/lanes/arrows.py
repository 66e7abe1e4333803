"""Arrows from launch calls to the GPU work that they started, and those of the trace (forward to backward)."""

from __future__ import annotations

from collections.abc import Mapping

from viewer.analyses.flows import flows
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import call_of_gpu, launched_under
from viewer.base.frames import Arrow, PlacedRow
from viewer.base.selection import Selection
from viewer.store.session import Session

Rows = Mapping[tuple[int, int], PlacedRow]
"""(input, lane id) -> where the lane is placed."""


def find_arrows(session: Session, rows: Rows, selection: Selection, most: int) -> list[Arrow]:
    """Arrows of the selected slice: its call for GPU work, else the work launched by it or by calls inside it.

    The trace's own arrows from and to the slice follow.
    """
    ref = selection.slice
    if ref is None or ref.input >= len(session.inputs):
        return []
    trace = session.inputs[ref.input].trace
    if gpu_work(trace).position(ref.index) >= 0:
        kernels = [ref.index]
    else:
        kernels = [int(k) for k in launched_under(trace, ref.index)[:most]]
    pairs = [(call, k) for k in kernels if (call := call_of_gpu(trace, k)) >= 0]
    own = flows(trace)
    pairs += [(ref.index, int(row)) for row in own.leaving(ref.index)[:most]]
    pairs += [(int(row), ref.index) for row in own.arriving(ref.index)[:most]]
    pairs = list(dict.fromkeys(pairs))
    found = (_arrow(session, rows, ref.input, call, kernel) for call, kernel in pairs)
    return [arrow for arrow in found if arrow is not None]


def _arrow(session: Session, rows: Rows, source: int, call: int, kernel: int) -> Arrow | None:
    item = session.inputs[source]
    trace = item.trace
    ends = []
    for index in (call, kernel):
        row = trace.row_of(index)
        placed = rows.get((source, int(trace.rows.lane[row])))
        if placed is None or placed.lane is None:
            return None  # its group is collapsed
        start = item.clock.to_session(int(trace.slices.start_ns[index]))
        ends.append((start, placed.lane.key, int(trace.rows.depth[row])))
    return Arrow(*ends[0], *ends[1])
