"""A clicked kernel, copy or fill: launch, neighbours, company, configuration, operator, and all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewer.analyses.host import Launch, launch_of
from viewer.analyses.kernels import rule_of
from viewer.analyses.neighbours import Neighbour, before_after, concurrent
from viewer.base.frames import Figure, PanelFrame, Section
from viewer.base.ids import Paint
from viewer.base.theme import PAINT_NAMES
from viewer.base.time import format_exact
from viewer.views.breakdown.collective import collective_sections
from viewer.views.breakdown.kernel_args import (
    CONFIGURATION_KEYS,
    collective_section,
    configuration_section,
    copy_section,
)
from viewer.views.breakdown.kernel_runs import other_ranks_section, runs_section
from viewer.views.breakdown.kernel_stack import operator_section
from viewer.views.breakdown.kernel_work import work_sections
from viewer.views.figures import TableMaker, absent, dur, exact, lane_name, num, part, plural, shown, word
from viewer.views.subject import Subject, args_section, time_figures

COMPANY_ROWS = 40


def gpu_slice(subject: Subject) -> PanelFrame:
    """The panel of a piece of GPU work."""
    trace, row = subject.trace, subject.row
    args = trace.args(row)
    launch = launch_of(trace, row)
    sections = [Section("Slice", _identity(subject, args)), *collective_sections(subject)]
    sections += [_launch_section(subject, launch), _stream_section(subject)]
    company = _company_section(subject)
    if company is not None:
        sections.append(company)
    sections += collective_section(subject, args)
    sections += copy_section(subject, args)
    sections += work_sections(subject)
    sections += configuration_section(subject, args)
    sections += operator_section(subject, launch.call_row if launch else -1)
    sections.append(runs_section(subject))
    sections += other_ranks_section(subject)
    sections += args_section(args, CONFIGURATION_KEYS, trace.args_problem)
    return PanelFrame(subject.name(row), subject.where(), subject.paint, tuple(sections))


def _identity(subject: Subject, args: Mapping[str, Any]) -> tuple[Figure, ...]:
    trace, row = subject.trace, subject.row
    rule = rule_of(trace, subject.session.rules, row)
    figures = time_figures(subject)
    fused = ", fused" if rule.fused else ""
    figures.insert(
        1,
        Figure(
            "class",
            f"{PAINT_NAMES[subject.paint]}{fused} · rule “{shown(rule.id, 60)}”",
            f"{shown(rule.why, 200)}. Rules are tried in order and the first that matches wins; the trace's own "
            f"collective metadata beats any name. Category as written: {shown(trace.cat(row), 60)}.",
        ),
    )
    stream = subject.lane.stream
    written = args.get("stream")
    if stream is not None and written is not None and str(written) not in (str(stream), ""):
        figures.append(absent("stream as written", shown(str(written), 60)))
    return tuple(figures)


def _launch_section(subject: Subject, launch: Launch | None) -> Section:
    if launch is None:
        corr = subject.trace.slices.corr[subject.row]
        why = (
            "its correlation id is 0, which links nothing"
            if corr == 0
            else "the file holds no call with its correlation"
        )
        return Section("Launch", note=f"No launch call is known: {why}. So there is no launch delay and no queue time.")
    lane = subject.trace.lanes[launch.lane]
    figures = [
        Figure(
            "call",
            shown(launch.call_name),
            "The host call of the same process with the same correlation id, whatever its name.",
            jump=subject.ref(launch.call_row),
        ),
        Figure("thread", lane_name(lane), "The lane of the call."),
        Figure("call start", subject.when(launch.start_ns), "Begin of the call, since the first GPU start of the job."),
        Figure("call duration", exact(launch.end_ns - launch.start_ns), "End − begin of the call on the host."),
    ]
    if launch.siblings > 1:
        figures.append(
            Figure(
                "launched by it",
                plural(launch.siblings, "piece") + " of GPU work",
                "All GPU work with this call's correlation id (a graph launch owns many).",
            )
        )
    if launch.started_before_call:
        early = launch.start_ns - subject.start
        figures.append(
            Figure(
                "starts before call",
                f"by {exact(early)}",
                "Begin of the call − GPU start. Cause and effect cannot run backwards: the clocks of host and device "
                "disagree here. It is counted, and kept out of every average.",
                tone="warning",
            )
        )
    elif launch.delay_ns is not None:
        figures.append(
            Figure(
                "launch delay",
                exact(launch.delay_ns),
                "GPU start − begin of the call: the call's own run, the way to the device, and waiting in the queue.",
            )
        )
    else:
        figures.append(
            absent("launch delay", "counts for the first work of a call only; this is a later one of its graph")
        )
    if not launch.started_before_call:
        figures.append(
            Figure(
                "queue time",
                exact(launch.queue_ns),
                "max(0, GPU start − end of the call): how long the work waited after its call had returned.",
            )
        )
        if launch.queue_ns:
            figures.append(
                part(
                    "behind other work",
                    launch.behind_ns,
                    launch.queue_ns,
                    "The part of the queue time in which this stream ran earlier work (union). The rest was latency, "
                    "or a wait for another stream.",
                )
            )
    return Section("Launch", tuple(figures))


def _stream_section(subject: Subject) -> Section:
    around = before_after(subject.trace, subject.row)
    figures: list[Figure] = []
    for label, which, other, edge in (
        ("previous", around.before, "of the slices of this stream that start earlier, the one that ends last", "first"),
        ("next", around.after, "the first slice of this stream that starts later", "last"),
    ):
        if which is None:
            figures.append(absent(label, f"none: this is the {edge} slice of its stream"))
            continue
        figures.append(Figure(label, subject.name(which.row), f"Here: {other}.", jump=subject.ref(which.row)))
        figures.append(_gap_figure(label, which))
    return Section(f"On {lane_name(subject.lane)}", tuple(figures))


def _gap_figure(label: str, which: Neighbour) -> Figure:
    side = "before it" if label == "previous" else "after it"
    how = (
        "This start − the end of the previous slice" if label == "previous" else "Start of the next slice − this end"
    ) + "; negative when the two overlap."
    if which.gap_ns < 0:
        return Figure(
            f"overlap {side}", f"{exact(-which.gap_ns)} (gap {format_exact(which.gap_ns)})", how, tone="warning"
        )
    return Figure(f"gap {side}", exact(which.gap_ns), how)


def _company_section(subject: Subject) -> Section | None:
    company = concurrent(subject.trace, subject.row)
    if company is None:
        return None
    figures = []
    hides = {
        Paint.COMM: "Its time − U(compute on this device): compute hides communication, a copy does not.",
        Paint.MEMORY: "Its time − U(compute and communication on this device).",
    }
    if company.exposed_ns is not None:
        figures.append(
            part(
                "exposed",
                company.exposed_ns,
                subject.dur,
                hides[subject.paint]
                + " Slices that run at once share exposed instants, so these do not add up to the device's figure.",
                " of it",
            )
        )
    else:
        figures.append(absent("exposed", "does not apply to compute: nothing is meant to hide it"))
    figures.append(
        part(
            "alone",
            company.alone_ns,
            subject.dur,
            "Its time − U(all other GPU work of the device): nothing else ran.",
            " of it",
        )
    )
    table = TableMaker(
        (
            ("Name", "Other GPU work of this device, all streams. A row leads to the run with the longest overlap."),
            ("Stream", "Stream of that run."),
            ("Overlap", "Union of its overlaps with this slice; names at the same time share instants."),
            ("Runs", "Runs of that name that overlap this slice."),
        )
    )
    for other in company.others[:COMPANY_ROWS]:
        lane = subject.trace.lane_of(other.row)
        table.add(
            word(shown(other.name)),
            (lane_name(lane).removeprefix("stream "), lane.stream),
            dur(other.overlap_ns),
            num(other.count),
            jump=subject.ref(other.row),
            paint=other.paint,
        )
    more = len(company.others) - len(table)
    note = f"{plural(more, 'more name')} with shorter overlaps." if more > 0 else ""
    if not company.others:
        note = "Nothing else ran on the device during this slice."
    return Section("At the same time", tuple(figures), table.frame(), note=note)
