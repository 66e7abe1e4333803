"""One row of the Communication panel: its operations over the run, their distribution, its rate by size, who hid it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.baseline import baseline, curve_of
from viewer.analyses.collective.exposed_kernels import exposed_of, hidden_by
from viewer.analyses.collective.exposed_parts import Hiding
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything, matches
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.table import bus_factor, kernel_waits
from viewer.analyses.collective.waits import waits
from viewer.analyses.pace import LEAST, pace
from viewer.base.curve_frame import CurveFrame
from viewer.base.frames import HistogramFrame, TableFrame
from viewer.base.ids import ABSENT
from viewer.base.pace_frame import PaceFrame
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_share
from viewer.views.breakdown.kernel_runs import histogram_of
from viewer.views.communication import CommunicationView, point_to_point
from viewer.views.figures import TableMaker, dur, num, pct, plural, shown, word

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowView:
    """What is shown of one row; each part is None where there is nothing to show."""

    pace: PaceFrame | None
    histogram: HistogramFrame | None
    curve: CurveFrame | None
    hiders: TableFrame | None
    hiding: str


def row_view(view: CommunicationView, row: int) -> RowView:
    """The details of a row. For a worker."""
    frame = _pace(view, row)
    histogram = None
    if frame is not None and len(frame.y) > 1:
        y = frame.y.astype(np.int64)
        histogram = histogram_of(y, int(np.percentile(y, 99, method="lower")))
    return RowView(frame, histogram, _curve(view, row), *_hiders(view, row))


def _pace(view: CommunicationView, row: int) -> PaceFrame | None:
    """Transfers of the operations over time, of each its shortest member; durations where they are not matched."""
    session = view.session
    every = everything(session)
    op, _, transfer, _ = kernel_waits(session)
    at = np.flatnonzero(view.kernels(row))
    matched = at[(op[at] >= 0) & (transfer[at] != ABSENT)]
    what = "transfer"
    if len(matched):
        length = every.end[matched] - every.start[matched]
        order = np.lexsort((length, op[matched]))
        first = np.concatenate(([True], np.diff(op[matched][order]) != 0))
        at = matched[order[first]]
        y = transfer[at]
    else:
        what, y = "duration", every.end[at] - every.start[at]
    if not len(at):
        return None
    x = np.empty(len(at), np.int64)
    rows = np.empty(len(at), np.int64)
    for item in session.inputs:
        mine = np.flatnonzero(every.input[at] == item.index)
        if len(mine):
            table = operations(item.trace)
            place = every.at[at[mine]]
            x[mine] = item.clock.many_to_session(table.start_ns[place]) - session.origin_ns()
            rows[mine] = table.row[place]
    order = np.argsort(x, kind="stable")
    x, y, at, rows = x[order], y[order], at[order], rows[order]
    found = pace(y)
    if found is None:
        return None
    far = int(found.outlier.sum())
    p99 = int(np.percentile(y, 99, method="lower"))
    tail = f"p99 {format_duration(p99, 1)}, longest {format_duration(int(y.max()), 1)}"
    note = (
        f"{plural(far, 'operation')} of {len(y):,} far above the median {format_duration(found.median, 1)}; {tail}"
        if far
        else f"None of {len(y):,} lies {LEAST} times above the median {format_duration(found.median, 1)} and beyond "
        f"five deviations; {tail}"
    )
    return PaceFrame(
        x.astype(np.float64), y.astype(np.float64), found.outlier, every.input[at].astype(np.int64), rows,
        found.median, found.low, found.high, f"{what.capitalize()} of {label(view, row)}", note,
    )  # fmt: skip


def label(view: CommunicationView, row: int) -> str:
    """A row in words."""
    found = view.rows[row]
    group = shown(found.group.label, 40) if found.group is not None else "group not stated"
    size = format_bytes(found.bytes) if found.bytes is not None else "unknown size"
    return f"{found.kind.text}, {group}, {size}"


def _curve(view: CommunicationView, row: int) -> CurveFrame | None:
    """Busbw of all sizes of the row's kind and number of members, with the baseline."""
    chosen = view.rows[row]
    size = chosen.group.size if chosen.group is not None else None
    alike = [
        i
        for i, r in enumerate(view.rows)
        if r.kind is chosen.kind
        and (r.group.size if r.group is not None else None) == size
        and r.bytes
        and r.busbw_p50_gbps is not None
    ]
    if not alike:
        return None
    rows = [view.rows[i] for i in alike]
    x = np.array([r.bytes for r in rows], np.float64)
    y = np.array([r.busbw_p50_gbps for r in rows], np.float64)
    low = np.array([r.busbw_p01_gbps or 0.0 for r in rows], np.float64)
    curve_x, curve_y, name = _baseline(view, row)
    tips = tuple(
        f"{label(view, i)}\nbusbw p50 {view.rows[i].busbw_p50_gbps:,.1f} GB/s, p01 {view.rows[i].busbw_p01_gbps:,.1f}"
        for i in alike
    )
    members = "" if size is None or point_to_point(chosen.kind) else f" among {size:,} ranks"
    return CurveFrame(
        x, y, low, tips, tuple(alike), alike.index(row) if row in alike else -1, curve_x, curve_y, name,
        f"Bus bandwidth of {chosen.kind.text}{members} by size, GB/s",
        f"Points: median, line down to p01. {name}",
    )  # fmt: skip


def _baseline(view: CommunicationView, row: int) -> tuple[F64, F64, str]:
    session, chosen = view.session, view.rows[row]
    point = point_to_point(chosen.kind)
    curve = curve_of(session, Kind.SEND_RECV if point else chosen.kind, chosen.group)
    if curve is not None:
        members = (
            2 if point else (chosen.group.size if chosen.group is not None and chosen.group.size else curve.members)
        )
        factor = 1.0 if point else (bus_factor(chosen.kind, members) or 1.0)
        x = np.array([p[0] for p in curve.points], np.float64)
        y = np.array([s * factor / curve.time(s, members) for s, _, _ in curve.points], np.float64)
        return x, y, f"Dashed: {curve.source}"
    none = np.empty(0, np.float64)
    found = baseline(session)
    if found.link_bytes_per_second is None:
        return none, none, "No baseline"
    edge = np.array([1.0, 2.0**40])
    return edge, np.full(2, found.link_bytes_per_second / 1e9), "Dashed: the link's rate, a table figure"


def last_to_arrive(view: CommunicationView, row: int) -> str:
    """Which rank its members waited for most often, as a sentence; "" where nothing tells."""
    session = view.session
    every, found, told = everything(session), matches(session), waits(session)
    op, _, _, _ = kernel_waits(session)
    mine = np.unique(op[view.kernels(row) & (op >= 0)])
    mine = mine[mine < len(found)]
    mine = mine[told.waits[mine] & (told.unsure[mine] != ABSENT)]
    if not len(mine):
        return ""
    # An operation whose members waited less than the clocks may be wrong has no last one.
    waited = np.maximum.reduceat(told.wait, found.offset[:-1])[mine] if len(every.kind) else mine
    sure = mine[waited > 2 * told.unsure[mine]]
    if not len(sure):
        return "No rank is last beyond the clocks' doubt."
    nodes, counts = np.unique(found.node[told.last[sure]], return_counts=True)
    most = int(np.argmax(counts))
    label = shown(session.groups[int(nodes[most])].label, 40)
    return (
        f"Last to arrive: {label} in {format_share(int(counts[most]), len(sure))} of {plural(len(sure), 'operation')}."
    )


def _hiders(view: CommunicationView, row: int) -> tuple[TableFrame | None, str]:
    session = view.session
    which = view.kernels(row)
    transfers = exposed_of(session).transfers[:, which].sum(axis=1)
    exposed = int(transfers.sum())
    found = view.rows[row]
    hidden = found.sum_ns - found.exposed_ns
    text = (
        f"{format_share(hidden, found.sum_ns)} of its time is not exposed: compute ran beside it, or the instant "
        "counts for a communication that began before it."
    )
    if not hidden:
        text = "Nothing hid any of it."
    if exposed:
        text += (
            f" Exposed transfer {format_duration(exposed, 1)}: "
            f"{format_share(int(transfers[Hiding.STRUCTURAL]), exposed)} structural (the next compute needs it), "
            f"{format_share(int(transfers[Hiding.SERIALISED]), exposed)} serialised (independent work stood behind), "
            f"{format_share(int(transfers[Hiding.UNKNOWN]), exposed)} unknown."
        )
    text = f"{text} {last_to_arrive(view, row)}".strip()
    hiders = hidden_by(session, which)
    every = sum(h.ns for h in hiders)
    table = TableMaker(
        (
            ("Compute that ran beside it", "Name of the kernel. A row leads to the run that hid most."),
            ("Beside", "How long its runs ran beside, added."),
            ("Share", "Of all compute beside it."),
            ("Runs", "Runs that touch it."),
        )
    )
    for h in hiders[:200]:
        table.add(word(shown(h.name)), dur(h.ns), pct(h.ns, every), num(h.runs), jump=SliceRef(h.input, h.row))
    return table.frame(), text
