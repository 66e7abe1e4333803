"""What a rank without a file sends follows from what the others send to it: so lateness goes through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

_NEVER: Final = np.iinfo(np.int64).min
LATEST: Final = 0.5
"""Of the usual time between a send to a rank and what it sends next: a send closer than that was not waited for."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Receives from ranks that are not opened; positions in ``everything``, lengths in ns.

    ``receive`` ascends; ``send`` is the send to that rank that it waited for, ``shortest`` the shortest receive of its
    kind. ``follows`` is what the rank had sent before (a receive, -1 for none), ``least`` what it takes at least from
    there on.
    """

    receive: I64
    send: I64
    shortest: I64
    follows: I64
    least: I64


def answers(session: Session, start: I64, end: I64, step: I32) -> Answers:
    """What ranks that are not opened sent, and what they had waited for.

    A stage of a pipeline passes on what it received: its n-th send of a step to one neighbour follows what the other
    one sent to it as the n-th (the last stage answers the only one). It runs one pass after the other, so it also
    follows what the neighbour itself sent before, and the pass that this led to. Of the two that one is taken
    which would have come later had both been answered at once: as fast as the fastest were.

    Args:
        session: the job.
        start: of each kernel of ``everything``, session time.
        end: of each, session time.
        step: of each.
    """
    every = everything(session)
    opened = np.array(sorted({g.rank for g in session.groups if g.rank is not None}), np.int64)
    open_ = np.flatnonzero((every.peer != ABSENT) & ~np.isin(every.peer, opened) & (step >= 0))
    found = [[np.empty(0, np.int64)] for _ in range(5)]
    by_peer = open_[np.lexsort((start[open_], every.peer[open_]))]
    for mine in np.split(by_peer, np.flatnonzero(np.diff(every.peer[by_peer])) + 1):
        sends, receives = mine[every.kind[mine] == Kind.SEND], mine[every.kind[mine] == Kind.RECV]
        if not len(sends) or not len(receives):
            continue
        for part, more in zip(found, _of(sends, receives, every.node, (start, end, step)), strict=True):
            part.append(more)
    joined = [np.concatenate(part) for part in found]
    order = np.argsort(joined[0], kind="stable")
    return Answers(*(part[order] for part in joined))


def _of(sends: I64, receives: I64, node: I32, when: tuple[I64, I64, I32]) -> tuple[I64, I64, I64, I64, I64]:
    """The columns of :class:`Answers` for one rank: ``sends`` to it and ``receives`` from it, by start."""
    start, end, step = when
    send, least, shortest = (np.full(len(receives), -1, np.int64) for _ in range(3))
    through: dict[int, tuple[I64, int, int]] = {}
    for rank in np.unique(node[receives]).tolist():
        own, others = receives[node[receives] == rank], sends[node[sends] != rank]
        data, lag = _nth(own, others if len(others) else sends, *when)
        through[rank] = data, lag, int((end[own] - start[own]).min())
    for rank, (data, lag, short) in through.items():
        at = node[receives] == rank
        own, mine = receives[at], sends[node[sends] == rank]
        back = max((t[1] for r, t in through.items() if r != rank), default=0)
        before = _latest(own, mine, *when, lag + back)
        first = np.where(data >= 0, start[data] + lag, _NEVER)
        second = np.where(before >= 0, start[before] + lag + back, _NEVER)
        send[at] = np.where(first >= second, data, before)
        least[at] = max(lag - 2 * short, 0)
        shortest[at] = short
    order = np.argsort(end[receives], kind="stable")
    follows = np.full(len(receives), -1, np.int64)
    same = step[receives[order][1:]] == step[receives[order][:-1]]
    follows[order[1:][same]] = receives[order[:-1][same]]
    known = send >= 0
    return receives[known], send[known], shortest[known], follows[known], least[known]


def _nth(receives: I64, sends: I64, start: I64, end: I64, step: I32) -> tuple[I64, int]:
    """Per receive the send of the same number in its step (-1 where that came later), and the least time between."""
    out = np.full(len(receives), -1, np.int64)
    for k in np.unique(step[receives]).tolist():
        mine, there = np.flatnonzero(step[receives] == k), sends[step[sends] == k]
        both = min(len(mine), len(there))
        fits = start[there[:both]] < end[receives[mine[:both]]]
        out[mine[:both][fits]] = there[:both][fits]
    known = out >= 0
    return out, int((end[receives[known]] - start[out[known]]).min()) if known.any() else 0


def _latest(receives: I64, sends: I64, start: I64, end: I64, step: I32, least: int) -> I64:
    """Per receive the last send of its step that was sent at least some time before its end; -1 for none."""
    out = np.full(len(receives), -1, np.int64)
    if not len(sends):
        return out

    def before(limit: int) -> I64:
        at = np.searchsorted(start[sends], end[receives] - limit, "right") - 1
        return np.where((at >= 0) & (step[sends[np.maximum(at, 0)]] == step[receives]), sends[np.maximum(at, 0)], -1)

    if not least:
        out = before(1)
        known = out >= 0
        if not known.any():
            return out
        least = int(LATEST * float(np.median(end[receives[known]] - start[out[known]])))
    return before(least)
