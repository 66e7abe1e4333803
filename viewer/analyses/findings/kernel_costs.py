"""What some kernels cost per step: sums of an amount per kernel over the steady steps of each rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_span
from viewer.analyses.findings.base import Evidence
from viewer.analyses.findings.steady import steady_of, steady_steps
from viewer.analyses.findings.whatif import saved_by_leaving_out
from viewer.analyses.gpu_work import gpu_work
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.jit.intervals import union
from viewer.store.session import RankGroup, Session
from viewer.store.trace import Trace

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Amount = Callable[[Trace], F64]
"""Per position of ``gpu_work`` ns; nan counts as nothing."""


@dataclass(frozen=True, eq=False)
class RankCost:
    """Per steady step of a rank the sum of an amount, ns; ``whole_ns`` over its files where it has no steps."""

    group: RankGroup
    per_step: F64
    whole_ns: float

    @property
    def median_ns(self) -> int | None:
        """Per step, the median of the steps; None without steps."""
        return round(float(np.median(self.per_step))) if len(self.per_step) else None


def rank_costs(session: Session, amount: Amount) -> list[RankCost]:
    """The cost of each rank, ranks in order."""
    return [rank_cost(session, group, amount) for group in session.groups]


def rank_cost(session: Session, group: RankGroup, amount: Amount) -> RankCost:
    """The cost of one rank."""
    found = ((i, amount(session.inputs[i].trace)) for i in group.inputs)
    values = {i: np.where(np.isnan(value), 0.0, value) for i, value in found}
    steps = steady_of(session, group.id)
    sums = np.zeros(len(steps))
    if any(value.any() for value in values.values()):
        for k, step in enumerate(steps):
            sums[k] = values[step.input][gpu_work(session.inputs[step.input].trace).positions(step.rows)].sum()
    return RankCost(group, sums, sum(float(values[i].sum()) for i in group.inputs))


def made_once(amount: Amount) -> Amount:
    """The same amount, made once for each file: for as long as a detector works with it."""
    kept: dict[Trace, F64] = {}

    def of(trace: Trace) -> F64:
        found = kept.get(trace)
        if found is None:
            found = kept[trace] = amount(trace)
        return found

    return of


def worst(costs: list[RankCost]) -> RankCost | None:
    """The rank with the largest cost per step (over its files without steps); None where none has any."""
    costs = [c for c in costs if c.whole_ns > 0]
    return max(costs, key=lambda c: (c.median_ns or 0, c.whole_ns), default=None)


@dataclass(frozen=True, slots=True)
class Saving:
    """What a step gets shorter when an amount goes away: ns (None: cannot be said), its share, and how it is known."""

    ns: int | None
    share: float | None
    how: str


def step_saving(session: Session, cost: RankCost, own_ns: int | None, amount: Amount) -> Saving:
    """The saving by replay of the job's dependencies, else what the rank with the most spends itself.

    Args:
        session: the job.
        cost: of the rank with the most.
        own_ns: per step, of that rank; None without steps: then its share is of the time of its devices.
        amount: the ns that go away, at the end of each kernel.
    """
    if own_ns is None:
        return Saving(None, share_of_trace(session, cost), "")
    replayed = saved_by_leaving_out(session, {g.id: _intervals(session, g, amount) for g in session.groups})
    if replayed is None:
        return Saving(own_ns, share_of_step(session, own_ns), "")
    how = (
        "By replay of the steps with the dependencies between ranks that were seen: kernels end that much earlier on "
        f"all ranks. On the rank with the most it is {format_duration(own_ns, 1)} per step; the rest was waiting. "
    )
    return Saving(replayed, share_of_step(session, replayed), how)


def _intervals(session: Session, group: RankGroup, amount: Amount) -> tuple[I64, I64]:
    """The ends of a rank's kernels that go away: disjoint intervals of session time."""
    ends, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for index in group.inputs:
        item = session.inputs[index]
        value = np.rint(np.nan_to_num(amount(item.trace))).astype(np.int64)
        at = np.flatnonzero(value > 0)
        ends.append(item.clock.many_to_session(gpu_work(item.trace).end_ns[at]))
        lengths.append(value[at])
    end = np.concatenate(ends)
    start = end - np.concatenate(lengths)
    order = np.argsort(start, kind="stable")
    disjoint: tuple[I64, I64] = union(start[order], end[order])
    return disjoint


def share_of_trace(session: Session, cost: RankCost) -> float | None:
    """Part of the spans of a rank's devices that its cost is in all; None without GPU work."""
    traces = [session.inputs[i].trace for i in cost.group.inputs]
    spans = [device_span(t, d) for t in traces for d in gpu_work(t).devices]
    whole = sum(end - start for start, end in filter(None, spans))
    return min(1.0, cost.whole_ns / whole) if whole else None


def much_of(session: Session, cost: RankCost, ns: int | None) -> str:
    """A cost in words: per step with its share, or in all where nothing marks steps."""
    share = share_of_step(session, ns)
    if ns is None or share is None:
        of = share_of_trace(session, cost)
        return f"{format_duration(round(cost.whole_ns), 1)} in all" + (f" ({percent(of, 1)})" if of is not None else "")
    return f"{format_duration(ns, 1)} per step ({percent(share, 1)})"


def share_of_step(session: Session, ns: int | None) -> float | None:
    """Part of the step's length; None without steps."""
    step = steady_steps(session).step_ns
    return ns / step if ns is not None and step else None


def largest_kernels(session: Session, cost: RankCost, amount: Amount, what: str, most: int = 3) -> list[Evidence]:
    """The kernels by name with the largest sums on a rank, each with its largest run."""
    found: dict[str, tuple[float, int, float, SliceRef]] = {}
    for index in cost.group.inputs:
        trace, work = session.inputs[index].trace, gpu_work(session.inputs[index].trace)
        value = np.nan_to_num(amount(trace))
        at = np.flatnonzero(value > 0)
        names, inverse = np.unique(trace.slices.name[work.index[at]], return_inverse=True)
        sums, counts = np.bincount(inverse, value[at]), np.bincount(inverse)
        for n, code in enumerate(names.tolist()):
            mine = at[inverse == n]
            top = int(mine[int(np.argmax(value[mine]))])
            name = trace.text(code)
            before = found.get(name, (0.0, 0, 0.0, SliceRef(index, int(work.index[top]))))
            ref = SliceRef(index, int(work.index[top])) if value[top] >= before[2] else before[3]
            found[name] = (
                before[0] + float(sums[n]),
                before[1] + int(counts[n]),
                max(before[2], float(value[top])),
                ref,
            )
    ranked = sorted(found.items(), key=lambda kv: (-kv[1][0], kv[0]))[:most]
    return [
        Evidence(
            f"{_short(name)}: {count:,} runs on {cost.group.label}, {what} {format_duration(round(total), 1)}", ref
        )
        for name, (total, count, _, ref) in ranked
    ]


def _short(name: str, limit: int = 90) -> str:
    return name if len(name) <= limit else name[: limit - 1] + "…"
