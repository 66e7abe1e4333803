"""A flame graph as a widget shows it: plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import Paint


@dataclass(frozen=True, eq=False)
class FlameFrame:
    """Nodes in depth-first order; node 0 is the root. Arrays have one entry per node.

    ``left`` and ``right`` are parts of the root's width, 0 to 1. ``total`` and ``own`` in ns. ``paints`` are the
    classes, None for what has none. ``weight`` says what a width means ("GPU time").
    """

    names: Sequence[str]
    paints: Sequence[Paint | None]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    total: NDArray[np.int64]
    own: NDArray[np.int64]
    weight: str

    def __len__(self) -> int:
        return len(self.names)

    def path(self, node: int) -> list[int]:
        """The nodes from the root to this one."""
        out = [node]
        while self.parent[out[-1]] >= 0:
            out.append(int(self.parent[out[-1]]))
        return out[::-1]
