"""Where the time of a rank, of all ranks, or of a range went: compute, exposed communication, exposed memory, idle."""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewer.analyses.attribution import Block, DeviceFigures, attribute, largest_blocks, largest_gaps
from viewer.analyses.gpu_work import gpu_work
from viewer.base.frames import BarFrame, Figure, PanelFrame, Section
from viewer.base.ids import Paint
from viewer.base.selection import GapRef, GroupRef, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_count
from viewer.store.session import Input, RankGroup, Session
from viewer.views.figures import (
    TableMaker,
    absent,
    device_name,
    dur,
    exact,
    num,
    part,
    pct,
    plural,
    shown,
    since_origin,
    word,
)
from viewer.views.figures import time_cell as at_cell

TOP = 10
_OVERLAP_HOW = (
    "U(communication ∩ compute): both ran at once, on any streams of the device. The share is of the communication, "
    "not of the span."
)
_EVERY_NAME = 1 << 30


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device of one input over its part of the range. ``window`` is raw ns of the input, None for the whole."""

    item: Input
    device: int
    label: str
    group: int
    window: tuple[int, int] | None
    figures: DeviceFigures


def attribution(
    session: Session, group: int | None = None, chosen: TimeRange | None = None, ranks: frozenset[int] = frozenset()
) -> PanelFrame:
    """The panel of one rank group (by id), of several (``ranks``) or of all, over a range or the whole traces.

    Chosen lanes mean the ranks that they are of: a ledger is one of a device, of which a lane is a part.
    """
    of_lanes = tuple(g for g in session.groups if g.id in ranks)
    one = next((g for g in session.groups if g.id == group), None) if not of_lanes else None
    several = of_lanes or session.groups
    if one is None and len(several) == 1:
        one = several[0]
    groups = (one,) if one is not None else several
    rows = [row for g in groups for row in _rows(session, g, chosen)]
    title = one.label if one is not None else plural(len(groups), "rank")
    if len(rows) == 1:
        title += f" · {device_name(rows[0].item, rows[0].device)}"
    subtitle = _scope(session, chosen) + (" · whole ranks of the chosen lanes" if of_lanes else "")
    if not rows:
        return PanelFrame(shown(title), subtitle, None, (Section("", note=_nothing(groups, session, chosen)),))
    sections: list[Section] = []
    if len(rows) == 1:
        row = rows[0]
        sections += _identity(row.figures, "Where the time went", chosen)
    else:
        total = _summed([r.figures for r in rows])
        sections += _identity(total, f"Sum over {plural(len(rows), 'device')}", chosen, devices=len(rows))
        sections.append(_per_device(rows, one is None))
    if len(groups) < len(session.groups):
        sections[0] = replace(sections[0], actions=(("All ranks", GroupRef(None)),))
    sections.append(_blocks(rows))
    sections.append(_gaps(session, rows))
    without = [g.label for g in groups if not any(r.item.index in g.inputs for r in rows)]
    if without:
        sections.append(Section("", note=f"No GPU work here: {', '.join(shown(w, 80) for w in without)}."))
    return PanelFrame(shown(title), subtitle, None, tuple(sections))


def _scope(session: Session, chosen: TimeRange | None) -> str:
    if chosen is None:
        return "whole trace: first start to last end of GPU work, per device"
    start, end = since_origin(session, chosen.start_ns), since_origin(session, chosen.end_ns)
    return f"{start} to {end} ({format_duration(chosen.length_ns)})"


def _nothing(groups: tuple[RankGroup, ...], session: Session, chosen: TimeRange | None) -> str:
    inputs = [session.inputs[i] for g in groups for i in g.inputs]
    if not inputs:
        return "No trace is open."
    if any(gpu_work(i.trace).devices for i in inputs) and chosen is not None:
        return "The range lies outside the trace: there is nothing to attribute."
    return (
        "There is no GPU work in this trace, so device figures do not exist (they are not zero): the profiler recorded "
        "the host only."
    )


def _rows(session: Session, group: RankGroup, chosen: TimeRange | None) -> list[DeviceRow]:
    out = []
    segments = len(group.inputs) > 1
    for index in group.inputs:
        item = session.inputs[index]
        devices = gpu_work(item.trace).devices
        cut = chosen
        if cut is not None and segments:
            extent = item.extent()
            cut = cut.clamp(extent) if extent is not None else None
            if cut is None or not cut.length_ns:
                continue
        window = None if cut is None else (item.clock.to_raw(cut.start_ns), item.clock.to_raw(cut.end_ns))
        for device in devices:
            figures = attribute(item.trace, device, window)
            if figures is None:
                continue
            label = group.label
            if segments:
                label += f", segment {item.segment + 1}"
            if len(devices) > 1:
                label += f", GPU {device}"
            out.append(DeviceRow(item, device, shown(label, 80), group.id, window, figures))
    return out


def _summed(all_figures: list[DeviceFigures]) -> DeviceFigures:
    names = DeviceFigures.__dataclass_fields__
    return DeviceFigures(**{n: sum(getattr(f, n) for f in all_figures) for n in names})


def _identity(f: DeviceFigures, title: str, chosen: TimeRange | None, devices: int = 1) -> list[Section]:
    summed = f" Summed over {devices} devices, each computed by itself." if devices > 1 else ""
    span_how = (
        "Length of the selected range" if chosen is not None else "Last end − first start of GPU work on the device"
    )
    parts: tuple[tuple[str, int, Paint | None, str], ...] = (
        (
            "compute",
            f.compute_ns,
            Paint.COMPUTE,
            "U(compute): the union of all compute; overlaps count once.",
        ),
        (
            "exposed comm",
            f.comm_exposed_ns,
            Paint.COMM,
            "U(communication) − the part during which compute ran as well. A copy does not hide communication.",
        ),
        (
            "exposed memory",
            f.memory_exposed_ns,
            Paint.MEMORY,
            "U(memory − compute − communication): copies and fills while neither compute nor communication ran.",
        ),
        ("idle", f.idle_ns, None, "Span − busy: nothing ran on any stream of the device."),
    )
    figures = [part(label, ns, f.span_ns, how + summed) for label, ns, _, how in parts]
    figures.append(
        Figure(
            "sum = span",
            exact(f.span_ns),
            f"{span_how}.{summed} compute + exposed communication + exposed memory + idle add up to it exactly; "
            "this is checked on every computation.",
        )
    )
    more = (
        part("busy", f.busy_ns, f.span_ns, "U(all GPU work)." + summed),
        Figure(
            "communication",
            exact(f.comm_ns),
            "U(communication): the union of all communication intervals, hidden or not." + summed,
        ),
        part("overlap", f.overlap_ns, f.comm_ns, _OVERLAP_HOW + summed, " of communication")
        if f.comm_ns
        else absent("overlap", "no communication"),
        Figure("memory", exact(f.memory_ns), "U(memory): copies and fills, hidden or not." + summed),
        Figure(
            "GPU events",
            format_count(f.gpu_events),
            "Kernels, copies and fills that touch the span; those across a border are counted whole, their time is cut."
            + summed,
        ),
    )
    bar = BarFrame(tuple((label, ns, paint) for label, ns, paint, _ in parts), f.span_ns)
    return [Section(title, tuple(figures), bar=bar if f.span_ns else None), Section("Overlap and busy time", more)]


def _per_device(rows: list[DeviceRow], ranks: bool) -> Section:
    table = TableMaker(
        (
            ("Rank" if ranks else "Device", "The rank; the GPU or segment where a rank has several."),
            ("Comp.", "U(compute) as a share of the span."),
            ("Comm", "Exposed communication: U(communication) − overlap with compute, as a share of the span."),
            ("Mem", "Exposed memory: U(memory − compute − communication), as a share of the span."),
            ("Idle", "Span − U(all GPU work), as a share of the span."),
            ("Hidden", "U(communication ∩ compute) as a share of communication."),
        )
    )
    for row in rows:
        f = row.figures
        table.add(
            (row.label, (row.item.rank if row.item.rank is not None else 1 << 40, row.item.index, row.device)),
            pct(f.compute_ns, f.span_ns),
            pct(f.comm_exposed_ns, f.span_ns),
            pct(f.memory_exposed_ns, f.span_ns),
            pct(f.idle_ns, f.span_ns),
            pct(f.overlap_ns, f.comm_ns),
            jump=GroupRef(row.group) if ranks else None,
        )
    return Section(
        "By rank" if ranks else "By device",
        table=table.frame(),
        note="Comm and Mem count what is exposed; Hidden is the share of communication that compute hides. "
        + ("A row selects its rank. " if ranks else "")
        + "Each row uses that rank's own clock; aligning clocks never changes a duration.",
    )


def _blocks(rows: list[DeviceRow]) -> Section:
    merged: dict[tuple[str, Paint], tuple[int, int, int, Input, Block]] = {}
    top = TOP if len(rows) == 1 else _EVERY_NAME
    for row in rows:
        for block in largest_blocks(row.item.trace, row.device, row.window, top):
            key = (block.name, block.paint)
            total, union, count, item, longest = merged.get(key, (0, 0, 0, row.item, block))
            if block.longest_end_ns - block.longest_start_ns > longest.longest_end_ns - longest.longest_start_ns:
                item, longest = row.item, block
            merged[key] = (total + block.sum_ns, union + block.union_ns, count + block.count, item, longest)
    span = sum(r.figures.span_ns for r in rows)
    table = TableMaker(
        (
            ("Name", "Kernels, copies and fills by name. A row leads to the longest run."),
            ("Total", "Sum of the durations of all runs, cut to the range. A sum: runs at the same time count twice."),
            ("Count", "Runs that touch the range."),
            ("Share", "U(runs) ÷ span: instants shared by several runs count once; names at the same time overlap."),
        )
    )
    ordered = sorted(merged.items(), key=lambda kv: (-kv[1][0], kv[0][0]))
    for (name, paint), (total, union, count, item, longest) in ordered[:TOP]:
        table.add(
            word(shown(name)),
            dur(total),
            num(count),
            pct(union, span),
            jump=SliceRef(item.index, longest.longest_row),
            paint=paint,
        )
    frame = table.frame()
    return Section("Largest blocks by name", table=frame, note="" if frame else "No GPU work touches the range.")


def _gaps(session: Session, rows: list[DeviceRow]) -> Section:
    found = [(g.length_ns, r, g) for r in rows for g in largest_gaps(r.item.trace, r.device, r.window, TOP)]
    found.sort(key=lambda entry: -entry[0])
    several = len(rows) > 1
    table = TableMaker(
        (
            *((("Rank", "Where the gap is."),) if several else ()),
            ("Ended before it" if not several else "Before it", "The GPU work that ended last before the gap."),
            ("Length", "Time during which nothing runs on any stream of the device, cut to the range."),
            ("Start", "Start of the gap since the first GPU start of the job."),
        )
    )
    for length, row, gap in found[:TOP]:
        trace, shift = row.item.trace, row.item.clock.to_session
        neighbour = gap.after_row if gap.after_row >= 0 else gap.before_row
        jump = None
        if neighbour >= 0:
            where = TimeRange(shift(gap.start_ns), shift(gap.end_ns))
            jump = GapRef(row.item.index, trace.lane_of(neighbour).id, where)
        before = word(shown(trace.name(gap.before_row)) if gap.before_row >= 0 else "(begin of GPU work)")
        rank = (word(row.label),) if several else ()
        table.add(*rank, before, dur(length), at_cell(session, shift(gap.start_ns)), jump=jump)
    frame = table.frame()
    return Section("Largest gaps", table=frame, note="" if frame else "The device is never idle here.")
