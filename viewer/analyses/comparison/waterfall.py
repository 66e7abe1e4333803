"""From the step of the base run to that of the test run: causes that add up exactly to the difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.rank_steps import rank_steps
from viewer.analyses.collective.table import kernel_waits
from viewer.analyses.comparison.amounts import Amounts, Keys, apportioned
from viewer.analyses.comparison.kernels import Kernels
from viewer.analyses.comparison.rows import Measure
from viewer.analyses.comparison.spans import (
    BEFORE_COMM,
    BETWEEN,
    COMM_PARTS,
    PIPELINE_WAIT,
    TRANSFER,
    WAIT,
    SpanParts,
)
from viewer.analyses.comparison.work import Side
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import ABSENT, Paint

I64 = NDArray[np.int64]
Kind = Literal["kernel", "kernels", "communication", "memory", "idle"]

MOST_NAMED: Final = 6
"""Kernels that get a bar of their own."""
LEAST_OF_ITS_OWN: Final = 0.5
"""Exposed transfer is a cause where the transfers got longer by this part of it at least."""
LEAST_SHARE: Final = 0.02
"""Of all that moved: below it a kernel is one of the others."""

HOW: Final = (
    "mean over the compared steps and ranks; a step lasts from the end of the GPU work of the step before to that of "
    "its own. Every instant is charged once: to compute where a kernel computes (of several the one that started "
    "first), else to communication, else to copies, else to idle by cause. The parts sum exactly to the difference"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One part, ns per step and rank.

    ``waits_for_others``: what other ranks' time makes of it, or may; it follows causes of its own. ``where``: the unit
    (rank or device) that has more than half of what moved, None where no one has.
    """

    id: str
    label: str
    kind: Kind
    base_ns: int
    test_ns: int
    band_ns: int | None
    significant: bool | None
    waits_for_others: bool = False
    where: int | None = None

    @property
    def delta_ns(self) -> int:
        """What it adds (positive) or saves."""
        return self.test_ns - self.base_ns


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The mean step of both runs and the causes of the difference: they sum to it exactly (asserted)."""

    base_ns: int
    test_ns: int
    causes: tuple[Cause, ...]
    significant: bool | None
    band_ns: int | None

    def __post_init__(self) -> None:
        if sum(c.delta_ns for c in self.causes) != self.test_ns - self.base_ns:
            raise AssertionError("the causes do not add up to the difference of the steps")

    @property
    def delta_ns(self) -> int:
        """How much longer the test run's step is."""
        return self.test_ns - self.base_ns


Key = tuple[str, int | str]


def waterfall(base: Side, test: Side, parts: tuple[list[SpanParts], list[SpanParts]], kernels: Kernels) -> Waterfall:
    """The causes, ranked: what is beyond noise before what may not be, causes before waiting for others."""
    keys = Keys()
    sums = [_sum(side, found, kernels, keys) for side, found in zip((base, test), parts, strict=True)]
    measure = Measure.of(sums[0], sums[1], len(keys), base, whole=False, by_unit=True)
    names, into = _grouped(measure, keys, kernels)
    measure = measure.merged(into, len(names))
    bands, significant = measure.judged()
    total = measure.merged(np.zeros(len(names), np.int64), 1)
    step_band, step_significant = total.judged()
    spans = max(measure.spans, 1)
    one = apportioned([int(v) for v in measure.inside_base], spans)
    other = apportioned([int(v) for v in measure.inside_test], spans)
    causes = [
        replace(_cause(key, one[i], other[i], bands[i], significant[i], kernels), where=measure.where(i))
        for i, key in enumerate(names)
        if one[i] or other[i]
    ]
    of_one_rank = sum(c.delta_ns for c in causes if c.where is not None and not c.waits_for_others) * len(base.units)
    causes = [
        replace(c, waits_for_others=True) if _merely_less_hidden(c, of_one_rank, base, test) else c for c in causes
    ]
    causes.sort(key=lambda c: ({True: 0, None: 1, False: 2}[c.significant], c.waits_for_others, -abs(c.delta_ns), c.id))
    return Waterfall(sum(one), sum(other), tuple(causes), step_significant[0], step_band[0])


def _merely_less_hidden(cause: Cause, of_one_rank_ns: int, base: Side, test: Side) -> bool:
    """Whether exposed transfer changed by a rank's own time: the transfers themselves did not by even half as much.

    When that rank arrives late, what hid the transfers of its peers is over. ``of_one_rank_ns`` is what single ranks
    changed by their own time, per step of theirs.
    """
    if cause.id != f"communication/{COMM_PARTS[TRANSFER]}" or not cause.delta_ns:
        return False
    if of_one_rank_ns / cause.delta_ns < 1:
        return False
    longer = _transfer_per_step(test) - _transfer_per_step(base)
    return longer / cause.delta_ns < LEAST_OF_ITS_OWN


def _transfer_per_step(side: Side) -> float:
    """What transfers take per step and rank, hidden or not, where they can be told from waiting."""
    _, _, transfer, _ = kernel_waits(side.session)
    steps = sum(len(rank_steps(side.session, g)) for g in side.session.groups)
    return float(transfer[transfer != ABSENT].sum()) / max(1, steps)


def _sum(side: Side, parts: list[SpanParts], kernels: Kernels, keys: Keys) -> Amounts:
    out = Amounts()
    for number, (unit, found) in enumerate(zip(side.units, parts, strict=True)):
        every = np.arange(len(unit.spans))
        for index in unit.inputs:
            mine = np.flatnonzero(np.array([unit.spans[k].input == index for k in found.k.tolist()], np.bool_))
            trace = side.session.inputs[index].trace
            names = trace.slices.name[gpu_work(trace).index[found.at[mine]]]
            row = kernels.row_of[kernels.keys.of_names(trace, names)]
            key = keys.of_rows(row.reshape(-1, 1), lambda r: ("kernel", r[0]))
            out.add(number, key, found.k[mine], found.ns[mine])
        for column, name in enumerate(COMM_PARTS):
            out.add(number, np.full(len(every), keys.number(("communication", name))), every, found.comm[:, column])
        out.add(number, np.full(len(every), keys.number(("memory", "exposed"))), every, found.figures[:, 3])
        for name, ns in found.idle.items():
            out.add(number, np.full(len(every), keys.number(("idle", name))), every, ns)
    return out


def _grouped(measure: Measure, keys: Keys, kernels: Kernels) -> tuple[list[Key], I64]:
    """The parts that are told apart, and of each key which one it belongs to."""
    delta = measure.inside_test - measure.inside_base
    moved = int(np.abs(delta).sum())
    _, significant = measure.judged()
    of_both = [
        i
        for i, (kind, row) in enumerate(keys.known)
        if kind == "kernel"
        and kernels.rows[row].status in ("both", "replaced")
        and significant[i] is not False
        and abs(int(delta[i])) > LEAST_SHARE * moved
    ]
    named = set(sorted(of_both, key=lambda i: -abs(int(delta[i])))[:MOST_NAMED])
    groups: dict[Key, int] = {}
    into = np.zeros(len(keys), np.int64)
    for i, key in enumerate(keys.known):
        kind, row = key
        part = ("kernels", kernels.rows[row].status) if kind == "kernel" and i not in named else key
        into[i] = groups.setdefault(part, len(groups))
    return list(groups), into


_GROUPS: Final = {
    "both": "kernels of both runs",
    "new": "new kernels",
    "vanished": "vanished kernels",
    "replaced": "replaced kernels",
}
_COMM: Final = {
    "wait": "exposed communication: waiting for the last rank",
    "pipeline wait": "exposed communication: receives waiting for their send",
    "transfer": "exposed communication: transfer",
    "not separable": "exposed communication: waiting or transfer",
}


def _cause(key: Key, base: int, test: int, band: int | None, significant: bool | None, kernels: Kernels) -> Cause:
    kind, name = key
    if kind == "kernel" and isinstance(name, int):
        row = kernels.rows[name]
        return Cause(f"kernel/{row.name}", row.name, "kernel", base, test, band, significant)
    text = str(name)
    if kind == "kernels":
        return Cause(f"kernels/{text}", _GROUPS[text], "kernels", base, test, band, significant)
    if kind == "communication":
        waits = text in (COMM_PARTS[WAIT], COMM_PARTS[PIPELINE_WAIT])
        return Cause(f"communication/{text}", _COMM[text], "communication", base, test, band, significant, waits)
    if kind == "memory":
        return Cause("memory/exposed", "exposed copies and fills", "memory", base, test, band, significant)
    waits = text.endswith(BEFORE_COMM)
    label = f"idle {text}" if text.startswith(BETWEEN) else f"idle, {text}"
    return Cause(f"idle/{text}", label, "idle", base, test, band, significant, waits)


PAINTS: Final[dict[Kind, Paint]] = {
    "kernel": Paint.COMPUTE,
    "kernels": Paint.COMPUTE,
    "communication": Paint.COMM,
    "memory": Paint.MEMORY,
    "idle": Paint.OTHER,
}
"""What colour a part has."""
