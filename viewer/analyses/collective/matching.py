"""Which communication kernels of different ranks are one operation.

By Comms Id where the profiler writes it; else by group and sequence number; else by group, kind, size and order, with
the clocks as a second witness so that a lost or an extra one shifts nothing after it. ``point_to_point`` pairs sends
with receives: for that the clocks must be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.groups import JobGroups, job_groups
from viewer.analyses.collective.in_order import match_in_order
from viewer.analyses.collective.kinds import POINT_TO_POINT, Kind
from viewer.analyses.collective.one_job import keeps_distance, recordings
from viewer.analyses.collective.operations import Operations, operations
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]


class Method(IntEnum):
    """What an operation was matched by."""

    NONE = 0
    COMMS_ID = 1
    SEQUENCE = 2
    ORDER = 3


_POINT: Final = np.array([Kind(k) in POINT_TO_POINT for k in range(max(Kind) + 1)], np.bool_)


@dataclass(frozen=True, eq=False)
class Matches:
    """Operations that at least two ranks share.

    Per operation: ``kind``, ``group`` (of JobGroups; -1 unknown), ``size_bytes`` (ABSENT where unknown or where the
    members disagree), ``method``. Members of operation o are positions [offset[o], offset[o + 1]) of ``node`` (id of
    the rank group of the session), ``input`` and ``at`` (position in the input's Operations); they ascend by node.
    Operations are in the order of their group, then number.

    ``matchable`` counts kernels that some other opened rank should share, ``matched`` those that were found there, both
    without sends and receives.
    """

    kind: U8
    group: I32
    size_bytes: I64
    method: U8
    offset: I64
    node: I32
    input: I32
    at: I64
    matchable: int
    matched: int
    groups: JobGroups
    run: I64
    """Per RankGroup a number that is equal for ranks of one run, 0 for most of them."""

    def __len__(self) -> int:
        return len(self.kind)

    def expected(self) -> I32:
        """How many members each operation has in the job, opened or not; 0 where nothing states it."""
        sizes = np.array([g.size or 0 for g in self.groups.groups] + [0], np.int32)
        out: I32 = sizes[self.group]
        return out

    def present(self) -> I32:
        """How many members of each operation are opened."""
        return np.diff(self.offset).astype(np.int32)


def matches(session: Session) -> Matches:
    """The operations of a job that at least two opened ranks share. Built once, whatever the clocks."""
    return session.memo("matches", lambda: _build(session))


@dataclass(frozen=True, eq=False)
class Everything:
    """The communication kernels of all ranks, one after another; ``start`` and ``end`` are raw + base time, ns.

    ``at`` is the position in the input's Operations, ``size`` its bytes (ABSENT where unknown), ``peer`` and ``rank``
    are ABSENT where unknown; ``group`` is the job's group or -1.
    """

    node: I32
    input: I32
    at: I64
    kind: U8
    group: I32
    seq: I64
    comms_id: I64
    peer: I64
    size: I64
    rank: I64
    start: I64
    end: I64

    def places(self, which: I32, at: I64) -> I64:
        """The kernels at positions ``at`` of the Operations of inputs ``which``: their indexes here."""
        begins = np.zeros(int(max(which.max(initial=-1), self.input.max(initial=-1))) + 1, np.int64)
        inputs, firsts = np.unique(self.input, return_index=True)
        begins[inputs] = firsts
        return begins[which] + at


def nodes(session: Session) -> I32:
    """Per input the id of its rank group, -1 where a conflict over its rank leaves open whose operations these are."""
    out = np.full(len(session.inputs), -1, np.int32)
    for group in session.groups:
        for index in group.inputs:
            if not session.inputs[index].conflict:
                out[index] = group.id
    return out


def everything(session: Session) -> Everything:
    """The communication kernels of all ranks whose operations are known to be theirs. Built once."""
    return session.memo("communication_kernels", lambda: _gather(session, job_groups(session)))


def _gather(session: Session, groups: JobGroups) -> Everything:
    node_of = nodes(session)
    tables: list[tuple[int, Operations]] = [
        (i.index, operations(i.trace)) for i in session.inputs if node_of[i.index] >= 0
    ]

    def join(column: str, dtype: type) -> NDArray[np.generic]:
        parts = [getattr(t, column) for _, t in tables]
        return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype)

    sizes = [len(t) for _, t in tables]
    inputs = np.repeat(np.array([i for i, _ in tables], np.int32), sizes)
    ranks = np.array([ABSENT if i.rank is None else i.rank for i in session.inputs], np.int64)
    shift = np.array([i.base_ns for i in session.inputs], np.int64)
    moved = shift[inputs] if len(inputs) else np.empty(0, np.int64)
    local = [groups.of_local[i][t.group] for i, t in tables]
    return Everything(
        node=node_of[inputs] if len(inputs) else np.empty(0, np.int32),
        input=inputs,
        at=np.concatenate([np.arange(n) for n in sizes]) if sizes else np.empty(0, np.int64),
        kind=join("kind", np.uint8),  # type: ignore[arg-type]
        group=np.concatenate(local) if local else np.empty(0, np.int32),
        seq=join("seq", np.int64),  # type: ignore[arg-type]
        comms_id=join("comms_id", np.int64),  # type: ignore[arg-type]
        peer=join("peer", np.int64),  # type: ignore[arg-type]
        size=join("size_bytes", np.int64),  # type: ignore[arg-type]
        rank=ranks[inputs] if len(inputs) else np.empty(0, np.int64),
        start=join("start_ns", np.int64) + moved,  # type: ignore[operator]
        end=join("end_ns", np.int64) + moved,  # type: ignore[operator]
    )


def _build(session: Session) -> Matches:
    groups = job_groups(session)
    every = everything(session)
    run = recordings(session)
    matchable = _matchable(every, groups, session)
    one = np.zeros_like(run)
    found = _match(every, groups, one).seal(every, groups, matchable, one)
    if not run.any():
        return found
    apart = _apart(every, found, run)
    return _match(every, groups, apart).seal(every, groups, matchable, apart) if apart.any() else found


def _apart(every: Everything, found: Matches, run: I64) -> I64:
    """The runs again, without those whose operations end together with others': there a clock is minutes off."""
    out = run.copy()
    end = every.end[every.places(found.input, found.at)]
    op = np.repeat(np.arange(len(found)), found.present())
    for number in range(1, int(run.max()) + 1):
        for node in np.flatnonzero(run == number).tolist():
            mine = np.flatnonzero(found.node == node)
            first = found.offset[op[mine]]  # the members ascend by node
            other = (run[found.node[first]] == 0) & (first != mine)
            for peer in np.unique(found.node[first[other]]).tolist():
                both = other & (found.node[first] == peer)
                if keeps_distance((end[mine[both]] - end[first[both]]).astype(np.float64)):
                    out[run == number] = 0
    return out


def _match(every: Everything, groups: JobGroups, run: I64) -> _Found:
    found = _Found()
    point = _POINT[every.kind]
    whole = np.flatnonzero(~point)
    apart = run[every.node] if len(every.node) else np.empty(0, np.int64)
    group = every.group + apart * len(groups.groups)  # what is of another run is no member
    by_id = whole[every.comms_id[whole] != ABSENT]
    found.add(*_by_key(every, by_id, apart[by_id], every.comms_id[by_id]), Method.COMMS_ID)
    rest = whole[(every.comms_id[whole] == ABSENT) & (every.group[whole] >= 0)]
    numbered = rest[every.seq[rest] != ABSENT]
    found.add(*_by_key(every, numbered, group[numbered], every.seq[numbered]), Method.SEQUENCE)
    found.add(*match_in_order(group, every, rest[every.seq[rest] == ABSENT]), Method.ORDER)
    return found


class _Found:
    """Operations as they are found: members (indexes into Everything) and where each begins."""

    def __init__(self) -> None:
        self._members: list[I64] = []
        self._counts: list[I64] = []
        self._methods: list[U8] = []

    def add(self, members: I64, counts: I64, method: Method) -> None:
        self._members.append(members)
        self._counts.append(counts)
        self._methods.append(np.full(len(counts), method, np.uint8))

    def seal(self, every: Everything, groups: JobGroups, matchable: int, run: I64) -> Matches:
        members = np.concatenate(self._members)
        counts = np.concatenate(self._counts)
        method = np.concatenate(self._methods)
        offset = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        first = members[offset[:-1]]
        kind, group = every.kind[first], every.group[first]
        size = every.size[first]
        if len(first):
            same = np.minimum.reduceat(every.size[members], offset[:-1]) == np.maximum.reduceat(
                every.size[members], offset[:-1]
            )
            size = np.where(same, size, ABSENT)
        return Matches(
            kind,
            group,
            size,
            method,
            offset,
            every.node[members],
            every.input[members],
            every.at[members],
            matchable,
            len(members),
            groups,
            run,
        )


def _by_key(every: Everything, which: I64, first: I64, second: I64) -> tuple[I64, I64]:
    """Members and counts of operations that share (first, second), and the how-manieth on their rank.

    One key several times on one rank (a replayed graph, a coalesced operation) is matched in order when every rank has
    it equally often, else not at all: which one is missing is not known.
    """
    if not len(which):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if bool((np.diff(every.node[which]) < 0).any()):
        order = np.lexsort((every.start[which], every.node[which]))
        which, first, second = which[order], first[order], second[order]
    order = np.lexsort((second, first))  # stable: what came by rank and start stays so
    which, first, second = which[order], first[order], second[order]
    node = every.node[which]
    new_key = np.concatenate(([True], (first[1:] != first[:-1]) | (second[1:] != second[:-1])))
    new_node = new_key | np.concatenate(([True], node[1:] != node[:-1]))
    key = np.cumsum(new_key) - 1
    if not new_node.all():
        run_start = np.flatnonzero(new_node)
        repeats = np.diff(np.concatenate((run_start, [len(which)])))
        nth = np.arange(len(which)) - np.repeat(run_start, repeats)
        run_key = key[run_start]
        least = np.full(int(key[-1]) + 1, len(which), np.int64)
        np.minimum.at(least, run_key, repeats)
        most = np.zeros(int(key[-1]) + 1, np.int64)
        np.maximum.at(most, run_key, repeats)
        clear = (least == most)[key]
        which, key, nth, node = which[clear], key[clear], nth[clear], node[clear]
        order = np.lexsort((node, nth, key))
        which, key, nth = which[order], key[order], nth[order]
        if not len(which):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        new_key = np.concatenate(([True], (key[1:] != key[:-1]) | (nth[1:] != nth[:-1])))
    begin = np.flatnonzero(new_key)
    counts = np.diff(np.concatenate((begin, [len(which)])))
    kinds = every.kind[which]
    alike = np.minimum.reduceat(kinds, begin) == np.maximum.reduceat(kinds, begin)
    keep = (counts > 1) & alike
    return which[np.repeat(keep, counts)], counts[keep]


def _matchable(every: Everything, groups: JobGroups, session: Session) -> int:
    """Kernels of groups that another opened rank belongs to."""
    opened = {g.rank for g in session.groups if g.rank is not None}
    node_of = nodes(session)
    shared = np.zeros(len(groups.groups) + 1, np.bool_)
    for number, group in enumerate(groups.groups):
        others = len(opened & set(group.ranks)) if group.ranks is not None else 0
        shared[number] = max(others, len({int(node_of[i]) for i in group.members})) > 1
    whole = ~_POINT[every.kind] & (shared[every.group] | (every.comms_id != ABSENT))
    return int(whole.sum())
