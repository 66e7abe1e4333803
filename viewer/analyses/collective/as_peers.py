"""How much shorter a step gets when one rank is as fast as its peers.

Its own lateness at the step's gradient reduction (replayed, ``lateness``), and after that what its compute takes longer
than theirs. Both are time that the rank alone adds; waiting for others is in neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.lateness import Lateness, lateness
from viewer.analyses.collective.rank_steps import rank_steps
from viewer.analyses.collective.roles import roles
from viewer.base.ids import ABSENT, Paint
from viewer.jit.intervals import total, union
from viewer.store.session import Session

F64 = NDArray[np.float64]


def as_fast_as_peers(session: Session, group: int) -> int | None:
    """The median step, ns, with this rank (RankGroup id) as fast as its peers: an estimate. None without one."""
    found, saved = lateness(session), could_save(session, group)
    if found is None or found.step_ns is None or saved is None:
        return None
    return max(found.step_ns - saved, 0)


def could_save(session: Session, group: int) -> int | None:
    """Median over the steps of what the rank alone adds, ns; None where lateness cannot be told. Built once."""
    return session.clocked_memo(("as_peers", group), lambda: _build(session, group))


def _build(session: Session, group: int) -> int | None:
    found = lateness(session)
    if found is None or group not in found.ranks or np.isnan(found.own[found.ranks.index(group)]).all():
        return None
    i = found.ranks.index(group)
    role = roles(session)
    peers = [r for r in found.ranks if r != group and role[r] == role[group]]
    mine = _compute_after(session, found, group)
    others = np.array([_compute_after(session, found, p) for p in peers]).reshape(-1, found.steps)
    # Without peers nothing says how long its compute there should take.
    usual = np.nanmedian(others, axis=0) if len(others) and not np.isnan(others).all(axis=0).any() else mine
    gain = found.own[i] + np.maximum(np.nan_to_num(mine - usual), 0.0)
    return round(float(np.nanmedian(gain)))


def _compute_after(session: Session, found: Lateness, group: int) -> F64:
    """float64[steps]: compute of a rank's steps after the operation at which its lateness is read; NaN for none.

    Kept: each rank is a peer of all others of its role.
    """
    return session.clocked_memo(("compute_after", group), lambda: _measure_after(session, found, group))


def _measure_after(session: Session, found: Lateness, group: int) -> F64:
    out = np.full(found.steps, np.nan)
    for k, step in enumerate(rank_steps(session, session.groups[group])[: found.steps]):
        at = int(found.anchor_ns[found.ranks.index(group), k])
        if at == ABSENT:
            continue
        item = session.inputs[step.input]
        s = item.trace.slices
        rows = step.rows[s.paint[step.rows] == Paint.COMPUTE]
        begin = np.maximum(s.start_ns[rows], item.clock.to_raw(at))
        end = np.maximum(s.start_ns[rows] + s.dur_ns[rows], begin)
        order = np.argsort(begin, kind="stable")
        out[k] = total(*union(begin[order], end[order]))
    return out
