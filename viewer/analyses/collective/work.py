"""What the ranks of a job compute in their steps: how long, and which ranks run the same kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.rank_steps import rank_steps
from viewer.base.ids import Paint
from viewer.store.session import Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankWork:
    """``ns``: float64[ranks, steps], sums of kernels, copies and fills that a step launched; NaN without it."""

    session: Session
    ranks: tuple[int, ...]
    ns: F64

    def alike(self) -> I64:
        """A number per rank, equal for ranks that run the same kernels equally often in a step."""
        seen: dict[frozenset[tuple[str, int]], int] = {}
        return np.array([seen.setdefault(_kernels(self.session, r), len(seen)) for r in self.ranks], np.int64)


def rank_work(session: Session, ranks: tuple[int, ...], steps: int) -> RankWork:
    """The work of RankGroups ``ranks`` over so many steps."""
    ns = np.full((len(ranks), steps), np.nan)
    for i, group in enumerate(ranks):
        for k, step in enumerate(rank_steps(session, session.groups[group])[:steps]):
            s = session.inputs[step.input].trace.slices
            ns[i, k] = float(s.dur_ns[step.rows[s.paint[step.rows] != Paint.COMM]].sum())
    return RankWork(session, ranks, ns)


def _kernels(session: Session, group: int) -> frozenset[tuple[str, int]]:
    """Names of kernels with how often a step runs each."""
    total: dict[str, int] = {}
    steps = rank_steps(session, session.groups[group])
    for step in steps:
        trace = session.inputs[step.input].trace
        rows = step.rows[trace.slices.paint[step.rows] != Paint.COMM]
        codes, counts = np.unique(trace.slices.name[rows], return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            name = trace.text(code)
            total[name] = total.get(name, 0) + count
    return frozenset((name, round(count / len(steps))) for name, count in total.items())
