"""A map of memory as a widget shows it: an image over a stretch of the horizontal axis and of bytes. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class MapSpan:
    """What of a map is seen: ``x0`` to ``x1`` in whole units of its axis (ns, or numbers of events), bytes upward."""

    x0: int
    x1: int
    y0: float
    y1: float

    @property
    def length(self) -> int:
        """Of the horizontal axis; at least 1."""
        return max(self.x1 - self.x0, 1)

    @property
    def height(self) -> float:
        """Of the vertical axis; above 0."""
        return max(self.y1 - self.y0, 1.0)


@dataclass(frozen=True, eq=False)
class MapFrame:
    """What a map shows.

    Attributes:
        image: uint32[height, width] of 0xffRRGGBB, row 0 on top.
        span: what the image covers.
        whole: all that there is to see.
        x_ticks, y_ticks: (share of the axis from its begin, text).
        free: whether the vertical axis zooms; otherwise it shows all.
        moves: whether the horizontal axis does.
        told: a sentence for who does not see it.
    """

    image: NDArray[np.uint32]
    span: MapSpan
    whole: MapSpan
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    free: bool = True
    moves: bool = True
    told: str = ""
    message: str = ""
    """Why there is nothing to see, "" where there is."""
