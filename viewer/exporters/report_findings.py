"""The report's ``findings`` about the job: what to change, with savings and evidence.

They describe the whole job, also when the report is of a window.
"""

from __future__ import annotations

from typing import Any

from viewer.analyses.findings.base import Evidence, JobFinding, Target
from viewer.analyses.findings.ranking import Ranked, ranked, together
from viewer.analyses.findings.registry import job_findings
from viewer.analyses.findings.steady import steady_steps
from viewer.base.selection import GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.change_words import change_of
from viewer.views.figures import NAME_LIMIT

Json = dict[str, Any]


def ranked_findings(session: Session) -> tuple[Ranked, ...]:
    """The findings of a job in the order of reading, with what follows from what."""
    return ranked(job_findings(session))


def findings_part(session: Session) -> list[Json]:
    """Job findings of the report, in the order of reading.

    ``follows`` is the id of the finding whose consequence it is, else null; ``adds`` whether its saving counts in
    :func:`saving_part`. Times of evidence are ns after the session's origin, as ``--window`` counts.
    """
    return [_finding(session, r) for r in ranked_findings(session)]


def saving_part(session: Session) -> Json:
    """``saving`` of the report: what all findings could save together per step, no time counted twice; an upper bound.

    ``step_ns`` is the median step without the ``warm_up_steps`` first ones.
    """
    steady = steady_steps(session)
    return {
        "together_ns_per_step": together(ranked_findings(session), steady.step_ns),
        "step_ns": steady.step_ns,
        "warm_up_steps": steady.first,
    }


def _finding(session: Session, at: Ranked) -> Json:
    found: JobFinding = at.finding
    return {
        "id": safe(found.id),
        "kind": found.kind,
        "title": safe(found.title),
        "severity": found.severity,
        "count": 1,
        "saving_ns_per_step": found.saving_ns_per_step,
        "saving_how": safe(found.saving_how) or None,
        "share": None if found.share is None else round(found.share, 6),
        "confident": found.confident,
        "follows": safe(at.root) or None,
        "adds": at.adds,
        "evidence": [_evidence(session, e) for e in found.evidence],
        "change": safe(change_of(found)) or None,
        "next_step": safe(found.next_step) or None,
        "how": safe(found.how),
    }


def _evidence(session: Session, evidence: Evidence) -> Json:
    return {"text": safe(evidence.text), **place_of(session, evidence.target)}


def place_of(session: Session, target: Target) -> Json:
    """Where evidence lies; null where nothing says it.

    ``input`` is an index, ``start_ns`` and ``end_ns`` count from the origin, ``name`` is that of a slice.
    """
    source = group = span = name = None
    if isinstance(target, Selection):
        group, span = target.group, target.range
        target = target.slice or target.gap
    if isinstance(target, SliceRef):
        item = session.inputs[target.input]
        source, name = target.input, safe(item.trace.name(target.index)[:NAME_LIMIT])
        start, s = int(item.trace.slices.start_ns[target.index]), item.trace.slices
        span = TimeRange(item.clock.to_session(start), item.clock.to_session(start) + int(s.dur_ns[target.index]))
    elif isinstance(target, GapRef):
        source, span = target.input, target.range
    elif isinstance(target, GroupRef):
        group = target.group
    elif isinstance(target, TimeRange):
        span = target
    if source is None and group is not None and len(session.groups[group].inputs) == 1:
        source = session.groups[group].inputs[0]
    rank = session.inputs[source].rank if source is not None else None
    if rank is None and group is not None:
        rank = session.groups[group].rank
    origin = session.origin_ns()
    return {
        "input": source,
        "rank": rank,
        "start_ns": None if span is None else span.start_ns - origin,
        "end_ns": None if span is None else span.end_ns - origin,
        "name": name,
    }


def safe(text: str) -> str:
    """A text that JSON can hold: half of a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
