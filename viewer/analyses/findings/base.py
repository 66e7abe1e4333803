"""A finding about a job: what it costs, where it shows, and what to try next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from viewer.base.findings import Severity
from viewer.base.selection import GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session

Target = SliceRef | GapRef | TimeRange | GroupRef | Selection | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that shows it, in words, and where to look (None for no place)."""

    text: str
    target: Target = None


@dataclass(frozen=True, slots=True)
class JobFinding:
    """One finding.

    Attributes:
        id: stable over openings of the same job: kind and place ("slow-link/tp 0-7"). Dismissed by it.
        kind: which detector's ("late-rank", "sync-drain"); a name in kebab case.
        title: one sentence with its figure.
        severity: "warning" where something is to be gained, "info" for context, "error" where figures cannot be used.
        saving_ns_per_step: ns that a step could get shorter at most; None where that cannot be said.
        saving_how: why that is an upper bound and how it was computed.
        share: of the step (of the trace without steps), 0 to 1; None as above.
        confident: whether its size is beyond noise and the clock's doubt; others are shown apart, after these.
        evidence: at least one.
        next_step: what to try, in the imperative.
        how: how it was found: definition and thresholds.
        overlaps: names of the intervals it claims ("idle", "exposed", "late"): ceilings of findings that share one do
            not add. One with a saving and without a name may overlap anything.
        caused_by: ids or kinds of findings whose consequence it is where they were found as well ("late-rank/rank 5",
            "data-loading"): it is then read right after that one, and saves nothing of its own.
    """

    id: str
    kind: str
    title: str
    severity: Severity
    saving_ns_per_step: int | None
    saving_how: str
    evidence: tuple[Evidence, ...]
    next_step: str
    how: str
    share: float | None = None
    confident: bool = True
    overlaps: tuple[str, ...] = ()
    caused_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"the finding {self.id} has no evidence")


class Detector(Protocol):
    """Finds one kind of thing. Yields nothing where there is nothing or the data cannot say."""

    def __call__(self, session: Session, cancel: CancelToken) -> Iterable[JobFinding]:
        """The findings of a job. Raises Cancelled on request."""
        ...
