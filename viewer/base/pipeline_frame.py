"""Plain data of a pipeline chart: rows of workers, cells of passes and communication along one time axis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import Paint
from viewer.base.selection import GroupRef, SliceRef

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]


class CellKind(IntEnum):
    """What a cell stands for. Passes come first; the others are drawn as a strip below them."""

    FORWARD = 0
    BACKWARD = 1
    WEIGHT = 2
    SEND = 3
    RECEIVE = 4
    OTHER = 5


CELL_NAMES = ("forward", "backward", "weight gradient", "send", "receive", "other communication")
CELL_PAINTS = (Paint.OPERATOR, Paint.COMPUTE, Paint.MEMORY, Paint.COMM, Paint.SYNC, Paint.OVERHEAD)
"""By CellKind: words, and the theme's colour that it borrows."""


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """One worker, or a stage that stands for its replicas.

    Attributes:
        label: beside the cells; ``detail`` is muted behind it.
        bubble: measured, as text; ``theory`` beside it. "" where there is none.
        told: what hovering over label and figures says, lines.
        target: the rank that a click on the label chooses.
        missing: its trace is not open.
        begins: it is the first of its pipeline; ``heading`` names that ("" for none).
        phase: begin and end of the pipelined phase, ns on the chart's axis; None without one.
        over: the bubble is clearly beyond theory.
    """

    label: str
    detail: str
    bubble: str
    theory: str
    told: str
    target: GroupRef | None
    missing: bool = False
    begins: bool = False
    heading: str = ""
    phase: tuple[float, float] | None = None
    over: bool = False


@dataclass(frozen=True, eq=False)
class PipelineFrame:
    """What a pipeline chart shows.

    Cells are sorted by (row, start): ``row`` int64[n], ``start`` and ``end`` float64[n] in ns from the axis' begin,
    ``kind`` uint8[n] (CellKind), ``text`` what is written in a pass that is wide enough, ``refs`` the slice of each.
    ``told`` says what hovering over a cell shows. ``span_ns`` is the axis' length; ``origin_ns`` its begin, session
    time. ``columns`` are the headings of bubble and theory.
    """

    rows: tuple[PipelineRow, ...]
    row: I64
    start: F64
    end: F64
    kind: U8
    text: tuple[str, ...]
    told: tuple[str, ...]
    refs: tuple[SliceRef, ...]
    span_ns: float
    origin_ns: int
    zero_ns: float = 0.0
    columns: tuple[str, str] = ("bubble", "theory")
    summary: str = ""

    def of_row(self, row: int) -> slice:
        """Where the cells of a row lie."""
        a, b = np.searchsorted(self.row, (row, row + 1), "left")
        return slice(int(a), int(b))
