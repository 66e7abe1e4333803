"""The Memory panel: who holds what at an instant, the device's figures, and the ranks beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.memory.categories import block_categories, held_rows
from viewer.analyses.memory.churn import churn
from viewer.analyses.memory.figures import (
    HOW,
    MemoryFigures,
    device_blocks,
    device_events,
    device_name,
    memory_figures,
    rank_peaks,
    source_of,
)
from viewer.analyses.memory.growth import capacity, growth
from viewer.analyses.memory.layout import HOW as LAYOUT_HOW
from viewer.analyses.memory.layout import FailedRequest, failed_requests, layout_after, outside, unusable
from viewer.analyses.memory.parts import bytes_by_category, categories_at_peak
from viewer.analyses.memory.places import instant
from viewer.analyses.memory.ranges import is_expandable
from viewer.analyses.memory.settle import SLACK
from viewer.analyses.memory.theory import compare
from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.frames import Figure, PanelFrame, Section, TableFrame
from viewer.base.heat import HeatFrame
from viewer.base.ids import ABSENT
from viewer.base.selection import GroupRef, Selection
from viewer.base.units import format_bytes
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session
from viewer.views.figures import TableMaker, absent, num, pct, plural, share, shown, since_origin, word
from viewer.views.memory_blocks import age, block_section, maker_text, pool_text
from viewer.views.memory_lanes import on_clock

MOST_BLOCKS: Final = 2_000
MOST_ROWS: Final = 20
NO_RECORDS: Final = (
    "No file of this job tells of memory. Record it with profile_memory=True (torch.profiler), or write a snapshot: "
    'torch.cuda.memory._record_memory_history(), then torch.cuda.memory._dump_snapshot("rank0.pickle"), and open it '
    "beside the trace."
)
GIB: Final = float(1 << 30)


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
    sections += [_totals(session, item, found, event), _categories(session, item, found, event)]
    cancel.check()
    for make in (_theory, _pools, _fragmentation, _failed, _growth):
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
        allocated = _known(d.allocated_before[found.number] if event is None else e.allocated[event])
        reserved = _known(d.reserved_before[found.number] if event is None else e.reserved[event])
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


def _known(value: int) -> int | None:
    return None if value == ABSENT else int(value)


def size_cell(size: int | None) -> tuple[str, int | None]:
    """A cell with bytes."""
    return ("–" if size is None else format_bytes(size)), size


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


def _totals(session: Session, item: Input, found: MemoryFigures, event: int | None) -> Section:
    e, d = item.trace.tables["allocator_events"], item.trace.tables["memory_devices"]
    figures = []

    def add(label: str, value: int | None, how: str, tone: str = "") -> None:
        if value is not None:
            figures.append(Figure(label, f"{format_bytes(value)} ({value:,} B)", how, tone=tone))

    number = found.number
    if found.events:
        names = ("allocated", "live", "reserved")
        level = {n: _known(getattr(d, f"{n}_before")[number] if event is None else getattr(e, n)[event]) for n in names}
        add("allocated", level["allocated"], "A block counts until its free is completed.")
        if found.peak_live is not None and level["live"] is not None and level["allocated"] is not None:
            add("pending frees", level["allocated"] - level["live"], "Frees asked for that are not complete yet.")
        add("reserved", level["reserved"], "What the allocator holds of the device.")
        if level["reserved"] is not None and level["allocated"] is not None:
            add("cached", level["reserved"] - level["allocated"], "Reserved less allocated: mostly reused at once.")
    peak = [("peak allocated", found.peak_allocated, HOW["peak_allocated"])]
    if found.peak_live is not None:
        peak.append(("peak until free is asked", found.peak_live, HOW["peak_live"]))
    peak += [
        ("peak reserved", found.peak_reserved, HOW["peak_reserved"]),
        ("unused reserve at that peak", found.unused_reserve_at_peak, HOW["unused_reserve_at_peak"]),
        ("allocated at the end", found.final_allocated, HOW["final_allocated"]),
        ("pending frees at the end", found.pending_free, HOW["pending_free"]),
        ("inactive at the end", found.inactive, HOW["inactive"]),
    ]
    for label, value, how in peak:
        add(label, value, how[:1].upper() + how[1:] + ".")
    room = capacity(session, item, number)
    if room is None:
        figures.append(absent("capacity", "not known: fill in the device's memory on the job card"))
    else:
        add("capacity", room, "Of the job card, else of the trace's device properties.")
    for label, count, key in (
        ("freed, never seen made", found.frees_of_unseen_blocks, "frees_of_unseen_blocks"),
        ("held, in no event", found.blocks_never_in_trace, "blocks_never_in_trace"),
    ):
        if count:
            figures.append(Figure(label, plural(count, "block"), HOW[key][:1].upper() + HOW[key][1:] + "."))
    if found.ghosts:
        how = "No event frees them, and they are not there at the end: their free was not recorded."
        figures.append(Figure("ghosts", plural(found.ghosts, "block"), how))
    return Section("Totals", tuple(figures))


def _categories(session: Session, item: Input, found: MemoryFigures, event: int | None) -> Section:
    blocks = device_blocks(item.trace, found.number)
    if blocks.start == blocks.stop:
        parts = categories_at_peak(session, item, found.number)
        note = "At the peak: the source gives sums by category."
    else:
        parts, note = bytes_by_category(session, item, found.number, event), "At the instant."
    if not parts:
        return Section("Categories", note="Not computable: the source gives neither blocks nor categories.")
    total = sum(v for v in parts.values() if v > 0)
    table = TableMaker(
        (("Category", "By the source, else by rule."), ("Bytes", "Of its blocks."), ("Share", "Of all."))
    )
    for name, value in sorted(parts.items(), key=lambda p: -p[1]):
        if value:
            table.add(word(name), size_cell(value), pct(value, total))
    return Section("Categories", table=table.frame(), note=note)


def _theory(session: Session, item: Input, found: MemoryFigures) -> Section | None:
    if found.device == "cpu":
        return None
    told = compare(session, item, found.number)
    if all(c.expected.low is None for c in told):
        needs = ", ".join(dict.fromkeys(c.expected.needs for c in told if c.expected.needs))
        return Section("Peak against theory", note=f"Not computable: the job card needs {needs}." if needs else "")
    table = TableMaker(
        (
            ("Category", "Of the peak."),
            ("Measured", "Blocks of the category at the peak."),
            ("Theory", "From the job card; a range where the card leaves it open."),
            ("Unexplained", "Measured beyond the range (negative: below it)."),
            ("How", "The formula with the card's figures, or the field that it needs."),
        )
    )
    for c in told:
        x = c.expected
        theory = "–"
        if x.low is not None and x.high is not None:
            theory = format_bytes(x.low) + (f" to {format_bytes(x.high)}" if x.high != x.low else "")
        unexplained = (
            size_cell(c.unexplained)
            if c.unexplained is None or c.unexplained >= 0
            else (f"−{format_bytes(-c.unexplained)}", c.unexplained)
        )
        table.add(
            word(x.category), size_cell(c.measured), (theory, x.low), unexplained,
            word(x.how or f"not computable: the job card needs {x.needs}"),
        )  # fmt: skip
    return Section("Peak against theory", table=table.frame())


def _pools(_: Session, __: Input, found: MemoryFigures) -> Section | None:
    if not found.pools:
        return None
    table = TableMaker(
        (
            ("Pool", "Private pools are those of CUDA graphs and of the program."),
            ("Reserved", "Its segments at the end."),
            ("Allocated", "Blocks in use at the end."),
            ("Pending", "Frees that are not complete."),
            ("Inactive", "Holes."),
        )
    )
    for name, p in sorted(found.pools.items(), key=lambda x: -x[1].reserved):
        sizes = (p.reserved, p.allocated, p.pending_free, p.inactive)
        table.add(word(shown(name, 60)), *(size_cell(v) for v in sizes))
    return Section("Pools at the end", table=table.frame())


def _fragmentation(_: Session, item: Input, found: MemoryFigures) -> Section | None:
    layout = layout_after(item.trace, found.number, None)
    if layout is None:
        return None
    lost = unusable(item.trace, found.number, layout)

    def told(label: str, value: int, how: str) -> Figure:
        return Figure(label, f"{format_bytes(value)} ({value:,} B)", how)

    return Section(
        "Fragmentation at the end",
        (
            told("free inside segments", layout.free, f"All holes: {LAYOUT_HOW}."),
            told(
                "of it could be given back",
                layout.free - layout.split,
                "Whole segments, and of expandable segments whole pages.",
            ),
            told("beside blocks in use", layout.split, "Can be used again, but not given back."),
            told("of no use", lost, "Holes beside blocks in use that are smaller than every request of their kind."),
            told("largest hole", layout.largest, "No larger request fits without new memory of the device."),
        ),
    )


def _failed(session: Session, item: Input, found: MemoryFigures) -> Section | None:
    failed = failed_requests(item.trace, found.number)
    if not failed:
        return None
    table = TableMaker(
        (
            ("Asked for", "The request that failed."),
            ("Free", "What the device said was free."),
            ("Cached", "Reserved less allocated at that moment."),
            ("Largest hole", "The largest that the request could have used."),
            ("Others held", "Capacity less reserved less free: context, NCCL, other processes."),
            ("What would have let it fit", "By the holes and the free memory at that moment."),
        )
    )
    room = capacity(session, item, found.number)
    for f in failed[:MOST_ROWS]:
        jump = instant(session, item, found.number, f.event)
        table.add(
            size_cell(f.requested), size_cell(f.free), size_cell(f.cached), size_cell(f.largest),
            size_cell(outside(f, room)), word(_remedy(f, is_expandable(item.trace, found.number))), jump=jump,
        )  # fmt: skip
    more = f"The first {MOST_ROWS} of {len(failed)}." if len(failed) > MOST_ROWS else ""
    return Section("Requests that failed", table=table.frame(), note=more)


def _remedy(f: FailedRequest, expandable: bool) -> str:
    if f.fragmented:
        joins = "" if expandable else " (expandable_segments:True joins them)"
        return f"its holes in one piece: fragmentation failed it{joins}"
    if f.missing is not None:
        return f"{format_bytes(f.missing)} less in use"
    if f.largest is None:
        return "not computable: the source tells no segments"
    return "holes of its kind in one piece, or free memory of the device"


def _growth(session: Session, item: Input, found: MemoryFigures) -> Section | None:
    grown, calls = growth(session, item, found.number), churn(session, item, found.number)
    if grown is None:
        return None
    edges = grown.edges
    how = (
        f"Median slope of what is held at the borders of {edges.count - edges.first} steps (of {edges.source}); the "
        f"first {edges.first} are set apart."
    )
    per = round(grown.bytes_per_step)
    sign = "−" if per < 0 else ""
    figures = [
        Figure("drift", f"{sign}{format_bytes(abs(per))} per step", how, tone="warning" if grown.growers else "")
    ]
    if grown.headroom is not None:
        figures.append(Figure("headroom", format_bytes(grown.headroom), "Capacity less the peak of the last steps."))
    if grown.steps_left is not None:
        figures.append(Figure("full after", f"{grown.steps_left:,} more steps", "Headroom over drift.", tone="warning"))
    if calls is not None and calls.edges.count > calls.edges.first:
        got, given = np.median(calls.got[calls.steady]), np.median(calls.given[calls.steady])
        how = "Median over steady steps of segments got from and given back to the device."
        figures.append(Figure("allocator calls", f"{got:g} got, {given:g} given back per step", how))
        figures.append(
            Figure("retries", f"{int(calls.retries.sum()):,}", "Requests made again after the cache was let go.")
        )
    table = TableMaker(
        (("Grows", "Who made it."), ("Per step", "Median slope."), ("Held", "At the end."), ("Category", "By rule."))
    )
    for g in grown.growers[:MOST_ROWS]:
        table.add(word(shown(g.text, 300)), size_cell(round(g.bytes_per_step)), size_cell(g.held), word(g.category))
    for g in grown.caches[:MOST_ROWS]:
        table.add(
            word(f"{shown(g.text, 300)} (a cache of keys and values: it grows with its sequences)"),
            size_cell(round(g.bytes_per_step)), size_cell(g.held), word(g.category),
        )  # fmt: skip
    note = "" if grown.growers or grown.caches else "Nothing grows from step to step."
    return Section("Growth from step to step", tuple(figures), table.frame(), note=note)


@dataclass(frozen=True, slots=True)
class RanksView:
    """The ranks beside each other: a table, a heat map of the same (None for a single rank), where rows lead."""

    sentence: str
    table: TableFrame | None
    heat: HeatFrame | None
    targets: tuple[Selection, ...]


def _signed(off: int, middle: int) -> str:
    text = share(abs(off), middle)
    return text if text == share(0, middle) else f"{'+' if off > 0 else '−'}{text}"


def ranks_view(session: Session) -> RanksView:
    """Peak and categories of every rank."""

    def build() -> RanksView:
        peaks = rank_peaks(session)
        if not peaks:
            return RanksView("No rank has a peak that is known.", None, None, ())
        parts = []
        for p in peaks:
            item = session.inputs[p.input]
            number = next(f.number for f in memory_figures(item.trace) if f.device == p.device)
            parts.append(categories_at_peak(session, item, number) or {})
        names = [n for n in CATEGORY_NAMES if any(x.get(n) for x in parts)]
        middle = int(np.median([p.peak_allocated for p in peaks]))
        table = TableMaker(
            (
                ("Rank", "A row leads to it."),
                ("Peak", HOW["peak_allocated"]),
                ("Against median", "Of the peaks of all ranks."),
                ("Reserved", HOW["peak_reserved"]),
                *((n.capitalize(), "At the rank's peak.") for n in names),
            )
        )
        targets, labels = [], []
        values = np.full((len(peaks), 1 + len(names)), np.nan)
        for k, (p, x) in enumerate(zip(peaks, parts, strict=True)):
            group = session.group_of(p.input).id
            label = session.inputs[p.input].label
            targets.append(Selection(group=group))
            labels.append(shown(label, 40))
            off = p.peak_allocated - middle
            table.add(
                num(p.rank) if p.rank is not None else word(shown(label, 60)),
                size_cell(p.peak_allocated),
                (_signed(off, middle), off) if middle else word("–"),
                size_cell(p.peak_reserved),
                *(size_cell(x.get(n)) for n in names),
                jump=GroupRef(group),
            )
            values[k, 0] = p.peak_allocated / GIB
            values[k, 1:] = [max(x[n], 0) / GIB if n in x else np.nan for n in names]
        levels = [p.peak_allocated for p in peaks]
        heat = None
        if len(peaks) > 1:
            top = float(np.nanmax(values))
            heat = HeatFrame(tuple(labels), ("peak", *names), values, "GiB", "memory", 0.0, top if top > 0 else 1.0)
        fullest = int(np.argmax(levels))
        sentence = (
            f"{labels[0]}: its peak is {format_bytes(levels[0])}."
            if len(peaks) == 1
            else (
                f"{plural(len(peaks), 'rank')}: peaks from {format_bytes(min(levels))} to {format_bytes(max(levels))} "
                f"({labels[fullest]})."
            )
        )
        return RanksView(sentence, table.frame(), heat, tuple(targets))

    return session.clocked_memo("memory ranks view", build)
