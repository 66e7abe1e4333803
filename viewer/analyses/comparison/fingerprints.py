"""The figures of the training fingerprint, and the memory of each rank, of both runs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.comparison.noise import judge
from viewer.analyses.comparison.pairing import Pairing
from viewer.analyses.fingerprint.figure import Figure
from viewer.analyses.fingerprint.memory_peak import rank_peaks
from viewer.analyses.fingerprint.whole import fingerprint
from viewer.store.session import Session

_PARTS: Final = 1e9
"""Shares are judged in billionths, as times are in nanoseconds."""


@dataclass(frozen=True, slots=True)
class FigureChange:
    """One figure of the fingerprint, a share from 0 to 1; None where a run has none, then ``why`` says why.

    ``significant`` holds its values per step against their scatter; None where there are too few, or no steps.
    """

    key: str
    title: str
    how: str
    base: float | None
    test: float | None
    significant: bool | None
    why: str

    @property
    def delta(self) -> float | None:
        """How much more the test run has."""
        return None if self.base is None or self.test is None else self.test - self.base


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """Peaks of the fullest device of a rank, bytes."""

    label: str
    base_allocated: int
    test_allocated: int
    base_reserved: int
    test_reserved: int


def figure_changes(base: Session, test: Session) -> tuple[FigureChange, ...]:
    """The figures that moved most first, MFU before all; those that a run lacks last."""
    one, other = fingerprint(base), fingerprint(test)
    rows = [_change(a, other[a.key]) for a in one.figures]
    return tuple(sorted(rows, key=lambda r: (r.delta is None, r.key != "mfu", -abs(r.delta or 0.0))))


def _change(base: Figure, test: Figure) -> FigureChange:
    steps = [np.array([[s.value * _PARTS for s in f.steps]], np.float64) for f in (base, test)]
    found = judge(steps[0], steps[1])
    why = ""
    for name, figure in (("base", base), ("test", test)):
        if figure.value is None and not why:
            why = f"the {name} run: {figure.why or f'the job card lacks {figure.needs}'}"
    return FigureChange(
        base.key,
        base.title,
        base.how,
        base.value,
        test.value,
        None if found is None else bool(found.significant[0]),
        why,
    )


def memory_changes(base: Session, test: Session, pairing: Pairing) -> tuple[MemoryChange, ...]:
    """The ranks whose memory both runs recorded; () where one did not."""
    one = {p.group: p.peak for p in rank_peaks(base)}
    other = {p.group: p.peak for p in rank_peaks(test)}
    out: dict[tuple[int, int], MemoryChange] = {}
    for pair in pairing.pairs:
        key = pair.base.group.id, pair.test.group.id
        a, b = one.get(key[0]), other.get(key[1])
        if a is None or b is None or a.reserved_bytes is None or b.reserved_bytes is None:
            continue
        if key not in out:
            out[key] = MemoryChange(
                pair.label, a.allocated_bytes, b.allocated_bytes, a.reserved_bytes, b.reserved_bytes
            )
    return tuple(out.values())
