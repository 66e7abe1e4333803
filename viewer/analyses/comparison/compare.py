"""Two runs of one load against each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewer.analyses.comparison.collectives import compare_collectives
from viewer.analyses.comparison.figures import Figures, figures
from viewer.analyses.comparison.fingerprints import FigureChange, MemoryChange, figure_changes, memory_changes
from viewer.analyses.comparison.gaps import compare_gaps
from viewer.analyses.comparison.kernels import compare_kernels
from viewer.analyses.comparison.operators import compare_host, compare_operators
from viewer.analyses.comparison.pairing import Pairing, pair_runs
from viewer.analyses.comparison.rows import Change, ordered
from viewer.analyses.comparison.sameness import identical
from viewer.analyses.comparison.spans import span_parts
from viewer.analyses.comparison.surroundings import Difference, surroundings
from viewer.analyses.comparison.waterfall import Waterfall, waterfall
from viewer.analyses.comparison.work import Side, sides
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.registry import job_findings
from viewer.analyses.gpu_work import gpu_work
from viewer.base.work import CancelToken
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run in whole.

    ``kernel_sum_ns`` adds the durations of all GPU work of the paired devices in their files (``gpu_events`` pieces),
    ``compared_sum_ns`` those of what is compared: all, unless steps were left out.
    """

    ranks: int
    steps: int
    kernel_sum_ns: int
    gpu_events: int
    compared_sum_ns: int
    compared_events: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed from one run to another.

    Where ``comparable`` is False, ``reason`` says why and everything else is empty. Rows come in order: what is beyond
    noise first, the largest change without waiting before smaller ones. ``kernels`` are all GPU work by name,
    ``operators`` GPU time by the operator that launched it, ``host`` the CPU's own time in operators, ``gaps`` idle
    stretches by their neighbours. ``fingerprint`` has the five figures of both, ``memory`` the peaks of the ranks that
    recorded it, ``surroundings`` what the files state differently (GPU, versions, switches of the profiler).
    ``findings_gained`` are the test run's whose id the base lacks.
    """

    base: Session
    test: Session
    pairing: Pairing
    comparable: bool
    reason: str = ""
    identical: bool = False
    base_run: RunFigures | None = None
    test_run: RunFigures | None = None
    figures: Figures | None = None
    waterfall: Waterfall | None = None
    kernels: tuple[Change, ...] = ()
    operators: tuple[Change, ...] = ()
    host: tuple[Change, ...] = ()
    collectives: tuple[Change, ...] = ()
    gaps: tuple[Change, ...] = ()
    fingerprint: tuple[FigureChange, ...] = ()
    memory: tuple[MemoryChange, ...] = ()
    surroundings: tuple[Difference, ...] = ()
    findings_gained: tuple[JobFinding, ...] = ()
    findings_lost: tuple[JobFinding, ...] = ()
    findings_kept: tuple[tuple[JobFinding, JobFinding], ...] = ()

    @property
    def delta_ns(self) -> int | None:
        """How much more kernel time the test run has, over all that is compared."""
        if self.base_run is None or self.test_run is None:
            return None
        return self.test_run.compared_sum_ns - self.base_run.compared_sum_ns

    @property
    def noise_known(self) -> bool:
        """Whether there are enough steps to tell a change from noise."""
        return self.waterfall is not None and self.waterfall.significant is not None


def compare(base: Session, test: Session, cancel: CancelToken | None = None, *, findings: bool = True) -> Comparison:
    """Hold two runs against each other.

    Args:
        base: the run that percentages are of.
        test: the other one. Both may be the same session; neither is changed.
        cancel: asked between parts.
        findings: look for findings gained and lost too, which takes longer than all else: see :func:`with_findings`.

    Raises:
        Cancelled: on request.
    """
    token = cancel or CancelToken()
    pairing = pair_runs(base, test)
    if pairing.reason:
        return Comparison(base, test, pairing, comparable=False, reason=pairing.reason)
    one, other = sides(base, test, pairing, token)
    parts = (
        [span_parts(base, u, token) for u in one.units],
        [span_parts(test, u, token) for u in other.units],
    )
    kernels = compare_kernels(one, other, whole=pairing.whole, cancel=token)
    gaps = compare_gaps(one, other, kernels, token)
    token.check()
    fall = waterfall(one, other, parts, kernels)
    found = Comparison(
        base,
        test,
        pairing,
        comparable=True,
        identical=identical(base, test, pairing),
        base_run=_run(one, whole=pairing.whole),
        test_run=_run(other, whole=pairing.whole),
        figures=figures(pairing, *parts),
        waterfall=fall,
        kernels=tuple(ordered(kernels.rows)),
        operators=tuple(ordered(compare_operators(one, other, whole=pairing.whole, cancel=token))),
        host=tuple(ordered(compare_host(one, other, whole=pairing.whole, cancel=token))),
        collectives=tuple(ordered(compare_collectives(one, other, whole=pairing.whole, cancel=token))),
        gaps=tuple(gaps),
        fingerprint=figure_changes(base, test),
        memory=memory_changes(base, test, pairing),
        surroundings=surroundings(base, test, pairing),
    )
    return with_findings(found, token) if findings else found


def with_findings(found: Comparison, cancel: CancelToken | None = None) -> Comparison:
    """The same with the findings that only one run has, and those of both. Raises Cancelled."""
    if not found.comparable:
        return found
    lost, gained, kept = _findings(found.base, found.test, cancel or CancelToken())
    return replace(found, findings_gained=gained, findings_lost=lost, findings_kept=kept)


def _run(side: Side, *, whole: bool) -> RunFigures:
    total = events = inside = inside_events = 0
    for chunk in side.chunks:
        work, chosen = gpu_work(chunk.trace), chunk.k >= 0
        length = work.end_ns[chunk.at] - work.start_ns[chunk.at]
        total, events = total + int(length.sum()), events + len(length)
        inside, inside_events = inside + int(length[chosen].sum()), inside_events + int(np.count_nonzero(chosen))
    if whole:
        inside, inside_events = total, events
    ranks = len({u.group.id for u in side.units})
    return RunFigures(ranks, max(side.spans), total, events, inside, inside_events)


def _findings(
    base: Session, test: Session, cancel: CancelToken
) -> tuple[tuple[JobFinding, ...], tuple[JobFinding, ...], tuple[tuple[JobFinding, JobFinding], ...]]:
    """Findings that only the base has, only the test run has, and both have."""
    one = {f.id: f for f in job_findings(base, cancel)}
    other = {f.id: f for f in job_findings(test, cancel)}
    return (
        tuple(f for i, f in one.items() if i not in other),
        tuple(f for i, f in other.items() if i not in one),
        tuple((f, other[i]) for i, f in one.items() if i in other),
    )
