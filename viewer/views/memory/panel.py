"""The Memory panel: who holds what at an instant, the device's figures, and the ranks beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.memory.categories import block_categories, held_rows
from viewer.analyses.memory.figures import (
    MemoryFigures,
    device_events,
    device_name,
    memory_figures,
    source_of,
)
from viewer.analyses.memory.growth import capacity
from viewer.analyses.memory.settle import SLACK
from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.frames import PanelFrame, TableFrame
from viewer.base.units import format_bytes
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session
from viewer.views.figures import TableMaker, pct, plural, shown, since_origin, word
from viewer.views.memory.blocks import age, block_section, maker_text, pool_text
from viewer.views.memory.lanes import on_clock
from viewer.views.memory.sections import SECTIONS, categories_section, known_or_none, size_cell, totals_section

MOST_BLOCKS: Final = 2_000
NO_RECORDS: Final = (
    "No file of this job tells of memory. Record it with profile_memory=True (torch.profiler), or write a snapshot: "
    'torch.cuda.memory._record_memory_history(), then torch.cuda.memory._dump_snapshot("rank0.pickle"), and open it '
    "beside the trace."
)


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """One device of one source. ``apart``: its source has no times on the clock of the other lanes."""

    input: int
    device: int
    label: str
    apart: bool


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What the panel says of a device at an instant.

    ``event`` is a row of allocator_events (None: before the first one); ``rows`` are the blocks of ``blocks``.
    """

    choice: DeviceChoice
    event: int | None
    at_peak: bool
    sentence: str
    warning: bool
    blocks: TableFrame | None
    rows: tuple[int, ...]
    figures: PanelFrame


def choices(session: Session) -> tuple[DeviceChoice, ...]:
    """All devices that a source tells of: accelerators before the host, ranks in order."""
    out = []
    for group in session.groups:
        for index in group.inputs:
            item = session.inputs[index]
            source = source_of(item.trace)
            for device in range(len(item.trace.tables["memory_devices"])) if source is not None else ():
                apart = not on_clock(session, item, device)
                name = shown(device_name(item.trace, device), 40)
                label = f"{shown(item.label, 60)} · {name} · {source}" + (" (no clock)" if apart else "")
                out.append((name == "cpu", DeviceChoice(index, device, label, apart)))
    return tuple(choice for _, choice in sorted(out, key=lambda c: c[0]))


def peak_event(session: Session, choice: DeviceChoice) -> int | None:
    """The event after which most is allocated; None: before the first one, or not known."""
    return memory_figures(session.inputs[choice.input].trace)[choice.device].peak_event


def event_at_time(session: Session, choice: DeviceChoice, time_ns: int) -> int | None:
    """The last event of a device at an instant of the session; None before the first."""
    item = session.inputs[choice.input]
    e, rows = item.trace.tables["allocator_events"], device_events(item.trace, choice.device)
    count = int(np.searchsorted(e.time_ns[rows], item.clock.to_raw(time_ns), "right"))
    return rows.start + count - 1 if count else None


def memory_view(
    session: Session, choice: DeviceChoice, event: int | None, block: int | None, cancel: CancelToken
) -> MemoryView:
    """All that the panel says of a device after an event; ``block`` is the one that is selected."""
    item = session.inputs[choice.input]
    found = memory_figures(item.trace)[choice.device]
    cancel.check()
    at_peak = event == found.peak_event
    sentence, warning = _sentence(session, item, found, event, at_peak)
    blocks, rows = _blocks(session, item, choice.device, event)
    cancel.check()
    sections = []
    if block is not None:
        sections.append(block_section(session, item, block))
    sections += [totals_section(session, item, found, event), categories_section(session, item, found, event)]
    cancel.check()
    for make in SECTIONS:
        one = make(session, item, found)
        if one is not None:
            sections.append(one)
        cancel.check()
    figures = PanelFrame(choice.label, "", None, tuple(sections))
    return MemoryView(choice, event, at_peak, sentence, warning, blocks, rows, figures)


def _when(session: Session, item: Input, device: int, event: int | None) -> str:
    if event is None:
        return "Before the recording"
    rows = device_events(item.trace, device)
    if item.trace.tables["memory_devices"].timed[device]:
        at = item.clock.to_session(int(item.trace.tables["allocator_events"].time_ns[event]))
        return f"At {since_origin(session, at)}"
    return f"After event {event - rows.start:,}"


def _sentence(
    session: Session, item: Input, found: MemoryFigures, event: int | None, at_peak: bool
) -> tuple[str, bool]:
    e = item.trace.tables["allocator_events"]
    d = item.trace.tables["memory_devices"]
    if found.events:
        allocated = known_or_none(d.allocated_before[found.number] if event is None else e.allocated[event])
        reserved = known_or_none(d.reserved_before[found.number] if event is None else e.reserved[event])
    else:
        allocated, reserved = found.final_allocated, found.final_reserved
    parts = [_when(session, item, found.number, event) + (" (the peak)" if at_peak else "") + ":"]
    parts.append("allocated is not told" if allocated is None else f"{format_bytes(allocated)} allocated")
    if reserved is not None:
        more = allocated is not None and allocated > reserved  # segments that the source does not tell of
        told = f"in segments of which only {format_bytes(reserved)} are recorded" if more else ""
        parts.append(told or f"of {format_bytes(reserved)} reserved")
    room = capacity(session, item, found.number)
    if room is not None:
        parts.append(f"on a device of {format_bytes(room)}")
    text = " ".join(parts) + "."
    if not at_peak and found.peak_allocated is not None:
        text += f" Peak: {format_bytes(found.peak_allocated)}."
    rows = held_rows(item.trace, found.number, event)
    blocks = int(item.trace.tables["blocks"].size[rows].sum())
    if allocated is not None and blocks > allocated * (1 + SLACK):
        text += (
            f" Its blocks sum to {format_bytes(blocks)}, more than that: frees are missing in its events, so the "
            "list has blocks that are gone, and categories are estimates."
        )
        return text, True
    if found.ooms:
        text += f" {plural(found.ooms, 'request')} failed."
    return text, found.ooms > 0


def _blocks(session: Session, item: Input, device: int, event: int | None) -> tuple[TableFrame | None, tuple[int, ...]]:
    trace = item.trace
    b = trace.tables["blocks"]
    held = held_rows(trace, device, event)
    if not len(held):
        return None, ()
    size = b.size[held]
    total = int(size.sum())
    order = np.argsort(-size, kind="stable")[:MOST_BLOCKS]
    rows = held[order]
    categories = block_categories(session, item)
    now = int(trace.tables["allocator_events"].time_ns[event]) if event is not None else 0
    table = TableMaker(
        (
            ("Size", "What the block occupies where the end tells it, else what its event says."),
            ("Share", "Of the bytes of all blocks that are held at the instant."),
            ("Category", "By the source, else by the first rule of the table that holds; see Rule."),
            ("Made by", "The innermost frame of the program's own code, else the slice open on its thread."),
            ("Age", "From its making to the instant."),
            ("Pool", "Memory pool, as recorded."),
            ("Segment", "Size of the segment that holds it at the end of the recording."),
            ("Rule", "The rule that told its category."),
        )
    )
    segments = trace.tables["segments"]
    texts: dict[int, str] = {}
    for row in rows.tolist():
        key = int(b.stack[row])
        if key < 0 or key not in texts:
            texts[key] = maker_text(trace, row)
        segment = int(b.segment[row])
        table.add(
            size_cell(int(b.size[row])),
            pct(int(b.size[row]), total),
            word(CATEGORY_NAMES[int(categories.category[row])]),
            word(texts[key]),
            ("before the recording", None) if event is None else age(item, row, now),
            word(pool_text(trace, row)),
            size_cell(int(segments.size[segment]) if segment >= 0 else None),
            word(categories.why(row)[0]),
        )
    return table.frame(), tuple(rows.tolist())
