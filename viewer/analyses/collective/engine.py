"""The graph of dependencies as the compiled replay takes it: when things happen with shorter own times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.dependencies import Dependencies
from viewer.jit.ordering import group_stable
from viewer.jit.replay import places_before, replay, replay_in_order

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Replay:
    """The graph as the compiled replay takes it.

    Args:
        graph: the graph.
        steps: how many steps it has.
    """

    def __init__(self, graph: Dependencies, steps: int) -> None:
        self._graph, self._steps = graph, steps
        count = len(graph.time)
        step = graph.step[graph.target]
        within = graph.step[graph.source] == step
        edges = np.flatnonzero(within & (step >= 0))
        order, self._offset, self._order = _ordered(graph.source[edges], graph.target[edges], count)
        if len(self._order) < count:  # some wait for each other
            edges = _without_circles(graph, edges)
            order, self._offset, self._order = _ordered(graph.source[edges], graph.target[edges], count)
        self._edges = edges[order]
        self._target = graph.target[self._edges]
        self._across = np.flatnonzero(~within & (step >= 0))
        self._late_target = graph.target[self._across]
        self._late_from = graph.time[graph.source[self._across]]
        free = np.ones(count, np.bool_)
        free[self._target] = False
        free[self._late_target] = False
        self._open(free)
        self._base = np.where(free, graph.time, np.iinfo(np.int64).min // 2)
        self._base[graph.fixed] = graph.time[graph.fixed]
        self._shared = np.flatnonzero((graph.rank < 0) & (graph.step >= 0))
        self._shared_step = graph.step[self._shared]

    def _open(self, free: Bools) -> None:
        """The first step has none before it: there all ranks set out with the first of them."""
        graph = self._graph
        heads = np.zeros(len(free), np.bool_)
        heads[graph.chain_heads] = True
        self._first = np.flatnonzero(free & heads & (graph.step == 0) & (graph.rank >= 0))
        self._first_lag = np.empty(0, np.int64)
        if len(self._first):
            together = int(graph.time[graph.step == 0].min())
            free[self._first] = False
            self._first_lag = graph.time[self._first] - together
            self._late_target = np.concatenate((self._late_target, self._first))
            self._late_from = np.concatenate((self._late_from, np.full(len(self._first), together)))

    def replayed(self, lag: I64) -> I64:
        """The instant of each event with these lags, int64[edges of the graph]."""
        return self._replayed(lag[self._edges], np.concatenate((lag[self._across], self._first_lag)))

    def _replayed(self, lag: I64, late: I64) -> I64:
        value = self._base.copy()
        np.maximum.at(value, self._late_target, self._late_from + late)
        replay_in_order(self._order, self._offset, self._target, lag, value)
        return value

    def ends(self, value: I64) -> I64:
        """Per step when its last shared operation was ready; 0 without one."""
        out = np.zeros(self._steps, np.int64)
        np.maximum.at(out, self._shared_step, value[self._shared])
        return out


class Engine(Replay):
    """The graph with the stretches of own time between communications, which can be made shorter."""

    def __init__(self, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> None:
        super().__init__(graph, steps)
        column = np.full(int(graph.rank.max(initial=-1)) + 2, -1, np.int64)
        column[list(ranks)] = np.arange(len(ranks))
        self._column = column
        self._lag = graph.lag[self._edges]
        self._late_lag = np.concatenate((graph.lag[self._across], self._first_lag))
        self._number(graph, len(ranks), steps)
        with_op = np.flatnonzero((graph.ready >= 0) & (graph.begin >= 0))
        self._begin, self._ready = graph.begin[with_op], graph.ready[with_op]
        self._who, self._when = column[graph.rank[self._begin]], np.maximum(graph.step[self._begin], 0)

    def _number(self, graph: Dependencies, ranks: int, steps: int) -> None:
        """Number the stretches of own time: (rank, step, how many communications began before) each has one."""
        begins = graph.begin[graph.begin >= 0]
        rank, step, time = self._column[graph.rank[begins]], graph.step[begins], graph.time[begins]
        inside = step >= 0
        key = rank[inside] * steps + step[inside]
        order = np.lexsort((time[inside], key))
        key, time = key[order], time[inside][order]
        bounds = np.searchsorted(key, np.arange(ranks * steps + 1))
        self.begun = np.diff(bounds).reshape(ranks, steps)
        self._begins = bounds[:-1] + np.arange(ranks * steps)  # one stretch more than communications
        self.own_time = np.zeros(len(time) + ranks * steps)

        def stretch(own: NDArray[np.int32], target: I64) -> I64:
            column = np.where(own >= 0, self._column[own], -1)
            out = np.full(len(column), -1, np.int64)
            mine = np.flatnonzero(column >= 0)
            cell = column[mine] * steps + np.maximum(graph.step[target[mine]], 0)
            found = np.empty(len(mine), np.int64)
            places_before(bounds, time, cell, graph.time[target[mine]], found)
            out[mine] = self._begins[cell] + found
            return out

        whose = np.concatenate((graph.own[self._across], graph.rank[self._first]))
        self._own = stretch(graph.own[self._edges], self._target)
        self._late_own = stretch(whose, self._late_target)
        for own, lag in ((self._own, self._lag), (self._late_own, self._late_lag)):
            mine = own >= 0
            self.own_time += np.bincount(own[mine], lag[mine], len(self.own_time))  # whole numbers: exact

    def part(self, rank: int, step: int) -> slice:
        """Where the stretches of a rank's step lie in ``own_time``."""
        first = int(self._begins[rank * self._steps + step])
        return slice(first, first + int(self.begun[rank, step]) + 1)

    def run(self, factor: F64) -> I64:
        """The instant of each event when each stretch of own time is multiplied by its ``factor``."""
        return self._replayed(_scaled(self._lag, self._own, factor), _scaled(self._late_lag, self._late_own, factor))

    def waits(self, value: I64, but: int) -> F64:
        """Per step how long all ranks but one waited for others, ns."""
        wait = np.maximum(value[self._ready] - value[self._begin], 0)
        wait[self._who == but] = 0
        out: F64 = np.bincount(self._when, wait, self._steps).astype(np.float64)  # whole numbers: exact in any order
        return out


def _scaled(lag: I64, own: I64, factor: F64) -> I64:
    return np.where(own >= 0, np.rint(lag * factor[own]), lag).astype(np.int64)


def _ordered(source: I64, target: I64, count: int) -> tuple[I64, I64, I64]:
    """An order of edges by source, where those of each of ``count`` events begin in it, and events as they settle.

    Events that wait for each other, or for such, are not among the last.
    """
    order, offset = group_stable(source.astype(np.int32), count)
    target = target[order]
    queue, scratch = np.empty(count, np.int64), np.zeros(count, np.int64)
    waiting = np.bincount(target, minlength=count).astype(np.int64)
    settled = replay(offset, target, np.zeros(len(order), np.int64), waiting, queue, scratch)
    return order.astype(np.int64), offset, queue[:settled].copy()


def _without_circles(graph: Dependencies, edges: I64) -> I64:
    """Some edges without those that make circles.

    In truth every edge goes forward in time. Where clocks are off by microseconds, or a communication is not where it
    was, one may seem to go back: of events that wait for each other those edges are left out, then those that take no
    time.
    """
    ahead = graph.time[graph.target] - graph.time[graph.source]
    for least in (0, 1):  # an edge that goes forward is in no circle of such
        at, count = edges, len(graph.time)
        for one, other in ((graph.source, graph.target), (graph.target, graph.source)):
            free = np.zeros(count, np.bool_)
            free[_ordered(one[at], other[at], count)[2]] = True
            at = at[~free[graph.source[at]] & ~free[graph.target[at]]]
        edges = edges[~np.isin(edges, at[ahead[at] < least])]
    return edges
