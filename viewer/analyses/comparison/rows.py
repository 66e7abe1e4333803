"""What a comparison says of one thing that both runs may have: a kernel, an operator, an operation, a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.comparison.amounts import Amounts, apportioned
from viewer.analyses.comparison.noise import LEAST_OF_STEP, Noise, judge
from viewer.analyses.comparison.work import Side
from viewer.base.ids import Paint
from viewer.base.selection import GapRef, SliceRef

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Status = Literal["both", "new", "vanished", "replaced"]
Place = SliceRef | GapRef | None

MOST_ROWS: Final = 10_000
"""Rows of a table, those that change most; the names of a file may be as many as its events."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row, ns.

    Attributes:
        name: as the test run says it (the base run, where it vanished).
        status: "new" and "vanished": only one run has it; "replaced": other kernels stand where others were.
        base_ns, test_ns: sums over what is compared; 0 where a run has none of it.
        base_count, test_count: of how many.
        step_base_ns, step_test_ns: mean per step and rank.
        band_ns: differences per step up to this are noise; None where nothing can be said.
        significant: whether the change is beyond it; None likewise.
        base_wait_ns, test_wait_ns: of communication, how much of the sums was waiting for others; None for all else
            and where no operation could be matched.
        rank_ns: what orders the rows: the change per step without waiting for others (of operations also what of the
            transfer nothing hides).
        rank_significant: whether that is beyond its band.
        detail: what else changed, by name, as (base, test).
        place_base, place_test: the longest of it in either run.
        key: what it was matched by.
        base_names, test_names: what each run calls it, where a row stands for several or for others.
        where: the unit (rank or device) that has most of the change, None where it is no one's more than others'.
    """

    name: str
    status: Status
    paint: Paint
    base_ns: int
    test_ns: int
    base_count: int
    test_count: int
    step_base_ns: int
    step_test_ns: int
    band_ns: int | None
    significant: bool | None
    base_wait_ns: int | None = None
    test_wait_ns: int | None = None
    rank_ns: int = 0
    rank_significant: bool | None = None
    detail: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    place_base: Place = None
    place_test: Place = None
    key: Any = None
    base_names: tuple[str, ...] = ()
    test_names: tuple[str, ...] = ()
    where: int | None = None

    @property
    def delta_ns(self) -> int:
        """What the test run has more."""
        return self.test_ns - self.base_ns

    @property
    def step_delta_ns(self) -> int:
        """The same per step and rank."""
        return self.step_test_ns - self.step_base_ns

    @property
    def percent(self) -> float | None:
        """The change in percent of the base; None where the base has none of it."""
        return 100 * self.delta_ns / self.base_ns if self.base_ns else None

    @property
    def identical(self) -> bool:
        """Whether nothing that is known of it differs."""
        return self.base_ns == self.test_ns and self.base_count == self.test_count and not self.detail


def ordered(rows: Sequence[Change]) -> list[Change]:
    """Changes before what may be noise, before what is; each with the largest first.

    What lies only in steps that are not compared has no row.
    """
    return sorted((r for r in rows if r.base_count or r.test_count), key=_rank)[:MOST_ROWS]


def _rank(row: Change) -> tuple[int, int, int, str]:
    sure = {True: 0, None: 1, False: 2}[row.rank_significant]
    return sure, -abs(row.rank_ns), -abs(row.step_delta_ns), row.name


@dataclass(frozen=True, eq=False)
class Source:
    """What a measure is summed from: +1 or -1 times what was added; its key i is key ``into[i]`` of the measure."""

    sign: int
    base: Amounts
    test: Amounts
    into: I64


@dataclass(frozen=True, eq=False)
class Measure:
    """One quantity of both runs by key.

    ``total_*`` int64[keys] over all that is compared, ``inside_*`` over the paired spans (the same without steps),
    ``steps_*`` float64[keys, steps] or None.
    """

    total_base: I64
    total_test: I64
    inside_base: I64
    inside_test: I64
    steps_base: F64 | None
    steps_test: F64 | None
    spans: int
    least_ns: float = 0.0
    """What is smaller is no change whatever its scatter."""
    units: I64 | None = None
    """int64[units, keys]: what each unit's paired spans have more in the test run; None where nobody asked."""
    sources: tuple[Source, ...] = ()
    per_unit: tuple[int, ...] = ()
    """Spans of each unit."""

    @classmethod
    def of(
        cls,
        base: Amounts,
        test: Amounts,
        keys: int,
        side: Side,
        *,
        whole: bool,
        by_unit: bool = False,
    ) -> Measure:
        """The sums of two runs.

        Args:
            base: what was added of the base run.
            test: what was added of the test run.
            keys: how many keys there are.
            side: the base run; the test run has as many spans.
            whole: totals are of everything, not of the paired spans alone.
            by_unit: keep what each unit adds.
        """
        spans = side.spans
        return cls(
            base.totals(keys, inside=not whole),
            test.totals(keys, inside=not whole),
            base.totals(keys, inside=True),
            test.totals(keys, inside=True),
            base.by_span(spans)(keys),
            test.by_span(spans)(keys),
            sum(spans),
            LEAST_OF_STEP * side.step_ns,
            test.by_unit(keys, len(spans)) - base.by_unit(keys, len(spans)) if by_unit else None,
            (Source(1, base, test, np.arange(keys)),) if by_unit else (),
            tuple(spans),
        )

    def where(self, key: int) -> int | None:
        """The unit that has more than half of what moved (of two: three quarters); None without, or with one unit."""
        if self.units is None or len(self.units) < 2:
            return None
        moved = np.abs(self.units[:, key])
        most = int(moved.argmax())
        share = (3, 4) if len(self.units) == 2 else (1, 2)
        return most if share[1] * int(moved[most]) > share[0] * int(moved.sum()) else None

    def shown_on(self, key: int) -> int | None:
        """The unit to show a change on: the one that changed most."""
        return None if self.units is None else int(np.abs(self.units[:, key]).argmax())

    def merged(self, into: I64, keys: int) -> Measure:
        """The same with keys joined: key i becomes key ``into[i]``."""

        def joined(values: Any) -> Any:
            if values is None:
                return None
            out = np.zeros((keys, *values.shape[1:]), values.dtype)
            np.add.at(out, into, values)
            return out

        return Measure(
            joined(self.total_base),
            joined(self.total_test),
            joined(self.inside_base),
            joined(self.inside_test),
            joined(self.steps_base),
            joined(self.steps_test),
            self.spans,
            self.least_ns,
            None if self.units is None else joined(self.units.T).T,
            tuple(Source(s.sign, s.base, s.test, into[s.into]) for s in self.sources),
            self.per_unit,
        )

    def less(self, other: Measure) -> Measure:
        """This without another quantity of the same keys."""

        def minus(a: Any, b: Any) -> Any:
            return None if a is None or b is None else a - b

        return Measure(
            self.total_base - other.total_base,
            self.total_test - other.total_test,
            self.inside_base - other.inside_base,
            self.inside_test - other.inside_test,
            minus(self.steps_base, other.steps_base),
            minus(self.steps_test, other.steps_test),
            self.spans,
            self.least_ns,
            minus(self.units, other.units),
            (*self.sources, *(Source(-s.sign, s.base, s.test, s.into) for s in other.sources)),
            self.per_unit,
        )

    def per_step(self, key: int) -> tuple[int, int]:
        """Mean per span of the base and the test run, whole ns."""
        spans = max(self.spans, 1)
        return (
            apportioned([int(self.inside_base[key])], spans)[0],
            apportioned([int(self.inside_test[key])], spans)[0],
        )

    def judged(self) -> tuple[list[int | None], list[bool | None]]:
        """Per key the band in ns and whether the change is beyond it; None where that is not known."""
        keys = len(self.total_base)
        found = None
        if self.steps_base is not None and self.steps_test is not None and keys:
            found = judge(self.steps_base, self.steps_test, self.least_ns)
        if found is None:
            return [None] * keys, [None] * keys
        band, significant = found.band, found.significant
        alone = self._judged_alone()
        if alone is not None:
            # What one rank of n adds is an n-th of it in the mean.
            own = alone.significant & ~significant
            band = np.where(own, np.minimum(band, alone.band / len(self.per_unit)), band)
            significant = significant | own
        return [round(b) for b in band.tolist()], [bool(x) for x in significant]

    def _judged_alone(self) -> Noise | None:
        """Each key on the unit that has most of its change; not significant where no one has."""
        keys, count = len(self.total_base), len(self.per_unit)
        if not self.sources or count < 2:
            return None
        where = [self.where(k) for k in range(keys)]
        unit = np.array([-1 if w is None else w for w in where], np.int64)
        sums = []
        for run in ("base", "test"):
            total = np.zeros((keys, max(self.per_unit)))
            for source in self.sources:
                amounts: Amounts = getattr(source, run)
                rows = amounts.of_unit(unit[source.into], list(self.per_unit))
                if rows is None:
                    return None
                np.add.at(total, source.into, source.sign * rows)
            sums.append(total)
        return judge(sums[0], sums[1], self.least_ns, count)


def change_of(
    at: int,
    time: Measure,
    count: Measure,
    wait: Measure | None = None,
    *,
    judged: tuple[Sequence[int | None], Sequence[bool | None]],
    **rest: Any,
) -> Change:
    """The row of key ``at``: its sums, its noise (``judged`` is that of ``time``) and ``rest``, more fields of a row.

    Unless ``rest`` says otherwise the row is "new" or "vanished" where one run has none of it, and ordered by its time.
    """
    counts = int(count.total_base[at]), int(count.total_test[at])
    step_base, step_test = time.per_step(at)
    waits = (0, 0) if wait is None else (int(wait.total_base[at]), int(wait.total_test[at]))
    bands, significant = judged
    fields: dict[str, Any] = {
        "status": "both" if all(counts) else "new" if counts[1] else "vanished",
        "base_ns": int(time.total_base[at]),
        "test_ns": int(time.total_test[at]),
        "base_count": counts[0],
        "test_count": counts[1],
        "step_base_ns": step_base,
        "step_test_ns": step_test,
        "band_ns": bands[at],
        "significant": significant[at],
        "base_wait_ns": waits[0] if any(waits) else None,
        "test_wait_ns": waits[1] if any(waits) else None,
        "rank_ns": step_test - step_base,
        "rank_significant": significant[at],
    }
    return Change(**(fields | rest))
