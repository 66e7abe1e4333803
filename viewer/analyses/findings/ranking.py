"""In which order findings are read, which of them only follow from another, and what they could save together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from viewer.analyses.findings.base import JobFinding

LEAST_SHARE: Final = 0.01
"""A saving below this share of the step is for information: steps of a steady job differ by about as much, so nobody
could measure whether the change helped."""

FOLLOWS: Final[Mapping[str, tuple[str, ...]]] = {}
"""Kind -> kinds whose consequence it is where both were found in a job, beside what a finding says itself."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A finding at its place. ``root`` is the id of the finding whose consequence it is, "" for none.

    ``adds`` tells whether its saving counts in :func:`together`.
    """

    finding: JobFinding
    root: str = ""
    adds: bool = False


def ranked(findings: Iterable[JobFinding]) -> tuple[Ranked, ...]:
    """The findings in the order of reading.

    Errors first (figures cannot be used), then what could save most, then what says no saving, then information, at
    last what is not sure. A consequence comes right after its root, however much it could save itself: with the root it
    goes away.
    """
    every = [_small(f) for f in findings]
    every.sort(key=_key)
    roots = {f.id: _root(f, every) for f in every}
    chosen = _adding([f for f in every if not roots[f.id]])
    out: list[Ranked] = []
    placed: set[str] = set()

    def place(found: JobFinding) -> None:
        if found.id in placed:
            return
        placed.add(found.id)
        out.append(Ranked(found, roots[found.id], found.id in chosen))
        for other in every:
            if roots[other.id] == found.id:
                place(other)

    for found in every:
        if not roots[found.id]:
            place(found)
    for found in every:  # roots that follow from each other: a defect of theirs, but nothing is lost
        place(found)
    return tuple(out)


def together(order: Sequence[Ranked], step_ns: int | None = None) -> int | None:
    """What all findings could save at most, ns per step: no two that claim the same time are added.

    None where none says a saving. Never more than the step.
    """
    savings = [r.finding.saving_ns_per_step or 0 for r in order if r.adds]
    if not savings:
        return None
    total = sum(savings)
    return total if step_ns is None else min(total, step_ns)


def _small(found: JobFinding) -> JobFinding:
    if found.severity == "warning" and found.share is not None and found.share < LEAST_SHARE:
        return replace(found, severity="info")
    return found


def _key(found: JobFinding) -> tuple[bool, int, bool, int, str]:
    saving = found.saving_ns_per_step
    severity = ("error", "warning", "info").index(found.severity)
    return not found.confident, severity, saving is None, -(saving or 0), found.id


def _root(found: JobFinding, every: Sequence[JobFinding]) -> str:
    """The first finding (in reading order) that this one follows from; only what is sure can be a root."""
    wanted = (*found.caused_by, *FOLLOWS.get(found.kind, ()))
    for other in every:
        if other.confident and other.id != found.id and (other.id in wanted or other.kind in wanted):
            return other.id
    return ""


def _adding(order: Sequence[JobFinding]) -> set[str]:
    """Ids of findings whose savings add: sure, and none shares a claim with a larger one.

    What names no claim may overlap anything: it only counts where it is the largest, and then alone.
    """
    claimed: set[str] = set()
    chosen: set[str] = set()
    for found in order:
        if not found.confident or not found.saving_ns_per_step or found.severity == "error":
            continue
        if not found.overlaps:
            if not chosen:
                return {found.id}
            continue
        if claimed.isdisjoint(found.overlaps):
            chosen.add(found.id)
            claimed.update(found.overlaps)
    return chosen
