"""A figure over the runs of a load, as a plot shows it: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "bad", "good", "new", "suspect"]


@dataclass(frozen=True, slots=True)
class RunPoint:
    """One run. ``low`` and ``high`` are the band it was judged against, None where there was none.

    ``tone``: "bad" a regression, "good" an improvement, "suspect" outside the band alone, "new" without enough history.
    ``commit`` is short; a change of it from one run to the next is marked. ``tip`` says everything.
    """

    run: str
    value: float
    low: float | None
    high: float | None
    baseline: float | None
    tone: Tone
    commit: str
    tip: str
    day: str


@dataclass(frozen=True, slots=True)
class RunPlotFrame:
    """The runs of one figure in the order of time. ``ticks`` are (value, text) of the value axis, ascending."""

    title: str
    points: tuple[RunPoint, ...]
    ticks: tuple[tuple[float, str], ...]
    low: float
    high: float
