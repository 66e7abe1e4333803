"""What a blocking call or a recorded wait stood for, as far as the trace says."""

from __future__ import annotations

import numpy as np

from viewer.analyses.gpu_work import gpu_work
from viewer.base.frames import Figure, Section
from viewer.base.ids import ABSENT, Paint
from viewer.views.figures import absent, exact, lane_name
from viewer.views.subject import Subject, value_text, whole_number

SYNC_KEYS = frozenset(
    {
        "cuda_sync_kind",
        "wait_on_stream",
        "wait_on_cuda_event_record_corr_id",
        "wait_on_cuda_event_id",
        "stream",
        "device",
        "context",
    }
)
_AS_WRITTEN = "As the profiler writes it in the wait's args."


def waits_section(subject: Subject, event_row: int = -1) -> Section:
    """What was waited for.

    Args:
        subject: the waiting slice, a host call or a wait on a stream's track.
        event_row: the recorded wait (category cuda_sync) that belongs to a host call, -1 without one.
    """
    trace = subject.trace
    figures: list[Figure] = []
    stream: int | None = None
    if event_row >= 0:
        args = trace.args(event_row)
        for key, label in (
            ("cuda_sync_kind", "kind of wait"),
            ("wait_on_stream", "waits on stream"),
            ("wait_on_cuda_event_id", "waits on event"),
            ("wait_on_cuda_event_record_corr_id", "recorded by correlation"),
        ):
            if key in args and args[key] not in ("", -1, 4294967295):
                figures.append(Figure(label, value_text(args[key], 80), _AS_WRITTEN))
        stream = whole_number(args, "stream")
        if stream is not None:
            every = stream < 0 or stream >= 4294967295
            shown_stream = "all streams of the context" if every else f"stream {stream}"
            figures.append(Figure("waits for", shown_stream, _AS_WRITTEN + " −1 stands for the whole context."))
            stream = None if every else stream
        if event_row != subject.row:
            figures.append(
                Figure(
                    "recorded wait",
                    subject.name(event_row),
                    "The wait on the device's track with the same correlation id.",
                    jump=subject.ref(event_row),
                )
            )
    figures += _last_work(subject, stream)
    note = ""
    if event_row < 0:
        note = (
            "The trace records no synchronisation events (cuda_sync), so what the call waited for is not stated; "
            "the work that ended last before it returned is inferred."
        )
    return Section("What it waited for", tuple(figures), note=note)


def _last_work(subject: Subject, stream: int | None) -> list[Figure]:
    """The GPU work that ended last during the wait."""
    trace, work = subject.trace, gpu_work(subject.trace)
    inside = (work.end_ns > subject.start) & (work.end_ns <= subject.end)
    if stream is not None:
        on = np.array([lane.stream == stream for lane in trace.lanes], np.bool_)
        inside &= on[work.lane]
    at = np.flatnonzero(inside)
    label = "last work before return"
    if not len(at):
        return [absent(label, "no GPU work ended while it waited")]
    last = int(at[int(np.argmax(work.end_ns[at]))])
    row = int(work.index[last])
    where = f"on stream {stream}" if stream is not None else "on any stream"
    return [
        Figure(
            label,
            subject.name(row),
            f"The GPU work {where} whose end is the last inside the wait; on {lane_name(trace.lane_of(row))}.",
            jump=subject.ref(row),
        ),
        Figure(
            "returned after it",
            exact(subject.end - int(work.end_ns[last])),
            "End of the wait − end of that work: the time until the host went on.",
        ),
    ]


def sync_event_of(subject: Subject) -> int:
    """The recorded wait with the correlation id of a host call, -1 without one."""
    s = subject.trace.slices
    corr = int(s.corr[subject.row])
    if corr in (ABSENT, 0):
        return -1
    rows = np.flatnonzero((s.corr == corr) & (s.paint == Paint.SYNC))
    return int(rows[0]) if len(rows) else -1


def call_of_event(subject: Subject) -> int:
    """The host call with the correlation id of a recorded wait, -1 without one."""
    s = subject.trace.slices
    corr = int(s.corr[subject.row])
    if corr in (ABSENT, 0):
        return -1
    rows = np.flatnonzero((s.corr == corr) & (s.paint == Paint.RUNTIME))
    return int(rows[0]) if len(rows) else -1
