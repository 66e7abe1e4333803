"""What a group that no name explains is for, from when in a step its operations come."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.operations import operations
from viewer.analyses.steps import step_table
from viewer.store.trace import Trace

LATE: Final = 0.4
"""Of a step's GPU work: reductions whose first one comes later are of gradients, whose backward pass runs first."""
EARLY: Final = 0.25
"""Reductions that begin before are inside of layers."""
OFTEN: Final = 4
"""Times per step from which an early reduction is one of many layers."""


def use_of(trace: Trace, local: int) -> str:
    """What one of a trace's groups is for: "dp", "tp", "ep", or "" where that tells nothing; its ranks see it alike.

    Gradients are reduced (or reduced and scattered) once the backward pass has made them, so late in a step; sharded
    parameters are gathered all the time, but scattered late. Tensor parallelism reduces in each layer, from the begin
    on. Unequal parts are exchanged between experts.
    """
    table = operations(trace)
    mine = np.flatnonzero(table.group == local)
    kinds = {int(k) for k in np.unique(table.kind[mine])}
    if Kind.ALL_TO_ALL_V in kinds:
        return "ep"
    reduces = np.isin(table.kind[mine], [int(Kind.ALL_REDUCE), int(Kind.REDUCE_SCATTER)])
    mine = mine[reduces]
    firsts, counts = [], []
    for step in step_table(trace).steps if len(mine) else ():
        if not len(step.rows):
            continue
        start = trace.slices.start_ns[step.rows]
        begin, end = int(start.min()), int((start + trace.slices.dur_ns[step.rows]).max())
        inside = (table.start_ns[mine] >= begin) & (table.start_ns[mine] < end)
        if inside.any() and end > begin:
            firsts.append((int(table.start_ns[mine][inside].min()) - begin) / (end - begin))
            counts.append(int(inside.sum()))
    if not firsts:
        return ""
    first = float(np.median(firsts))
    if first >= LATE:
        return "dp"
    return "tp" if first < EARLY and float(np.median(counts)) >= OFTEN else ""
