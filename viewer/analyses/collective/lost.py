"""Communication that a file lacks although its peers show that it was there, put back where it must have been.

A profiler's buffers overflow and single kernels are lost. That one was there is known from its counterpart: the other
members of its operation, the receive of what it sent. When it began follows from the rank's other steps: there the
same communication begins after the same kernel of the step, a little later. When it ended, its counterpart tells. What
cannot be placed in this way is not put back. Nothing of this is shown as an event: it serves the replay of the steps
(``dependencies``) alone, where a lost send would break the chain of who waited for whom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.kinds import NEEDS_ALL, Kind
from viewer.analyses.collective.lost_places import FAR, About, Lost, Places, Placing
from viewer.analyses.collective.matching import Everything, everything, matches
from viewer.analyses.collective.operations import operations
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.numbering import numbered_rows
from viewer.analyses.robust import median
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

_POINT: Final = [int(Kind.SEND), int(Kind.RECV), int(Kind.SEND_RECV)]
_LONG_AGO: Final = -FAR
MOST: Final = 200_000
"""Communications that are put back at most: files that lack more are not of use."""


@dataclass(frozen=True, eq=False)
class Whole:
    """The communication of a job: first that of ``everything(session)``, behind it what was put back.

    ``start``, ``end`` (session time, ns) and ``lane`` (of all inputs, -1 unknown) per kernel. ``member`` and ``op``:
    kernels of operations in which all wait for all, and the number of the operation. ``send`` and ``receive``: pairs.
    """

    every: Everything
    start: I64
    end: I64
    lane: I64
    member: I64
    op: I64
    send: I64
    receive: I64

    @property
    def put_back(self) -> I64:
        """RankGroup ids of what was put back, one per kernel."""
        found: I64 = self.every.node[self.every.at < 0].astype(np.int64)
        return found


def whole(session: Session) -> Whole:
    """The communication of a job with what files lack put back. Built once per session."""
    return session.clocked_memo("whole_communication", lambda: _build(session))


def _build(session: Session) -> Whole:
    every, pairs, found = everything(session), align(session).pairs, matches(session)
    start, end, lane = _placed(session, every)
    member = every.places(found.input, found.at)
    op = np.repeat(np.arange(len(found)), found.present())
    together = np.isin(found.kind, [int(k) for k in NEEDS_ALL])[op]
    member, op = member[together], op[together]
    seen = Whole(every, start, end, lane, member, op, pairs.send, pairs.receive)
    if session.clock_method != "collectives":
        return seen
    node_of = {g.rank: g.id for g in session.groups if g.rank is not None}
    placing = Placing(session, seen)
    lost, more = _lost(session, seen, len(found), node_of)
    placing.members(lost[:MOST])
    for source, target, about, late in _unpaired(seen, node_of):
        placing.sends(source, target, about, late)
    return _joined(seen, placing.found, more) if placing.found.placed else seen


def _placed(session: Session, every: Everything) -> tuple[I64, I64, I64]:
    """Start and end on the session's clock, and a number of the lane."""
    start, end, lane = (np.zeros(len(every.kind), np.int64) for _ in range(3))
    for item in session.inputs:
        mine = np.flatnonzero(every.input == item.index)
        if len(mine):
            table, at = operations(item.trace), every.at[mine]
            start[mine] = item.clock.many_to_session(table.start_ns[at])
            end[mine] = item.clock.many_to_session(table.end_ns[at])
            work = gpu_work(item.trace)
            lane[mine] = work.lane[work.positions(table.row[at])] + (item.index << 20)
    return start, end, lane


_Sole = list[tuple[int, int]]
"""(kernel, number of the operation) of those that were left as the only ones of theirs."""


def _lost(session: Session, seen: Whole, first_op: int, node_of: dict[int, int]) -> tuple[list[Lost], _Sole]:
    """What files lack of operations in which all wait for all."""
    out: list[Lost] = []
    more: _Sole = []
    every = seen.every
    known = np.zeros(len(session.groups), np.bool_)
    known[every.node] = True
    members = [
        {node_of[r] for r in g.ranks if r in node_of and known[node_of[r]]} if g.ranks is not None else set()
        for g in matches(session).groups.groups
    ]
    expected = np.array([len(m) for m in members] + [0], np.int64)
    numbered = _Numbered(seen)
    for op, kernels in _short(seen, expected):
        first = int(kernels[0])
        there = set(every.node[kernels].tolist())
        for node in sorted(members[every.group[first]] - there):
            ends, after = int(median(seen.end[kernels])), int(seen.start[kernels].max())
            out.append(_of(numbered, first, node, (ends, after), op))
    for number, kernel in enumerate(_alone(every, seen, expected).tolist(), first_op):
        nodes = sorted(members[every.group[kernel]] - {int(every.node[kernel])})
        more.append((kernel, number))
        when = int(seen.end[kernel]), int(seen.start[kernel])
        out += [_of(numbered, kernel, node, when, number) for node in nodes]
    return out, more


class _Numbered:
    """The numbered operations of each rank and group, by number."""

    def __init__(self, seen: Whole) -> None:
        self.seen = seen
        every = seen.every
        self._rows = np.flatnonzero((every.seq != ABSENT) & (every.group >= 0) & ~np.isin(every.kind, _POINT))
        self._parts: dict[tuple[int, int], tuple[I64, I64]] = {}

    def between(self, node: int, group: int, seq: int) -> tuple[int, int]:
        """End of the rank's one before a number, begin of the one behind it; far away where there is none."""
        every = self.seen.every
        key = node, group
        if key not in self._parts:
            mine = self._rows[(every.node[self._rows] == node) & (every.group[self._rows] == group)]
            mine = mine[np.argsort(every.seq[mine], kind="stable")]
            self._parts[key] = every.seq[mine], mine
        numbers, mine = self._parts[key]
        before, behind = (int(np.searchsorted(numbers, seq, side)) for side in ("left", "right"))
        if seq == ABSENT or not len(mine):
            return _LONG_AGO, FAR
        return (
            int(self.seen.end[mine[before - 1]]) if before else _LONG_AGO,
            int(self.seen.start[mine[behind]]) if behind < len(mine) else FAR,
        )


def _of(numbered: _Numbered, like: int, node: int, when: tuple[int, int], op: int) -> Lost:
    every = numbered.seen.every
    group = int(every.group[like])
    about = int(every.kind[like]), group, ABSENT, int(every.size[like])
    return Lost(node, about, *when, numbered.between(node, group, int(every.seq[like])), op)


def _short(seen: Whole, expected: I64) -> Iterable[tuple[int, I64]]:
    """(operation, its kernels) of operations that opened ranks lack."""
    if not len(seen.member):
        return
    begin = np.flatnonzero(np.concatenate(([True], seen.op[1:] != seen.op[:-1])))
    bounds = np.append(begin, len(seen.op))
    lacking = np.flatnonzero(np.diff(bounds) < expected[seen.every.group[seen.member[begin]]])
    for i in lacking.tolist():
        yield int(seen.op[begin[i]]), seen.member[bounds[i] : bounds[i + 1]]


def _alone(every: Everything, seen: Whole, expected: I64) -> I64:
    """Kernels of numbered operations of which nobody else has one although others are opened."""
    left = np.isin(every.kind, [int(k) for k in NEEDS_ALL]) & (every.seq != ABSENT) & (expected[every.group] > 1)
    numbered = np.flatnonzero(left)
    number = numbered_rows(np.stack((every.group[numbered].astype(np.int64), every.seq[numbered]), axis=1)).number
    left[numbered[np.bincount(number)[number] > 1]] = False
    left[seen.member] = False
    return np.flatnonzero(left)


def _unpaired(seen: Whole, node_of: dict[int, int]) -> list[tuple[int, int, About, int]]:
    """Sorts of sends or of their receives of which some are alone: (from, to, sort, how late a receive ends, ns)."""
    every = seen.every
    opened = np.array(sorted(node_of), np.int64)
    point = (every.kind == Kind.SEND) | (every.kind == Kind.RECV)
    free = point & (every.rank != ABSENT) & np.isin(every.peer, opened) & (every.peer != every.rank)
    free[seen.send] = free[seen.receive] = False
    at = np.flatnonzero(free)
    sends = every.kind[at] == Kind.SEND
    source, target = (np.where(side, every.rank[at], every.peer[at]) for side in (sends, ~sends))
    keys = np.stack((source, target, every.group[at].astype(np.int64), every.size[at]), axis=1)
    rank, sender = every.rank[seen.receive], every.rank[seen.send]
    out = []
    for a, b, group, size in np.unique(keys, axis=0).tolist():
        mine = np.flatnonzero((sender == a) & (rank == b))
        apart = seen.end[seen.receive[mine]] - seen.end[seen.send[mine]]
        late = int(np.quantile(apart, 0.25)) if len(mine) else 0
        out.append((node_of[a], node_of[b], (int(Kind.SEND), group, b, size), late))
    return out


def _joined(seen: Whole, found: Places, more: _Sole) -> Whole:
    every, count, placed = seen.every, len(seen.every.kind), found.placed
    like, start, end, number = (
        np.array(column, np.int64) for column in zip(*((p.like, p.begin, p.end, p.op) for p in placed), strict=True)
    )
    columns: dict[str, Any] = {f.name: getattr(every, f.name)[like] for f in fields(Everything)}
    columns |= {"at": np.full(len(like), -1, np.int64), "seq": np.full(len(like), ABSENT)}
    columns["comms_id"] = np.full(len(like), ABSENT)
    columns["start"] = columns["start"] + start - seen.start[like]
    columns["end"] = columns["start"] + (end - start)
    joined = {name: np.concatenate((getattr(every, name), column)) for name, column in columns.items()}
    whole_again = set(number.tolist())
    own = np.array([pair for pair in more if pair[1] in whole_again], np.int64).reshape(-1, 2)
    back = np.flatnonzero(number >= 0)
    member = np.concatenate((seen.member, own[:, 0], back + count))
    op = np.concatenate((seen.op, own[:, 1], number[back]))
    order = np.argsort(op, kind="stable")
    kept = ~np.isin(seen.send, found.paired_again) & ~np.isin(seen.receive, [r for _, r in found.pairs])
    pairs = np.array(found.pairs, np.int64).reshape(-1, 2)
    return Whole(
        Everything(**joined),
        np.concatenate((seen.start, start)),
        np.concatenate((seen.end, end)),
        np.concatenate((seen.lane, seen.lane[like])),
        member[order],
        op[order],
        np.concatenate((seen.send[kept], pairs[:, 0])),
        np.concatenate((seen.receive[kept], pairs[:, 1])),
    )
