"""Which lanes carry the operations of a communicator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.base.frames import LaneGroup
from viewer.base.ids import LaneKind
from viewer.store.session import Session
from viewer.store.trace import Trace
from viewer.views.lanes.looks import groups_of


def communicator_of(trace: Trace, index: int) -> str:
    """The communicator of a slice: its description, else its name; "" without one."""
    rows, names = groups_of(trace)
    at = np.flatnonzero(rows == index)
    return trace.text(int(names[at[0]])) if len(at) else ""


def lanes_of_communicator(session: Session, groups: Sequence[LaneGroup], name: str) -> tuple[str, ...]:
    """Keys of the lanes, on every rank, with operations of that communicator: streams where there are any."""
    found: dict[tuple[int, int], bool] = {}
    for item in session.inputs:
        trace = item.trace
        rows, names = groups_of(trace)
        wanted = {int(n) for n in np.unique(names) if trace.text(int(n)) == name}
        own = np.sort(rows[np.isin(names, list(wanted))])
        for lane in trace.lanes:
            if lane.row_end > lane.row_begin:
                a, b = int(trace.rows.begin[lane.row_begin]), int(trace.rows.end[lane.row_end - 1])
                if np.searchsorted(own, a) < np.searchsorted(own, b):
                    found[item.index, lane.id] = lane.kind is LaneKind.STREAM
    streams = {part for part, is_stream in found.items() if is_stream} or set(found)
    return tuple(lane.key for g in groups for lane in g.lanes if any(part in streams for part in lane.parts))
