"""The communication kernels of one trace, with what the trace says of each: kind, group, number, size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.call_inputs import Calls, read_calls
from viewer.analyses.collective.kinds import Kind, kind_of
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import distinct, named_where
from viewer.analyses.steps import is_kernel
from viewer.base.dtypes import element_bytes
from viewer.base.ids import ABSENT, Paint
from viewer.jit.lanes import number_keys
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

CALL_NAME: Final = "record_param_comms"
"""The range that PyTorch puts around the launch of a collective; its inputs hold the sequence number."""
DEEPEST: Final = 64
"""Levels of the call tree that are climbed from a launch."""


@dataclass(frozen=True, slots=True)
class LocalGroup:
    """A process group as one trace states it.

    ``mark`` tells groups without a name apart inside this trace (it means nothing in another one). ``ranks`` is the
    list as written, cut when ``cut``; ``first`` and ``stride`` describe it where the profiler says so.
    """

    name: str
    description: str
    size: int | None
    ranks: tuple[int, ...]
    cut: bool
    first: int | None
    stride: int | None
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Operations:
    """Communication kernels by start; all arrays have one length. Times are raw ns of the file.

    ``row`` are rows of ``slices``. ``kind`` is a Kind. ``group`` indexes ``groups``, -1 where nothing states one.
    ``seq`` and ``comms_id`` are ABSENT where not stated; ``peer`` is the other rank of a send or receive.
    ``size_bytes`` is S of nccl-tests (the whole buffer: the output of an all-gather, else the input), ABSENT where
    unknown.
    """

    row: I64
    start_ns: I64
    end_ns: I64
    kind: U8
    group: I32
    seq: I64
    comms_id: I64
    peer: I64
    size_bytes: I64
    groups: tuple[LocalGroup, ...]

    def __len__(self) -> int:
        return len(self.row)


def operations(trace: Trace) -> Operations:
    """The communication kernels of a trace (copies between devices are none). Built once."""
    return trace.memo("operations", lambda: _build(trace))


def _build(trace: Trace) -> Operations:
    work = gpu_work(trace)
    at = np.flatnonzero(work.paint == Paint.COMM)
    at = at[is_kernel(trace, work.index[at])]
    at = at[np.argsort(work.start_ns[at], kind="stable")]
    row = work.index[at]
    own = _described(trace, row)
    call = _enclosing_call(trace, links(trace).call_of[at])
    told = np.where(call >= 0, _described(trace, call), -1)
    table = _Table(trace, own, told)
    names = trace.slices.name[row]
    from_name = np.zeros(len(trace.strings) + 1, np.uint8)
    for code in distinct(names):
        from_name[code] = kind_of(trace.text(code))
    kind = np.where(table.kind != Kind.UNKNOWN, table.kind, from_name[names])
    seq, size, group, groups = table.seq, table.size_bytes(kind), *table.groups()
    old = np.flatnonzero((own < 0) & (told < 0) & (call >= 0))
    if len(old):
        _take_inputs(read_calls(trace, call[old], names[old]), old, kind, seq, size, group, groups)
    return Operations(
        row=row,
        start_ns=work.start_ns[at],
        end_ns=work.end_ns[at],
        kind=kind.astype(np.uint8),
        group=group,
        seq=seq,
        comms_id=table.comms_id,
        peer=np.where(kind == Kind.RECV, table.src, np.where(kind == Kind.SEND, table.dst, ABSENT)),
        size_bytes=size,
        groups=tuple(groups),
    )


def _described(trace: Trace, rows: I64) -> I64:
    """Where rows of ``slices`` lie in the collectives table, -1 where they do not."""
    listed = trace.collectives.slice
    if not len(listed):
        return np.full(len(rows), -1, np.int64)
    order: I64 | None = None
    if len(listed) > 1 and bool((listed[1:] < listed[:-1]).any()):
        order = np.argsort(listed, kind="stable")
        listed = listed[order]
    at = np.minimum(np.searchsorted(listed, rows), len(listed) - 1)
    found = np.where(listed[at] == rows, at if order is None else order[at], -1)
    return found.astype(np.int64)


def _enclosing_call(trace: Trace, call_of: I64) -> I64:
    """The innermost record_param_comms range around each launch call (-1 without a call), -1 where there is none."""
    s = trace.slices
    wanted = named_where(trace, Paint, lambda text: text == CALL_NAME) if len(s) else np.zeros(1, np.bool_)
    found = np.full(len(call_of), -1, np.int64)
    if not wanted.any():
        return found
    open_at = np.flatnonzero(call_of >= 0)
    current = call_of[open_at]
    for _ in range(DEEPEST):
        current = s.parent[current].astype(np.int64)
        inside = current >= 0
        open_at, current = open_at[inside], current[inside]
        hit = wanted[s.name[current]]
        found[open_at[hit]] = current[hit]
        open_at, current = open_at[~hit], current[~hit]
        if not len(open_at):
            break
    return found


class _Table:
    """Columns of the collectives table per kernel: its own row first, what is missing there from the call's row."""

    def __init__(self, trace: Trace, own: I64, told: I64) -> None:
        self._trace, self._own, self._told = trace, own, told
        c = trace.collectives
        kinds = np.zeros(len(trace.strings) + 1, np.uint8)
        for code in distinct(c.kind):
            kinds[code] = kind_of(trace.text(code))
        self._sizes = np.zeros(len(trace.strings) + 1, np.int64)
        for code in distinct(c.dtype):
            self._sizes[code] = element_bytes(trace.text(code)) or 0
        self.kind = kinds[self._pick(c.kind, -1)]
        self.seq = self._pick(c.seq, ABSENT)
        self.comms_id = self._pick(c.comms_id, ABSENT)
        self.src = self._pick(c.src, ABSENT)
        self.dst = self._pick(c.dst, ABSENT)

    def _pick(self, column: NDArray[Any], none: int) -> NDArray[Any]:
        if not len(column):
            return np.full(len(self._own), none, column.dtype)
        own = np.where(self._own >= 0, column[self._own], none)
        told = np.where(self._told >= 0, column[self._told], none)
        return np.where(own != none, own, told).astype(column.dtype)

    def size_bytes(self, kind: U8) -> I64:
        """S of each operation, ABSENT where the elements or the size of their type are unknown."""
        c = self._trace.collectives
        sent, received = self._pick(c.in_elems, ABSENT), self._pick(c.out_elems, ABSENT)
        output = (kind == Kind.ALL_GATHER) | (kind == Kind.RECV) | (kind == Kind.GATHER)
        elements = np.where(output & ((received != ABSENT) | (kind != Kind.RECV)), received, sent)
        each = self._sizes[self._pick(c.dtype, -1)]
        known = (elements != ABSENT) & (elements >= 0) & (elements < 2**55) & (each > 0)
        return np.where(known, np.where(known, elements, 0) * each, ABSENT)

    def groups(self) -> tuple[I32, list[LocalGroup]]:
        """The group of each operation, and the groups."""
        trace, c = self._trace, self._trace.collectives
        columns = [
            self._pick(column, none).astype(np.int64)
            for column, none in (
                (c.group, -1),
                (c.group_desc, -1),
                (c.group_ranks, -1),
                (c.group_size, ABSENT),
                (c.first_rank, ABSENT),
                (c.rank_stride, ABSENT),
            )
        ]
        keys = np.stack(columns, axis=1)
        if not len(keys):
            return np.empty(0, np.int32), []
        which = np.empty(len(keys), np.int32)
        distinct_keys = keys[number_keys(np.ascontiguousarray(keys), which)]
        groups: list[LocalGroup] = []
        number = np.full(len(distinct_keys), -1, np.int32)
        for i, (name, described, ranks, size, first, stride) in enumerate(distinct_keys.tolist()):
            if name < 0 and described < 0 and ranks < 0 and size == ABSENT:
                continue
            listed, cut = read_ranks(trace.text(ranks))
            number[i] = len(groups)
            groups.append(
                LocalGroup(
                    trace.text(name),
                    trace.text(described),
                    None if size == ABSENT else size,
                    listed,
                    cut,
                    None if first == ABSENT else first,
                    None if stride == ABSENT else stride,
                )
            )
        return number[which.reshape(-1)], groups


def read_ranks(text: str) -> tuple[tuple[int, ...], bool]:
    """Ranks of a list as written ("[0, 1, ...]") and whether the list was cut; ((), True) for what is no list."""
    if not text.startswith("["):
        return (), True
    return tuple(int(n) for n in re.findall(r"(?<![\w.])\d{1,9}(?!\w)", text)), "..." in text


def _take_inputs(told: Calls, which: I64, kind: U8, seq: I64, size: I64, group: I32, groups: list[LocalGroup]) -> None:
    """Take sequence number, group and size from the inputs of calls that the collectives table does not hold."""
    entry, number = told.entry, told.number
    which, entry, number = which[entry >= 0], entry[entry >= 0], number[entry >= 0]
    if not len(which):
        return
    seq[which] = number
    bytes_ = np.array([ABSENT if e.size_bytes is None else e.size_bytes for e in told.entries], np.int64)[entry]
    members = np.array([e.members for e in told.entries], np.int64)[entry]
    gathered = kind[which] == Kind.ALL_GATHER
    known = bytes_ != ABSENT
    size[which[known]] = np.where(gathered, bytes_ * members, bytes_)[known]
    local: dict[tuple[int, str], int] = {}
    numbers = np.full(len(told.entries), -1, np.int32)
    for i in dict.fromkeys(entry.tolist()):  # in the order of their first operation
        e = told.entries[i]
        numbers[i] = local.setdefault((e.members, e.mark), len(groups))
        if numbers[i] == len(groups):
            groups.append(LocalGroup("", "", e.members, (), True, None, None, e.mark))
    group[which] = numbers[entry]
