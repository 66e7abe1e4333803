"""What a stage usually computes per pass: the median over its workers, so that one slow worker is no slow stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.pipeline.model import Passes, PassKind

F64 = NDArray[np.float64]
Key = tuple[int, int, int]
"""(stage, kind of pass, chunk)."""


def usual_passes(workers: Iterable[tuple[int, Passes]]) -> dict[Key, float]:
    """Mean time with compute of a pass, ns: the median over the workers of a stage, of two the shorter one.

    Args:
        workers: (stage, passes of one step) of all that are opened.
    """
    means: dict[Key, list[float]] = defaultdict(list)
    for stage, p in workers:
        keys = p.kind.astype(np.int64) << 32 | (p.chunk + 1)
        distinct, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, p.busy.astype(np.float64)) / np.bincount(inverse)
        for key, mean in zip(distinct.tolist(), sums.tolist(), strict=True):
            means[stage, key >> 32, (key & 0xFFFFFFFF) - 1].append(mean)
    return {key: min(values) if len(values) == 2 else median(values) for key, values in means.items()}


def usual_lengths(stage: int, p: Passes, usual: Mapping[Key, float]) -> F64:
    """float64 per pass of a worker: how long such a pass usually computes, ns."""
    columns = zip(p.kind.tolist(), p.chunk.tolist(), strict=True)
    return np.array([usual[stage, k, c] for k, c in columns], np.float64)


def per_micro_batch(workers: Iterable[tuple[int, Passes, int]], usual: Mapping[Key, float], kind: PassKind) -> float:
    """Usual compute of a kind of pass per micro-batch (all chunks), mean over stages, ns.

    Args:
        workers: (stage, passes, micro-batches) of one line.
        usual: by :func:`usual_passes`.
        kind: which passes.
    """
    each = [float(usual_lengths(s, p, usual)[p.kind == kind].sum()) / max(1, count) for s, p, count in workers]
    return sum(each) / len(each)
