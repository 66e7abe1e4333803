"""The Memory panel's figures of one device: totals, categories, theory, pools, holes, failed requests and growth."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.memory.churn import churn
from viewer.analyses.memory.figures import (
    HOW,
    MemoryFigures,
    device_blocks,
)
from viewer.analyses.memory.growth import capacity, growth
from viewer.analyses.memory.layout import HOW as LAYOUT_HOW
from viewer.analyses.memory.layout import FailedRequest, failed_requests, layout_after, outside, unusable
from viewer.analyses.memory.parts import bytes_by_category, categories_at_peak
from viewer.analyses.memory.places import instant
from viewer.analyses.memory.ranges import is_expandable
from viewer.analyses.memory.theory import compare
from viewer.base.frames import Figure, Section
from viewer.base.ids import ABSENT
from viewer.base.units import format_bytes
from viewer.store.session import Input, Session
from viewer.views.figures import TableMaker, absent, pct, plural, shown, word

MOST_ROWS: Final = 20


def known_or_none(value: int) -> int | None:
    """A column's value; None for ABSENT."""
    return None if value == ABSENT else int(value)


def size_cell(size: int | None) -> tuple[str, int | None]:
    """A cell with bytes."""
    return ("–" if size is None else format_bytes(size)), size


def size_text(size: int) -> str:
    """Bytes for a figure, with all digits where the short form has fewer."""
    return format_bytes(size) if abs(size) < 1024 else f"{format_bytes(size)} ({size:,} B)"


def totals_section(session: Session, item: Input, found: MemoryFigures, event: int | None) -> Section:
    """What is held after an event, and the peaks."""
    e, d = item.trace.tables["allocator_events"], item.trace.tables["memory_devices"]
    figures = []

    def add(label: str, value: int | None, how: str, tone: str = "") -> None:
        if value is not None:
            figures.append(Figure(label, size_text(value), how, tone=tone))

    number = found.number
    if found.events:
        names = ("allocated", "live", "reserved")
        level = {
            n: known_or_none(getattr(d, f"{n}_before")[number] if event is None else getattr(e, n)[event])
            for n in names
        }
        add("allocated", level["allocated"], "A block counts until its free is completed.")
        if found.peak_live is not None and level["live"] is not None and level["allocated"] is not None:
            add("pending frees", level["allocated"] - level["live"], "Frees asked for that are not complete yet.")
        add("reserved", level["reserved"], "What the allocator holds of the device.")
        if level["reserved"] is not None and level["allocated"] is not None:
            cached = level["reserved"] - level["allocated"]
            if cached >= 0:
                add("cached", cached, "Reserved less allocated: mostly reused at once.")
            else:
                figures.append(absent("cached", "not known: blocks lie in segments that the source does not tell of"))
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


def categories_section(session: Session, item: Input, found: MemoryFigures, event: int | None) -> Section:
    """Bytes by category after an event."""
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
        return Figure(label, size_text(value), how)

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


SECTIONS: Final = (_theory, _pools, _fragmentation, _failed, _growth)
"""What else is told of a device, where it can be."""
