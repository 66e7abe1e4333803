"""Threads that hardly do anything: which they are, and the row that stands for them while they are folded away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from viewer.base.frames import LaneGroup, LaneRow
from viewer.base.ids import LaneKind, Paint
from viewer.store.session import Session
from viewer.store.trace import Trace

RARE_SHARE: Final = 0.005
"""A thread with fewer of the rank's slices on threads is rare."""
FEWEST: Final = 2
"""Of fewer rare threads none is folded: the row that stands for them would be as tall."""
_NAMED: Final = 20
_LAUNCHES: Final = ("launch", "memcpy", "memset")


def rare_threads(session: Session, lanes: Iterable[LaneRow]) -> frozenset[str]:
    """Keys of a rank's threads with fewer than RARE_SHARE of its slices on threads and without launches."""
    threads = [lane for lane in lanes if lane.kind is LaneKind.THREAD]
    counts = {lane.key: sum(_count(session, part) for part in lane.parts) for lane in threads}
    limit = RARE_SHARE * sum(counts.values())
    rare = [
        lane.key
        for lane in threads
        if counts[lane.key] < limit and not any(_launches(session.inputs[i].trace, n) for i, n in lane.parts)
    ]
    return frozenset(rare) if len(rare) >= FEWEST else frozenset()


def more_key(group: LaneGroup) -> str:
    """The key of the row that stands for the rare threads of a group."""
    return f"{group.id} more threads"


def more_row(group: LaneGroup, *, unfolded: bool) -> LaneRow:
    """That row. It holds no slice."""
    count = len(group.rare)
    names = [lane.label for lane in group.lanes if lane.key in group.rare]
    detail = "Each holds fewer than 0.5 % of the rank's slices on threads, and no launch:\n" + "\n".join(names[:_NAMED])
    if count > _NAMED:
        detail += f"\nand {count - _NAMED} others"
    label = f"{count} rarely used threads" if unfolded else f"{count} more threads"
    return LaneRow(more_key(group), label, detail, LaneKind.OTHER, 1, ())


def _span(trace: Trace, lane_id: int) -> tuple[int, int]:
    """The slices of a lane: they lie together."""
    lane = trace.lanes[lane_id]
    if lane.row_end == lane.row_begin:
        return 0, 0
    return int(trace.rows.begin[lane.row_begin]), int(trace.rows.end[lane.row_end - 1])


def _count(session: Session, part: tuple[int, int]) -> int:
    a, b = _span(session.inputs[part[0]].trace, part[1])
    return b - a


def _launches(trace: Trace, lane_id: int) -> bool:
    """Whether a lane of few slices launches GPU work, told by the names of its calls."""

    def look() -> bool:
        a, b = _span(trace, lane_id)
        calls = np.unique(trace.slices.name[a:b][trace.slices.paint[a:b] == Paint.RUNTIME])
        names = (trace.text(int(c)).lower() for c in calls)
        return any(word in name for name in names for word in _LAUNCHES)

    return trace.memo(("lane launches", lane_id), look)
