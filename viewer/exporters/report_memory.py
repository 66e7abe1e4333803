"""The memory part of the report: one entry per device of a source, and peaks over the ranks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from viewer.analyses.memory.categories import categories_at_peak
from viewer.analyses.memory.figures import MemoryFigures, memory_figures, rank_peaks, source_of
from viewer.store.session import Input, Session

Json = dict[str, Any]

_LEFT_OUT = frozenset({"number", "peak_event", "timed"})


def memory_part(session: Session, item: Input) -> Json | None:
    """``ranks[].memory`` of an input; None when it tells of no memory. Bytes; null where the source cannot tell."""
    source = source_of(item.trace)
    if source is None:
        return None
    return {"source": source, "devices": [_device(session, item, f) for f in memory_figures(item.trace)]}


def _device(session: Session, item: Input, found: MemoryFigures) -> Json:
    row = {k: v for k, v in asdict(found).items() if k not in _LEFT_OUT}
    return row | {"categories_at_peak": categories_at_peak(session, item, found.number)}


def memory_over_ranks(session: Session) -> Json | None:
    """The report's ``memory``: the peak of each rank, and how far they lie apart; None without any."""
    peaks = rank_peaks(session)
    if not peaks:
        return None
    levels = [p.peak_allocated for p in peaks]
    return {
        "peaks": [asdict(p) for p in peaks],
        "peak_min": min(levels),
        "peak_max": max(levels),
    }
