"""Arithmetic of the visible window: zoom, pan, fit. Whole ns throughout, so that nothing drifts at deep zoom."""

from __future__ import annotations

from typing import Final

from viewer.base.selection import TimeRange

SHORTEST_NS: Final = 1
"""The closest zoom."""
_AIR_NS: Final = 10
"""Free time beside what is brought into focus, at least."""
_MARGIN: Final = 50
"""A fitted window leaves 1/50 of its extent free on both sides."""


def fitted(extent: TimeRange) -> TimeRange:
    """The window that shows all of an extent with a little air."""
    length = max(extent.length_ns, 1)
    air = max(length // _MARGIN, _AIR_NS // 2)
    return TimeRange(extent.start_ns - air, extent.start_ns + length + air)


def focused(target: TimeRange, extent: TimeRange) -> TimeRange:
    """The window that shows a slice, gap or range with its surroundings."""
    air = max(target.length_ns // 4, _AIR_NS)
    return clamped(TimeRange(target.start_ns - air, target.end_ns + air), extent)


def clamped(window: TimeRange, extent: TimeRange) -> TimeRange:
    """The nearest window that is neither too short nor too long and shows some of the extent."""
    whole = fitted(extent)
    length = min(max(window.length_ns, SHORTEST_NS), whole.length_ns)
    centre = window.start_ns + window.length_ns // 2
    start = window.start_ns if length == window.length_ns else centre - length // 2
    return shifted_inside(TimeRange(start, start + length), whole)


def shifted_inside(window: TimeRange, whole: TimeRange) -> TimeRange:
    """The window moved by the least amount so that it lies in ``whole`` (which is at least as long)."""
    start = max(min(window.start_ns, whole.end_ns - window.length_ns), whole.start_ns)
    return TimeRange(start, start + window.length_ns)


def zoomed(window: TimeRange, factor: float, x: float, width: int, extent: TimeRange) -> TimeRange:
    """Zoom so that the instant at ``x`` of ``width`` px stays there; ``factor`` > 1 shows less time."""
    share = min(max(x / max(width, 1), 0.0), 1.0)
    longest = fitted(extent).length_ns
    length = min(max(round(window.length_ns / factor), SHORTEST_NS), longest)
    if factor > 1 and length >= window.length_ns:
        length = max(SHORTEST_NS, window.length_ns - 1)
    if factor < 1 and length <= window.length_ns:
        length = min(longest, window.length_ns + 1)
    start = window.start_ns + round((window.length_ns - length) * share)  # rounded once: half a ns off at most
    return shifted_inside(TimeRange(start, start + length), fitted(extent))


def panned(window: TimeRange, px: float, width: int, extent: TimeRange) -> TimeRange:
    """Move the view by so many px; positive shows later times. Moves at least 1 ns."""
    exact = px * window.length_ns / max(width, 1)
    return moved(window, round(exact) or (1 if exact > 0 else -1 if exact < 0 else 0), extent)


def moved(window: TimeRange, ns: int, extent: TimeRange) -> TimeRange:
    """The window so many ns later (negative: earlier), as far as the job reaches."""
    return shifted_inside(TimeRange(window.start_ns + ns, window.end_ns + ns), fitted(extent))


def centred(at_ns: int, length_ns: int, extent: TimeRange) -> TimeRange:
    """A window of that length around an instant, as far as the job reaches."""
    start = at_ns - length_ns // 2
    return clamped(TimeRange(start, start + length_ns), extent)


def revealed(target: TimeRange, window: TimeRange, extent: TimeRange) -> TimeRange:
    """A window of about the same zoom that shows the target; closer or wider where it would be a speck or cut off."""
    if target.length_ns > window.length_ns or target.length_ns < window.length_ns // 400:
        air = max(target.length_ns * 4, _AIR_NS)
        return clamped(TimeRange(target.start_ns - air, target.end_ns + air), extent)
    if window.start_ns <= target.start_ns and target.end_ns <= window.end_ns:
        return window
    return centred(target.start_ns + target.length_ns // 2, window.length_ns, extent)


def both_shown(first: TimeRange, second: TimeRange, window: TimeRange, extent: TimeRange) -> TimeRange:
    """A window that shows two slices: the same where both are in sight, else moved, else wide enough for both."""
    span = TimeRange(min(first.start_ns, second.start_ns), max(first.end_ns, second.end_ns))
    if window.start_ns <= span.start_ns and span.end_ns <= window.end_ns:
        return revealed(second, window, extent)
    if span.length_ns <= window.length_ns * 9 // 10 and second.length_ns >= window.length_ns // 400:
        return centred(span.start_ns + span.length_ns // 2, window.length_ns, extent)
    air = max(span.length_ns // 8, _AIR_NS)
    return clamped(TimeRange(span.start_ns - air, span.end_ns + air), extent)
