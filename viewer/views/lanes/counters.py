"""Counters as lanes: which there are, their axis, the values at a time, and what a filter leaves of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.counters import Track, series, tracks, value_at
from viewer.analyses.query import Query, Text
from viewer.analyses.query_match import occurs, within
from viewer.base.frames import LaneRow
from viewer.base.ids import LaneKind
from viewer.base.selection import TimeRange
from viewer.base.units import format_bytes
from viewer.store.session import RankGroup, Session
from viewer.views.memory.lanes import memory_axis, memory_in, memory_values
from viewer.views.text import one_line

SECTION: Final = "counters"
_KEY_LENGTH: Final = 200
_NEAR: Final = 0.05
"""Values that differ by less than this part of the largest have an axis of their own; others one that begins at 0."""


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """The values at the lower and upper border of a lane, low < high, and their texts."""

    low: float
    high: float
    low_text: str
    high_text: str


def counter_lanes(session: Session, group: RankGroup, prefix: str) -> list[LaneRow]:
    """The lanes of a rank's counters; the same counter of several segments is one lane.

    Those of launch queues are left out unless the session asks for them.
    """
    members: dict[tuple[str, str], list[tuple[int, Track]]] = {}
    for index in group.inputs:
        for track in tracks(session.inputs[index].trace):
            if track.queue_of is not None and not session.queue_lanes:
                continue
            members.setdefault((track.pid, track.name), []).append((index, track))
    repeats = Counter(name for _, name in members)
    out = []
    for (pid, name), parts in members.items():
        said = ", ".join(dict.fromkeys(one_line(s) for _, track in parts for s in track.series))
        more = max(track.more for _, track in parts)
        label = one_line(name) or "(no name)"
        if parts[0][1].queue_of is not None:
            out.append(_queue_lane(prefix, label, parts))
            continue
        out.append(
            LaneRow(
                key=f"{prefix}/counter {pid}:{name}"[:_KEY_LENGTH],
                label=label if repeats[name] == 1 else f"{label} · {one_line(pid)}",
                detail=f"Counter {label} of process {one_line(pid)}: {said}" + (f" and {more} others" if more else ""),
                kind=LaneKind.COUNTER,
                sub_rows=1,
                parts=(),
                section=SECTION,
                counters=tuple((index, track.number) for index, track in parts),
            )
        )
    return out


def _queue_lane(prefix: str, label: str, parts: list[tuple[int, Track]]) -> LaneRow:
    return LaneRow(
        key=f"{prefix}/{label}",
        label=label,
        detail="Work that waits to start, by stream: +1 when its launch call begins, −1 when it starts (computed)",
        kind=LaneKind.COUNTER,
        sub_rows=1,
        parts=(),
        section=SECTION,
        counters=tuple((index, track.number) for index, track in parts),
    )


def counter_parts(session: Session, lane: LaneRow) -> list[tuple[int, Track]]:
    """(input, counter) of the parts of a lane."""
    return [(source, tracks(session.inputs[source].trace)[number]) for source, number in lane.counters]


def series_names(session: Session, lane: LaneRow) -> list[str]:
    """The series of a lane's counter, in order."""
    names = []
    for source, track in counter_parts(session, lane):
        if track.queue_of is not None:  # which streams there are is known when they are counted
            names += [one.name for one in series(session.inputs[source].trace, track)]
        else:
            names += track.series
    return list(dict.fromkeys(names))


def value_axis(session: Session, lane: LaneRow) -> ValueAxis:
    """The axis of a counter over all its samples, so that it stays while the window moves."""
    if lane.memory:
        top = memory_axis(session, lane)
        return ValueAxis(0.0, top, "0", format_bytes(round(top)))
    low, high = np.inf, -np.inf
    for source, track in counter_parts(session, lane):
        for one in series(session.inputs[source].trace, track):
            low, high = min(low, float(one.low.min())), max(high, float(one.high.max()))
    if low > high:
        low = high = 0.0
    if high - low >= _NEAR * max(abs(high), abs(low)) or low == high:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        high = low + 1.0
    unit = unit_of(session, lane)
    return ValueAxis(low, high, value_text(low, unit), value_text(high, unit))


def unit_of(session: Session, lane: LaneRow) -> str:
    """The unit of a counter where its names tell one."""
    return next((track.unit for _, track in counter_parts(session, lane) if track.unit), "")


def value_text(value: float, unit: str) -> str:
    """A value to read: bytes with their prefix, whole numbers in groups of digits."""
    if unit == "B" and abs(value) < 2**62:
        return format_bytes(round(value))
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.6g}"


def values_at(session: Session, lane: LaneRow, time_ns: int) -> tuple[str, ...]:
    """``"series: value"`` of each series of a counter at an instant of the session."""
    if lane.memory:
        return memory_values(session, lane, time_ns)
    unit = unit_of(session, lane)
    found: dict[str, float] = {}
    for source, track in counter_parts(session, lane):
        item = session.inputs[source]
        for one in series(item.trace, track):
            value = value_at(one, item.clock.to_raw(time_ns))
            if value is not None:
                found[one.name] = value  # of several segments the last that has begun
    return tuple(
        f"{one_line(name)}: {value_text(found[name], unit)}"
        if name in found
        else f"{one_line(name)}: no sample before this time"
        for name in series_names(session, lane)
    )


def has_values(session: Session, lane: LaneRow, window: TimeRange) -> bool:
    """Whether a counter has a value somewhere in a window."""
    if lane.memory:
        return memory_in(session, lane, window)
    return any(
        int(one.time_ns[0]) < session.inputs[source].clock.to_raw(window.end_ns)
        for source, track in counter_parts(session, lane)
        for one in series(session.inputs[source].trace, track)
    )


def counter_matches(query: Query, session: Session, lane: LaneRow) -> bool:
    """Whether a filter leaves a counter: by rank, process, lane and names; it has no stream, class or duration."""
    if lane.memory:
        return any(_matches(query, session, source, Track(-1, "", lane.label, (), (), 0)) for source, _ in lane.memory)
    return any(_matches(query, session, source, track) for source, track in counter_parts(session, lane))


def _matches(query: Query, session: Session, source: int, track: Track) -> bool:
    item = session.inputs[source]
    words = {
        "name": " ".join((track.name, *track.series)),
        "lane": f"{item.label} {track.name}",
        "process": track.pid,
    }
    for term in query.terms:
        if term.field == "rank":
            held = any(within(item.rank, v) for v in term.values)
        elif term.field in words:
            text = words[term.field]
            number = int(text) if text.isdecimal() and len(text) < 19 else None
            held = any(occurs(v, text) if isinstance(v, Text) else within(number, v) for v in term.values)
        else:
            return False
        if held == term.negated:
            return False
    return True
