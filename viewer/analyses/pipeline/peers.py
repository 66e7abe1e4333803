"""Workers of one stage held against each other: who computes longer than those that do the same work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.pipeline.figures import Pipeline
from viewer.analyses.robust import deviation

F64 = NDArray[np.float64]

LATE: Final = 0.03
"""Compute beyond the peers', as a share of the phase, that makes a worker late (as for stragglers of a job)."""
OUTSIDE: Final = 4.0
"""How many times the spread of its peers it must be."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker over all steps, means in ns per step.

    ``beyond_ns`` is its compute beyond the median of the other workers of its stage (None without any), ``share`` that
    of the phase, ``late_steps`` in how many of ``steps`` it was at least 3 % of the phase. ``late``: in most steps, and
    outside its peers' spread.
    """

    worker: int
    compute_ns: int
    beyond_ns: int | None
    share: float | None
    steps: int
    late_steps: int
    late: bool


def worker_rows(found: Pipeline) -> list[WorkerRow]:
    """The workers that are opened, those that compute longest beyond their peers first."""
    workers = [w for w in found.layout.workers if w.group is not None]
    column = {w.index: i for i, w in enumerate(workers)}
    compute = np.full((len(workers), len(found.steps)), np.nan)
    phase = np.full(len(found.steps), np.nan)
    for k, step in enumerate(found.steps):
        phase[k] = step.phase_ns
        for stage in step.stages():
            compute[column[stage.worker], k] = stage.compute_ns
    stages = np.array([w.stage for w in workers])
    beyond = np.full(compute.shape, np.nan)
    for i in range(len(workers)):
        beyond[i] = compute[i] - _usual(compute[(stages == stages[i]) & (np.arange(len(workers)) != i)], compute[i])
    rows = []
    for i, worker in enumerate(workers):
        mine = ~np.isnan(compute[i])
        if not mine.any():
            continue
        told = ~np.isnan(beyond[i])
        if not told.any():
            rows.append(WorkerRow(worker.index, round(compute[i][mine].mean()), None, None, int(mine.sum()), 0, False))
            continue
        late = beyond[i][told] >= LATE * phase[told]
        others = beyond[(stages == stages[i]) & (np.arange(len(workers)) != i)]
        others = others[~np.isnan(others)]
        spread = deviation(others)
        often = len(late) > 1 and float(late.mean()) > 0.5
        rows.append(
            WorkerRow(
                worker.index,
                round(compute[i][mine].mean()),
                round(float(beyond[i][told].mean())),
                float((beyond[i][told] / phase[told]).mean()),
                int(mine.sum()),
                int(late.sum()),
                often and float(np.median(beyond[i][told])) > OUTSIDE * spread,
            )
        )
    rows.sort(key=lambda r: (-(r.beyond_ns or 0), r.worker))
    return rows


def _usual(others: F64, own: F64) -> F64:
    """What a worker of the stage computes per step: the median of the others, of two workers the faster one's."""
    if not len(others):
        return np.full(len(own), np.nan)
    if len(others) == 1:
        least: F64 = np.minimum(others[0], own)
        return least
    out = np.full(len(own), np.nan)
    known = ~np.isnan(others).all(axis=0)
    out[known] = np.nanmedian(others[:, known], axis=0)
    return out
