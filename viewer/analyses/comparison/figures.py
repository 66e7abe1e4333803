"""The time identity of both runs side by side: per rank, per step, and over all steps with their scatter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.amounts import apportioned
from viewer.analyses.comparison.pairing import Pairing
from viewer.analyses.comparison.spans import FIGURES, SpanParts
from viewer.analyses.robust import spread

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Identity:
    """compute + exposed communication + exposed memory + idle = span, ns, exactly."""

    span_ns: int
    compute_ns: int
    comm_exposed_ns: int
    memory_exposed_ns: int
    idle_ns: int

    def __post_init__(self) -> None:
        if self.compute_ns + self.comm_exposed_ns + self.memory_exposed_ns + self.idle_ns != self.span_ns:
            raise AssertionError("the parts of a step do not add up to it")


@dataclass(frozen=True, slots=True)
class Scatter:
    """Median and robust standard deviation over the steps, ns. ``count`` steps."""

    median_ns: int
    spread_ns: int
    count: int


@dataclass(frozen=True, slots=True)
class RankRow:
    """One rank (or device) of both runs: its mean step and the scatter of its steps' lengths."""

    label: str
    base: Identity
    test: Identity
    base_step: Scatter
    test_step: Scatter

    @property
    def delta_ns(self) -> int:
        """How much longer the test run's step is."""
        return self.test.span_ns - self.base.span_ns


@dataclass(frozen=True, slots=True)
class StepRow:
    """Step k of both runs, mean over the ranks that have it; the numbers are those of the first such rank."""

    base_number: int | None
    test_number: int | None
    base: Identity
    test: Identity


@dataclass(frozen=True, eq=False)
class Figures:
    """Everything about the spans' lengths. ``over_steps``: per figure of FIGURES (base, test)."""

    ranks: tuple[RankRow, ...]
    steps: tuple[StepRow, ...]
    over_steps: dict[str, tuple[Scatter, Scatter]]


def figures(pairing: Pairing, base: list[SpanParts], test: list[SpanParts]) -> Figures:
    """The identity of all paired spans."""
    ranks = tuple(
        RankRow(p.label, mean(a.figures), mean(b.figures), scatter(a.figures[:, 0]), scatter(b.figures[:, 0]))
        for p, a, b in zip(pairing.pairs, base, test, strict=True)
    )
    most = max((len(p.figures) for p in base), default=0)
    steps = []
    means: tuple[list[I64], list[I64]] = [], []
    for k in range(most):
        having = [i for i, p in enumerate(base) if len(p.figures) >= most - k]
        rows = [np.stack([side[i].figures[k - most + len(side[i].figures)] for i in having]) for side in (base, test)]
        one, other = mean(rows[0]), mean(rows[1])
        first = pairing.pairs[having[0]]
        at = k - most + len(first.base.spans)
        steps.append(StepRow(first.base.spans[at].number, first.test.spans[at].number, one, other))
        for found, identity in zip(means, (one, other), strict=True):
            found.append(np.array([getattr(identity, name) for name in FIGURES], np.int64))
    over = {
        name: (scatter(np.array([m[i] for m in means[0]])), scatter(np.array([m[i] for m in means[1]])))
        for i, name in enumerate(FIGURES)
    }
    return Figures(ranks, tuple(steps), over if most else {})


def mean(rows: I64) -> Identity:
    """The mean of spans int64[n, 5]; whole ns that still add up."""
    parts = apportioned([int(v) for v in rows[:, 1:].sum(axis=0)], max(len(rows), 1))
    return Identity(sum(parts), *parts)


def scatter(values: I64) -> Scatter:
    """Median (the lower of two middle ones) and robust standard deviation."""
    middle = int(np.sort(values)[(len(values) - 1) // 2]) if len(values) else 0
    return Scatter(middle, round(spread(values.astype(np.float64))), len(values))
