"""Who was late by own doing, who only passed lateness on, and how long the others waited for it.

Each step is replayed with the dependencies that were seen (``dependencies``): as it was, and with ranks' own time cut
down to their peers' (the median of the ranks of their role). What a rank's arrival at the step's gradient reduction
gains by its own is its own lateness; what else it would gain if no rank were slow is inherited (``sharing``). These are
estimates: the replay knows no queue of the host and no shared link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.dependencies import Dependencies, dependencies
from viewer.analyses.collective.engine import Engine
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import NEEDS_ALL, Kind
from viewer.analyses.collective.lost import whole
from viewer.analyses.collective.matching import everything, matches
from viewer.analyses.collective.nominal import Nominal, as_peers, sequences
from viewer.analyses.collective.rank_times import step_starts
from viewer.analyses.collective.roles import roles
from viewer.analyses.collective.sharing import Split, split
from viewer.analyses.collective.waits import doubt
from viewer.analyses.collective.work import rank_work
from viewer.analyses.robust import deviation
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

SHARE_OF_STEP: Final = 0.03
"""Own lateness below this share of the step makes no straggler."""
LACKING: Final = 0.15
"""Share of a lateness by which it may be off when files or communications are missing."""
OUTSIDE: Final = 4.0
"""How many times the peers' spread the own lateness must be."""


@dataclass(frozen=True, eq=False)
class Lateness:
    """Per rank (RankGroup ids in ``ranks``) and step, ns; NaN where a rank shares no operation, or its file lacks some.

    ``own_time`` is the time that a rank spent by itself (compute, copies, launches, Python) up to its last shared
    operation; ``own`` its own lateness, ``alone`` what that would be were all others as fast as their peers (two late
    ranks hide each other's lateness), ``inherited`` the rest of its lateness, ``caused`` its share of the waiting of
    all other ranks (below 0 where they would wait longer for another). ``step_ns`` is the median length of a step.
    ``straggler`` marks ranks whose own lateness, as it was or alone, is at least 3 % of the step in most steps and
    outside their peers' spread.
    """

    ranks: tuple[int, ...]
    steps: int
    step_ns: int | None
    own_time: F64
    own: F64
    alone: F64
    inherited: F64
    caused: F64
    straggler: NDArray[np.bool_]
    least: F64
    """Per rank the own lateness from which a step counts as late: 3 % of a step, at least twice the clock's doubt."""
    anchor_ns: I64
    """Per rank and step the begin of the operation at which lateness is read, session time; ABSENT for none."""
    patchy: NDArray[np.bool_]
    """Per rank whether its file or others lack communications, so that single steps may be far off."""
    own_error: F64
    """Per rank how far the mean of ``own`` may be off, ns; of ``inherited`` in ``inherited_error``. NaN for none."""
    inherited_error: F64

    @property
    def by_itself(self) -> F64:
        """Own lateness as it was, or alone where that is more: whether a step counts as late."""
        return np.fmax(self.own, self.alone)

    def ranking(self) -> list[int]:
        """RankGroup ids by the waiting that their own lateness caused, most first; stragglers before all others."""
        caused = np.nan_to_num(np.array([np.nanmean(c) if not np.isnan(c).all() else 0.0 for c in self.caused]))
        return [self.ranks[i] for i in np.lexsort((-caused, ~self.straggler))]

    def of(self, group: int) -> tuple[int, int, int] | None:
        """(own, inherited, caused) of a rank, ns per step; None where it has none.

        Means over its steps; medians where its own or its peers' files lack communications.
        """
        if group not in self.ranks:
            return None
        i = self.ranks.index(group)
        known = ~np.isnan(self.own[i])
        if not known.any():
            return None
        middle = np.median if self.patchy[i] else np.mean
        own, inherited, caused = (float(middle(a[i][known])) for a in (self.own, self.inherited, self.caused))
        return round(own), round(inherited), round(caused)

    def errors_of(self, group: int) -> tuple[int, int] | None:
        """How far own and inherited of :meth:`of` may be off, ns; None for a rank without, or an unsure clock."""
        if self.of(group) is None:
            return None
        i = self.ranks.index(group)
        if np.isnan(self.own_error[i]):
            return None
        return round(float(self.own_error[i])), round(float(self.inherited_error[i]))


def lateness(session: Session) -> Lateness | None:
    """The lateness of a job's ranks; None where clocks are not aligned or there are no steps. Built once."""
    return session.clocked_memo("lateness", lambda: _build(session))


def _build(session: Session) -> Lateness | None:
    if session.clock_method != "collectives":
        return None
    graph = dependencies(session)
    ranks = tuple(sorted({int(r) for r in np.unique(graph.rank) if r >= 0}))
    starts = {r: step_starts(session, session.groups[r]) for r in ranks}
    steps = max((len(s) for s in starts.values()), default=0)
    if len(ranks) < 2 or not steps:
        return None
    lengths = np.concatenate([np.diff(s) for s in starts.values()])
    step_ns = int(np.median(lengths)) if len(lengths) else None
    engine = Engine(graph, ranks, steps)
    anchor = _anchors(session, graph, ranks, steps)
    role = np.array([roles(session)[r] for r in ranks])
    order = sequences(session, graph, ranks, steps)
    nominal = as_peers(engine, role, rank_work(session, ranks, steps), order)
    told = split(engine, nominal.factor, anchor, nominal.unsure)
    own_time = np.array([[engine.own_time[engine.part(i, k)].sum() for k in range(steps)] for i in range(len(ranks))])
    least = _least(session, ranks, step_ns)
    straggler = _stragglers(np.fmax(told.own, told.alone), least, role)
    read_at = np.where(anchor >= 0, graph.time[np.maximum(anchor, 0)], ABSENT)
    patchy = nominal.patchy | bool(len(whole(session).put_back))
    return Lateness(
        ranks, steps, step_ns, own_time, told.own, told.alone, told.inherited, told.caused, straggler, least, read_at,
        patchy, *_errors(session, ranks, nominal, told, own_time, patchy),
    )  # fmt: skip


def _errors(
    session: Session, ranks: tuple[int, ...], nominal: Nominal, told: Split, own_time: F64, medians: NDArray[np.bool_]
) -> tuple[F64, F64]:
    """How far own and inherited lateness may be off, per rank, ns.

    Three standard errors of the mean over the steps; what is not known of the peers' time, as a share of the rank's;
    the clocks' doubt; and, where communications or ranks are missing, a share of the lateness that was seen in jobs
    whose truth is known.
    """
    unsure = doubt(session)[list(ranks)].astype(np.float64)
    unsure = np.where(unsure == ABSENT, np.nan, unsure)
    out = np.full((2, len(ranks)), np.nan)
    lost = _lost(session)
    for i in range(len(ranks)):
        known = ~np.isnan(told.own[i])
        if not known.any():
            continue
        own, passed = told.own[i][known], told.inherited[i][known]
        peers = float((nominal.spread[i] * own_time[i])[known].mean())
        patchy, other = bool(nominal.patchy[i]), bool(nominal.other_role[i])
        gaps = LACKING * ((lost or patchy) + patchy + other)
        every = peers + unsure[i] + gaps * float((own + passed).mean())
        out[0, i] = every + _of_mean(own, patchy=bool(medians[i]))
        out[1, i] = 2 * every + _of_mean(passed, patchy=bool(medians.any()))
    return out[0], out[1]


def _of_mean(values: F64, *, patchy: bool) -> float:
    """Three standard errors of a mean, or of a median where single steps may be far off."""
    one = 1.25 * deviation(values) if patchy else float(values.std())
    return 3.0 * one / math.sqrt(len(values))


def _lost(session: Session) -> bool:
    """Whether members of operations or senders of what was received are missing."""
    found, every = matches(session), everything(session)
    receives = int((every.kind == Kind.RECV).sum())
    whole = (found.expected() <= found.present()).all() and found.matched == found.matchable
    return receives > len(align(session).pairs) or not bool(whole)


def _anchors(session: Session, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> I64:
    """int64[ranks, steps]: the begin at which lateness is read, -1 for none.

    That of the first gradient reduction of a data-parallel group in the step; of the last one where gathers of such a
    group come before it (sharded parameters): there the ranks meet again and again, and each time the late one is only
    late by what it did since. Without such groups, of the last operation.
    """
    every = whole(session).every
    purposes = np.array([g.purpose == "dp" for g in job_groups(session).groups] + [False], np.bool_)
    out = np.full((len(ranks), steps), -1, np.int64)
    collective = graph.needs_all | np.isin(every.kind, list(NEEDS_ALL))
    for i, rank in enumerate(ranks):
        # Also operations whose other members are not seen: where the rank arrives is known without them.
        mine = np.flatnonzero(collective & (graph.begin >= 0) & (every.node == rank))
        event = graph.begin[mine]
        step = graph.step[event]
        sharing = purposes[every.group[mine]]
        gathers = sharing & (every.kind[mine] == Kind.ALL_GATHER)
        gradient = sharing & ~gathers
        for k in range(steps):
            inside = np.flatnonzero(step == k)
            if not len(inside):
                continue
            reduced = inside[gradient[inside]]
            chosen = reduced if len(reduced) else inside
            time = graph.time[event[chosen]]
            gathered = graph.time[event[inside[gathers[inside]]]]
            plain = len(reduced) and not (len(gathered) and gathered.min() < time.min())
            out[i, k] = event[chosen[np.argmin(time) if plain else np.argmax(time)]]
    return out


def _least(session: Session, ranks: tuple[int, ...], step_ns: int | None) -> F64:
    """Per rank the own lateness that counts, ns; NaN where its clock or the step's length is unknown."""
    unsure = doubt(session)[list(ranks)].astype(np.float64)
    if step_ns is None:
        return np.full(len(ranks), np.nan)
    return np.where(unsure == ABSENT, np.nan, np.maximum(SHARE_OF_STEP * step_ns, 2.0 * unsure))


def _stragglers(own: F64, least: F64, role: I64) -> NDArray[np.bool_]:
    out = np.zeros(len(own), np.bool_)
    for i in range(len(own)):
        mine = own[i][~np.isnan(own[i])]
        if len(mine) < 2 or np.isnan(least[i]) or (mine >= least[i]).mean() <= 0.5:
            continue
        peers = own[(role == role[i]) & (np.arange(len(own)) != i)]
        others = peers[~np.isnan(peers)]
        out[i] = float(np.median(mine)) > (OUTSIDE * deviation(others) if len(others) else 0.0)
    return out
