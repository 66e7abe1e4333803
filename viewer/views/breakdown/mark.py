"""A clicked slice of a stream's marks: an annotation over kernels, or a recorded wait. Neither is GPU work."""

from __future__ import annotations

import numpy as np

from viewer.analyses.gpu_work import gpu_work
from viewer.base.frames import Figure, PanelFrame, Section
from viewer.base.ids import ABSENT, Paint
from viewer.views.breakdown.launched import by_name_section
from viewer.views.breakdown.waits import SYNC_KEYS, call_of_event, waits_section
from viewer.views.figures import lane_name
from viewer.views.subject import Subject, args_section, class_figure, time_figures


def stream_mark(subject: Subject) -> PanelFrame:
    """The panel of an annotation or a wait on a stream's track."""
    waits = subject.paint is Paint.SYNC
    why = (
        "A wait on the device's track: it is no work, and in no busy time."
        if waits
        else "A label that the profiler draws over kernels: it is no work of its own, and in no busy time."
    )
    figures = time_figures(subject)
    figures.insert(1, class_figure(subject.paint, why))
    call = call_of_event(subject)
    if call >= 0:
        how = "The host call with the same correlation id."
        figures.append(Figure("host call", subject.name(call), how, jump=subject.ref(call)))
    sections = [Section("Slice", tuple(figures))]
    if waits:
        sections.append(waits_section(subject, subject.row))
    else:
        sections.append(_under(subject))
    trace = subject.trace
    sections += args_section(trace.args(subject.row), SYNC_KEYS, trace.args_problem)
    return PanelFrame(subject.name(subject.row), subject.where(), subject.paint, tuple(sections))


def _under(subject: Subject) -> Section:
    """GPU work of the same stream inside the annotation."""
    work, lane = gpu_work(subject.trace), subject.lane
    same = np.array(
        [other.stream == lane.stream and other.device == lane.device for other in subject.trace.lanes], np.bool_
    )
    part = work.of_device(lane.device if lane.device is not None else ABSENT)
    inside = (work.start_ns[part] >= subject.start) & (work.end_ns[part] <= subject.end) & same[work.lane[part]]
    rows = work.index[part][inside]
    title = "GPU work inside it"
    if not len(rows):
        return Section(title, note=f"No GPU work lies inside it on {lane_name(lane)}.")
    return by_name_section(
        subject, title, rows, f"GPU work on {lane_name(lane)} that starts and ends inside it, by time."
    )
