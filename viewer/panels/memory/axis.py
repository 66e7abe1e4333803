"""Windows of the lanes as stretches of a memory map, and back: the lanes may show a rank later than it was."""

from __future__ import annotations

from viewer.base.memory_map import MapSpan
from viewer.base.selection import TimeRange
from viewer.panels.context import JobContext
from viewer.store.session import Session


def shift_of(context: JobContext, session: Session | None, index: int | None) -> int:
    """By how much the lanes show the rank of an input later than it was, ns; 0 without any."""
    if session is None or index is None:
        return 0
    return context.shifts.get(session.group_of(index).id, 0)


def span_in(window: TimeRange, shift: int, y: MapSpan) -> MapSpan:
    """What a map shows of a window of the lanes, as high as ``y``."""
    return MapSpan(window.start_ns - shift, window.end_ns - shift, y.y0, y.y1)


def window_of(span: MapSpan, shift: int) -> TimeRange:
    """The window of the lanes that a map shows; at least 1 ns."""
    return TimeRange(span.x0 + shift, max(span.x1, span.x0 + 1) + shift)


def window_around(window: TimeRange, time_ns: int) -> TimeRange | None:
    """A window as long as this one with an instant in its middle; None where the window has it in sight."""
    if window.contains(time_ns):
        return None
    start = time_ns - window.length_ns // 2
    return TimeRange(start, start + window.length_ns)
