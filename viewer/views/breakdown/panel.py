"""The Breakdown panel: one slice or gap explained. Each figure says how it was computed."""

from __future__ import annotations

from viewer.analyses.kernels import runs_by_name
from viewer.analyses.links import links
from viewer.analyses.steps import step_table
from viewer.base.frames import PanelFrame, Section
from viewer.base.ids import LaneKind
from viewer.base.selection import Selection
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.breakdown.cpu import cpu_slice
from viewer.views.breakdown.gap import gap_frame
from viewer.views.breakdown.gpu import gpu_slice
from viewer.views.breakdown.mark import stream_mark
from viewer.views.subject import Subject


def prepare(session: Session, cancel: CancelToken) -> None:
    """Build ahead of the first click what every breakdown looks up: GPU work, runs, links and steps of each file.

    One kernel is explained, so that the compiled loops are loaded as well.
    """
    first = True
    for item in session.inputs:
        cancel.check()
        links(item.trace)
        step_table(item.trace)
        rows, _ = runs_by_name(item.trace)
        if first and len(rows):
            gpu_slice(Subject(session, item, int(rows[0])))
            first = False


def breakdown(session: Session, selection: Selection) -> PanelFrame:
    """Explain the selected slice or gap; without one, say what to do."""
    ref, gap = selection.slice, selection.gap
    if ref is not None:
        if not 0 <= ref.input < len(session.inputs) or not 0 <= ref.index < len(session.inputs[ref.input].trace):
            return PanelFrame("Nothing is selected", sections=(Section("", note="The selected slice is gone."),))
        subject = Subject(session, session.inputs[ref.input], ref.index)
        kind = subject.lane.kind
        if kind is LaneKind.STREAM:
            return gpu_slice(subject)
        if kind is LaneKind.STREAM_MARKS:
            return stream_mark(subject)
        return cpu_slice(subject)
    if gap is not None:
        if not 0 <= gap.input < len(session.inputs) or not 0 <= gap.lane < len(session.inputs[gap.input].trace.lanes):
            return PanelFrame("Nothing is selected", sections=(Section("", note="The selected gap is gone."),))
        return gap_frame(session, gap)
    return PanelFrame("Nothing is selected", sections=(Section("", note="Click a slice or a gap in the lanes."),))
