"""The report's ``clock``: how the clocks of the files were brought together, and how sure that is."""

from __future__ import annotations

from typing import Any

from viewer.analyses.collective.alignment import RankClock, align
from viewer.analyses.collective.as_peers import as_fast_as_peers
from viewer.analyses.collective.causes import cause_of
from viewer.analyses.collective.lateness import lateness
from viewer.store.session import Input, Session
from viewer.views.stragglers.words import pattern, verdict

Json = dict[str, Any]


def clock_part(session: Session) -> Json:
    """``clock`` of the report. Offsets hold at ``t0_ns``: file time = session time + offset + drift x (t - t0)."""
    found = align(session)
    aligned = session.clock_method == "collectives"
    group = session.groups[found.reference] if aligned and found.reference is not None else None
    connected = [i for i in session.inputs if i.clock.known and i.rank is not None]
    lowest = min(connected, key=lambda i: (i.rank, i.index), default=None)
    rank = group.rank if group is not None else (lowest.rank if lowest is not None else None)
    t0 = found.t0_ns if aligned else None
    if not aligned and lowest is not None and lowest.trace.meta.gpu_first_ns is not None:
        t0 = lowest.clock.to_session(lowest.trace.meta.gpu_first_ns)
    by_group = {c.group: c for c in found.clocks}
    return {
        "method": session.clock_method,
        "reference": rank,
        "t0_ns": t0,
        "match_rate": None if found.match_rate is None else round(found.match_rate, 6),
        "ranks": [_rank(i, by_group[session.group_of(i.index).id], aligned=aligned) for i in session.inputs],
    }


def _rank(item: Input, told: RankClock, *, aligned: bool) -> Json:
    known = item.clock.known
    by_ends = aligned and told.connected and not item.clock.given
    return {
        "input": item.index,
        "rank": item.rank,
        "offset_ns": item.clock.offset_ns if known else None,
        "drift_ppb": None if not known or (by_ends and told.drift_error_ppb is None) else item.clock.drift_ppb,
        "drift_error_ppb": told.drift_error_ppb if by_ends else None,
        "matches": told.matches,
        "spread_ns": told.spread_ns if aligned else None,
        "uncertainty_ns": told.uncertainty_ns if aligned else None,
        "low_ns": told.low_ns if aligned else None,
        "high_ns": told.high_ns if aligned else None,
        "jump_ns": told.jump[1] if aligned and told.jump is not None else None,
        "jump_at_ns": told.jump[0] if aligned and told.jump is not None else None,
        "given": item.clock.given,
        "connected": told.connected if aligned else known,
        "why": told.why or None,
    }


def straggler_part(session: Session, item: Input) -> Json | None:
    """``straggler`` of a rank: means over its steps, ns per step; None where lateness cannot be told.

    ``*_error_ns`` is how far they may be off. An estimate by replaying the steps
    (``viewer.analyses.collective.lateness``).
    """
    found = lateness(session)
    group = session.group_of(item.index).id
    told = None if found is None else found.of(group)
    if found is None or told is None:
        return None
    own, inherited, caused = told
    own_error, inherited_error = found.errors_of(group) or (None, None)
    cause = cause_of(session, group)
    return {
        "is_straggler": bool(found.straggler[found.ranks.index(group)]),
        "own_late_ns": own,
        "own_late_error_ns": own_error,
        "inherited_late_ns": inherited,
        "inherited_late_error_ns": inherited_error,
        "wait_caused_ns": max(caused, 0),
        "cause": cause.code if cause is not None else None,
        "cause_share": round(cause.share, 3) if cause is not None else None,
        "pattern": pattern(found, group).kind or None,
        "step_as_peers_ns": as_fast_as_peers(session, group),
    }


def late_rank_part(session: Session) -> Json | None:
    """``late_rank``: the verdict in words and the rank it names; None for a job of one rank."""
    if len(session.groups) < 2:
        return None
    told = verdict(session)
    found = lateness(session)
    return {
        "verdict": told.kind,
        "text": told.text,
        "rank": None if told.group is None else session.groups[told.group].rank,
        "step_ns": None if found is None else found.step_ns,
    }
