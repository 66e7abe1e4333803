"""Memory as lanes: which there are, their axis and the values at an instant."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.memory.figures import device_name, source_of
from viewer.analyses.memory.growth import capacity
from viewer.analyses.memory.settle import SLACK
from viewer.base.allocator import CATEGORY_NAMES, Category
from viewer.base.frames import LaneRow
from viewer.base.ids import LaneKind
from viewer.base.selection import TimeRange
from viewer.base.units import format_bytes
from viewer.store.session import Input, RankGroup, Session
from viewer.views.figures import shown
from viewer.views.memory.levels import MemoryLevels, axis_top, memory_levels, ready_levels

SECTION: Final = "memory"
ROW_PX: Final = 62
"""Height of a memory lane: its layers must be told apart."""
HUES: Final = {
    Category.WEIGHTS: 0,
    Category.OPTIMIZER: 2,
    Category.GRADIENTS: 7,
    Category.ACTIVATIONS: 4,
    Category.TEMPORARY: 3,
    Category.BUFFERS: 5,
    Category.INPUT: 8,
}
"""The hue of each category; what is not known is grey. Told apart by lightness where colours are not seen."""
ORDER: Final = (
    Category.WEIGHTS,
    Category.OPTIMIZER,
    Category.UNKNOWN,
    Category.INPUT,
    Category.BUFFERS,
    Category.GRADIENTS,
    Category.ACTIVATIONS,
    Category.TEMPORARY,
)
"""From below upward: what stays lies below what comes and goes."""
LINE_NAMES: Final = {"allocated": "allocated", "live": "allocated, less pending frees", "reserved": "reserved"}
READING: Final = "its memory is being read…"


def memory_lanes(session: Session, group: RankGroup, prefix: str) -> list[LaneRow]:
    """The lanes of a rank's memory: one per device and kind of source that has times on the rank's clock.

    The host's memory has one only where no accelerator has.
    """
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for index in group.inputs:
        item = session.inputs[index]
        source = source_of(item.trace)
        for device in range(len(item.trace.tables["memory_devices"])) if source is not None else ():
            if on_clock(session, item, device):
                found.setdefault((device_name(item.trace, device), source or ""), []).append((index, device))
    if any(name != "cpu" for name, _ in found):
        found = {key: parts for key, parts in found.items() if key[0] != "cpu"}
    names = [name for name, _ in found]
    out = []
    for (name, source), parts in found.items():
        label = f"memory {shown(name, 40)}"
        if names.count(name) > 1:
            label += f" · {source}"
        detail = (
            f"Memory of {shown(name, 40)} as the {source} tells it: allocated by category (a pixel shows its largest "
            "instant), reserved as a line above, the device's capacity dashed"
        )
        out.append(
            LaneRow(
                key=f"{prefix}/memory {source} {name}"[:200],
                label=label,
                detail=detail,
                kind=LaneKind.COUNTER,
                sub_rows=1,
                parts=(),
                section=SECTION,
                memory=tuple(parts),
            )
        )
    return out


def on_clock(session: Session, item: Input, device: int) -> bool:
    """Whether a device's events have times that can lie beside the other lanes of its rank."""
    d = item.trace.tables["memory_devices"]
    if not d.timed[device]:
        return False
    levels = item.trace.tables["category_levels"]
    if d.event_end[device] <= d.event_begin[device] and not (levels.device == device).any():
        return False
    alone = len(session.group_of(item.index).inputs) == 1
    return item.clock.known or alone or not item.trace.meta.companion


def lane_levels(session: Session, lane: LaneRow, *, wait: bool) -> list[tuple[Input, int, MemoryLevels]]:
    """(input, device, levels) of the parts of a lane that are built; ``wait``: build them."""
    out = []
    for index, device in lane.memory:
        item = session.inputs[index]
        found = memory_levels(session, item, device) if wait else ready_levels(session, item, device)
        if found is not None:
            out.append((item, device, found))
    return out


def memory_axis(session: Session, lane: LaneRow) -> float:
    """Bytes at the upper border of a lane, over what is built of it."""
    return max((axis_top(session, i, d, found) for i, d, found in lane_levels(session, lane, wait=False)), default=1.0)


def lane_capacity(session: Session, lane: LaneRow) -> int | None:
    """Bytes of the lane's device; None when nobody says."""
    known = (capacity(session, session.inputs[index], device) for index, device in lane.memory)
    return next((c for c in known if c is not None), None)


def memory_values(session: Session, lane: LaneRow, time_ns: int) -> tuple[str, ...]:
    """``"name: value"`` of the lines and categories of a lane at an instant of the session."""
    parts = lane_levels(session, lane, wait=False)
    if not parts:
        return (READING,)
    # Of several segments, the last that has begun.
    begun = [p for p in parts if p[2].first_ns is not None and p[2].first_ns <= p[0].clock.to_raw(time_ns)]
    item, _, levels = (begun or parts)[-1]
    raw = item.clock.to_raw(time_ns)
    out = []
    for name, one in levels.lines.items():
        value = one.at(raw)
        out.append(f"{LINE_NAMES[name]}: {'not told before this time' if value is None else format_bytes(value)}")
    room = lane_capacity(session, lane)
    if room is not None:
        out.append(f"capacity: {format_bytes(room)}")
    if levels.categories is not None:
        series = levels.categories
        held, over = series.after(np.searchsorted(series.time, [raw], "right"))
        if over[0] > SLACK * held.sum():
            out.append("its blocks sum to more: frees are missing in the events")
        told = sorted(((int(v), CATEGORY_NAMES[c]) for c, v in enumerate(held[:, 0]) if v > 0), reverse=True)
        out += [f"  {name}: {format_bytes(size)}" for size, name in told]
    return tuple(out)


def memory_in(session: Session, lane: LaneRow, window: TimeRange) -> bool:
    """Whether a lane has a value somewhere in a window."""
    for index, device in lane.memory:
        item = session.inputs[index]
        d, e = item.trace.tables["memory_devices"], item.trace.tables["allocator_events"]
        begin, end = int(d.event_begin[device]), int(d.event_end[device])
        if begin == end:  # sums by category alone
            return True
        if int(e.time_ns[begin]) < item.clock.to_raw(window.end_ns):
            return True
    return False
