"""Devices of which the same is said are one finding: sixty-four equal lines would hide what else there is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from viewer.analyses.findings.base import Evidence, JobFinding

SHOWN: Final = 4
"""Devices whose evidence is shown."""


@dataclass(frozen=True, slots=True)
class OfDevice:
    """What is found on one device: the finding's title begins with ``label`` and a colon.

    ``same`` is equal for devices of which the same is said (the maker of a leak), ``size`` orders them.
    """

    label: str
    same: Hashable
    size: float
    finding: JobFinding


def folded(told: Iterable[OfDevice]) -> Iterator[JobFinding]:
    """One finding per thing that is said, in the order told; of several devices the one with most of it speaks."""
    by_same: dict[Hashable, list[OfDevice]] = {}
    for one in told:
        by_same.setdefault((one.finding.kind, one.same), []).append(one)
    for every in by_same.values():
        if len(every) == 1:
            yield every[0].finding
            continue
        every.sort(key=lambda d: -d.size)  # stable: equal ones stay in the order of ranks
        first = every[0]
        rest = first.finding.title.removeprefix(f"{first.label}: ")
        others = [
            replace(e, text=f"{d.label}: {e.text}") for d in every[1:SHOWN] for e in d.finding.evidence[:1]
        ]  # fmt: skip
        if len(every) > SHOWN:
            others.append(Evidence("also " + ", ".join(d.label for d in every[SHOWN : 2 * SHOWN]) + _more(every)))
        yield replace(
            first.finding,
            title=f"{first.label} and {len(every) - 1} more: {rest}",
            evidence=(*(replace(e, text=f"{first.label}: {e.text}") for e in first.finding.evidence), *others),
        )


def _more(every: list[OfDevice]) -> str:
    left = len(every) - 2 * SHOWN
    return f" and {left} more" if left > 0 else ""
