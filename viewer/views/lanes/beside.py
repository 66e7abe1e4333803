"""The slice beside another on its lane, also where the lane goes on in another file of the rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analyses.neighbours import before_after
from viewer.base.selection import SliceRef
from viewer.store.session import Session


def beside(session: Session, parts: Sequence[tuple[int, int]], ref: SliceRef, direction: int) -> SliceRef | None:
    """The next (1) or the previous (-1) slice.

    Args:
        session: the job.
        parts: (input, lane) of each file that the lane is made of.
        ref: where one stands.
        direction: 1 or -1.

    Returns:
        Of the slice's own file and of the others, the one that starts nearest; of the others those on the same level,
        else on their deepest one above it. None at the ends.
    """
    item = session.inputs[ref.input]
    both = before_after(item.trace, ref.index)
    own = both.after if direction > 0 else both.before
    start = item.clock.to_session(int(item.trace.slices.start_ns[ref.index]))
    depth = int(item.trace.rows.depth[item.trace.row_of(ref.index)])
    found = []
    if own is not None:
        found.append((item.clock.to_session(own.start_ns), SliceRef(ref.input, own.row)))
    for source, lane_id in parts:
        if source == ref.input:
            continue
        other = session.inputs[source]
        lane = other.trace.lanes[lane_id]
        if lane.row_end <= lane.row_begin:
            continue
        row = min(lane.row_begin + depth, lane.row_end - 1)
        begin, end = int(other.trace.rows.begin[row]), int(other.trace.rows.end[row])
        starts = other.trace.slices.start_ns[begin:end]
        here = other.clock.to_raw(start)
        after = np.searchsorted(starts, here, "right") if direction > 0 else np.searchsorted(starts, here, "left") - 1
        at = begin + int(after)
        if begin <= at < end:
            found.append((other.clock.to_session(int(other.trace.slices.start_ns[at])), SliceRef(source, at)))
    if not found:
        return None
    return (min if direction > 0 else max)(found, key=lambda pair: pair[0])[1]
