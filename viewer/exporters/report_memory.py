"""The memory part of the report: one entry per device of a source, and peaks over the ranks.

Bytes; null where a source cannot tell.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from viewer.analyses.memory.churn import churn
from viewer.analyses.memory.figures import MemoryFigures, memory_figures, rank_peaks, source_of
from viewer.analyses.memory.growth import capacity, growth
from viewer.analyses.memory.layout import FailedRequest, failed_requests, layout_after, outside, unusable
from viewer.analyses.memory.parts import categories_at_peak
from viewer.analyses.memory.theory import compare
from viewer.store.session import Input, Session

Json = dict[str, Any]

_LEFT_OUT = frozenset({"number", "peak_event", "timed"})
MOST_MAKERS = 10
MOST_FAILED = 20


def memory_part(session: Session, item: Input) -> Json | None:
    """``ranks[].memory`` of an input; None when it tells of no memory."""
    source = source_of(item.trace)
    if source is None:
        return None
    return {"source": source, "devices": [_device(session, item, f) for f in memory_figures(item.trace)]}


def _device(session: Session, item: Input, found: MemoryFigures) -> Json:
    number = found.number
    row = {k: v for k, v in asdict(found).items() if k not in _LEFT_OUT}
    return row | {
        "categories_at_peak": categories_at_peak(session, item, number),
        "capacity": capacity(session, item, number),
        "fragmentation": _fragmentation(item, number),
        "failed_requests": [
            _failed(session, item, found, f) for f in failed_requests(item.trace, number)[:MOST_FAILED]
        ],
        "growth": _growth(session, item, number),
        "churn": _churn(session, item, number),
        "theory": [
            asdict(c.expected) | {"measured": c.measured, "unexplained": c.unexplained}
            for c in (compare(session, item, number) if found.device != "cpu" else ())
        ],
    }


def _failed(session: Session, item: Input, found: MemoryFigures, failed: FailedRequest) -> Json:
    row = {k: v for k, v in asdict(failed).items() if k != "event"}
    time = int(item.trace.tables["allocator_events"].time_ns[failed.event]) if found.timed else None
    return row | {"time_ns": time, "outside": outside(failed, capacity(session, item, found.number))}


def _fragmentation(item: Input, device: int) -> Json | None:
    """Holes at the end: segments that are free as a whole can be given back, other holes are split."""
    layout = layout_after(item.trace, device, None)
    if layout is None:
        return None
    return {
        "free": layout.free,
        "whole": layout.free - layout.split,
        "split": layout.split,
        "unusable": unusable(item.trace, device, layout),
        "largest_free_block": layout.largest,
    }


def _growth(session: Session, item: Input, device: int) -> Json | None:
    found = growth(session, item, device)
    if found is None:
        return None
    return {
        "bytes_per_step": round(found.bytes_per_step),
        "steps": found.edges.count - found.edges.first,
        "warm_up_steps": found.edges.first,
        "steps_source": found.edges.source,
        "headroom": found.headroom,
        "steps_left": found.steps_left,
        "makers": [
            {"maker": g.text, "category": g.category, "bytes_per_step": round(g.bytes_per_step), "held": g.held}
            for g in found.growers[:MOST_MAKERS]
        ],
    }


def _churn(session: Session, item: Input, device: int) -> Json | None:
    found = churn(session, item, device)
    if found is None or found.edges.count <= found.edges.first:
        return None
    return {
        "segments_got_per_step": float(np.median(found.got[found.steady])),
        "segments_given_back_per_step": float(np.median(found.given[found.steady])),
        "retries": int(found.retries.sum()),
        "bytes_given_back_per_step": round(float(np.median(found.given_bytes[found.steady]))),
    }


def memory_over_ranks(session: Session) -> Json | None:
    """The report's ``memory``: the peak of each rank, and how far they lie apart; None without any."""
    peaks = rank_peaks(session)
    if not peaks:
        return None
    levels = [p.peak_allocated for p in peaks]
    numbers = [
        next(f.number for f in memory_figures(session.inputs[p.input].trace) if f.device == p.device) for p in peaks
    ]
    return {
        "peaks": [
            asdict(p) | {"categories_at_peak": categories_at_peak(session, session.inputs[p.input], n)}
            for p, n in zip(peaks, numbers, strict=True)
        ],
        "peak_min": min(levels),
        "peak_max": max(levels),
    }
