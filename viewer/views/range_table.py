"""The table of what runs in a range: which lanes and times it covers, its columns, its filter, its totals."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.analyses.query import QueryError, Span, Term, Text, parse
from viewer.analyses.range_table import RangeTable, range_table, runs_in
from viewer.base.column_frame import COUNT, NS, SHARE, TEXT, Column, ColumnFrame, show
from viewer.base.ids import LaneKind, Paint
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.theme import PAINT_NAMES
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Lane
from viewer.views.figures import lane_name, plural, shown, since_origin
from viewer.views.lanes.shifted import Shifts
from viewer.views.lanes.tree import build_tree

GPU, CPU, ALL = "gpu", "cpu", "all"
"""Which lanes count: GPU work; threads and what else is of the host; all, annotations on the GPU's track included."""
TELL_AFTER_SECONDS: Final = 0.4
"""A table that takes longer shows what is counted by then, and again each time that it took twice as long."""
HEADS: Final = {"name": "Name", "class": "Class", "category": "Category", "rank": "Rank", "lane": "Lane"}

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Scope:
    """What a table covers: lanes and times per input, and a line that says so."""

    parts: dict[int, frozenset[int] | None]
    windows: dict[int, tuple[int, int]]
    text: str

    def __bool__(self) -> bool:
        return bool(self.parts)


def scope_of(
    session: Session, selection: Selection, window: TimeRange | None, what: str, shifts: Shifts | None = None
) -> Scope:
    """The selected lanes (else the selected rank, else all) over the selected range, else what is in sight.

    Args:
        session: the job.
        selection: what is selected.
        window: the visible window.
        what: GPU, CPU or ALL; chosen lanes count whatever they are.
        shifts: by how much ranks are shown later than they were; ``window`` is in shown time.
    """
    parts, where = _parts(session, selection, what)
    chosen = selection.range if selection.range is not None else window
    windows = {}
    if chosen is not None:
        seen_late = shifts if shifts and selection.range is None else {}
        for i in parts:
            clock, late = session.inputs[i].clock, seen_late.get(session.group_of(i).id, 0)
            windows[i] = (clock.to_raw(chosen.start_ns - late), clock.to_raw(chosen.end_ns - late))
    when = "whole job"
    if chosen is not None:
        name = "Range" if selection.range is not None else "Visible window"
        start, end = (since_origin(session, t) for t in (chosen.start_ns, chosen.end_ns))
        when = f"{name} {start} to {end} ({format_duration(chosen.length_ns)})"
    return Scope(parts, windows, f"{when} · {where}")


def _parts(session: Session, selection: Selection, what: str) -> tuple[dict[int, frozenset[int] | None], str]:
    if selection.lanes:
        found: dict[int, set[int]] = {}
        rows = [row for group in build_tree(session) for row in group.lanes if row.key in selection.lanes]
        for row in rows:
            for source, lane in row.parts:
                found.setdefault(source, set()).add(lane)
        return {i: frozenset(found[i]) for i in sorted(found)}, plural(len(rows), "chosen lane")
    groups = [g for g in session.groups if selection.group in (None, g.id)]
    keep = _KEEP[what]
    parts: dict[int, frozenset[int] | None] = {}
    for i in sorted(i for g in groups for i in g.inputs):
        lanes = frozenset(lane.id for lane in session.inputs[i].trace.lanes if keep(lane))
        if lanes:
            parts[i] = None if what == ALL else lanes
    where = groups[0].label if len(groups) == 1 else plural(len(groups), "rank")
    return parts, f"{shown(where, 80)}{_WHAT[what]}"


_KEEP: Final[dict[str, Callable[[Lane], bool]]] = {
    GPU: lambda lane: lane.kind is LaneKind.STREAM,
    CPU: lambda lane: lane.kind not in (LaneKind.STREAM, LaneKind.STREAM_MARKS),
    ALL: lambda _: True,
}
_WHAT: Final = {GPU: " · GPU work", CPU: " · CPU", ALL: ""}


def has_gpu_work(session: Session) -> bool:
    """Whether any file has a stream."""
    return any(_KEEP[GPU](lane) for item in session.inputs for lane in item.trace.lanes)


@dataclass(frozen=True, eq=False)
class RangeView:
    """A computed table: its figures, the frame to show, and what it covers."""

    session: Session
    scope: Scope
    table: RangeTable
    frame: ColumnFrame

    def longest(self, row: int) -> SliceRef:
        """The longest slice of a row."""
        return SliceRef(int(self.table.longest_input[row]), int(self.table.longest_row[row]))


def compute(
    session: Session,
    scope: Scope,
    by: str,
    cancel: CancelToken | None = None,
    tell: Callable[[RangeView], None] | None = None,
) -> RangeView:
    """The table of a scope; ``tell`` is given what is counted by now. For a worker."""

    def view(table: RangeTable) -> RangeView:
        return RangeView(session, scope, table, _frame(session, table))

    begin, wait = time.monotonic(), TELL_AFTER_SECONDS

    def partly(table: Callable[[], RangeTable]) -> None:
        nonlocal wait
        if tell is not None and time.monotonic() - begin > wait:
            tell(view(table()))
            wait *= 2

    return view(range_table(session, scope.parts, scope.windows, by, cancel=cancel, tell=partly))


def _frame(session: Session, table: RangeTable) -> ColumnFrame:
    ranks = "" if table.inputs < 2 else " Ranks are added."
    span = table.span_ns
    columns = (
        Column(HEADS[table.by], "", TEXT, _labels(session, table)),
        Column("Count", "Slices that touch the range; those across a border are counted whole.", COUNT, table.count),
        Column("Sum", "Durations cut to the range, added. Slices at the same time count twice." + ranks, NS, table.cut),
        Column("Union", "Time during which at least one of them runs, on any lane of a rank." + ranks, NS, table.union),
        Column(
            "Self",
            "Durations cut to the range less what their direct children take of it. GPU work has no children." + ranks,
            NS,
            table.own,
        ),
        Column("Min", "The shortest, whole duration.", NS, table.least),
        Column("Mean", "Whole durations ÷ count, rounded half to even.", NS, table.means()),
        Column("Max", "The longest, whole duration.", NS, table.most),
        Column(
            "Share",
            "Union ÷ length of the range" + (" × ranks." if ranks else ".") + " Shares overlap: they need not add up.",
            SHARE,
            [u / span if span else None for u in table.union.tolist()],
        ),
    )
    return ColumnFrame(columns, _paints(table))


def _paints(table: RangeTable) -> list[Paint | None]:
    if table.by == "name":
        return [Paint(k[1]) for k in table.keys]
    return [Paint(k[0]) for k in table.keys] if table.by == "class" else []


def _labels(session: Session, table: RangeTable) -> list[str]:
    if table.by == "class":
        return [PAINT_NAMES[Paint(k[0])] for k in table.keys]
    if table.by in ("name", "category"):
        return [shown(k[0]) for k in table.keys]
    ranks = {g.id: shown(g.label, 80) for g in session.groups}
    if table.by == "rank":
        return [ranks[k[0]] for k in table.keys]
    out = []
    for n, key in enumerate(table.keys):
        trace = session.inputs[int(table.longest_input[n])].trace
        lane = trace.lane_of(int(table.longest_row[n]))
        gpus = len({x.device for x in trace.lanes if x.device is not None}) > 1
        device = f"GPU {lane.device} · " if gpus and lane.device is not None else ""
        marks = " marks" if lane.kind is LaneKind.STREAM_MARKS else ""
        out.append(f"{ranks[key[0]]} · {device}{lane_name(lane)}{marks}")
    return out


def totals(view: RangeView, shown_rows: Bools | None) -> tuple[str, ...]:
    """The last row: what the shown rows add up to; the union of them all only where no row is left out."""
    table, frame = view.table, view.frame
    keep = np.ones(len(table), np.bool_) if shown_rows is None else shown_rows
    sums = {"Count": table.count, "Sum": table.cut, "Self": table.own}
    complete = bool(keep.all())
    values: list[Any] = []
    for column in frame.columns:
        if column.head in sums:
            values.append(int(sums[column.head][keep].sum()))
        elif column.head == "Union":
            values.append(table.total[2] if complete else None)
        elif column.head == "Share":
            values.append(table.total[2] / table.span_ns if complete and table.span_ns else None)
        elif column.head in ("Min", "Mean", "Max"):
            values.append(None)
        else:
            values.append(f"{plural(int(keep.sum()), 'row')}" + ("" if complete else f" of {len(table):,}"))
    return tuple("" if v is None else show(c.kind, v) for c, v in zip(frame.columns, values, strict=True))


def matching(frame: ColumnFrame, text: str) -> Bools | None:
    """Which rows pass a filter; None for all.

    Words are looked for in the first column; ``class:`` is the class of the row, ``dur:`` the longest of its slices.

    Raises:
        QueryError: the filter makes no sense here.
    """
    query = parse(text)
    if not query.terms:
        return None
    out = np.ones(len(frame), np.bool_)
    for term in query.terms:
        out &= _term(frame, term) != term.negated
    return out


def _term(frame: ColumnFrame, term: Term) -> Bools:
    import pyarrow.compute as pc

    first = frame.columns[0]
    if term.field == "class" and frame.paints:
        return np.isin(np.array([-1 if p is None else int(p) for p in frame.paints]), [int(v) for v in _paint(term)])
    if term.field == "dur":
        longest = np.asarray(next(c.values for c in frame.columns if c.head == "Max"))
        found = np.zeros(len(frame), np.bool_)
        for v in term.values:
            if isinstance(v, Span):
                low, high = v.low if v.low is not None else 0, v.high if v.high is not None else 2**63 - 1
                found |= (longest >= low) & (longest <= high)
        return found
    if term.field not in ("name", first.head.lower()) or not all(isinstance(v, Text) for v in term.values):
        raise QueryError(f"{term.field}:", f"rows by {first.head.lower()} are not filtered by it.")
    texts = pa.array(list(first.values), pa.large_string())
    found = np.zeros(len(frame), np.bool_)
    for v in term.values:
        if isinstance(v, Text):
            find = pc.match_substring_regex if v.regex else pc.match_substring
            found |= find(texts, v.text, ignore_case=True).to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _paint(term: Term) -> list[Paint]:
    return [v for v in term.values if isinstance(v, Paint)]


@dataclass(frozen=True, eq=False)
class Runs:
    """The slices of one row, in time order over all ranks: input and row of ``slices`` of each."""

    source: NDArray[np.int64]
    row: NDArray[np.int64]
    by_input: dict[int, NDArray[np.int64]]

    def step(self, now: SliceRef | None, forward: bool) -> SliceRef | None:
        """The one after (or before) ``now``, round the end; the first (or last) where ``now`` is none of them."""
        if not len(self.row):
            return None
        at = -1
        if now is not None:
            here = np.flatnonzero((self.source == now.input) & (self.row == now.index))
            at = int(here[0]) if len(here) else -1
        if at < 0:
            at = -1 if forward else len(self.row)
        to = (at + (1 if forward else -1)) % len(self.row)
        return SliceRef(int(self.source[to]), int(self.row[to]))


def runs(view: RangeView, row: int) -> Runs:
    """All slices of a row of the table. Looks at every slice of the job: for a worker."""
    table, scope, session = view.table, view.scope, view.session
    found = runs_in(session, scope.parts, scope.windows, table.by, table.keys[row])
    source = [np.full(len(r), i, np.int64) for i, r in found.items()]
    start = [
        session.inputs[i].clock.many_to_session(session.inputs[i].trace.slices.start_ns[r]) for i, r in found.items()
    ]
    if not found:
        return Runs(np.empty(0, np.int64), np.empty(0, np.int64), {})
    order = np.argsort(np.concatenate(start), kind="stable")
    return Runs(np.concatenate(source)[order], np.concatenate(list(found.values()))[order], found)
