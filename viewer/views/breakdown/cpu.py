"""A clicked slice of the host: a launch or blocking call, an operator, a Python frame, an annotation or a step."""

from __future__ import annotations

import numpy as np

from viewer.analyses.host import children, self_time, stack_of
from viewer.analyses.idle import blocks_host
from viewer.analyses.links import launched_under, links, queues_work
from viewer.analyses.steps import Step, step_table
from viewer.base.frames import BarFrame, Figure, PanelFrame, Section
from viewer.base.ids import LaneKind, Paint
from viewer.views.breakdown.kernel_stack import SHAPE_KEYS, input_figures, shapes_note, stack_section
from viewer.views.breakdown.launched import by_name_section, one_by_one_section
from viewer.views.breakdown.waits import SYNC_KEYS, sync_event_of, waits_section
from viewer.views.figures import TableMaker, absent, device_name, dur, exact, num, part, pct, plural, word
from viewer.views.subject import Subject, args_section, class_figure, time_figures

CHILD_ROWS = 60
_KINDS = {
    Paint.RUNTIME: "Its category is one of the runtime's or driver's calls (rule table of categories).",
    Paint.OPERATOR: "Its category is an operator of the framework (rule table of categories).",
    Paint.PYTHON: "Its category is a Python frame (rule table of categories).",
    Paint.ANNOTATION: "Its category is a range set by the user or a framework (rule table of categories).",
    Paint.OVERHEAD: "Its category is the profiler's own cost: without the profiler this time would not exist.",
}
_OTHER = "No rule names its category; it is in no figure."


def cpu_slice(subject: Subject) -> PanelFrame:
    """The panel of a slice on a thread (or on a track that is neither a thread nor a stream)."""
    trace, row = subject.trace, subject.row
    paint = subject.paint
    args = trace.args(row)
    figures = time_figures(subject)
    figures.insert(1, class_figure(paint, _KINDS.get(paint, _OTHER)))
    on_thread = subject.lane.kind is LaneKind.THREAD
    if on_thread:
        own = self_time(trace, row)
        figures.insert(
            1,
            part(
                "self time",
                own,
                subject.dur,
                "Duration − U(slices directly inside it on this thread): what it did itself.",
            ),
        )
    sections = [Section("Slice", tuple(figures))]
    step = next((x for x in step_table(trace).steps if x.mark_row == row), None)
    if step is not None:
        sections += _step_sections(subject, step)
    if paint is Paint.RUNTIME:
        sections += _call_sections(subject)
    elif on_thread:
        inputs = input_figures(trace, row) if paint is Paint.OPERATOR else []
        if inputs:
            sections.append(Section("Inputs", tuple(inputs)))
        elif paint is Paint.OPERATOR:
            sections.append(Section("Inputs", note=shapes_note(trace, row)))
        sections.append(_children_section(subject))
        if step is None:
            sections.append(_under_section(subject))
    if on_thread:
        stack = stack_of(trace, row)
        if stack is not None and stack.rows:
            sections.append(stack_section(subject, stack.rows, "slice"))
        else:
            sections.append(Section("Stack", note="Nothing encloses it on its thread."))
    sections += args_section(args, SHAPE_KEYS | SYNC_KEYS, trace.args_problem)
    return PanelFrame(subject.name(row), subject.where(), paint, tuple(sections))


def _call_sections(subject: Subject) -> list[Section]:
    trace, row = subject.trace, subject.row
    rows = links(trace).gpu_of(row)
    name = trace.name(row)
    sections = []
    event = sync_event_of(subject)
    if blocks_host(name) or event >= 0:
        sections.append(waits_section(subject, event))
    if len(rows):
        section = one_by_one_section(
            subject, "GPU work it launched", rows, "GPU work of the same process with the same correlation id."
        )
        delay = int(trace.slices.start_ns[rows[0]]) - subject.start
        first = (
            Figure(
                "launch delay",
                exact(delay),
                "GPU start of the first piece − begin of the call. Only the first piece counts for the delay.",
            )
            if delay >= 0
            else Figure(
                "starts before call",
                f"by {exact(-delay)}",
                "The first piece starts on the GPU before the call begins: the clocks of host and device disagree. It "
                "is counted, and kept out of every average.",
                tone="warning",
            )
        )
        sections.append(
            Section(section.title, (section.figures[0], first, *section.figures[1:]), section.table, note=section.note)
        )
    elif queues_work(name):
        note = (
            "No GPU work with its correlation id is in the trace: it was outside the profiled time, or the call failed "
            "or queued nothing."
        )
        sections.append(Section("GPU work it launched", note=note))
    elif not sections:
        sections.append(Section("GPU work it launched", note="None: a call of this name queues no work."))
    return sections


def _children_section(subject: Subject) -> Section:
    trace, s = subject.trace, subject.trace.slices
    rows = children(trace, subject.row)
    if not len(rows):
        return Section("Inside it", note="Nothing is directly inside it on its thread: all its time is its own.")
    start = np.maximum(s.start_ns[rows], subject.start)
    own = np.minimum(s.start_ns[rows] + s.dur_ns[rows], subject.end) - start
    key = s.name[rows].astype(np.int64) * 16 + s.paint[rows]
    distinct, place = np.unique(key, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place, own)
    table = TableMaker(
        (
            ("Name", "Slices directly inside it on the same thread. A row leads to the longest."),
            ("Total", "Sum of their durations, cut to this slice."),
            ("Count", "How many of that name."),
            ("Share", "Total ÷ duration of this slice."),
        )
    )
    for g in np.argsort(-sums, kind="stable")[:CHILD_ROWS]:
        mine = np.flatnonzero(place == g)
        longest = int(rows[mine[int(np.argmax(own[mine]))]])
        table.add(
            word(subject.name(longest)),
            dur(int(sums[g])),
            num(len(mine)),
            pct(int(sums[g]), subject.dur),
            jump=subject.ref(longest),
            paint=Paint(int(s.paint[longest])),
        )
    hidden = len(distinct) - len(table)
    note = f"{plural(hidden, 'more name')} with less time." if hidden > 0 else ""
    return Section("Inside it", table=table.frame(), note=note)


def _under_section(subject: Subject) -> Section:
    rows = launched_under(subject.trace, subject.row)
    title = "GPU work launched under it"
    if not len(rows):
        return Section(title, note="None: no linked launch call begins inside it on its thread.")
    how = "GPU work whose launch call begins inside this slice on the same thread, wherever and whenever it ran."
    return by_name_section(subject, title, rows, how)


def _step_sections(subject: Subject, step: Step) -> list[Section]:
    """Figures of a step: of the GPU work that was launched in it."""
    gap = (
        Figure(
            "gap before",
            exact(step.gap_before_ns),
            "First start of compute of this step − last end of compute of the step before; 0 if they overlap.",
        )
        if step.gap_before_ns is not None
        else absent("gap before", "none: it is the first step, or a step has no compute")
    )
    figures = (
        Figure("step", f"{step.index}", f"Found by: {step.source}."),
        Figure(
            "kernels", f"{step.kernels:,}", "Kernels whose launch began inside the mark on any thread of the process."
        ),
        gap,
    )
    sections = [Section("Step", figures)]
    for device, f in step.devices:
        parts = (
            ("compute", f.compute_ns, Paint.COMPUTE),
            ("exposed comm", f.comm_exposed_ns, Paint.COMM),
            ("exposed memory", f.memory_exposed_ns, Paint.MEMORY),
            ("idle", f.idle_ns, None),
        )
        how = (
            "Of the GPU work launched in this step, by launch and not by time; its span is first start to last end of "
            "that work."
        )
        rows = tuple(part(label, ns, f.span_ns, how) for label, ns, _ in parts)
        span = Figure("sum = span", exact(f.span_ns), how + " The four parts add up to it exactly.")
        overlap = (
            part("overlap", f.overlap_ns, f.comm_ns, "U(communication ∩ compute) of that work.", " of communication")
            if f.comm_ns
            else absent("overlap", "no communication")
        )
        bar = BarFrame(parts, f.span_ns) if f.span_ns else None
        sections.append(Section(f"Step on {device_name(subject.item, device)}", (*rows, span, overlap), bar=bar))
    if len(step.rows):
        how = "GPU work whose launch began inside the mark on any thread of the process, wherever it ran."
        sections.append(by_name_section(subject, "GPU work of this step", step.rows, how))
    return sections
