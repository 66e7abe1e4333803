"""What a figure of the fingerprint has, and what its status is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, median
from typing import Literal

from viewer.analyses.findings.base import Evidence
from viewer.store.session import Session

Status = Literal["ok", "outside", "bad", "grey", "unknown"]


@dataclass(frozen=True, slots=True)
class StepValue:
    """The figure in one step: its number as shown, and the mean over the ranks."""

    number: int
    value: float


@dataclass(frozen=True, slots=True)
class RankValue:
    """The figure of one rank (RankGroup id and label): the median over its steps."""

    group: int
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; all values are shares, 0 to 1.

    Attributes:
        key: stable name in the report.
        title: for people.
        value: measured; None where it cannot be had: then ``needs`` or ``why`` says what is missing.
        theory: what the job could reach at best as it is set up; None where nobody can tell.
        theory_how: what that is.
        low, high: the usual range; None where it has no such border.
        lower_is_better: whether beyond ``high`` is worse, else below ``low``.
        condition: when the range holds.
        applies: whether it does here; None where that cannot be told.
        needs: "part.field" of the one field of the job card that is missing, "" otherwise.
        why: why there is no value, or why the range does not apply; "" otherwise.
        how: how the value was computed.
        note: what must be known to read it (a bound, an estimate, a doubt).
        steps: over the steps.
        ranks: over the ranks.
        evidence: where to look.
    """

    key: str
    title: str
    how: str
    value: float | None = None
    theory: float | None = None
    theory_how: str = ""
    low: float | None = None
    high: float | None = None
    lower_is_better: bool = True
    condition: str = ""
    applies: bool | None = None
    needs: str = ""
    why: str = ""
    note: str = ""
    steps: tuple[StepValue, ...] = ()
    ranks: tuple[RankValue, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def status(self) -> Status:
        """What its colour says.

        "bad" only where it is outside the range and worse than theory allows; "outside" where it is outside and theory
        is unknown; "grey" where the range does not hold for this job; "unknown" without a value.
        """
        if self.value is None:
            return "unknown"
        if not self.applies:
            return "grey"
        border = self.high if self.lower_is_better else self.low
        if border is None or not self._worse(self.value, border):
            return "ok"
        if self.theory is None:
            return "outside"
        return "bad" if self._worse(self.value, self.theory) else "ok"

    def _worse(self, value: float, than: float) -> bool:
        return value > than if self.lower_is_better else value < than

    @property
    def spread(self) -> tuple[float, float] | None:
        """Lowest and highest of the ranks; None below two ranks."""
        values = [r.value for r in self.ranks]
        return (min(values), max(values)) if len(values) > 1 else None

    @property
    def unit(self) -> str:
        """All are shares."""
        return "share"


PerRank = Mapping[int, Mapping[int, float]]
"""Values by RankGroup id and number of step."""


def over_steps(values: PerRank) -> tuple[StepValue, ...]:
    """Per step the mean over the ranks that have it, by number."""
    numbers = sorted({n for of_rank in values.values() for n in of_rank})
    return tuple(StepValue(n, mean(v[n] for v in values.values() if n in v)) for n in numbers)


def over_ranks(session: Session, values: PerRank) -> tuple[RankValue, ...]:
    """Per rank the median over its steps."""
    return tuple(
        RankValue(group, session.groups[group].label, median(of_rank.values()))
        for group, of_rank in values.items()
        if of_rank
    )


def usual(values: PerRank) -> float | None:
    """The median over the steps of the mean over the ranks; None without values."""
    steps = over_steps(values)
    return median(s.value for s in steps) if steps else None


def worst(values: PerRank, *, highest: bool = True) -> tuple[int, int] | None:
    """(RankGroup id, number of step) with the highest or lowest value; None without values."""
    every = [(v, -group, -number) for group, of_rank in values.items() for number, v in of_rank.items()]
    if not every:
        return None
    _, group, number = max(every) if highest else min(every, key=lambda e: (e[0], -e[1], -e[2]))
    return -group, -number
