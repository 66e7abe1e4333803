"""A trace as lines that a person can read and compare."""

from __future__ import annotations

from viewer.base.ids import ABSENT, Paint
from viewer.store.trace import Trace


def lines(trace: Trace) -> list[str]:
    """One line per slice: lane, depth, start+duration in ns, what it is painted as, category, name, correlation."""
    out = []
    for row in range(len(trace.rows)):
        lane = trace.lanes[int(trace.rows.lane[row])]
        where = f"{lane.kind.name} {lane.pid}/{lane.tid}"
        if lane.device is not None:
            where = f"{lane.kind.name} device {lane.device} stream {lane.stream}"
        names = "/".join(n for n in (lane.process_name, lane.thread_name) if n)
        for i in range(int(trace.rows.begin[row]), int(trace.rows.end[row])):
            s = trace.slices
            corr = int(s.corr[i])
            out.append(
                f"{where} [{names}] {'.' * int(trace.rows.depth[row])}{int(s.start_ns[i])}+{int(s.dur_ns[i])} "
                f"{Paint(int(s.paint[i])).name} {trace.cat(i) or '-'} {trace.name(i)}"
                + (f" #{corr}" if corr not in (ABSENT, 0) else "")
            )
    return out


def codes(trace: Trace) -> dict[str, int]:
    """Findings: code -> count."""
    return {f.code: f.count for f in trace.meta.findings}
