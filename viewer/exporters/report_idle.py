"""The report's part on idle time: its causes, the longest gaps, launch-bound stretches."""

from __future__ import annotations

from typing import Any, Final

from viewer.analyses.attribution import Window
from viewer.analyses.idle import idle
from viewer.analyses.idleness.gap_list import IdleGap
from viewer.analyses.idleness.launch_bound import Stretch
from viewer.analyses.idleness.profile import idleness, idleness_in
from viewer.analyses.idleness.serial import Serial, serial_streams
from viewer.analyses.idleness.sites import site_of
from viewer.analyses.steps import step_table
from viewer.store.trace import Trace

Json = dict[str, Any]

MOST_GAPS: Final = 20
MOST_STRETCHES: Final = 20
MOST_SERIAL: Final = 20


def idle_part(trace: Trace, device: int, window: Window | None) -> Json | None:
    """The idle time of one device over a window of raw ns (or its whole span); None without GPU work.

    ``gaps`` are the longest ones in the window, ``launch_bound`` and ``serial_streams`` describe the whole file. Times
    are its raw ns.
    """
    split = idle(trace, device, window)
    found = idleness(trace, device) if window is None else idleness_in(trace, device, window, MOST_GAPS)
    if split is None or found is None:
        return None
    longest = sorted(found.stretches, key=lambda s: (-s.wait_ns, s.start_ns))
    return {
        "host_ns": split.host_ns,
        "launch_ns": split.launch_ns,
        "dependency_ns": split.dependency_ns,
        "unknown_ns": split.unknown_ns,
        "host_causes": split.host_causes,
        "launch_causes": split.launch_causes,
        "dependency_causes": split.dependency_causes,
        "dependency_inferred": not split.has_sync_events,
        "gap_count": found.book.count,
        "gaps": [_gap(trace, gap) for gap in found.book.gaps[:MOST_GAPS]],
        "launch_bound": {
            "stretches": len(found.stretches),
            "wait_ns": sum(s.wait_ns for s in found.stretches),
            "kernels": sum(s.kernels for s in found.stretches),
            "longest": [_stretch(trace, s) for s in longest[:MOST_STRETCHES]],
        },
        "serial_streams": [_serial(trace, s) for s in serial_streams(trace, device)[:MOST_SERIAL]],
    }


def _name(trace: Trace, row: int) -> str | None:
    return trace.name(row) if row >= 0 else None


def _gap(trace: Trace, gap: IdleGap) -> Json:
    site = site_of(trace, gap.culprit_row)
    return {
        "start_ns": gap.start_ns,
        "length_ns": gap.length_ns,
        "cause": gap.cause,
        "parts": [{"cause": p.cause, "ns": p.ns} for p in gap.parts],
        "culprit": _name(trace, gap.culprit_row),
        "operator": _name(trace, site.operator_row),
        "line": site.line or None,
        "call": _name(trace, gap.call_row),
        "before": _name(trace, gap.before_row),
        "after": _name(trace, gap.after_row),
        "step": None if gap.step is None else step_table(trace).steps[gap.step].index,
        "between_steps": gap.between,
    }


def _serial(trace: Trace, pair: Serial) -> Json:
    return {
        "first_stream": trace.lanes[pair.first_lane].stream,
        "second_stream": trace.lanes[pair.second_lane].stream,
        "forced_by": pair.forced,
        "count": pair.count,
        "possible_ns": pair.possible_ns,
        "first": trace.name(pair.first_row),
        "second": trace.name(pair.second_row),
    }


def _stretch(trace: Trace, stretch: Stretch) -> Json:
    return {
        "start_ns": stretch.start_ns,
        "end_ns": stretch.end_ns,
        "kernels": stretch.kernels,
        "waiting": stretch.waiting,
        "wait_ns": stretch.wait_ns,
        "idle_ns": stretch.idle_ns,
        "busy_ns": stretch.busy_ns,
        "first": trace.name(stretch.first_row),
        "step": None if stretch.step is None else step_table(trace).steps[stretch.step].index,
    }
