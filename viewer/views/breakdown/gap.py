"""A clicked gap on a lane: how long, what the device did meanwhile, and why the next work came so late."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps, device_span
from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.idle import GapCause, IdleSplit, gap_cause, host_activity, idle
from viewer.analyses.idleness.parts import LAUNCH
from viewer.analyses.idleness.sites import site_of
from viewer.analyses.links import call_of_gpu
from viewer.base.frames import BarFrame, Figure, PanelFrame, Section, TableFrame
from viewer.base.ids import LaneKind, Paint
from viewer.base.selection import GapRef, SliceRef
from viewer.jit.intervals import clip, total, union
from viewer.store.session import Input, Session
from viewer.store.trace import Lane, Trace
from viewer.views.figures import (
    TableMaker,
    absent,
    device_name,
    dur,
    exact,
    lane_name,
    part,
    pct,
    shown,
    since_origin,
    word,
)
from viewer.views.idle_words import words_of

I64 = NDArray[np.int64]
HOST_ROWS = 30
COMPANY_ROWS = 30


@dataclass(frozen=True, slots=True)
class _Gap:
    """A gap in raw ns of its file, with its neighbours on the lane (-1: none)."""

    session: Session
    item: Input
    lane: Lane
    start: int
    end: int
    before: int
    after: int

    @property
    def trace(self) -> Trace:
        return self.item.trace

    @property
    def length(self) -> int:
        return self.end - self.start

    def ref(self, row: int) -> SliceRef:
        return SliceRef(self.item.index, row)

    def when(self, raw_ns: int) -> str:
        return since_origin(self.session, self.item.clock.to_session(raw_ns))

    def name(self, row: int) -> str:
        return shown(self.trace.name(row))


def gap_frame(session: Session, ref: GapRef) -> PanelFrame:
    """The panel of a gap."""
    item = session.inputs[ref.input]
    lane = item.trace.lanes[ref.lane]
    start, end = item.clock.to_raw(ref.range.start_ns), item.clock.to_raw(ref.range.end_ns)
    gap = _Gap(session, item, lane, start, end, *_neighbours(item.trace, lane, start, end))
    place = [shown(session.group_of(ref.input).label, 80)]
    if lane.device is not None:
        place.append(device_name(item, lane.device))
    place.append(lane_name(lane))
    sections = [_gap_section(gap)]
    if lane.kind is LaneKind.STREAM and lane.device is not None:
        sections += _device_sections(gap, lane.device)
    elif lane.kind is LaneKind.THREAD:
        note = "No slice of this thread was recorded in it: the thread slept, waited, or ran code that is not traced."
        sections.append(Section("Why", note=note))
    return PanelFrame(f"Gap on {lane_name(lane)}", " · ".join(place), None, tuple(sections))


def _neighbours(trace: Trace, lane: Lane, start: int, end: int) -> tuple[int, int]:
    """Rows of the slice that ended last before a gap and of the first that starts after it."""
    s = trace.slices
    before, after = -1, -1
    levels = range(lane.row_begin, lane.row_end)
    for row in levels if lane.kind is LaneKind.STREAM else levels[:1]:
        a, b = int(trace.rows.begin[row]), int(trace.rows.end[row])
        left = a + int(np.searchsorted(s.start_ns[a:b], start, "right")) - 1
        right = a + int(np.searchsorted(s.start_ns[a:b], end, "left"))
        if left >= a and (before < 0 or _end(trace, left) > _end(trace, before)):
            before = left
        if right < b and (after < 0 or s.start_ns[right] < s.start_ns[after]):
            after = right
    return before, after


def _end(trace: Trace, row: int) -> int:
    return int(trace.slices.start_ns[row] + trace.slices.dur_ns[row])


def _gap_section(gap: _Gap) -> Section:
    how_before = "The slice of this lane that ended last before the gap."
    how_after = "The first slice of this lane that starts after the gap."
    return Section(
        "Gap",
        (
            Figure("length", exact(gap.length), "End − start of the gap: no slice of this lane is open in it."),
            Figure("start", gap.when(gap.start), "End of the slice before it, since the first GPU start of the job."),
            Figure("end", gap.when(gap.end), "Start of the slice after it, on the same axis."),
            Figure("previous", gap.name(gap.before), how_before, jump=gap.ref(gap.before))
            if gap.before >= 0
            else absent("previous", "none: the lane begins with this gap"),
            Figure("next", gap.name(gap.after), how_after, jump=gap.ref(gap.after))
            if gap.after >= 0
            else absent("next", "none: the lane ends with this gap"),
        ),
    )


def _device_sections(gap: _Gap, device: int) -> list[Section]:
    trace, span = gap.trace, device_span(gap.trace, device)
    busy = clip(*unions(trace, device).busy, gap.start, gap.end)
    worked = total(*busy)
    rest = gap.length - worked
    name = device_name(gap.item, device)
    verdict = (
        "idle: nothing ran on any stream"
        if worked == 0
        else "busy all the time on other streams"
        if rest == 0
        else "partly idle: other streams worked"
    )
    figures = (
        Figure("the device was", verdict, f"By U(all GPU work) of {name} inside the gap."),
        part(
            "other streams worked",
            worked,
            gap.length,
            "U(all GPU work of the device) inside the gap: overlaps count once.",
        ),
        part("device idle", rest, gap.length, "Length of the gap − that union."),
    )
    sections = [Section("The device meanwhile", figures, table=_company(gap, device))]
    sections.append(_next_section(gap))
    if rest and span is not None:
        sections += _idle_sections(gap, device)
    sections.append(_host_section(gap))
    return sections


def _company(gap: _Gap, device: int) -> TableFrame | None:
    """What ran on the device during the gap, by name."""
    trace, work = gap.trace, gpu_work(gap.trace)
    span = work.of_device(device)
    reach = work.end_ns[work.latest[span]]
    first = span.start + int(np.searchsorted(reach, gap.start, "right"))
    last = span.start + int(np.searchsorted(work.start_ns[span], gap.end, "left"))
    at = np.arange(first, max(first, last))
    at = at[(work.end_ns[at] > gap.start) & (work.end_ns[at] > work.start_ns[at])]
    lo, hi = np.maximum(work.start_ns[at], gap.start), np.minimum(work.end_ns[at], gap.end)
    key = trace.slices.name[work.index[at]].astype(np.int64) * 16 + work.paint[at]
    entries = []
    for code in np.unique(key):
        mine = np.flatnonzero(key == code)
        longest = int(at[mine[int(np.argmax(hi[mine] - lo[mine]))]])
        entries.append((total(*union(lo[mine], hi[mine])), longest))
    table = TableMaker(
        (
            ("Name", "GPU work of other streams inside the gap. A row leads to the run with the longest overlap."),
            ("Stream", "Stream of that run."),
            ("In the gap", "Union of its runs inside the gap; names at the same time share instants."),
        )
    )
    for overlap, place in sorted(entries, reverse=True)[:COMPANY_ROWS]:
        row = int(work.index[place])
        lane = trace.lane_of(row)
        table.add(
            word(gap.name(row)),
            (lane_name(lane).removeprefix("stream "), lane.stream),
            dur(overlap),
            jump=gap.ref(row),
            paint=Paint(int(work.paint[place])),
        )
    return table.frame()


def _next_section(gap: _Gap) -> Section:
    """When the next work of this stream was queued."""
    title = "The next slice on this stream"
    if gap.after < 0:
        return Section(title, note="There is none, so nothing says how long the gap would have lasted.")
    call = call_of_gpu(gap.trace, gap.after)
    if call < 0:
        return Section(
            title, note="No launch call is known for it: the gap cannot be split into host and device causes."
        )
    begin = int(gap.trace.slices.start_ns[call])
    figures = [
        Figure(
            "launched by",
            gap.name(call),
            "The host call of the same process with the same correlation id.",
            jump=gap.ref(call),
        ),
        Figure("call began", gap.when(begin), "Begin of that call, since the first GPU start of the job."),
    ]
    if begin > gap.start:
        late = min(begin, gap.end) - gap.start
        figures.append(
            part(
                "queue was empty for",
                late,
                gap.length,
                "min(begin of the call, end of the gap) − start of the gap: nothing was queued on this stream: the "
                "host was late.",
            )
        )
        if begin < gap.end:
            figures.append(
                Figure(
                    "then launch took", exact(gap.end - begin), "End of the gap − begin of the call of its next slice."
                )
            )
    else:
        figures.append(
            Figure(
                "already queued for",
                exact(gap.start - begin),
                "Start of the gap − begin of the call: the work was queued before the gap began, so it waited for the "
                "device, an event or another stream, and not for the host.",
            )
        )
    return Section(title, tuple(figures))


def _idle_sections(gap: _Gap, device: int) -> list[Section]:
    window = (gap.start, gap.end)
    split = idle(gap.trace, device, window)
    if split is None:
        return []
    lo, hi = device_gaps(gap.trace, device, window)
    longest = int(np.argmax(hi - lo))
    cause = gap_cause(gap.trace, device, int(lo[longest]), int(hi[longest]))
    several = f" Summed over the {len(lo)} stretches of idle time in it." if len(lo) > 1 else ""
    whole = split.idle_ns
    figures = [
        part(label, ns, whole, how + several)
        for label, ns, how in (
            ("host", split.host_ns, "Idle start to the begin of the call that launched the first work after it."),
            (
                "launch",
                split.launch_ns,
                "Begin of that call to the start of its work, where the call began in the gap.",
            ),
            (
                "dependency",
                split.dependency_ns,
                "All of an idle stretch whose next work was queued before it began: it waited for something else.",
            ),
            ("unknown", split.unknown_ns, "Idle time before work without a known launch call, or before none at all."),
        )
    ]
    figures.append(
        Figure("sum = idle", exact(whole), "host + launch + dependency + unknown add up to the idle time exactly.")
    )
    figures += _cause_figures(split)
    bar = BarFrame(
        (
            ("host", split.host_ns, Paint.PYTHON),
            ("launch", split.launch_ns, Paint.RUNTIME),
            ("dependency", split.dependency_ns, Paint.SYNC),
            ("unknown", split.unknown_ns, None),
        ),
        whole,
    )
    return [Section("Why the device was idle", tuple(figures), bar=bar), _drain_section(gap, cause)]


def _cause_figures(split: IdleSplit) -> list[Figure]:
    inferred = "" if split.has_sync_events else " Inferred: the trace records no synchronisation events."
    figures = []
    for word_, causes, whole, of, more in (
        ("host", split.host_causes, split.host_ns, " of host", ""),
        ("launch", split.launch_causes, split.launch_ns, " of launch", ""),
        ("waited", split.dependency_causes, split.dependency_ns, " of dependency", inferred),
    ):
        for cause, ns in sorted(causes.items(), key=lambda item: -item[1]):
            if word_ == "launch" and cause == LAUNCH:
                continue
            told = words_of(cause)
            figures.append(part(f"{word_}: {told.label}", ns, whole, told.meaning + more, of))
    return figures


def _drain_section(gap: _Gap, cause: GapCause | None) -> Section:
    title = "What emptied the queue"
    if cause is None or cause.drained_by < 0:
        note = (
            "No blocking call was waiting when the device ran dry: the host queued work too slowly."
            if cause is not None and cause.split.host_ns
            else "The queue was not empty: the next work had been launched before the device went idle."
            if cause is not None and cause.split.dependency_ns
            else "It is not known: the next work has no launch call in the trace."
        )
        return Section(title, note=note)
    row = cause.drained_by
    begin, end = int(gap.trace.slices.start_ns[row]), _end(gap.trace, row)
    figures = (
        Figure(
            "blocking call",
            gap.name(row),
            "The blocking call (synchronisation, synchronous copy, free) that was open when the device ran dry.",
            jump=gap.ref(row),
        ),
        Figure("thread", lane_name(gap.trace.lane_of(row)), "The lane of that call."),
        *_site_figures(gap, row),
        Figure("it lasted", exact(end - begin), "End − begin of the call."),
        Figure(
            "returned after",
            exact(end - cause.gap.whole_start_ns),
            "End of the call − the instant at which the device ran dry: only then could the host queue more work.",
        ),
    )
    return Section(title, figures)


def _site_figures(gap: _Gap, row: int) -> list[Figure]:
    """Where a call was made, as far as it is recorded."""
    site, out = site_of(gap.trace, row), []
    if site.operator_row >= 0:
        how = "The outermost operator around the call."
        out.append(Figure("inside", gap.name(site.operator_row), how, jump=gap.ref(site.operator_row)))
    if site.line:
        how = (
            "The innermost Python frame of the program itself around the call; the line is where the function begins."
            if site.frame_row >= 0
            else "The innermost line of the program in the operator's recorded call stack."
        )
        jump = gap.ref(site.frame_row) if site.frame_row >= 0 else None
        out.append(Figure("called at", shown(site.line), how, jump=jump))
    return out


def _host_section(gap: _Gap) -> Section:
    """What the thread that launched the next slice did during the gap."""
    title = "The launching thread during the gap"
    call = call_of_gpu(gap.trace, gap.after) if gap.after >= 0 else -1
    if call < 0:
        return Section(title, note="It is not known which thread was to launch the next slice.")
    lane = gap.trace.lane_of(call)
    found = host_activity(gap.trace, lane.id, gap.start, gap.end, HOST_ROWS)
    table = TableMaker(
        (
            ("Name", "Slices of the thread that launched the next slice of this stream. A row leads to the slice."),
            ("Own time", "Time inside the gap in which it was the deepest open slice of the thread."),
            ("Share", "Own time ÷ length of the gap."),
        )
    )
    for entry in found:
        if entry.row < 0:
            table.add(word("(nothing recorded)"), dur(entry.self_ns), pct(entry.self_ns, gap.length))
            continue
        table.add(
            word(shown(entry.name)),
            dur(entry.self_ns),
            pct(entry.self_ns, gap.length),
            jump=gap.ref(entry.row),
            paint=entry.paint,
        )
    facts = gap.trace.meta.facts
    switches = [k for k in ("with_stack", "record_shapes") if facts.get(k) in (1, True)]
    slow = f" The profiler ran with {' and '.join(switches)}, which itself slows the host." if switches else ""
    return Section(title, table=table.frame(), note=f"It is {lane_name(lane)}.{slow}")
