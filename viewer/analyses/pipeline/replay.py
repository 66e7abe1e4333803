"""How long a pipeline's passes take in their order when each begins as soon as it can."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.pipeline.model import Passes, PassKind

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Key = tuple[int, int, int]
"""(kind, micro-batch, virtual stage), see ``Passes.virtual``."""


class Order:
    """The passes of one line in one step and what each has to wait for.

    A pass waits for the one before it on its worker. A forward pass also waits for that of the virtual stage before, a
    backward pass for that of the virtual stage behind, and on the last one for its own forward pass.

    Attributes:
        worker: int64[n], stage of each pass; passes of a worker stay in their order.
        feeds: int64[n], the pass of another stage whose result it needs, -1 for none.
        first: offsets of each stage's passes, len = stages + 1.

    Raises:
        ValueError: the passes do not fit together (numbers repeat, or a result that is needed is nowhere).
    """

    def __init__(self, stages: Sequence[Passes], chunks: int) -> None:
        count = len(stages)
        place: dict[Key, int] = {}
        kinds: list[int] = []
        keys: list[Key] = []
        self.worker = np.repeat(np.arange(count), [len(p) for p in stages])
        self.first = np.concatenate(([0], np.cumsum([len(p) for p in stages])))
        for stage, passes in enumerate(stages):
            places = passes.virtual if passes.virtual is not None else np.maximum(passes.chunk, 0) * count + stage
            for kind, micro, virtual in zip(passes.kind.tolist(), passes.micro.tolist(), places.tolist(), strict=True):
                key = (kind, micro, virtual)
                if micro < 0 or key in place:
                    raise ValueError("micro-batch numbers are unknown or repeat")
                place[key] = len(kinds)
                kinds.append(kind)
                keys.append(key)
        last = count * chunks - 1
        feeds: list[int] = []
        for kind, micro, virtual in keys:
            wanted: Key | None = None
            if kind == PassKind.FORWARD and virtual > 0:
                wanted = (kind, micro, virtual - 1)
            elif kind == PassKind.BACKWARD:
                wanted = (kind, micro, virtual + 1) if virtual < last else (int(PassKind.FORWARD), micro, virtual)
            if wanted is not None and wanted not in place:
                raise ValueError("a pass needs a result that no pass made")
            feeds.append(place[wanted] if wanted is not None else -1)
        self.feeds = np.array(feeds, np.int64)
        self.kind = np.array(kinds, np.int64)
        self._sequence = self._topological()

    def _topological(self) -> list[int]:
        """An order in which every pass comes after what it waits for. Raises ValueError for a circle."""
        at = self.first[:-1].tolist()
        end = self.first[1:].tolist()
        feeds = self.feeds.tolist()
        done = [False] * len(feeds)
        out: list[int] = []
        moved = True
        while moved:
            moved = False
            for stage in range(len(at)):
                while at[stage] < end[stage] and (feeds[at[stage]] < 0 or done[feeds[at[stage]]]):
                    done[at[stage]] = True
                    out.append(at[stage])
                    at[stage] += 1
                    moved = True
        if len(out) < len(feeds):
            raise ValueError("the passes wait for each other in a circle")
        return out

    def across(self) -> NDArray[np.bool_]:
        """Which passes get their input from another worker."""
        out: NDArray[np.bool_] = (self.feeds >= 0) & (self.worker[np.maximum(self.feeds, 0)] != self.worker)
        return out

    def run(self, length: F64, delay: F64 | None = None) -> F64:
        """From the first begin to the last end, ns: float64[k] for k lists of lengths at once.

        Args:
            length: float64[k, n], how long each pass takes.
            delay: float64[k, n], how long the result that it needs is on its way; nothing when None.
        """
        count = len(length)
        ends, free = np.zeros((length.shape[1], count)), np.zeros((len(self.first), count))
        lengths = np.ascontiguousarray(length.T)
        delays = np.zeros_like(lengths) if delay is None else np.ascontiguousarray(delay.T)
        feeds, worker = self.feeds.tolist(), self.worker.tolist()
        for i in self._sequence:
            begin, at = free[worker[i]], feeds[i]
            if at >= 0:
                begin = np.maximum(begin, ends[at] + delays[i])
            ends[i] = free[worker[i]] = begin + lengths[i]
        out: F64 = ends.max(axis=0) if len(ends) else np.zeros(count)
        return out


def stage_means(order: Order, busy: F64, chunk: I64) -> F64:
    """Each pass as long as the mean of its kind and chunk on its worker."""
    out = np.empty(len(busy))
    key = (order.worker * 3 + order.kind) * (int(chunk.max(initial=0)) + 2) + chunk + 1
    _, inverse = np.unique(key, return_inverse=True)
    means = np.bincount(inverse, busy) / np.bincount(inverse)
    out[:] = means[inverse]
    return out


def all_alike(order: Order, length: F64, chunk: I64) -> F64:
    """Each pass as long as the mean of its kind and chunk over all stages."""
    key = order.kind * (int(chunk.max(initial=0)) + 2) + chunk + 1
    _, inverse = np.unique(key, return_inverse=True)
    means: F64 = np.bincount(inverse, length) / np.bincount(inverse)
    return means[inverse]
