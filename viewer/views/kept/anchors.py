"""Slices as they are found again: by lane, name and raw start, however clocks and indexes changed since."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.base.frames import LaneGroup, LaneRow
from viewer.base.kept import SliceAnchor
from viewer.base.selection import SliceRef
from viewer.store.session import Session

_MOST_ALIKE = 1_000
"""Slices of one row that start at the same instant and are compared."""


def lane_of(session: Session, groups: Sequence[LaneGroup], ref: SliceRef) -> LaneRow | None:
    """The lane that shows a slice."""
    part = (ref.input, session.inputs[ref.input].trace.lane_of(ref.index).id)
    return next((lane for group in groups for lane in group.lanes if part in lane.parts), None)


def anchor_of(session: Session, groups: Sequence[LaneGroup], ref: SliceRef) -> SliceAnchor | None:
    """What a slice is found again by; None when no lane shows it."""
    lane = lane_of(session, groups, ref)
    if lane is None:
        return None
    trace = session.inputs[ref.input].trace
    s = trace.slices
    return SliceAnchor(lane.key, trace.name(ref.index), int(s.start_ns[ref.index]), int(s.dur_ns[ref.index]))


def find_anchor(session: Session, groups: Sequence[LaneGroup], anchor: SliceAnchor) -> SliceRef | None:
    """The slice of that lane, start and name (of several the one of that length); None when there is none."""
    lane = next((x for group in groups for x in group.lanes if x.key == anchor.lane), None)
    if lane is None:
        return None
    best: SliceRef | None = None
    for source, lane_id in lane.parts:
        trace = session.inputs[source].trace
        part = trace.lanes[lane_id]
        s = trace.slices
        for row in range(part.row_begin, part.row_end):
            begin, end = int(trace.rows.begin[row]), int(trace.rows.end[row])
            at = begin + int(np.searchsorted(s.start_ns[begin:end], anchor.start_ns, "left"))
            for index in range(at, min(end, at + _MOST_ALIKE)):
                if int(s.start_ns[index]) != anchor.start_ns:
                    break
                if trace.name(index) == anchor.name:
                    if int(s.dur_ns[index]) == anchor.dur_ns:
                        return SliceRef(source, index)
                    best = best or SliceRef(source, index)
    return best
