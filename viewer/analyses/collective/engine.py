"""The graph of dependencies as the compiled replay takes it: when things happen with shorter own times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.dependencies import Dependencies
from viewer.jit.replay import replay

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Engine:
    """The graph as the compiled replay takes it, and sums of its waits."""

    def __init__(self, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> None:
        self._graph = graph
        inside = (graph.step[graph.source] == graph.step[graph.target]) & (graph.step[graph.target] >= 0)
        inside = _without_circles(graph, inside)
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
        across = (graph.step[graph.source] != graph.step[graph.target]) & (graph.step[graph.target] >= 0)
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


def _search(key: I64, time: I64, cell: I64, wanted: I64) -> I64:
    """How many (key, time) pairs, which ascend, lie before each (cell, wanted)."""
    order = np.lexsort((np.repeat([0, 1], [len(cell), len(key)]), np.concatenate((wanted, time)),
                        np.concatenate((cell, key))))  # fmt: skip
    ours = order < len(cell)
    before = np.cumsum(~ours)
    out = np.empty(len(cell), np.int64)
    out[order[ours]] = before[ours]
    return out


def _without_circles(graph: Dependencies, inside: Bools) -> Bools:
    """The edges ``inside`` steps without those that make circles.

    In truth every edge goes forward in time. Where clocks are off by microseconds, or a communication is not where it
    was, one may seem to go back: of events that wait for each other those edges are left out, then those that take no
    time.
    """
    ahead = graph.time[graph.target] - graph.time[graph.source]
    for least in (0, 1):  # an edge that goes forward is in no circle of such
        at = np.flatnonzero(inside)
        behind = _never_free(graph.source[at], graph.target[at], len(graph.time))
        at = at[behind[graph.source[at]] & behind[graph.target[at]]]
        before = _never_free(graph.target[at], graph.source[at], len(graph.time))
        at = at[before[graph.source[at]] & before[graph.target[at]]]
        if not len(at):
            break
        inside = inside.copy()
        inside[at[ahead[at] < least]] = False
    return inside


def _never_free(source: I64, target: I64, count: int) -> Bools:
    """Which events lie in a circle of edges or behind one."""
    order = np.argsort(source, kind="stable")
    offset = np.searchsorted(source[order], np.arange(count + 1)).astype(np.int64)
    left = np.bincount(target, minlength=count).astype(np.int64)
    none, scratch, value = np.zeros(len(order), np.int64), np.empty(count, np.int64), np.zeros(count, np.int64)
    replay(offset, target[order], none, left, scratch, value)
    out: Bools = left > 0
    return out
