"""The heat map of ranks by steps: which measure, absolute or against the role, and what a cell stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.lateness import SHARE_OF_STEP, Lateness, lateness
from viewer.analyses.collective.rank_bandwidth import rank_bandwidth
from viewer.analyses.collective.rank_steps import step_selection
from viewer.analyses.collective.roles import roles
from viewer.base.heat import HeatFrame, ramp_of
from viewer.base.selection import Selection
from viewer.store.session import Session
from viewer.views.figures import shown
from viewer.views.stragglers.words import step_numbers

F64 = NDArray[np.float64]

MOST_COLUMNS: Final = 240
MEASURES: Final = (
    ("own", "own lateness", "How much earlier the rank would reach the step's reduction with its own time as its "
     "peers'. An estimate by replay."),
    ("inherited", "inherited lateness", "What it would gain if no rank were slow. An estimate by replay."),
    ("caused", "wait caused to others", "Waiting of all other ranks that ends when this rank is as fast as its peers. "
     "An estimate by replay."),
    ("time", "own compute time", "What the rank spent by itself up to its last shared operation of the step: kernels, "
     "copies, launches, Python. Measured, not replayed."),
    ("busbw", "bus bandwidth", "Bytes × factor ÷ transfer of the step's collectives, without waiting. Measured."),
)  # fmt: skip
"""(key, name, how) of what a heat map can show."""


@dataclass(frozen=True, eq=False)
class HeatView:
    """A heat map and what its cells are: RankGroup ids by row, per cell the step that its value is of (-1: none)."""

    frame: HeatFrame
    groups: tuple[int, ...]
    step: NDArray[np.int64]
    note: str

    def selection(self, session: Session, row: int, column: int) -> Selection | None:
        """The rank and the step of a cell; None where it has no value."""
        step = int(self.step[row, column])
        return step_selection(session, self.groups[row], step) if step >= 0 else None


def heat(session: Session, measure: str, *, relative: bool, most_columns: int = MOST_COLUMNS) -> HeatView | None:
    """The heat map of a job; None where lateness cannot be told.

    Args:
        session: the job, aligned.
        measure: a key of MEASURES.
        relative: against the median of the rank's role in the same step.
        most_columns: more steps than these share columns: each shows its largest value (of busbw the smallest, against
            the role the one furthest from it).
    """
    found = lateness(session)
    if found is None:
        return None
    values = _values(session, found, measure)
    if relative:
        values = against_role(values, np.array([roles(session)[r] for r in found.ranks]))
    shown_values, step, width = binned(values, most_columns, "furthest" if relative else _extreme(measure))
    longest = max(found.ranks, key=lambda r: len(step_numbers(session, r)))
    numbers = step_numbers(session, longest)
    name, how = next((n, h) for k, n, h in MEASURES if k == measure)
    low, high = ramp_of(shown_values, diverging=relative)
    if measure != "busbw" and found.step_ns is not None:
        high = max(high, SHARE_OF_STEP * found.step_ns)  # what makes no straggler stays pale
        low = -high if relative else low
    note = how + (" Against the median of the same role in the same step." if relative else "")
    if width > 1:
        kept = "furthest from the role's median" if relative else "smallest" if measure == "busbw" else "largest"
        note += f" A column is {width} steps: the value {kept}."
    frame = HeatFrame(
        tuple(shown(session.groups[r].label, 40) for r in found.ranks),
        tuple(_column(numbers, c * width, min((c + 1) * width, found.steps)) for c in range(shown_values.shape[1])),
        shown_values,
        "GB/s" if measure == "busbw" else "ns",
        name + (" against its role" if relative else ""),
        low,
        high,
        relative,
        frozenset(int(i) for i in np.flatnonzero(found.straggler)),
    )
    return HeatView(frame, found.ranks, step, note)


def _extreme(measure: str) -> str:
    return "least" if measure == "busbw" else "most"


def _column(numbers: list[int], first: int, end: int) -> str:
    def number(step: int) -> int:
        return numbers[step] if step < len(numbers) else step

    return f"step {number(first)}" if end - first < 2 else f"steps {number(first)}–{number(end - 1)}"


def _values(session: Session, found: Lateness, measure: str) -> F64:
    if measure == "busbw":
        return rank_bandwidth(session, found.ranks, found.steps)
    if measure == "time":
        return np.where(found.own_time > 0, found.own_time, np.nan)
    if measure == "caused":
        return np.maximum(found.caused, 0.0)
    return found.own if measure == "own" else found.inherited


def against_role(values: F64, role: NDArray[np.int64]) -> F64:
    """Values minus the median of their role in the same step; NaN where a role has one value only."""
    out = np.full(values.shape, np.nan)
    for number in np.unique(role):
        mine = np.flatnonzero(role == number)
        part = values[mine]
        known = (~np.isnan(part)).sum(axis=0) > 1
        if known.any():
            out[np.ix_(mine, np.flatnonzero(known))] = part[:, known] - np.nanmedian(part[:, known], axis=0)
    return out


def binned(values: F64, most: int, keep: str) -> tuple[F64, NDArray[np.int64], int]:
    """Columns joined so that at most ``most`` are left: (values, step of each value or -1, steps per column).

    ``keep`` says which value of a bin is shown: "most", "least", or "furthest" from 0.
    """
    rows, steps = values.shape
    width = max(1, -(-steps // most))
    columns = -(-steps // width)
    padded = np.full((rows, columns * width), np.nan)
    padded[:, :steps] = values
    parts = padded.reshape(rows, columns, width)
    rank_by = {"most": parts, "least": -parts, "furthest": np.abs(parts)}[keep]
    at = np.argmax(np.where(np.isnan(rank_by), -np.inf, rank_by), axis=2)
    out = np.take_along_axis(parts, at[..., None], axis=2)[..., 0]
    step = np.arange(columns)[None, :] * width + at
    return out, np.where(np.isnan(out), -1, step).astype(np.int64), width
