"""The Kernels panel as data: which files and times count, the columns of each grouping, filter, totals, jumps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.optable.part import CLASS, KERNEL, MODULE, NESTED, OPERATOR, SHAPE, STEP
from viewer.analyses.optable.table import OpTable, entries, op_table
from viewer.analyses.peaks import Peaks, peaks_of
from viewer.base.column_frame import COUNT, NS, NUMBER, SHARE, TEXT, Column, ColumnFrame, show
from viewer.base.ids import Paint
from viewer.base.selection import Selection, SliceRef
from viewer.base.theme import PAINT_NAMES
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.figures import plural, shown, since_origin

TELL_AFTER_SECONDS: Final = 0.5
"""A table that takes longer shows what is counted by then, and again each time that it took twice as long."""
HEADS: Final = {
    KERNEL: "Kernel",
    OPERATOR: "Operator",
    SHAPE: "Operator and shapes",
    MODULE: "Module",
    STEP: "Step",
    CLASS: "Class",
}
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class OpScope:
    """What a table covers: files, their windows of raw ns, and a line that says so."""

    inputs: tuple[int, ...]
    windows: tuple[tuple[int, tuple[int, int]], ...]
    text: str


def op_scope(session: Session, selection: Selection) -> OpScope:
    """The selected rank, else all; the selected range, else everything."""
    groups = [g for g in session.groups if selection.group in (None, g.id)]
    inputs = tuple(sorted(i for g in groups for i in g.inputs))
    where = groups[0].label if len(groups) == 1 else f"all {plural(len(groups), 'rank')}"
    chosen = selection.range
    if chosen is None:
        return OpScope(inputs, (), f"{shown(where, 80)} · whole trace")
    windows = []
    for i in inputs:
        clock = session.inputs[i].clock
        windows.append((i, (clock.to_raw(chosen.start_ns), clock.to_raw(chosen.end_ns))))
    start, end = (since_origin(session, t) for t in (chosen.start_ns, chosen.end_ns))
    when = f"range {start} to {end} ({format_duration(chosen.length_ns)})"
    return OpScope(inputs, tuple(windows), f"{shown(where, 80)} · {when}")


@dataclass(frozen=True, eq=False)
class OpView:
    """A computed table, its frame, and a note where something is missing that a reader would look for."""

    session: Session
    scope: OpScope
    table: OpTable
    frame: ColumnFrame
    note: str

    def longest(self, row: int) -> SliceRef | None:
        """The slowest run or call of a row; None where none is in the range."""
        if not self.table.count[row]:
            return None
        return SliceRef(int(self.table.longest_input[row]), int(self.table.longest_row[row]))

    def runs(self, row: int) -> OpRuns:
        """All runs or calls of a row."""
        windows = dict(self.scope.windows)
        return OpRuns(entries(self.session, self.scope.inputs, windows, self.table.by, self.table.keys[row]))


@dataclass(frozen=True, eq=False)
class OpRuns:
    """The runs of a row by file: rows of ``slices`` by start, and the GPU time of each."""

    by_input: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]

    def step(self, now: SliceRef | None, forward: bool) -> SliceRef | None:
        """The one after (or before) ``now``, round the end; the first (or last) where ``now`` is none of them."""
        places = [(i, k) for i, (rows, _) in self.by_input.items() for k in range(len(rows))] if self.by_input else []
        if not places:
            return None
        at = -1 if forward else len(places)
        if now is not None and now.input in self.by_input:
            here = np.flatnonzero(self.by_input[now.input][0] == now.index)
            if len(here):
                at = places.index((now.input, int(here[0])))
        source, k = places[(at + (1 if forward else -1)) % len(places)]
        return SliceRef(source, int(self.by_input[source][0][k]))


def compute(
    session: Session,
    scope: OpScope,
    by: str,
    cancel: CancelToken | None = None,
    tell: Callable[[OpView], None] | None = None,
) -> OpView:
    """The table of a scope; ``tell`` is given what is counted by now where that takes long. For a worker."""
    peaks = _peaks(session, scope.inputs)

    def view(table: OpTable) -> OpView:
        return OpView(session, scope, table, _frame(table, peaks, len(scope.inputs) > 1), _note(table, peaks))

    begin, wait = time.monotonic(), TELL_AFTER_SECONDS

    def partly(table: Callable[[], OpTable]) -> None:
        nonlocal wait
        if tell is not None and time.monotonic() - begin > wait:
            tell(view(table()))
            wait *= 2

    return view(op_table(session, scope.inputs, dict(scope.windows), by, cancel, partly))


def _peaks(session: Session, inputs: tuple[int, ...]) -> Peaks | None:
    found = [peaks_of(session.inputs[i].trace, session.card) for i in inputs]
    same = bool(found) and all(p == found[0] for p in found)
    return found[0] if same else None


def _frame(table: OpTable, peaks: Peaks | None, several: bool) -> ColumnFrame:
    nested, ranks = table.by in NESTED, " Ranks are added." if several else ""
    entry = {OPERATOR: "calls", MODULE: "calls", SHAPE: "calls"}.get(table.by, "runs")
    launched = "GPU work that it launched itself" if nested else "GPU work of the row"
    backward = " Work of a backward pass counts where its forward operator was called." if table.by == MODULE else ""
    columns = [
        Column(HEADS[table.by], "", TEXT, _labels(table)),
        Column("Count", f"{entry.capitalize()} that touch the range.", COUNT, table.count),
    ]
    if nested:
        columns.append(
            Column(
                "GPU total",
                "Durations, cut to the range, of the GPU work launched in its calls and all that they call, added."
                + backward
                + ranks,
                NS,
                table.total,
            )
        )
    columns.append(
        Column(
            "GPU self" if nested else "GPU time",
            f"Durations, cut to the range, of the {launched}, added: the rows add up to all GPU work."
            + backward
            + ranks,
            NS,
            table.own,
        )
    )
    whole = table.gpu_ns
    columns.append(
        Column(
            "Share",
            f"{columns[-1].head} ÷ all GPU work in the range (a sum: work at the same time counts twice).",
            SHARE,
            [v / whole if whole else None for v in table.own.tolist()],
        )
    )
    some = table.count > 0

    def known(values: Any) -> list[int | None]:
        return [v if s else None for v, s in zip(np.asarray(values).tolist(), some.tolist(), strict=True)]

    of = f"whole GPU times of its {entry}"
    columns += [
        Column("Mean", f"Sum of the {of} ÷ count, rounded half to even.", NS, known(table.means())),
        Column("Median", f"The middle one of the {of}; of an even number the mean of two.", NS, known(table.median)),
        Column("Max", f"The longest of the {of}.", NS, known(table.most)),
    ]
    if nested:
        columns += [
            Column("CPU total", "Time of its calls on the CPU, cut to the range, added." + ranks, NS, table.cpu_total),
            Column(
                "CPU self",
                f"CPU total without the {table.by}s that they call in turn." + ranks,
                NS,
                table.cpu_own,
            ),
        ]
    rates = table.tflops()
    columns.append(
        Column(
            "TFLOP/s",
            "FLOPs of matrix products, convolutions and attention, by the recorded shapes, ÷ time of their kernels "
            "(whole runs). – where no shapes are known.",
            NUMBER,
            rates,
        )
    )
    if peaks is not None and (best := _best(peaks)) is not None:
        columns.append(
            Column(
                "of peak",
                f"TFLOP/s ÷ the 16-bit dense peak of {peaks.device}, {best / 1e12:,.0f} TFLOP/s ({peaks.source}).",
                SHARE,
                [r * 1e12 / best if r is not None else None for r in rates],
            )
        )
    columns.append(
        Column(
            "GB/s",
            "Bytes that must at least be read and written, each tensor once, by the recorded shapes (copies: the bytes "
            "that were copied) ÷ time of the kernels with known bytes. More than the memory's rate: from the caches.",
            NUMBER,
            table.gbytes(),
        )
    )
    return ColumnFrame(tuple(columns), _paints(table))


BEYOND: Final = 1.05
"""Rates up to so many times the peak may be rounding, or a clock above the one of the datasheet."""


def _best(peaks: Peaks) -> int | None:
    return peaks.of("bf16") or peaks.of("fp16")


def _labels(table: OpTable) -> list[str]:
    if table.by == CLASS:
        return [PAINT_NAMES[Paint(k[0])] for k in table.keys]
    if table.by == SHAPE:
        return [shown(f"{n}  {t or '(no shapes recorded)'}" if n else "(no operator recorded)") for n, t in table.keys]
    if table.by in NESTED:
        return [shown(k[0]) if k[0] else f"(no {table.by} recorded)" for k in table.keys]
    return [shown(k[0]) for k in table.keys]


def _paints(table: OpTable) -> list[Paint | None]:
    if table.by == KERNEL:
        return [Paint(k[1]) for k in table.keys]
    if table.by == CLASS:
        return [Paint(k[0]) for k in table.keys]
    if table.by in (OPERATOR, SHAPE):
        return [Paint.OPERATOR if k[0] else None for k in table.keys]
    return []


def _note(table: OpTable, peaks: Peaks | None) -> str:
    if not len(table):
        return {STEP: "Nothing in this trace marks steps."}.get(table.by, "No GPU work in the range.")
    nowhere = all(not k[0] for k in table.keys) if table.by in (OPERATOR, SHAPE, MODULE) else False
    if nowhere and table.by == MODULE:
        return "No modules were recorded: profile with with_stack or with_modules."
    if nowhere:
        return "No operators were recorded for this GPU work: profile CPU activities as well, with record_shapes."
    if not bool((table.flops_ns > 0).any()):
        return "No TFLOP/s: no shapes were recorded for matrix products (record_shapes), or there are none."
    if peaks is None:
        return "No share of the peak: the device is not known; the job card can state it."
    most = max(peaks.flops.values(), default=0)
    beyond = sum(rate is not None and rate * 1e12 > BEYOND * most for rate in table.tflops()) if most else 0
    if beyond:
        what = f"{plural(beyond, 'row')} {'claims' if beyond == 1 else 'claim'}"
        return f"{what} more than the device can compute in any type: shapes, times or the device are not right there."
    return ""


def op_totals(view: OpView, keep: Bools | None) -> tuple[str, ...]:
    """The last row: what the shown rows add up to; totals that hold each other are not added."""
    table, frame = view.table, view.frame
    rows = np.ones(len(table), np.bool_) if keep is None else keep
    sums: dict[str, Any] = {
        "Count": table.count,
        "GPU self": table.own,
        "GPU time": table.own,
        "CPU self": table.cpu_own,
    }
    out = []
    for column in frame.columns:
        if column.head in sums:
            out.append(show(column.kind, int(sums[column.head][rows].sum())))
        elif column.head == "Share" and table.gpu_ns:
            out.append(show(SHARE, int(table.own[rows].sum()) / table.gpu_ns))
        elif column is frame.columns[0]:
            whole = "" if bool(rows.all()) else f" of {len(table):,}"
            out.append(f"{plural(int(rows.sum()), 'row')}{whole}")
        else:
            out.append("")
    return tuple(out)
