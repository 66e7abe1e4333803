"""When a rank computes, and when the GPU work of its steps begins: ns on the session's clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import step_table
from viewer.base.ids import Paint
from viewer.store.session import RankGroup, Session

I64 = NDArray[np.int64]


def step_starts(session: Session, group: RankGroup) -> I64:
    """When the GPU work of each step of a rank begins, ns of session time, ascending; [] without steps."""
    out = []
    for i in group.inputs:
        item = session.inputs[i]
        s = item.trace.slices
        out += [
            item.clock.to_session(int(s.start_ns[step.rows].min()))
            for step in step_table(item.trace).steps
            if len(step.rows)
        ]
    return np.unique(np.array(out, np.int64))


def computing(session: Session, group: RankGroup) -> tuple[I64, I64]:
    """Starts and ends of a rank's GPU work without communication, each ascending."""
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for i in group.inputs:
        item = session.inputs[i]
        work = gpu_work(item.trace)
        other = work.paint != Paint.COMM
        starts.append(item.clock.many_to_session(work.start_ns[other]))
        ends.append(item.clock.many_to_session(work.end_ns[other]))
    return np.sort(np.concatenate(starts)), np.sort(np.concatenate(ends))
