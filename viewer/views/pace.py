"""The pace of one kernel, operator or module over the run, with its outliers."""

from __future__ import annotations

import numpy as np

from viewer.analyses.optable.part import CLASS, STEP
from viewer.analyses.pace import pace
from viewer.base.pace_frame import PaceFrame
from viewer.base.time import format_duration
from viewer.views.figures import plural, shown
from viewer.views.op_table import OpView


def pace_frame(view: OpView, row: int) -> PaceFrame | None:
    """The runs of a row of the table; None where they are no runs of one thing, or there are none."""
    if view.table.by in (CLASS, STEP):
        return None
    session, parts = view.session, view.runs(row).by_input
    if not parts:
        return None
    origin = session.origin_ns()
    x = np.concatenate(
        [
            session.inputs[i].clock.many_to_session(session.inputs[i].trace.slices.start_ns[rows]) - origin
            for i, (rows, _) in parts.items()
        ]
    )
    y = np.concatenate([ns for _, ns in parts.values()])
    source = np.concatenate([np.full(len(rows), i, np.int64) for i, (rows, _) in parts.items()])
    rows = np.concatenate([rows for rows, _ in parts.values()])
    order = np.argsort(x, kind="stable")
    x, y, source, rows = x[order], y[order], source[order], rows[order]
    found = pace(y)
    if found is None:
        return None
    far = int(found.outlier.sum())
    lost = int((y[found.outlier] - found.median).sum())
    note = (
        f"{plural(far, 'run')} of {len(y):,} far above the median {format_duration(found.median)}: "
        f"{format_duration(lost)} more in all"
        if far
        else f"Even: no run of {len(y):,} lies far above the median {format_duration(found.median)}"
    )
    if len({view.session.inputs[i].rank for i in parts}) > 1:
        note += " · ranks together"
    return PaceFrame(
        x.astype(np.float64),
        y.astype(np.float64),
        found.outlier,
        source,
        rows,
        found.median,
        found.low,
        found.high,
        shown(str(view.frame.columns[0].values[row])),
        note,
    )
