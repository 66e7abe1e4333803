"""Who was late by own doing, who only passed lateness on, and how long the others waited for it.

Each step is replayed with the dependencies that were seen (``dependencies``): once as it was, and once for each rank
with that rank's own time cut down to its peers' (the median of the ranks of its role). What its arrival at the step's
gradient reduction gains is its own lateness; what else it would gain if no rank were slow is inherited. These are
estimates: the replay knows no queue of the host and no shared link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.dependencies import Dependencies, dependencies, step_starts
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import NEEDS_ALL, Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.nominal import as_peers, sequences
from viewer.analyses.collective.roles import roles
from viewer.analyses.collective.waits import doubt
from viewer.analyses.robust import deviation
from viewer.base.ids import ABSENT
from viewer.jit.replay import replay
from viewer.store.session import Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

SHARE_OF_STEP: Final = 0.03
"""Own lateness below this share of the step makes no straggler."""
OUTSIDE: Final = 4.0
"""How many times the peers' spread the own lateness must be."""


@dataclass(frozen=True, eq=False)
class Lateness:
    """Per rank (RankGroup ids in ``ranks``) and step, ns; NaN where a rank shares no operation, or its file lacks some.

    ``own_time`` is the time that a rank spent by itself (compute, copies, launches, Python) up to its last shared
    operation; ``own`` its own lateness, ``inherited`` the rest of its lateness, ``caused`` the waiting of all other
    ranks that ends when this rank is as fast as its peers (below 0 where they then wait longer for a slower one).
    ``step_ns`` is the median length of a step. ``straggler`` marks ranks whose own lateness is at least 3 % of the step
    in most steps and outside their peers' spread.
    """

    ranks: tuple[int, ...]
    steps: int
    step_ns: int | None
    own_time: F64
    own: F64
    inherited: F64
    caused: F64
    straggler: NDArray[np.bool_]
    least: F64
    """Per rank the own lateness from which a step counts as late: 3 % of a step, at least twice the clock's doubt."""
    anchor_ns: I64
    """Per rank and step the begin of the operation at which lateness is read, session time; ABSENT for none."""
    patchy: NDArray[np.bool_]
    """Per rank whether some steps lack communications in its file or its peers': single steps may be far off."""

    def ranking(self) -> list[int]:
        """RankGroup ids by the waiting that their own lateness caused, most first."""
        caused = np.nan_to_num(np.array([np.nanmean(c) if not np.isnan(c).all() else 0.0 for c in self.caused]))
        return [self.ranks[i] for i in np.argsort(-caused, kind="stable")]

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
    factor, unsure, patchy = as_peers(engine, role, _likeness(session, ranks), order)
    seen = engine.run(np.ones_like(factor))
    ideal = engine.run(factor)
    own, inherited, caused = (np.full((len(ranks), steps), np.nan) for _ in range(3))
    for i in range(len(ranks)):
        alone = np.ones_like(factor)
        mine = slice(engine.part(i, 0).start, engine.part(i, steps - 1).stop)
        alone[mine] = factor[mine]
        value = engine.run(alone)
        known = np.flatnonzero((anchor[i] >= 0) & ~unsure[i])
        at = anchor[i, known]
        own[i, known] = np.maximum(seen[at] - value[at], 0)
        inherited[i, known] = np.maximum(seen[at] - ideal[at] - own[i, known], 0)
        caused[i, known] = (engine.waits(seen, i) - engine.waits(value, i))[known]
    own_time = np.array([[engine.own_time[engine.part(i, k)].sum() for k in range(steps)] for i in range(len(ranks))])
    least = _least(session, ranks, step_ns)
    straggler = _stragglers(own, least, role)
    read_at = np.where(anchor >= 0, graph.time[np.maximum(anchor, 0)], ABSENT)
    return Lateness(ranks, steps, step_ns, own_time, own, inherited, caused, straggler, least, read_at, patchy)


class Engine:
    """The graph as the compiled replay takes it, and sums of its waits."""

    def __init__(self, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> None:
        self._graph = graph
        inside = (graph.step[graph.source] == graph.step[graph.target]) & (graph.step[graph.target] >= 0)
        order = np.argsort(graph.source[inside], kind="stable")
        self._target, self._lag = graph.target[inside][order], graph.lag[inside][order]
        source = graph.source[inside][order]
        count = len(graph.time)
        self._offset = np.searchsorted(source, np.arange(count + 1)).astype(np.int64)
        self._waiting = np.bincount(self._target, minlength=count).astype(np.int64)
        column = np.full(int(graph.rank.max(initial=-1)) + 2, -1, np.int64)
        column[list(ranks)] = np.arange(len(ranks))
        self._column = column
        own = graph.own[inside][order]
        self._own_column = np.where(own >= 0, column[own], -1)
        self._step = np.maximum(graph.step[self._target], 0)
        across = ~inside & (graph.step[graph.target] >= 0)
        self._late_target, self._late_lag = graph.target[across], graph.lag[across]
        self._late_from = graph.time[graph.source[across]]
        late_own = graph.own[across]
        self._late_column = np.where(late_own >= 0, column[late_own], -1)
        self._late_step = np.maximum(graph.step[self._late_target], 0)
        free = np.ones(count, np.bool_)
        free[self._target] = False
        free[self._late_target] = False
        self._open(graph, free)
        self._base = np.where(free, graph.time, np.iinfo(np.int64).min // 2)
        self._base[graph.fixed] = graph.time[graph.fixed]
        self._number(graph, ranks, steps)
        with_op = np.flatnonzero((graph.ready >= 0) & (graph.begin >= 0))
        self._begin, self._ready = graph.begin[with_op], graph.ready[with_op]
        self._who, self._when = column[graph.rank[self._begin]], np.maximum(graph.step[self._begin], 0)
        self._steps = steps
        self._shared = np.flatnonzero((graph.rank < 0) & (graph.step >= 0))
        self._shared_step = graph.step[self._shared]

    def ends(self, value: I64) -> I64:
        """Per step when its last shared operation was ready; 0 without one."""
        out = np.zeros(self._steps, np.int64)
        np.maximum.at(out, self._shared_step, value[self._shared])
        return out

    def _open(self, graph: Dependencies, free: NDArray[np.bool_]) -> None:
        """The first step has none before it: there all ranks set out with the first of them."""
        first = np.flatnonzero(free & (graph.step == 0) & (graph.rank >= 0))
        first = first[np.isin(first, graph.chain_heads)]
        if len(first):
            together = int(graph.time[graph.step == 0].min())
            free[first] = False
            self._late_target = np.concatenate((self._late_target, first))
            self._late_lag = np.concatenate((self._late_lag, graph.time[first] - together))
            self._late_from = np.concatenate((self._late_from, np.full(len(first), together)))
            self._late_column = np.concatenate((self._late_column, self._column[graph.rank[first]]))
            self._late_step = np.concatenate((self._late_step, np.zeros(len(first), np.int64)))

    def _number(self, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> None:
        """Number the stretches of own time: (rank, step, how many communications began before) each has one."""
        begins = graph.begin[graph.begin >= 0]
        rank, step, time = self._column[graph.rank[begins]], graph.step[begins], graph.time[begins]
        inside = step >= 0
        key = rank[inside] * steps + step[inside]
        order = np.lexsort((time[inside], key))
        key, time = key[order], time[inside][order]
        bounds = np.searchsorted(key, np.arange(len(ranks) * steps + 1))
        self.begun = np.diff(bounds).reshape(len(ranks), steps)
        self._first = bounds[:-1] + np.arange(len(ranks) * steps)  # one stretch more than communications
        count = len(time) + len(ranks) * steps
        self.own_time = np.zeros(count)

        def stretch(column: I64, target: I64, when: I64) -> I64:
            out = np.full(len(column), -1, np.int64)
            mine = np.flatnonzero(column >= 0)
            cell = column[mine] * steps + when[mine]
            # The begins of one cell lie together: a search in (cell, time) order.
            found = _search(key, time, cell, graph.time[target[mine]])
            out[mine] = self._first[cell] + found - bounds[cell]
            return out

        self._own = stretch(self._own_column, self._target, self._step)
        self._late_own = stretch(self._late_column, self._late_target, self._late_step)
        for own, lag in ((self._own, self._lag), (self._late_own, self._late_lag)):
            np.add.at(self.own_time, own[own >= 0], lag[own >= 0])

    def part(self, rank: int, step: int) -> slice:
        """Where the stretches of a rank's step lie in ``own_time``."""
        first = int(self._first[rank * self._steps + step])
        return slice(first, first + int(self.begun[rank, step]) + 1)

    def run(self, factor: F64) -> I64:
        """The instant of each event when each stretch of own time is multiplied by its ``factor``."""
        lag = np.where(self._own >= 0, np.rint(self._lag * factor[self._own]), self._lag).astype(np.int64)
        late = np.where(self._late_own >= 0, np.rint(self._late_lag * factor[self._late_own]), self._late_lag).astype(
            np.int64
        )
        value = self._base.copy()
        np.maximum.at(value, self._late_target, self._late_from + late)
        replay(self._offset, self._target, lag, self._waiting.copy(), np.empty(len(value), np.int64), value)
        return value

    def waits(self, value: I64, but: int) -> F64:
        """Per step how long all ranks but one waited for others, ns."""
        out = np.zeros(self._steps)
        mine = self._who != but
        np.add.at(out, self._when[mine], np.maximum(value[self._ready[mine]] - value[self._begin[mine]], 0))
        return out


def _anchors(session: Session, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> I64:
    """int64[ranks, steps]: the begin at which lateness is read, -1 for none.

    That of the first gradient reduction of a data-parallel group in the step; of the last one where gathers of such a
    group come before it (sharded parameters): there the ranks meet again and again, and each time the late one is only
    late by what it did since. Without such groups, of the last operation.
    """
    every = everything(session)
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


def _search(key: I64, time: I64, cell: I64, wanted: I64) -> I64:
    """How many (key, time) pairs, which ascend, lie before each (cell, wanted)."""
    order = np.lexsort((np.repeat([0, 1], [len(cell), len(key)]), np.concatenate((wanted, time)),
                        np.concatenate((cell, key))))  # fmt: skip
    ours = order < len(cell)
    before = np.cumsum(~ours)
    out = np.empty(len(cell), np.int64)
    out[order[ours]] = before[ours]
    return out


def _likeness(session: Session, ranks: tuple[int, ...]) -> I64:
    """A number per rank, equal for ranks that use the same kinds of communication equally often."""
    every = everything(session)
    seen: dict[tuple[int, ...], int] = {}
    out = []
    for rank in ranks:
        counts = np.bincount(every.kind[every.node == rank], minlength=16)
        out.append(seen.setdefault(tuple(counts.tolist()), len(seen)))
    return np.array(out, np.int64)


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
        out[i] = float(np.median(mine)) > OUTSIDE * deviation(others)
    return out
