"""What a filter leaves of the lanes: which show, and which slices stay bright. And the patterns of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from viewer.analyses.query import Query
from viewer.analyses.query_match import slice_mask
from viewer.base.frames import LaneGroup
from viewer.base.ids import Paint
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.lanes.counters import counter_matches
from viewer.views.lanes.lod import LodStore, build
from viewer.views.lanes.looks import Coloring, Look, Matched, build_look, match

PATTERNS: Final[dict[int, int]] = {int(Paint.COMM): 1, int(Paint.MEMORY): 2, int(Paint.SYNC): 3}
"""Stripes that rise for communication, that fall for memory, dots for waits."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """What a filter leaves: keys of lanes (None for all), matching slices by input ({}: none is pale), their number."""

    lanes: frozenset[str] | None = None
    matched: Mapping[int, Matched] = field(default_factory=dict)
    count: int = 0


ALL: Final = Filtered()


def apply_filter(
    session: Session,
    groups: tuple[LaneGroup, ...],
    query: Query,
    looks: Mapping[int, Look],
    lods: LodStore,
    cancel: CancelToken,
    bright: Query | None = None,
) -> Filtered:
    """What a query leaves of a session, and of that what is emphasised stays bright; for a worker thread."""
    matched: dict[int, Matched] = {}
    full: set[tuple[int, int]] = set()
    count = 0
    for item in session.inputs:
        cancel.check()
        trace = item.trace
        mask = slice_mask(query, item, cancel)
        mask.flags.writeable = False
        before = np.append(0, np.cumsum(mask))
        count += int(before[-1])
        for lane in trace.lanes:
            if lane.row_end > lane.row_begin:
                a, b = int(trace.rows.begin[lane.row_begin]), int(trace.rows.end[lane.row_end - 1])
                if before[b] > before[a]:
                    full.add((item.index, lane.id))
        emphasis = bright is not None and bool(bright.terms)
        if query.of_slices or emphasis:
            look = looks.get(item.index) or Look(trace.slices.paint, lods.get(trace))
            if bright is not None and emphasis:
                mask = mask & slice_mask(bright, item, cancel)
                mask.flags.writeable = False
            matched[item.index] = match(item, mask, look)
    if not query.terms:
        return Filtered(None, matched, count)
    lanes = frozenset(
        lane.key
        for g in groups
        for lane in g.lanes
        if any(part in full for part in lane.parts) or counter_matches(query, session, lane)
    )
    return Filtered(lanes, matched, count)


def build_looks(session: Session, coloring: Coloring, lods: LodStore, cancel: CancelToken) -> dict[int, Look]:
    """The looks of all inputs; for a worker thread."""
    out = {}
    for item in session.inputs:
        cancel.check()
        plain = lods.get(item.trace) if lods.is_built(item.trace) else build(item.trace, cancel).lod
        out[item.index] = build_look(item, coloring, plain, cancel)
    return out
