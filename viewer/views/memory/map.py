"""Maps of the memory of a device: blocks by size or by address over time, and segments with their holes at an instant.

A map is an image of block numbers that compiled loops fill; what lies under a point is read from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import block_categories, held_rows
from viewer.analyses.memory.figures import device_blocks, device_events
from viewer.analyses.memory.layout import layout_after
from viewer.base.allocator import BEFORE, CATEGORY_NAMES, NEVER, Category
from viewer.base.ids import ABSENT
from viewer.base.memory_map import MapFrame, MapSpan
from viewer.base.selection import TimeRange
from viewer.base.theme import Theme
from viewer.base.units import format_bytes
from viewer.base.work import CancelToken
from viewer.jit.memory_raster import fill_blocks, fill_boxes, stack_blocks
from viewer.store.session import Input, Session
from viewer.store.trace import Trace
from viewer.views.lanes.counter_paint import columns
from viewer.views.lanes.palette import rgb
from viewer.views.memory.blocks import tell_block
from viewer.views.memory.lanes import ORDER
from viewer.views.memory.levels import memory_levels
from viewer.views.memory.paint import category_colors, packed, peak_steps
from viewer.views.timeline.ticks import ticks

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U32 = NDArray[np.uint32]

NOTHING, REST, HOLE = -1, -2, -16
"""Numbers in a map that are no blocks: background, bytes beyond the blocks, and from HOLE downward holes."""
_CATEGORY: Final = -3  # down to -10: bytes of a category where there are no blocks
_OUTLINED: Final = 30
"""Blocks of at least so many px have an edge."""
_EDGE: Final = 0.32
_MOST_BYTES: Final = float(2**62)


class MapKind(IntEnum):
    """What a map shows."""

    SIZES = 0
    ADDRESSES = 1
    SEGMENTS = 2


KIND_NAMES: Final = {
    MapKind.SIZES: "Blocks by size over time",
    MapKind.ADDRESSES: "Blocks by address over time",
    MapKind.SEGMENTS: "Segments and holes at the instant",
}


_EMPTY: Final = {
    MapKind.SIZES: "The source tells no events of blocks.",
    MapKind.ADDRESSES: "The source tells no addresses of blocks.",
    MapKind.SEGMENTS: "The source tells no segments: a memory snapshot does.",
}


@dataclass(frozen=True, eq=False)
class MemoryMap:
    """A map that was computed: ``numbers`` int32[height, width] says what lies under each pixel."""

    kind: MapKind
    item: Input
    device: int
    numbers: I32
    frame: MapFrame
    timed: bool
    holes: I64
    """Bytes of the holes by their number."""
    selected: int | None = None


def whole_span(session: Session, item: Input, device: int, kind: MapKind) -> MapSpan:
    """All there is to see of a device. Times are the session's."""
    levels = memory_levels(session, item, device)
    held = levels.drawn.get("allocated")
    x0, x1 = 0, 1
    if held is not None:
        x0, x1 = int(held.line.time[0]), int(held.line.time[-1])
    if item.trace.tables["memory_devices"].timed[device]:
        x0, x1 = item.clock.to_session(x0), item.clock.to_session(x1)
    margin = max((x1 - x0) // 100, 1)
    top = held.top * 1.04 if held is not None else 1.0
    if kind is MapKind.ADDRESSES:
        top = float(_compressed(item.trace, device)[2][-1])
    return MapSpan(x0, x1 + margin, 0.0, max(top, 1.0))


def build_map(
    session: Session,
    item: Input,
    device: int,
    kind: MapKind,
    span: MapSpan | None,
    size: tuple[int, int],
    theme: Theme,
    cancel: CancelToken,
    event: int | None = None,
) -> MemoryMap:
    """Draw a map.

    Args:
        session: the job.
        item: the file.
        device: row of memory_devices.
        kind: which map.
        span: what of it; None for all.
        size: width and height in device px, at least 1 each.
        theme: colours.
        cancel: stops it.
        event: the instant of SEGMENTS, a row of allocator_events; None for the state before the first event.
    """
    whole = whole_span(session, item, device, kind)
    seen = span or whole
    wide, tall = max(size[0], 1), max(size[1], 1)
    cancel.check()
    numbers = np.full((tall, wide), NOTHING, np.int32)
    holes = np.zeros(0, np.int64)
    moves, y_ticks = True, byte_ticks(seen)
    if kind is MapKind.SIZES:
        _sizes(session, item, device, seen, numbers)
    elif kind is MapKind.ADDRESSES:
        _addresses(item, device, seen, numbers)
    else:
        holes, y_ticks, seen = _segments(item.trace, device, event, numbers)
        whole, moves = seen, False
    cancel.check()
    timed = bool(item.trace.tables["memory_devices"].timed[device])
    x_ticks = (
        byte_ticks(MapSpan(0, 1, 0.0, float(seen.length)), most=8)
        if not moves
        else _x_ticks(session, seen, timed, wide)
    )
    unit = "ns" if timed else "events"
    told = f"{KIND_NAMES[kind]}: {seen.length:,} {unit} wide, {format_bytes(round(seen.height))} high"
    frame = MapFrame(
        np.zeros((0, 0), np.uint32), seen, whole, x_ticks, y_ticks, kind is not MapKind.SEGMENTS, moves, told,
        "" if (numbers != NOTHING).any() or span is not None else _EMPTY[kind],
    )  # fmt: skip
    return painted(session, MemoryMap(kind, item, device, numbers, frame, timed, holes), theme, None)


def painted(session: Session, found: MemoryMap, theme: Theme, selected: int | None) -> MemoryMap:
    """The same map in a theme's colours, with one block (row of blocks) told apart."""
    colors = category_colors(theme)
    by_number = np.array([colors[c] for c in Category], np.uint32)
    categories = block_categories(session, found.item)
    numbers = found.numbers
    image = np.full(numbers.shape, packed(rgb(theme["base"])), np.uint32)
    blocks = numbers >= 0
    image[blocks] = by_number[categories.category[numbers[blocks]]]
    image[numbers == REST] = colors[categories.rest]
    for c in Category:
        image[numbers == _CATEGORY - int(c)] = colors[c]
    image[numbers <= HOLE] = packed(rgb(theme["line"]))
    edges = np.zeros(numbers.shape, np.bool_)
    edges[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    edges[1:] |= numbers[1:] != numbers[:-1]
    rows = device_blocks(found.item.trace, found.device)
    area = np.bincount(numbers[blocks] - rows.start, minlength=max(rows.stop - rows.start, 1))
    outlined = blocks.copy()
    outlined[blocks] = area[numbers[blocks] - rows.start] >= _OUTLINED
    edges &= outlined
    image[edges] = _mixed(image[edges], packed(rgb(theme["base"])), _EDGE)
    if selected is not None:
        image[numbers == selected] = packed(rgb(theme["accent"]))
    return replace(found, frame=replace(found.frame, image=image), selected=selected)


def _mixed(image: U32, other: int, share: float) -> U32:
    out = np.full(image.shape, 0xFF000000, np.uint32)
    for shift in (0, 8, 16):
        one = ((image >> shift) & 0xFF).astype(np.float64)
        two = float((other >> shift) & 0xFF)
        out |= (np.rint(one + (two - one) * share).astype(np.uint32) & 0xFF) << np.uint32(shift)
    return out


def _raw_span(item: Input, device: int, span: MapSpan) -> tuple[int, int]:
    """(start, length) on the file's own axis."""
    timed = item.trace.tables["memory_devices"].timed[device]
    return (item.clock.to_raw(span.x0) if timed else span.x0), span.length


def _sizes(session: Session, item: Input, device: int, span: MapSpan, numbers: I32) -> None:
    trace, (tall, wide) = item.trace, numbers.shape
    levels = memory_levels(session, item, device)
    if "allocated" not in levels.drawn:
        return
    start, most, at = peak_steps(levels, columns(*_raw_span(item, device, span), wide))
    if not len(at):
        return
    scale = tall / span.height
    blocks, rows = device_blocks(trace, device), device_events(trace, device)
    if blocks.start == blocks.stop:
        if levels.categories is None:
            return
        sums = levels.held_at(at)
        below = np.zeros(len(at))
        place = (tall - 1 - np.arange(tall))[:, None]
        for c in ORDER:
            above = below + sums[c]
            hit = (place >= np.rint((below - span.y0) * scale)) & (place < np.rint((above - span.y0) * scale))
            numbers[:, start:][hit] = _CATEGORY - int(c)
            below = above
        return
    made, gone = _event_span(trace, device)
    events = rows.start + at
    out = np.full((tall, len(at)), NOTHING, np.int32)
    size = trace.tables["blocks"].size[blocks].astype(np.int64)
    stack_blocks(
        made, gone, size, events, most.astype(np.float64), float(span.y0), float(scale),
        np.zeros(len(made), np.int32), REST, out,
    )  # fmt: skip
    out[out >= 0] += blocks.start
    numbers[:, start:] = out


def _event_span(trace: Trace, device: int) -> tuple[I64, I64]:
    """(made, gone) int64[blocks of a device]: held after event e when made <= e < gone."""

    def build() -> tuple[I64, I64]:
        b, rows = trace.tables["blocks"], device_blocks(trace, device)
        made = np.where(b.start_ns[rows] == BEFORE, -2, b.made_event[rows]).astype(np.int64)
        gone = np.where(b.end_ns[rows] == NEVER, 2**62, b.gone_event[rows]).astype(np.int64)
        gone[b.end_ns[rows] == BEFORE] = -2
        return made, gone

    return trace.memo(("memory event spans", device), build)


def _compressed(trace: Trace, device: int) -> tuple[I64, I64, I64]:
    """Address space without what is never used: (starts, ends, offsets) of its stretches; offsets has one more."""

    def build() -> tuple[I64, I64, I64]:
        s, b, rows = trace.tables["segments"], trace.tables["blocks"], device_blocks(trace, device)
        own = s.device == device
        known = b.address[rows] != ABSENT
        start = np.concatenate([s.address[own], b.address[rows][known]]).astype(np.int64)
        end = start + np.concatenate([s.size[own], np.maximum(b.size[rows][known], 1)])
        if not len(start):
            return start, end, np.array([0, 1], np.int64)
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.concatenate([[True], start[1:] > reach[:-1]])
        begins = start[first]
        ends = reach[np.append(np.flatnonzero(first)[1:] - 1, len(reach) - 1)]
        return begins, ends, np.concatenate([[0], np.cumsum(ends - begins)])

    return trace.memo(("memory address space", device), build)


def _places(trace: Trace, device: int) -> I64:
    """int64[blocks of a device]: where each lies in the compressed address space; -1 for those that are not drawn."""

    def build() -> I64:
        b, rows = trace.tables["blocks"], device_blocks(trace, device)
        begins, _, offsets = _compressed(trace, device)
        address = b.address[rows]
        drawn = (address != ABSENT) & (b.end_ns[rows] != BEFORE)
        out = np.full(len(address), -1, np.int64)
        place = np.searchsorted(begins, address[drawn], "right") - 1
        out[drawn] = address[drawn] - begins[place] + offsets[place]
        return out

    return trace.memo(("memory places", device), build)


def _addresses(item: Input, device: int, span: MapSpan, numbers: I32) -> None:
    b, rows = item.trace.tables["blocks"], device_blocks(item.trace, device)
    t0, length = _raw_span(item, device, span)
    fill_blocks(
        b.start_ns[rows], b.end_ns[rows], _places(item.trace, device), b.size[rows], t0, length, float(span.y0),
        float(span.height), rows.start, numbers, np.zeros(numbers.shape, np.float32),
    )  # fmt: skip


def _segments(
    trace: Trace, device: int, event: int | None, numbers: I32
) -> tuple[I64, tuple[tuple[float, str], ...], MapSpan]:
    """Fill in a bar per segment, the largest on top; (bytes of holes, labels, what is seen)."""
    nothing = np.zeros(0, np.int64), (), MapSpan(0, 1, 0.0, 1.0)
    layout = layout_after(trace, device, event)
    if layout is None or not len(layout.ranges):
        return nothing
    tall, wide = numbers.shape
    r, b = layout.ranges, trace.tables["blocks"]
    row_px = min(max(tall // len(r), 4), 22)
    order = np.argsort(-r.size, kind="stable")[: max(tall // row_px, 1)]
    largest = int(r.size[order[0]])
    line_of = np.argsort(r.address[order], kind="stable")  # by place among addresses: its line
    low_of, size_of = r.address[order][line_of], r.size[order][line_of]
    gap = 1 if row_px < 8 else 2

    def boxes(address: I64, size: I64, number: I32) -> None:
        at = np.searchsorted(low_of, address, "right") - 1
        fits = (at >= 0) & (address < (low_of + size_of)[np.maximum(at, 0)])
        address, size, number, at = address[fits], size[fits], number[fits], at[fits]
        low = (address - low_of[at]).astype(np.float64)
        x0 = np.clip(np.floor(low * (wide / largest)), 0, wide - 1).astype(np.int32)
        x1 = np.clip(np.ceil((low + size) * (wide / largest)), x0 + 1, wide).astype(np.int32)
        y0 = (line_of[at] * row_px).astype(np.int32)
        small_first = np.argsort(x1 - x0, kind="stable")
        fill_boxes(
            x0[small_first], x1[small_first], y0[small_first], (y0 + row_px - gap).astype(np.int32)[small_first],
            number[small_first], numbers,
        )  # fmt: skip

    boxes(layout.address, layout.size, (HOLE - np.arange(len(layout.size))).astype(np.int32))
    held = held_rows(trace, device, event)
    boxes(b.address[held], b.size[held].astype(np.int64), held.astype(np.int32))
    step = max(1, -(-16 // row_px))
    labels = tuple(
        (1.0 - (k + 0.5) * row_px / tall, format_bytes(int(r.size[order[k]]))) for k in range(0, len(order), step)
    )
    return layout.size, labels, MapSpan(0, largest, 0.0, 1.0)


def byte_ticks(span: MapSpan, most: int = 6) -> tuple[tuple[float, str], ...]:
    """Round numbers of bytes (powers of two) along the vertical axis."""
    step = 2.0 ** np.ceil(np.log2(max(span.height / most, 1.0)))
    first = np.ceil(span.y0 / step) * step
    count = min(int((span.y1 - first) / step) + 1, 4 * most)
    places = [first + k * step for k in range(max(count, 0))]
    return tuple(((p - span.y0) / span.height, format_bytes(round(p)) if p else "0") for p in places if p < _MOST_BYTES)


def _x_ticks(session: Session, span: MapSpan, timed: bool, wide: int) -> tuple[tuple[float, str], ...]:
    if timed:
        window = TimeRange(span.x0, span.x0 + span.length)
        found = ticks(window, session.origin_ns(), float(wide)).ticks
        return tuple((t.x / wide, t.label) for t in found if t.label)
    step = max(10 ** int(np.floor(np.log10(max(span.length, 1)))), 1)
    if span.length < 3 * step:
        step = max(step // 5, 1)
    first = -(-span.x0 // step) * step
    return tuple(((x - span.x0) / span.length, f"#{x:,}") for x in range(first, span.x0 + span.length, step)[:20])


def present(session: Session, found: MemoryMap) -> frozenset[Category]:
    """The categories that occur in a map."""
    numbers = np.unique(found.numbers)
    categories = block_categories(session, found.item)
    seen = {Category(int(c)) for c in np.unique(categories.category[numbers[numbers >= 0]])}
    seen |= {c for c in Category if _CATEGORY - int(c) in numbers}
    if REST in numbers:
        seen.add(categories.rest)
    return frozenset(seen)


def number_at(found: MemoryMap, x: float, y: float) -> int:
    """What lies at a share of the map's width and of its height from the top."""
    tall, wide = found.numbers.shape
    if not (0 <= x < 1 and 0 <= y < 1):
        return NOTHING
    return int(found.numbers[int(y * tall), int(x * wide)])


def tell(session: Session, found: MemoryMap, x: float, y: float) -> str:
    """What lies there in a few lines, "" for nothing. Plain text."""
    number = number_at(found, x, y)
    if number >= 0:
        return tell_block(session, found.item, number)
    if number == REST:
        rest = CATEGORY_NAMES[block_categories(session, found.item).rest]
        return f"Made before the recording and in no event of it: only the source's total counts it ({rest})"
    if number <= HOLE:
        return f"Hole of {format_bytes(int(found.holes[HOLE - number]))}: free inside a segment"
    if number <= _CATEGORY:
        return f"{CATEGORY_NAMES[_CATEGORY - number]}: the source gives sums by category and no blocks"
    return ""


def event_at(found: MemoryMap, x: float) -> int | None:
    """The row of allocator_events that was the last one at a share of the map's width; None before the first."""
    trace, span = found.item.trace, found.frame.span
    e, rows = trace.tables["allocator_events"], device_events(trace, found.device)
    at = span.x0 + int(x * span.length)
    raw = found.item.clock.to_raw(at) if found.timed else at
    count = int(np.searchsorted(e.time_ns[rows], raw, "right"))
    return rows.start + count - 1 if count else None
