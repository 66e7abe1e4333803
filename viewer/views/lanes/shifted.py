"""Ranks that are moved in time for display only: what the lanes show then, and the way back to the job's own time.

A shift never reaches a figure: the session of the job stays as it is, and the lanes draw a copy with other clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewer.base.clock import Clock
from viewer.base.frames import LaneGroup
from viewer.base.kept import Note
from viewer.base.selection import GapRef, Selection, TimeRange
from viewer.store.session import Session

Shifts = Mapping[int, int]
"""Per rank group the ns that are added to its times; groups that are missing are not moved."""


def shifted_session(session: Session, shifts: Shifts) -> Session:
    """The session as the lanes show it."""
    if not any(shifts.values()):
        return session
    by = {i: shifts.get(g.id, 0) for g in session.groups for i in g.inputs}
    inputs = tuple(replace(item, clock=_later(item.clock, by.get(item.index, 0))) for item in session.inputs)
    return replace(session, inputs=inputs)


def _later(clock: Clock, by_ns: int) -> Clock:
    """A clock whose session times are so much later."""
    held = tuple((begin, offset - by_ns) for begin, offset in clock.held)
    return replace(clock, offset_ns=clock.offset_ns - by_ns, t0_ns=clock.t0_ns + by_ns, held=held)


def moved(span: TimeRange, by_ns: int) -> TimeRange:
    """A range so much later."""
    return TimeRange(span.start_ns + by_ns, span.end_ns + by_ns)


def gap_moved(gap: GapRef, session: Session, shifts: Shifts, sign: int) -> GapRef:
    """A gap in shown time (sign 1) or back in the job's time (sign -1)."""
    return replace(gap, range=moved(gap.range, sign * shifts.get(session.group_of(gap.input).id, 0)))


def shown_selection(selection: Selection, session: Session, shifts: Shifts) -> Selection:
    """The selection in shown time. A range belongs to the selected rank."""
    if not shifts:
        return selection
    gap, span = selection.gap, selection.range
    if gap is not None:
        gap = gap_moved(gap, session, shifts, 1)
    if span is not None and selection.group is not None:
        span = moved(span, shifts.get(selection.group, 0))
    return replace(selection, gap=gap, range=span)


def shown_notes(notes: Iterable[Note], groups: Iterable[LaneGroup], shifts: Shifts) -> tuple[Note, ...]:
    """Notes in shown time: they go with their lane."""
    if not shifts:
        return tuple(notes)
    by = {lane.key: shifts.get(group.id, 0) for group in groups for lane in group.lanes}
    return tuple(replace(n, time_ns=n.time_ns + by.get(n.lane, 0)) for n in notes)
