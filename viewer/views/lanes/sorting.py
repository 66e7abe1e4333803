"""What ranks are sorted by: one number per rank."""

from __future__ import annotations

from viewer.analyses.attribution import attribute
from viewer.base.work import CancelToken
from viewer.store.session import RankGroup, Session
from viewer.views.lanes.arrangement import RankSort


def sort_figures(session: Session, sort: RankSort, cancel: CancelToken | None = None) -> dict[int, int]:
    """A number per group id: ns for DURATION, BUSY and EXPOSED, a place for FILE and GROUP. For a worker thread.

    DURATION is the span of everything in the rank's files; BUSY and EXPOSED are sums over its devices of the union of
    GPU work and of communication that no computation hides, over each device's whole span. Ranks without any GPU work
    have no such number.
    """
    out = {}
    for group in session.groups:
        if cancel is not None:
            cancel.check()
        value = _value(session, group, sort)
        if value is not None:
            out[group.id] = value
    return out


def _value(session: Session, group: RankGroup, sort: RankSort) -> int | None:
    inputs = [session.inputs[i] for i in group.inputs]
    if sort is RankSort.FILE:
        return min(group.inputs)
    if sort is RankSort.GROUP:
        rank = group.rank
        if rank is None:
            return None
        teams: list[tuple[int, ...]] = [
            tuple(sorted(g.ranks)) for item in inputs for g in item.trace.meta.groups if rank in g.ranks
        ]
        several = sorted((len(team), team) for team in teams if len(team) > 1)
        first = several[0][1][0] if several else rank
        return first * 2**20 + rank
    if sort is RankSort.DURATION:
        extents = [e for item in inputs if (e := item.extent()) is not None]
        return max(e.end_ns for e in extents) - min(e.start_ns for e in extents) if extents else None
    figures = [
        found
        for item in inputs
        for device in sorted({lane.device for lane in item.trace.lanes if lane.device is not None})
        if (found := attribute(item.trace, device)) is not None
    ]
    if not figures:
        return None
    return sum(f.busy_ns if sort is RankSort.BUSY else f.comm_exposed_ns for f in figures)
