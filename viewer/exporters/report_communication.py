"""The report's ``communication``: exposed communication of each rank and of the job, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewer.analyses.collective.baseline import baseline
from viewer.analyses.collective.communication import Figures, InputSplit, total
from viewer.analyses.collective.exposed_parts import Hiding, Part
from viewer.analyses.collective.volume import missing_for_volume, volumes
from viewer.base.units import format_share
from viewer.store.session import Session

Json = dict[str, Any]


def rank_communication_part(split: InputSplit) -> Json | None:
    """``ranks[].communication``: wait + volume + rate + unhidden + not_separable = exposed (null counts as nothing).

    ``pipeline_wait_ns`` is the part of ``wait_ns`` that receives along the pipeline spent; None without GPU work.
    """
    return None if split.figures is None else _figures(split.figures)


def communication_part(session: Session, splits: Sequence[InputSplit]) -> Json | None:
    """``communication`` of the report: the sums of the ranks (rank-ns), and what rate and volume are held against."""
    figures = total(splits)
    if figures is None:
        return None
    found = baseline(session)
    missing, how = missing_for_volume(session), sorted({v.how for v in volumes(session)})
    return _figures(figures) | {
        "baseline": f"{found.sentence} {found.problem}".strip(),
        "baseline_problem": found.problem or None,
        "plan": f"not computable: needs {missing} on the job card" if missing else "; ".join(how) or None,
    }


def _figures(f: Figures) -> Json:
    parts = f.parts
    return {
        "exposed_ns": f.exposed_ns,
        "wait_ns": f.wait_ns if f.has_wait else None,
        "volume_ns": parts[Part.VOLUME] if f.has_volume and f.has_rate else None,
        "rate_ns": parts[Part.RATE] if f.has_rate else None,
        "unhidden_ns": f.unhidden_ns if f.has_rate else None,
        "not_separable_ns": f.not_separable_ns,
        "pipeline_wait_ns": parts[Part.PIPELINE_WAIT] if f.has_wait else None,
        "unhidden": {
            "structural_ns": parts[Part.STRUCTURAL],
            "serialised_ns": parts[Part.SERIALISED],
            "unknown_ns": parts[Part.UNHIDDEN],
        }
        if f.has_rate
        else None,
        "not_separable": {
            "no_baseline_ns": parts[Part.NO_BASELINE],
            "not_matched_ns": parts[Part.NOT_MATCHED],
            "members_missing_ns": parts[Part.MEMBERS_MISSING],
        },
        "transfer_ns": f.transfer_ns if f.has_wait else None,
        "transfer": {
            "structural_ns": f.transfers[Hiding.STRUCTURAL],
            "serialised_ns": f.transfers[Hiding.SERIALISED],
            "unknown_ns": f.transfers[Hiding.UNKNOWN],
        }
        if f.has_wait
        else None,
    }


def communication_lines(report: Json) -> list[str]:
    """One line of the summary: what exposed communication was, all ranks together; [] without any."""
    told = report["communication"]
    if told is None or not told["exposed_ns"]:
        return []
    whole = told["exposed_ns"]
    pipeline = told["pipeline_wait_ns"] or 0
    parts = [
        ("waiting for other ranks", (told["wait_ns"] or 0) - pipeline),
        ("waiting along the pipeline", pipeline),
        ("unhidden transfer", told["unhidden_ns"] or 0),
        ("volume beyond the plan", told["volume_ns"] or 0),
        ("rate below the baseline", told["rate_ns"] or 0),
        ("transfer (no baseline)", told["not_separable"]["no_baseline_ns"]),
        ("not separable", told["not_separable_ns"] - told["not_separable"]["no_baseline_ns"]),
    ]
    shown = "; ".join(f"{text} {format_share(ns, whole)}" for text, ns in sorted(parts, key=lambda p: -p[1]) if ns)
    lines = [f"communication that nothing hid, all ranks: {shown}"]
    if told["baseline_problem"]:
        lines.append(f"  {told['baseline_problem']}")
    moved = told["transfer"]
    if told["transfer_ns"]:
        why = (("structural", "the next compute needs it"), ("serialised", "independent work stood behind"))
        causes = [
            f"{format_share(moved[f'{key}_ns'], told['transfer_ns'])} {text}" for key, text in why if moved[f"{key}_ns"]
        ]
        if causes:
            lines.append(f"  of its transfer {', '.join(causes)}")
    return lines
