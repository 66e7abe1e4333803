"""Which receive belongs to which send: in order between two ranks, checked on the aligned clocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import Everything, everything, matches
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

Aligned = Callable[[I64], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]
"""Positions in ``everything`` -> float64 start and end on the aligned clock (ns), and bool: whether it is known."""

CLOSE_NS: Final = 200_000
"""A receive that was waiting ends with its send, to within this."""
FEW: Final = 0.02
"""Share of pairs that may contradict the clocks before the order is doubted."""
MOST_CELLS: Final = 1 << 24
"""Sends times receives of one pair of ranks that are compared all with all; beyond that they stay unmatched."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sends and their receives, as positions in ``everything(session)``; ``countable`` kernels have an opened peer."""

    send: I64
    receive: I64
    countable: int

    def __len__(self) -> int:
        return len(self.send)


def pair(session: Session, aligned: Aligned, unsure_ns: float) -> Pairs:
    """Pair the sends of a job with its receives.

    Args:
        session: the job.
        aligned: start and end of kernels (positions in ``everything``) on the aligned clock, ns, and whether that is
            known.
        unsure_ns: how far the clocks may be wrong.
    """
    every = everything(session)
    opened = np.array(sorted({g.rank for g in session.groups if g.rank is not None}), np.int64)
    ours = np.flatnonzero(
        ((every.kind == Kind.SEND) | (every.kind == Kind.RECV))
        & (every.rank != ABSENT)
        & np.isin(every.peer, opened)
        & (every.peer != every.rank)
    )
    run_of = dict(zip((g.rank for g in session.groups), matches(session).run.tolist(), strict=True))
    if any(run_of.values()):  # what was recorded at another time is no counterpart
        one, other = (np.array([run_of[r] for r in column[ours].tolist()]) for column in (every.rank, every.peer))
        ours = ours[one == other]
    sends: list[I64] = []
    receives: list[I64] = []
    for one, other in _between(every, ours):
        chosen = _pair(one, other, aligned, unsure_ns)
        sends.append(one[chosen[0]])
        receives.append(other[chosen[1]])
    none = np.empty(0, np.int64)
    return Pairs(np.concatenate([none, *sends]), np.concatenate([none, *receives]), len(ours))


def _between(every: Everything, which: I64) -> Iterator[tuple[I64, I64]]:
    """Sends and receives of each (group, from, to, bytes) in the order of their own rank."""
    send = every.kind[which] == Kind.SEND
    source = np.where(send, every.rank[which], every.peer[which])
    target = np.where(send, every.peer[which], every.rank[which])
    order = np.lexsort((every.start[which], ~send, every.size[which], target, source, every.group[which]))
    which, send = which[order], send[order]
    keys = np.stack((every.group[which], source[order], target[order], every.size[which]))
    if not len(which):
        return
    begin = np.flatnonzero(np.concatenate(([True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)))).tolist()
    for a, b in zip(begin, [*begin[1:], len(which)], strict=True):
        half = a + int(send[a:b].sum())
        if a < half < b:
            yield which[a:half], which[half:b]


def _pair(one: I64, other: I64, aligned: Aligned, unsure_ns: float) -> tuple[I64, I64]:
    equal = len(one) == len(other)
    send_start, send_end, known_one = aligned(one)
    start, end, known_other = aligned(other)
    if not (known_one.all() and known_other.all()):
        return (np.arange(len(one)), np.arange(len(one))) if equal else (one[:0], one[:0])
    if equal:
        wrong = _score(send_start, send_end, start, end, unsure_ns) == 0
        if wrong.mean() <= FEW:
            return np.flatnonzero(~wrong), np.flatnonzero(~wrong)
    return _best(send_start, send_end, start, end, unsure_ns)


def _score(send_start: Any, send_end: Any, start: F64, end: F64, unsure_ns: float) -> NDArray[np.int64]:
    """How well sends and receives fit: 0 not at all, 1 perhaps (it came late), 3 well (it waited and ended with it)."""
    close = CLOSE_NS + unsure_ns
    possible = (end >= send_start - unsure_ns) & (end >= send_end - close)
    waited = start < send_start + unsure_ns
    together = np.abs(end - send_end) <= close
    return np.where(possible & together, 3, np.where(possible & ~waited, 1, 0)).astype(np.int64)


def _best(send_start: F64, send_end: F64, start: F64, end: F64, unsure_ns: float) -> tuple[I64, I64]:
    """The pairs in ascending order with the greatest sum of scores, as for a longest common subsequence."""
    rows, width = len(send_start), len(start)
    none = np.empty(0, np.int64)
    if rows * width > MOST_CELLS:
        return none, none
    table = np.zeros((rows + 1, width + 1), np.int32)
    for i in range(rows):
        score = _score(send_start[i], send_end[i], start, end, unsure_ns)
        taken = np.where(score > 0, table[i, :-1] + score, 0)
        table[i + 1, 1:] = np.maximum.accumulate(np.maximum(table[i, 1:], taken))
    first, second = [], []
    i, j = rows, width
    while i and j:
        if table[i, j] == table[i, j - 1]:
            j -= 1
        elif table[i, j] == table[i - 1, j]:
            i -= 1
        else:
            i, j = i - 1, j - 1
            first.append(i)
            second.append(j)
    return np.array(first[::-1], np.int64), np.array(second[::-1], np.int64)
