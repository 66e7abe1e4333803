"""A place in time as people type it: ``12.5ms``, ``1.2s``, ``12500ns``, ``+3ms``, ``12ms:30ms``."""

from __future__ import annotations

from viewer.base.errors import UsageError
from viewer.base.selection import TimeRange
from viewer.base.time import parse_duration, parse_window
from viewer.views.timeline.ticks import exact

HINT = "12.5ms · 1.2s · 12500ns · +3ms later · +-3ms earlier · 12ms:30ms"


def read_place(text: str, zero_ns: int, centre_ns: int, extent: TimeRange) -> int | TimeRange:
    """An instant of session time, or a range of it.

    Args:
        text: what was typed: a time since zero, ``+`` and a time from where one is, or START:END.
        zero_ns: session time of 0 on the axis.
        centre_ns: where one is: the middle of the window.
        extent: the job.

    Raises:
        UsageError: it is no time, or nothing of the job is there; the message is a sentence.
    """
    typed = "".join(text.split()).replace(",", "").replace("_", "")
    if ":" in typed:
        start, end = parse_window(typed)
        found = TimeRange(zero_ns + start, zero_ns + end)
        if found.end_ns <= extent.start_ns or found.start_ns >= extent.end_ns:
            raise UsageError(_outside(zero_ns, extent))
        return found
    relative = typed.startswith("+")
    at = (centre_ns if relative else zero_ns) + parse_duration(typed[1:] if relative else typed)
    if not extent.start_ns <= at <= extent.end_ns:
        raise UsageError(_outside(zero_ns, extent))
    return at


def _outside(zero_ns: int, extent: TimeRange) -> str:
    return (
        f"That is outside of the job, which lasts from {exact(extent.start_ns - zero_ns)} to "
        f"{exact(extent.end_ns - zero_ns)}."
    )
