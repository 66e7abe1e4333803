"""One block of memory in words: what it is, who made it, and where that leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.links import launched_under
from viewer.analyses.memory.categories import block_categories
from viewer.analyses.memory.edges import block_keys, key_text
from viewer.analyses.memory.figures import device_blocks
from viewer.analyses.memory.makers import maker_slices, stack_frames
from viewer.base.allocator import BEFORE, CATEGORY_NAMES, NEVER, BlockEnd
from viewer.base.frames import Figure, Section
from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import format_bytes
from viewer.store.session import Input, Session
from viewer.store.trace import Trace
from viewer.views.figures import TableMaker, num, plural, since_origin, word
from viewer.views.figures import shown as shown_name
from viewer.views.memory.sections import size_text

MOST_FRAMES: Final = 200
_LEVELS: Final = 512


@dataclass(frozen=True, slots=True)
class Maker:
    """What made a block: an operator on the timeline, its first kernel, and how sure that is."""

    operator: SliceRef | None
    kernel: SliceRef | None
    kernels: int
    how: str


def lifetime(item: Input, block: int) -> str:
    """How long a block was held, in words."""
    trace = item.trace
    b = trace.tables["blocks"]
    timed = bool(trace.tables["memory_devices"].timed[int(b.device[block])])
    start, end = int(b.start_ns[block]), int(b.end_ns[block])
    if end == NEVER:
        last = "its free was asked for, but is not complete" if b.end[block] == BlockEnd.PENDING else "held at the end"
        return f"from before the recording, {last}" if start == BEFORE else last
    if start == BEFORE:
        return "from before the recording"
    return format_duration(end - start) if timed else f"{end - start:,} events"


def age(item: Input, block: int, at: int) -> tuple[str, int | None]:
    """(text, key) of how long a block had been there at an instant (raw ns of the file, or event)."""
    trace = item.trace
    b = trace.tables["blocks"]
    start = int(b.start_ns[block])
    if start == BEFORE:
        return "before the recording", None
    timed = bool(trace.tables["memory_devices"].timed[int(b.device[block])])
    passed = max(at - start, 0)
    return (format_duration(passed) if timed else f"{passed:,} events"), passed


def maker_text(trace: Trace, block: int) -> str:
    """Who made a block: the program's own innermost frame, else the slice that was open."""
    device = int(trace.tables["blocks"].device[block])
    rows = device_blocks(trace, device)
    return shown_name(key_text(trace, int(block_keys(trace, device)[block - rows.start])), 300)


def pool_text(trace: Trace, block: int) -> str:
    """The pool of a block."""
    pool = int(trace.tables["blocks"].pool[block])
    return shown_name(trace.text(pool), 60) if pool >= 0 else "–"


def tell_block(session: Session, item: Input, block: int) -> str:
    """A block in a few lines, for a tooltip. Plain text."""
    trace = item.trace
    b = trace.tables["blocks"]
    found = block_categories(session, item)
    category = CATEGORY_NAMES[int(found.category[block])]
    lines = [f"{format_bytes(int(b.size[block]))} · {category}", maker_text(trace, block), lifetime(item, block)]
    if b.address[block] != ABSENT:
        lines.append(f"at 0x{int(b.address[block]) & (2**64 - 1):x}")
    return "\n".join(lines)


def maker_of(session: Session, item: Input, block: int) -> Maker:
    """The operator that made a block and its kernels."""
    trace = item.trace
    b = trace.tables["blocks"]
    event = int(b.made_event[block])
    if event < 0:
        return Maker(None, None, 0, "it was made before the recording")
    made = int(maker_slices(trace)[event])
    if made >= 0:
        row = _operator(trace, made)
        how = "the operator" if trace.slices.paint[row] == Paint.OPERATOR else "the slice"
        return _maker(item.index, trace, row, f"{how} around the allocation on its thread")
    if not item.clock.known or not trace.tables["memory_devices"].timed[int(b.device[block])]:
        return Maker(None, None, 0, "the source has no times on the clock of a trace")
    at = item.clock.to_session(int(b.start_ns[block]))
    found = []
    for index in session.group_of(item.index).inputs:
        other = session.inputs[index]
        if index == item.index or not other.clock.known:
            continue
        for lane in other.trace.lanes:
            if lane.kind == LaneKind.THREAD:
                row = _open_at(other.trace, lane.row_begin, lane.row_end, other.clock.to_raw(at))
                row = _operator(other.trace, row) if row >= 0 else -1
                if row >= 0 and other.trace.slices.paint[row] == Paint.OPERATOR:
                    found.append((index, row))
    if len(found) != 1:
        why = "no thread" if not found else f"{len(found)} threads"
        return Maker(None, None, 0, f"{why} of the rank's trace ran an operator at that instant")
    index, row = found[0]
    how = "the only operator that a thread of the rank's trace ran at that instant"
    return _maker(index, session.inputs[index].trace, row, how)


def _maker(index: int, trace: Trace, row: int, how: str) -> Maker:
    # What only makes memory (aten::empty) launches nothing: the kernels are those of the operator that it is part of.
    around, work = row, launched_under(trace, row)
    for _ in range(_LEVELS):
        around = int(trace.slices.parent[around])
        if len(work) or around < 0 or trace.slices.paint[around] != Paint.OPERATOR:
            break
        work = launched_under(trace, around)
        if len(work):
            how += f"; its kernels are those of {shown_name(trace.name(around), 100)} around it"
    if not len(work):
        return Maker(SliceRef(index, row), None, 0, how)
    first = int(work[np.argmin(trace.slices.start_ns[work])])
    return Maker(SliceRef(index, row), SliceRef(index, first), len(work), how)


def _operator(trace: Trace, row: int) -> int:
    """The operator at or around a slice, else the slice."""
    current = row
    for _ in range(_LEVELS):
        if current < 0:
            return row
        if trace.slices.paint[current] == Paint.OPERATOR:
            return current
        current = int(trace.slices.parent[current])
    return row


def _open_at(trace: Trace, first: int, last: int, raw: int) -> int:
    """The deepest slice of rows [first, last) that is open at an instant; -1 without one."""
    s, deepest = trace.slices, -1
    for row in range(first, last):
        begin, end = int(trace.rows.begin[row]), int(trace.rows.end[row])
        at = begin + int(np.searchsorted(s.start_ns[begin:end], raw, "right")) - 1
        if at < begin or int(s.start_ns[at] + s.dur_ns[at]) < raw:
            break
        deepest = at
    return deepest


def block_section(session: Session, item: Input, block: int) -> Section:
    """All about one block, with its stack and where it leads."""
    trace = item.trace
    b = trace.tables["blocks"]
    found = block_categories(session, item)
    rule, why = found.why(block)
    size, requested = int(b.size[block]), int(b.requested[block])
    figures = [
        Figure("size", size_text(size), "What it occupies where the end tells it, else its event."),
    ]
    if requested not in {ABSENT, size}:
        figures.append(Figure("asked for", size_text(requested), "The request itself."))
    figures += [
        Figure("category", CATEGORY_NAMES[int(found.category[block])], f"Rule {rule}: {why}."),
        Figure("rule", rule, why),
        Figure("made by", maker_text(trace, block), "The innermost frame of the program's own code, else a slice."),
        Figure("held for", lifetime(item, block), "From its making until its free was complete."),
    ]
    device = int(b.device[block])
    if trace.tables["memory_devices"].timed[device] and b.start_ns[block] != BEFORE:
        at = item.clock.to_session(int(b.start_ns[block]))
        figures.append(Figure("made at", since_origin(session, at), "Since the origin of the time axis."))
    if b.address[block] != ABSENT:
        figures.append(Figure("address", f"0x{int(b.address[block]) & (2**64 - 1):x}"))
    if b.pool[block] >= 0:
        figures.append(Figure("pool", pool_text(trace, block)))
    if b.stream[block] != ABSENT:
        figures.append(Figure("stream", str(int(b.stream[block]))))
    maker = maker_of(session, item, block)
    actions = []
    if maker.operator is not None:
        actions.append(("Go to Its Operator", maker.operator))
    if maker.kernel is not None:
        actions.append((f"Go to {plural(maker.kernels, 'Kernel')}", maker.kernel))
    table = TableMaker(
        (("Frame", "Innermost first."), ("Function", "As recorded."), ("File", "As recorded, with the line."))
    )
    frames = stack_frames(trace, int(b.stack[block]))
    for k, (name, file, line) in enumerate(frames[:MOST_FRAMES]):
        where = shown_name(file, 300) if file else "–"
        table.add(num(k), word(shown_name(name, 300)), word(f"{where}:{line}" if file else where))
    note = f"Operator: {maker.how}."
    if not frames:
        note += " No stack was recorded for it."
    elif len(frames) > MOST_FRAMES:
        note += f" The first {MOST_FRAMES} of {len(frames)} frames."
    return Section("Block", tuple(figures), table.frame(), note=note, actions=tuple(actions))
