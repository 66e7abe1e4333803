"""The Communication panel: exposed time taken apart, a row per kind, group and size, and a sentence that sums it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import attribute
from viewer.analyses.collective.baseline import baseline, ideal
from viewer.analyses.collective.communication import Figures, communication, total
from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.exposed_parts import Hiding, Part
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.table import CommunicationRow, communication_table, kernel_keys, row_kernels, undecided
from viewer.analyses.gpu_work import gpu_work
from viewer.base.column_frame import BYTES, COUNT, NS, NUMBER, SHARE, TEXT, Column, ColumnFrame, show
from viewer.base.frames import BarFrame
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import format_share
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.figures import plural, shown

Bools = NDArray[np.bool_]

PARTS: Final = (
    ("waiting for other ranks", (Part.WAIT,), 4),
    ("waiting along the pipeline", (Part.PIPELINE_WAIT,), 0),
    ("needed by the next compute", (Part.STRUCTURAL,), 2),
    ("before independent work", (Part.SERIALISED,), 1),
    ("unhidden, no cause proven", (Part.UNHIDDEN,), 8),
    ("volume beyond the plan", (Part.VOLUME,), 5),
    ("rate below the baseline", (Part.RATE,), 7),
    ("transfer, no baseline", (Part.NO_BASELINE,), 3),
    ("not separable", (Part.NOT_MATCHED, Part.MEMBERS_MISSING), -1),
)
"""Part of the bar, what is in it, and its hue."""
EXPLAINED: Final = (
    "Exposed communication: time in which communication ran and no compute. Waiting for other ranks: before the last "
    "member came. Waiting along the pipeline: receives before their send. Then the ideal transfer that nothing hid: "
    "because the next compute needs it (structural), because independent work stood behind it (serialised), or for no "
    "proven reason. Volume: bytes beyond the plan at the baseline's rate. Rate: transfer slower than the baseline. Not "
    "separable: members are not opened."
)
BOUNDS: Final = {
    "exact": "exact",
    "lower": "wait ≥, transfer ≤",
    "none": "not matched",
}


@dataclass(frozen=True, eq=False)
class CommunicationView:
    """What the panel shows of a job or of one rank (RankGroup id)."""

    session: Session
    rank: int | None
    rows: tuple[CommunicationRow, ...]
    frame: ColumnFrame
    bar: BarFrame | None
    sentence: str
    note: str

    def kernels(self, row: int) -> Bools:
        """The kernels of a row, bool per kernel of ``everything``."""
        return row_kernels(self.session, self.rows[row], self.rank)

    def longest(self, row: int) -> SliceRef | None:
        """The kernel of a row that exposed most, else the longest."""
        every = everything(self.session)
        at = np.flatnonzero(self.kernels(row))
        if not len(at):
            return None
        exposed = exposed_of(self.session).parts[:, at].sum(axis=0)
        length = every.end[at] - every.start[at]
        best = int(at[np.lexsort((length, exposed))[-1]])
        return reference(self.session, best)


def reference(session: Session, at: int) -> SliceRef:
    """The slice of a kernel of ``everything``."""
    every = everything(session)
    source = int(every.input[at])
    return SliceRef(source, int(operations(session.inputs[source].trace).row[every.at[at]]))


def communication_view(session: Session, rank: int | None, cancel: CancelToken | None = None) -> CommunicationView:
    """The panel's content. For a worker."""
    token = cancel or CancelToken()
    token.check()
    rows = tuple(communication_table(session, rank))
    token.check()
    splits = communication(session)
    inputs = [i.index for i in session.inputs if rank is None or session.group_of(i.index).id == rank]
    figures = total([splits[i] for i in inputs])
    bar = None if figures is None or not figures.exposed_ns else _bar(figures)
    return CommunicationView(
        session, rank, rows, _frame(session, rows, rank), bar, _sentence(session, figures, inputs), _note(session)
    )


def _bar(figures: Figures) -> BarFrame:
    chosen = [(text, figures.of(parts), hue) for text, parts, hue in PARTS]
    chosen = [c for c in chosen if c[1]]
    return BarFrame(
        tuple((text, ns, None) for text, ns, _ in chosen), figures.exposed_ns, tuple(hue for _, _, hue in chosen)
    )


def _sentence(session: Session, figures: Figures | None, inputs: list[int]) -> str:
    if figures is None:
        return "No GPU work: there is nothing to take apart."
    span = 0
    for i in inputs:
        trace = session.inputs[i].trace
        span += sum(f.span_ns for d in gpu_work(trace).devices if (f := attribute(trace, d)) is not None)
    if not figures.exposed_ns:
        return (
            "No communication is exposed: compute hides all of it."
            if len(everything(session).kind)
            else ("There is no communication in these traces.")
        )
    head = f"In {format_share(figures.exposed_ns, span)} of the time communication runs with no compute beside it"
    parts = sorted(((figures.of(p), text) for text, p, _ in PARTS), reverse=True)
    told = ", ".join(f"{text} {format_share(ns, figures.exposed_ns)}" for ns, text in parts[:3] if ns)
    why = ""
    if figures.transfer_ns:
        structural, serialised = figures.transfers[Hiding.STRUCTURAL], figures.transfers[Hiding.SERIALISED]
        why = (
            f" Of the exposed transfer {format_share(structural, figures.transfer_ns)} had to be (the next compute "
            f"needs it), {format_share(serialised, figures.transfer_ns)} stood before independent work."
        )
    return f"{head} ({format_duration(figures.exposed_ns, 1)} over {plural(len(inputs), 'rank')}): {told}.{why}"


def _note(session: Session) -> str:
    found = baseline(session)
    return f"Baseline: {found.problem or found.sentence}"


def _frame(session: Session, rows: tuple[CommunicationRow, ...], rank: int | None) -> ColumnFrame:
    keys = kernel_keys(session)
    mine = None if rank is None else everything(session).node == rank
    sums = keys.sums(exposed_of(session).parts, mine)
    waited, hidden, against = [], [], []
    doubtful = keys.sums(undecided(session).astype(np.int64), mine)
    for row in rows:
        parts = sums[:, keys.of_row(row)]
        known = row.wait_ns is not None
        waited.append(int(parts[Part.WAIT] + parts[Part.PIPELINE_WAIT]) if known else None)
        hidden.append((row.sum_ns - row.exposed_ns) / row.sum_ns if row.sum_ns else None)
        told = ideal(session, row.kind, row.group, row.bytes)
        against.append(
            row.busbw_p50_gbps / told.busbw_gbps if told is not None and row.busbw_p50_gbps is not None else None
        )
    several = "" if rank is not None else " Ranks are added."
    return ColumnFrame(
        (
            Column("Kind", "What the operation does.", TEXT, [r.kind.text for r in rows]),
            Column("Group", "The process group and its ranks; what it is for where names or the plan say so.", TEXT,
                   [shown(r.group.label, 80) if r.group is not None else "not stated" for r in rows]),
            Column("Size", "Bytes of one operation as nccl-tests counts them (the whole buffer).", BYTES,
                   [r.bytes for r in rows]),
            Column("Count", "Operations; kernels that belong together on several ranks are one.", COUNT,
                   [r.count for r in rows]),
            Column("Exposed", "Time in which no compute ran beside them; an instant of several belongs to the one that "
                   f"started first, so the rows sum to the exposed time.{several}", NS, [r.exposed_ns for r in rows]),
            Column("Exposed wait", f"The part of it in which members waited.{several}", NS, waited),
            Column("Total", f"Durations of the kernels, added.{several}", NS, [r.sum_ns for r in rows]),
            Column("Wait", "What each kernel took longer than the shortest of its operation; of a receive, the time "
                   f"before its send began.{several} Of matched operations.", NS, [r.wait_ns for r in rows]),
            Column("Transfer", f"The rest: the shortest member's duration, for each kernel.{several}", NS,
                   [r.transfer_ns for r in rows]),
            Column("Hidden", "Share of the total that is not exposed.", SHARE, hidden),
            Column("busbw p50", "Median over the operations of algbw × the factor of nccl-tests, decimal GB/s.", NUMBER,
                   [r.busbw_p50_gbps for r in rows]),
            Column("p01", "busbw of the slowest hundredth of the operations, decimal GB/s.", NUMBER,
                   [r.busbw_p01_gbps for r in rows]),
            Column("of baseline", "Median busbw ÷ the baseline's at that kind, size and number of members.", SHARE,
                   against),
            Column("algbw", "Bytes ÷ transfer, over all operations, decimal GB/s.", NUMBER,
                   [r.algbw_gbps for r in rows]),
            Column("Undecided", "Kernels whose waiting by durations and by arrivals on the aligned clocks differs by "
                   "more than the clocks may be wrong.", COUNT, [int(doubtful[keys.of_row(r)]) for r in rows]),
            Column("Bound", "exact: every member is opened. wait ≥, transfer ≤: members are missing. not matched: no "
                   "other member is opened, or nothing says which; then one transfer is estimated by the "
                   "fifth percentile of the durations.", TEXT, [_bound(r) for r in rows]),
        )
    )  # fmt: skip


def _bound(row: CommunicationRow) -> str:
    text = BOUNDS[row.bound]
    guess = row.estimated_transfer_ns
    return text if guess is None else f"{text}, one transfer ≈ {format_duration(guess, 1)}"


def totals(view: CommunicationView, keep: Bools | None) -> tuple[str, ...]:
    """The sums below the table."""
    chosen = [i for i in range(len(view.rows)) if keep is None or keep[i]]
    if not chosen:
        return ()
    out = []
    for column in view.frame.columns:
        if column.kind in (NS, COUNT):
            values = [column.values[i] for i in chosen if column.values[i] is not None]
            out.append(show(column.kind, sum(values)) if values else "")
        else:
            out.append("")
    out[0] = plural(len(chosen), "row")
    return tuple(out)


def point_to_point(kind: Kind) -> bool:
    """Whether a kind is between two ranks."""
    return kind in (Kind.SEND, Kind.RECV)
