"""The report's ``fingerprint`` and ``job.card``: five figures with theory and range, and what was said of the job."""

from __future__ import annotations

from typing import Any

from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure
from viewer.analyses.fingerprint.waterfall import Loss, Waterfall
from viewer.analyses.fingerprint.whole import fingerprint
from viewer.base.card_checks import card_problems
from viewer.base.card_fields import FIELDS, PARTS
from viewer.base.job_card import JobCard
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.units import percent
from viewer.store.session import Session

Json = dict[str, Any]

NO_INFERENCE = "request times are in no trace: the figures of inference need the engine's metrics"


def fingerprint_part(session: Session) -> Json:
    """``fingerprint`` of the report.

    ``training`` has an object per figure: ``value`` and ``theory`` are shares of 0 to 1 or null, ``range`` the usual
    ``low`` and ``high`` (null: no such border), ``applies`` whether the range holds for this job (null: nobody can
    tell), ``status`` "ok", "outside" (of the range, theory unknown), "bad" (outside, and worse than theory), "grey"
    (the range does not apply) or "unknown" (no value: ``needs`` names the field of the job card, or ``why`` says what
    is missing). ``steps`` are means over the ranks, ``ranks`` medians over the steps.
    """
    found = fingerprint(session)
    training: Json = {figure.key: _figure(session, figure) for figure in found.figures}
    training["hfu"] = {"value": found.hfu, "unit": "share", "how": found.hfu_how}
    training["problem"] = found.problem or None
    training["waterfall"] = None if found.waterfall is None else _waterfall(found.waterfall)
    return {"training": training, "inference": None, "inference_why": NO_INFERENCE}


def _figure(session: Session, f: Figure) -> Json:
    return {
        "title": f.title,
        "value": f.value,
        "unit": f.unit,
        "theory": f.theory,
        "theory_how": f.theory_how or None,
        "range": {"low": f.low, "high": f.high},
        "lower_is_better": f.lower_is_better,
        "condition": f.condition or None,
        "applies": f.applies,
        "status": f.status,
        "needs": f.needs or None,
        "why": f.why or None,
        "how": f.how,
        "note": f.note or None,
        "steps": [{"index": s.number, "value": s.value} for s in f.steps],
        "ranks": [{"label": r.label, "rank": _rank(session, r.group), "value": r.value} for r in f.ranks],
        "evidence": [_evidence(session, e) for e in f.evidence],
    }


def _rank(session: Session, group: int) -> int | None:
    return session.groups[group].rank if 0 <= group < len(session.groups) else None


def _evidence(session: Session, evidence: Evidence) -> Json:
    target, origin = evidence.target, session.origin_ns()
    row: Json = {"text": evidence.text, "rank": None, "start_ns": None, "end_ns": None}
    if isinstance(target, SliceRef):
        item = session.inputs[target.input]
        start = int(item.trace.slices.start_ns[target.index])
        end = start + int(item.trace.slices.dur_ns[target.index])
        span: TimeRange | None = TimeRange(item.clock.to_session(start), item.clock.to_session(end))
        row["rank"] = item.rank
    else:
        span = target.range if isinstance(target, Selection) else target if isinstance(target, TimeRange) else None
        if isinstance(target, Selection) and target.group is not None:
            row["rank"] = _rank(session, target.group)
    if span is not None:
        row |= {"start_ns": span.start_ns - origin, "end_ns": span.end_ns - origin}
    return row


def _waterfall(found: Waterfall) -> Json:
    """``losses`` and ``model`` (null without MFU) sum to ``total_ns``, device-ns of all ranks, exactly."""
    return {
        "total_ns": found.total_ns,
        "losses": [_loss(x) for x in found.losses],
        "model": None if found.useful is None else _loss(found.useful),
        "problem": found.problem or None,
    }


def _loss(x: Loss) -> Json:
    return {"key": x.key, "title": x.title, "ns": x.ns, "share": x.share, "how": x.how}


def card_part(card: JobCard) -> Json:
    """``job.card``: every field by part (null where nobody said it).

    ``sources`` are those of what no person gave, ``problems`` sentences on what contradicts itself.
    """
    out: Json = {part: {} for part, _ in PARTS}
    for field in FIELDS:
        value = card.value(field.path)
        if isinstance(value, tuple):
            out[field.part][field.name] = {name: list(ranks) for name, ranks in value} or None
        else:
            out[field.part][field.name] = value
    out["sources"] = dict(card.filled)
    out["problems"] = list(card_problems(card))
    return out


def fingerprint_lines(report: Json) -> list[str]:
    """The fingerprint in the summary: a line for each figure; [] where the report has none."""
    training = (report.get("fingerprint") or {}).get("training")
    if not training:
        return []
    figures = [f for f in training.values() if isinstance(f, dict) and "status" in f]
    width = max(len(f["title"]) for f in figures)
    card = (report.get("job") or {}).get("card") or {}
    told = [*(card.get("problems") or ()), *filter(None, [training.get("problem")])]
    problems = [f"  the job card cannot be right: {p}" for p in told]
    return ["training fingerprint", *problems, *(f"  {f['title']:<{width}}  {_words(f)}" for f in figures)]


def _words(f: Json) -> str:
    if f["value"] is None:
        return f"not computable: needs {f['needs']} on the job card" if f["needs"] else f"none: {f['why']}"
    parts = [f"{percent(f['value'], 1):>7}"]
    low, high = f["range"]["low"], f["range"]["high"]
    if f["theory"]:
        parts.append(f"theory {percent(f['theory'], 1)}")
    if low is not None and high is not None:
        parts.append(f"usual {percent(low)} to {percent(high)}")
    elif high is not None:
        parts.append(f"usual up to {high:.3g}" if high > 1 else f"usual up to {percent(high)}")
    values = [r["value"] for r in f["ranks"]]
    if len(values) > 1:
        parts.append(f"ranks {percent(min(values), 1)} to {percent(max(values), 1)}")
    said = {"bad": "outside, and worse than theory", "outside": "outside", "grey": "the range does not apply"}
    if f["status"] in said:
        parts.append(said[f["status"]])
    return ", ".join(parts)
