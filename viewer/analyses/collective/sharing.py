"""Lateness and waiting of a job, shared out among ranks that are slower than their peers, by replay."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.engine import Engine

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

MOST_SHARED: Final = 4
"""Ranks whose orders are all gone through: two to the power of it replays."""
LEAST_SHARED: Final = 0.1
"""Of the lateness of the latest: a rank below that hides nobody."""


@dataclass(frozen=True, eq=False)
class Split:
    """Per rank and step, ns, as in ``lateness``; NaN where unknown."""

    own: F64
    alone: F64
    inherited: F64
    caused: F64


def split(engine: Engine, factor: F64, anchor: I64, unsure: NDArray[np.bool_]) -> Split:
    """Replay the steps with ranks as fast as their peers.

    Own lateness is what mending one rank gains, alone what is left when all others are mended. The waiting that a rank
    causes is its Shapley value: what mending it saves the others, averaged over all orders in which the latest ranks
    could be mended (of further ranks: over being the first and being the last one).

    Args:
        engine: the graph.
        factor: float64[stretches], by which each stretch of own time is as long as the peers'.
        anchor: int64[ranks, steps], the event at which lateness is read, -1 for none.
        unsure: bool[ranks, steps], steps in which nothing can be told of a rank.
    """
    count, steps = anchor.shape
    found = Split(*(np.full((count, steps), np.nan) for _ in range(4)))
    seen, ideal = engine.run(np.ones_like(factor)), engine.run(factor)
    slow = []
    for i in range(count):
        part = slice(engine.part(i, 0).start, engine.part(i, steps - 1).stop)
        known = np.flatnonzero((anchor[i] >= 0) & ~unsure[i])
        at = anchor[i, known]
        mended = left = seen
        if bool((factor[part] != 1.0).any()):
            slow.append(i)
            mended, left = engine.run(_mended(factor, [part])), engine.run(_mended(factor, [part], but=True))
            found.alone[i, known] = np.maximum(left[at] - ideal[at], 0)
            first, last = (
                engine.waits(left, i) - engine.waits(ideal, i),
                engine.waits(seen, i) - engine.waits(mended, i),
            )
            found.caused[i, known] = ((first + last) / 2)[known]
        else:
            found.alone[i, known] = found.caused[i, known] = 0.0
        found.own[i, known] = np.maximum(seen[at] - mended[at], 0)
        found.inherited[i, known] = np.maximum(seen[at] - ideal[at] - found.own[i, known], 0)
    late = {i: float(np.nan_to_num(np.fmax(found.own[i], found.alone[i])).mean()) for i in slow}
    worst = sorted(late, key=lambda i: -late[i])[:MOST_SHARED]
    worst = [i for i in worst if late[i] > 0 and late[i] >= LEAST_SHARED * late[worst[0]]]
    if len(worst) > 2:  # of two, being the first and being the last are all orders
        for i, share in _shapley(engine, factor, worst, steps).items():
            found.caused[i] = np.where(np.isnan(found.caused[i]), np.nan, share)
    return found


def _mended(factor: F64, parts: list[slice], *, but: bool = False) -> F64:
    """The factors of some ranks' stretches and 1 for the others; with ``but`` the other way round."""
    out = factor.copy() if but else np.ones_like(factor)
    for part in parts:
        out[part] = 1.0 if but else factor[part]
    return out


def _shapley(engine: Engine, factor: F64, ranks: list[int], steps: int) -> dict[int, F64]:
    """Per rank and step the mean, over all orders of mending these ranks, of the waiting that it saves the others."""
    n = len(ranks)
    waiting: dict[frozenset[int], dict[int, F64]] = {}
    for size in range(n + 1):
        for chosen in itertools.combinations(ranks, size):
            parts = [slice(engine.part(i, 0).start, engine.part(i, steps - 1).stop) for i in chosen]
            value = engine.run(_mended(factor, parts))
            waiting[frozenset(chosen)] = {i: engine.waits(value, i) for i in ranks}
    out = {}
    for i in ranks:
        share = np.zeros(steps)
        for mended, waits in waiting.items():
            if i not in mended:
                weight = math.factorial(len(mended)) * math.factorial(n - len(mended) - 1) / math.factorial(n)
                share += weight * (waits[i] - waiting[mended | {i}][i])
        out[i] = share
    return out
