"""Steps whose peak stands out: how much, and what was held there that is not held at the peak of other steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import block_categories, held_rows
from viewer.analyses.memory.edges import Edges, block_keys, key_text, step_edges
from viewer.analyses.memory.figures import device_blocks
from viewer.analyses.robust import deviation
from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.ids import ABSENT
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]

OUTLIER: Final = 6.0
"""Robust spreads (1.4826 x the median absolute deviation) above the median: beyond what varying shapes do."""
LEAST_SHARE: Final = 0.03
"""Of the median peak: smaller spikes do not decide whether a job fits."""
LEAST_STEPS: Final = 4


@dataclass(frozen=True, slots=True)
class Spike:
    """A step whose peak stands out.

    Attributes:
        step: place among the steps of ``edges``.
        event: row of allocator_events of its peak.
        peak: bytes allocated there.
        usual: median peak of the steady steps.
        makers: (bytes more than at the peak of a usual step, who, category), the largest first.
    """

    step: int
    event: int
    peak: int
    usual: int
    makers: tuple[tuple[int, str, str], ...]

    @property
    def excess(self) -> int:
        """Bytes above the usual peak."""
        return self.peak - self.usual


@dataclass(frozen=True, eq=False)
class StepPeaks:
    """Peak of allocated memory per step: ``peak`` int64[steps], ``event`` the row after which it is reached."""

    edges: Edges
    peak: I64
    event: I64


def step_peaks(session: Session, item: Input, device: int) -> StepPeaks | None:
    """Peaks per step; None without steps or levels."""
    edges = step_edges(session, item, device)
    if edges is None:
        return None
    level = item.trace.tables["allocator_events"].allocated
    peak, event = np.zeros(edges.count, np.int64), np.zeros(edges.count, np.int64)
    for k in range(edges.count):
        rows = edges.levels_of(k)
        part = level[rows]
        if not len(part) or part[0] == ABSENT:
            return None
        event[k] = rows.start + int(np.argmax(part))
        peak[k] = part.max()
    return StepPeaks(edges, peak, event)


def spikes(session: Session, item: Input, device: int) -> tuple[Spike, ...]:
    """Steady steps whose peak stands out, the largest first."""
    found = step_peaks(session, item, device)
    if found is None or found.edges.count - found.edges.first < LEAST_STEPS:
        return ()
    peak = found.peak[found.edges.first :]
    # A drift moves all peaks: what stands out does so against its neighbours, not against the first step.
    slope = float(np.median(np.diff(peak)))
    level = peak - slope * np.arange(len(peak))
    usual = float(np.median(level))
    spread = deviation(level, usual)
    out = []
    for k in np.flatnonzero(level - usual > max(OUTLIER * spread, LEAST_SHARE * usual)).tolist():
        step = k + found.edges.first
        here = round(usual + slope * k)
        nearest = int(np.argmin(np.abs(level - usual) + (np.arange(len(level)) == k) * 2.0**62)) + found.edges.first
        makers = _more(session, item, device, int(found.event[step]), int(found.event[nearest]))
        out.append(Spike(step, int(found.event[step]), int(found.peak[step]), here, makers))
    return tuple(sorted(out, key=lambda s: -s.excess))


def _more(session: Session, item: Input, device: int, event: int, usual: int) -> tuple[tuple[int, str, str], ...]:
    """By maker and category what is held after one event beyond what is held after another."""
    trace = item.trace
    rows = device_blocks(trace, device)
    key, size = block_keys(trace, device), trace.tables["blocks"].size
    category = block_categories(session, item).category
    more: dict[tuple[int, int], int] = {}
    for at, sign in ((event, 1), (usual, -1)):
        for block in held_rows(trace, device, at).tolist():
            what = int(key[block - rows.start]), int(category[block])
            more[what] = more.get(what, 0) + sign * int(size[block])
    best = sorted(((v, k) for k, v in more.items() if v > 0), reverse=True)[:5]
    return tuple((v, key_text(trace, k), CATEGORY_NAMES[c]) for v, (k, c) in best)
