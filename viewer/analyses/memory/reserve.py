"""Reserved memory that grows from step to step while what is held does not: cached segments that no request fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.edges import Edges, step_edges
from viewer.analyses.memory.growth import RISING, slope_of
from viewer.analyses.memory.spikes import step_peaks
from viewer.base.ids import ABSENT
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]

LEAST_STEPS: Final = 6
"""Steps after warm-up: a cache that fills step by step for the first shapes does so in fewer."""
LEAST_SHARE: Final = 0.03
"""Of the reserve, over all steps seen."""
EXPLAINED: Final = 0.5
"""The peak of what is held may grow by this share of it: then that is why."""


@dataclass(frozen=True, eq=False)
class ReserveGrowth:
    """``reserved`` int64[steady steps], the largest of each step; ``bytes_per_step`` its robust slope."""

    edges: Edges
    reserved: I64
    bytes_per_step: float
    held_per_step: float


def reserve_growth(session: Session, item: Input, device: int) -> ReserveGrowth | None:
    """Growth of the reserve that what is held does not explain; None without, or where it cannot be told."""
    edges = step_edges(session, item, device)
    peaks = step_peaks(session, item, device)
    if edges is None or peaks is None or edges.count - edges.first < LEAST_STEPS:
        return None
    level = item.trace.tables["allocator_events"].reserved
    parts = [level[edges.levels_of(k)] for k in range(edges.first, edges.count)]
    if any(not len(p) or p[0] == ABSENT for p in parts):
        return None
    reserved = np.array([int(p.max()) for p in parts], np.int64)
    slope, rising = slope_of(reserved.astype(np.float64))
    held, _ = slope_of(peaks.peak[edges.first :].astype(np.float64))
    rise = slope * (len(reserved) - 1)
    if rising < RISING or rise < LEAST_SHARE * float(reserved.max()) or held > EXPLAINED * slope:
        return None
    return ReserveGrowth(edges, reserved, slope, held)
