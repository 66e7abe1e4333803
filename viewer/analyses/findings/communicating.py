"""What the detectors of communication share: kernels by exposed time, per step, with places to look at. No detector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.roles import roles
from viewer.analyses.collective.waits import doubt
from viewer.analyses.findings.base import Evidence
from viewer.analyses.findings.ranking import LEAST_SHARE
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.steps import step_table
from viewer.base.ids import ABSENT
from viewer.base.selection import Selection, SliceRef
from viewer.base.time import format_duration
from viewer.store.session import Session

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

SHOWN = 4


def step_counts(session: Session) -> I64:
    """How many steps each rank (RankGroup id) has, 0 for none."""
    out = np.zeros(len(session.groups), np.int64)
    for group in session.groups:
        out[group.id] = sum(1 for i in group.inputs for s in step_table(session.inputs[i].trace).steps if len(s.rows))
    return out


def per_step(session: Session, ns: I64) -> I64:
    """Sum of a figure per kernel of ``everything`` by rank, per step of the rank; int64[ranks], 0 without steps."""
    sums = np.zeros(len(session.groups), np.int64)
    np.add.at(sums, everything(session).node, ns)
    steps = step_counts(session)
    return np.where(steps > 0, sums // np.maximum(steps, 1), 0)


def bound_ns(session: Session, ns: I64) -> int:
    """What cutting a figure per kernel of ``everything`` saves at most per step, where steps cannot be replayed.

    Ranks of one role wait for each other: the most of any of them. Roles (pipeline stages) may follow each other in a
    step: their sums.
    """
    each, role = per_step(session, ns), roles(session)
    most: dict[int, int] = {}
    for rank, value in enumerate(each.tolist()):
        most[role[rank]] = max(most.get(role[rank], 0), value)
    return sum(most.values())


def least_ns(session: Session) -> int | None:
    """What a finding about communication must be worth per step: 1 % of it, and twice the clocks' doubt.

    None without steps.
    """
    step_ns = steady_steps(session).step_ns
    if step_ns is None:
        return None
    known = doubt(session)
    known = known[known != ABSENT]
    return max(round(LEAST_SHARE * step_ns), 2 * int(known.max()) if len(known) else 0)


def longest(session: Session, which: Bools, ns: I64, text: str, shown: int = SHOWN) -> tuple[Evidence, ...]:
    """The kernels with most of a figure, of different ranks as far as there are any: evidence "text of rank r: 1.2 ms".

    Args:
        session: the job.
        which: which kernels of ``everything``.
        ns: the figure per kernel.
        text: what the figure is.
        shown: how many.
    """
    every = everything(session)
    order = np.flatnonzero(which & (ns > 0))
    order = order[np.argsort(-ns[order], kind="stable")]
    _, first = np.unique(every.node[order], return_index=True)
    chosen = [*order[np.sort(first)][:shown].tolist()]
    chosen += [i for i in order[: 4 * shown].tolist() if i not in chosen][: shown - len(chosen)]
    out = []
    for i in chosen:
        item = session.inputs[int(every.input[i])]
        row = int(operations(item.trace).row[every.at[i]])
        group = session.group_of(item.index)
        what = f"{text}, {group.label}: {format_duration(int(ns[i]), 1)}"
        out.append(Evidence(what, Selection(slice=SliceRef(item.index, row), group=group.id)))
    return tuple(out)
