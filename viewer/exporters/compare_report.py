"""A comparison as plain data, and as JSON (schema "rankscope.compare/1"; keys may be added, never renamed).

Integers are ns unless a key says otherwise; None stands where a figure does not exist. ``base_ns`` and ``test_ns`` of a
row are sums over what is compared, ``step_*`` means per step and rank (without steps: per trace). Percent is of the
base; what the base has none of has no percent.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from viewer.analyses.comparison.compare import Comparison, RunFigures
from viewer.analyses.comparison.figures import Figures, Identity, Scatter
from viewer.analyses.comparison.noise import HOW as NOISE_HOW
from viewer.analyses.comparison.rows import Change
from viewer.analyses.comparison.waterfall import HOW as CAUSES_HOW
from viewer.analyses.comparison.waterfall import Waterfall
from viewer.analyses.findings.base import JobFinding
from viewer.base.ids import Paint
from viewer.base.json_text import encode_json
from viewer.store.session import Session

SCHEMA: Final = "rankscope.compare/1"
Json = dict[str, Any]

_CLASSES: Final = {Paint.COMPUTE: "compute", Paint.COMM: "comm", Paint.MEMORY: "memory"}
_HOW: Final = {
    "kernel_sum_ns": "durations of all GPU work (kernels, copies, fills) of the compared devices, added",
    "delta_ns": "kernel_sum_ns of the test run - that of the base, over what is compared",
    "significant": NOISE_HOW,
    "causes": CAUSES_HOW,
    "order": "rows beyond noise first, then those of which it is not known; in each by the change per step without "
    "waiting for other ranks",
    "wait": "communication: a member's duration beyond the shortest among the members of the operation; a receive's "
    "time before its send began (aligned clocks)",
}


def compare_report(found: Comparison) -> Json:
    """The comparison as plain data."""
    base, test = found.base_run, found.test_run
    return {
        "schema": SCHEMA,
        "comparable": found.comparable,
        "reason": found.reason or None,
        "identical": found.identical,
        "notes": list(found.pairing.notes),
        "part": {
            "whole": found.pairing.whole,
            "by": "step" if found.pairing.by_step else "trace",
            "pairs": found.pairing.span_pairs,
            "noise_known": found.noise_known,
        },
        "base": _run(found.base, base, found, 0),
        "test": _run(found.test, test, found, 1),
        "delta_ns": found.delta_ns,
        "delta_pct": percent(found.delta_ns, base.compared_sum_ns if base else None),
        "step": _step(found.waterfall),
        "causes": _causes(found),
        "identity": _identity(found.figures),
        "steps": _steps(found.figures),
        "ranks": _ranks(found.figures),
        "kernels": [_row(found, r) for r in found.kernels],
        "operators": [_row(found, r) for r in found.operators],
        "host": [_row(found, r) for r in found.host],
        "collectives": [_row(found, r) for r in found.collectives],
        "gaps": [_row(found, r) for r in found.gaps],
        "fingerprint": [
            {
                "key": f.key,
                "title": f.title,
                "base": f.base,
                "test": f.test,
                "delta": f.delta,
                "significant": f.significant,
                "why": f.why or None,
                "how": f.how,
            }
            for f in found.fingerprint
        ],
        "memory": [
            {
                "label": m.label,
                "base_allocated_bytes": m.base_allocated,
                "test_allocated_bytes": m.test_allocated,
                "base_reserved_bytes": m.base_reserved,
                "test_reserved_bytes": m.test_reserved,
            }
            for m in found.memory
        ],
        "surroundings": [{"name": d.name, "base": d.base, "test": d.test} for d in found.surroundings],
        "findings": {
            "gained": [_finding(f) for f in found.findings_gained],
            "lost": [_finding(f) for f in found.findings_lost],
            "kept": [_kept(a, b) for a, b in found.findings_kept],
        },
        "how": _HOW,
    }


def encode_compare(data: Json) -> bytes:
    """The report as readable JSON (UTF-8, ends with a line break)."""
    return encode_json(data)


def percent(delta_ns: int | None, base_ns: int | None) -> float | None:
    """A change in percent of the base; None without a base."""
    return 100 * delta_ns / base_ns if delta_ns is not None and base_ns else None


def _run(session: Session, run: RunFigures | None, found: Comparison, side: int) -> Json:
    sizes = {i.trace.meta.world_size for i in session.inputs if i.trace.meta.world_size is not None}
    over = found.figures.over_steps.get("span_ns") if found.figures is not None else None
    return {
        "inputs": [
            {"path": str(i.path), "rank": i.rank, "digest": i.trace.meta.imported.digest} for i in session.inputs
        ],
        "world_size": sizes.pop() if len(sizes) == 1 else None,
        "ranks": run.ranks if run else None,
        "steps": run.steps if run and found.pairing.by_step else None,
        "gpu_events": run.gpu_events if run else None,
        "kernel_sum_ns": run.kernel_sum_ns if run else None,
        "compared_sum_ns": run.compared_sum_ns if run else None,
        "step_ns": (found.waterfall.base_ns, found.waterfall.test_ns)[side] if found.waterfall else None,
        "step_median_ns": over[side].median_ns if over else None,
        "step_spread_ns": over[side].spread_ns if over and over[side].count > 1 else None,
    }


def _step(fall: Waterfall | None) -> Json | None:
    if fall is None:
        return None
    return {
        "base_ns": fall.base_ns,
        "test_ns": fall.test_ns,
        "delta_ns": fall.delta_ns,
        "pct": percent(fall.delta_ns, fall.base_ns),
        "band_ns": fall.band_ns,
        "significant": fall.significant,
    }


def _causes(found: Comparison) -> list[Json]:
    if found.waterfall is None:
        return []
    return [
        {
            "id": c.id,
            "label": c.label,
            "kind": c.kind,
            "base_ns": c.base_ns,
            "test_ns": c.test_ns,
            "delta_ns": c.delta_ns,
            "pct": percent(c.delta_ns, c.base_ns),
            "band_ns": c.band_ns,
            "significant": c.significant,
            "waits_for_others": c.waits_for_others,
            "mostly_on": where(found, c.where),
        }
        for c in found.waterfall.causes
    ]


def where(found: Comparison, unit: int | None) -> str | None:
    """The rank (or device) that has most of a change."""
    return None if unit is None else found.pairing.pairs[unit].label


def _numbers(identity: Identity) -> Json:
    return asdict(identity)


def _scatter(scatter: Scatter) -> Json:
    return {"median_ns": scatter.median_ns, "spread_ns": scatter.spread_ns if scatter.count > 1 else None}


def _identity(figures: Figures | None) -> Json | None:
    if figures is None:
        return None
    return {name: {"base": _scatter(a), "test": _scatter(b)} for name, (a, b) in figures.over_steps.items()}


def _steps(figures: Figures | None) -> list[Json]:
    rows = figures.steps if figures is not None else ()
    return [
        {
            "base_step": r.base_number,
            "test_step": r.test_number,
            "base": _numbers(r.base),
            "test": _numbers(r.test),
            "delta_ns": r.test.span_ns - r.base.span_ns,
        }
        for r in rows
    ]


def _ranks(figures: Figures | None) -> list[Json]:
    rows = figures.ranks if figures is not None else ()
    return [
        {
            "label": r.label,
            "base": _numbers(r.base) | {"step": _scatter(r.base_step)},
            "test": _numbers(r.test) | {"step": _scatter(r.test_step)},
            "delta_ns": r.delta_ns,
            "pct": percent(r.delta_ns, r.base.span_ns),
        }
        for r in rows
    ]


def _row(found: Comparison, row: Change) -> Json:
    return {
        "name": row.name,
        "class": _CLASSES.get(row.paint),
        "status": row.status,
        "base_names": list(row.base_names),
        "test_names": list(row.test_names),
        "base_ns": row.base_ns,
        "test_ns": row.test_ns,
        "delta_ns": row.delta_ns,
        "pct": row.percent,
        "base_count": row.base_count,
        "test_count": row.test_count,
        "base_wait_ns": row.base_wait_ns,
        "test_wait_ns": row.test_wait_ns,
        "step_base_ns": row.step_base_ns,
        "step_test_ns": row.step_test_ns,
        "step_delta_ns": row.step_delta_ns,
        "band_ns": row.band_ns,
        "significant": row.significant,
        "step_own_delta_ns": row.rank_ns,
        "own_significant": row.rank_significant,
        "mostly_on": where(found, row.where),
        "changed": {name: {"base": a, "test": b} for name, (a, b) in row.detail.items()},
        "matched_by": row.key if isinstance(row.key, str) and row.status == "replaced" else None,
    }


def _finding(finding: JobFinding) -> Json:
    return {
        "id": finding.id,
        "kind": finding.kind,
        "title": finding.title,
        "severity": finding.severity,
        "saving_ns_per_step": finding.saving_ns_per_step,
        "confident": finding.confident,
        "next_step": finding.next_step,
    }


def _kept(base: JobFinding, test: JobFinding) -> Json:
    return {
        "id": base.id,
        "base_title": base.title,
        "test_title": test.title,
        "base_saving_ns_per_step": base.saving_ns_per_step,
        "test_saving_ns_per_step": test.saving_ns_per_step,
    }
