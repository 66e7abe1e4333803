"""The communication kernels of one trace, with what the trace says of each: kind, group, number, size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import Kind, kind_of
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import distinct, flags_where
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
_TYPE_IN_NAME: Final = re.compile(r"_(?:bf|f|i|u)(8|16|32|64)_")
"""NCCL names its kernels AllReduce_Sum_f16_RING_LL."""
MOST_PARSED: Final = 100_000
"""Calls whose args are read one by one when they are not in the table of collectives."""


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
        group, groups = _read_calls(trace, call, old, names, kind, seq, size, group, groups)
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
    wanted = flags_where(trace, s.name, lambda text: text == CALL_NAME) if len(s) else np.zeros(1, np.bool_)
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


def _read_calls(  # the args of older profilers, one call after another
    trace: Trace,
    call: I64,
    which: I64,
    names: I32,
    kind: U8,
    seq: I64,
    size: I64,
    group: I32,
    groups: list[LocalGroup],
) -> tuple[I32, list[LocalGroup]]:
    """Take sequence number, group and size from the inputs of calls that the collectives table does not hold."""
    known: dict[LocalGroup, int] = {}
    for i in which[:MOST_PARSED].tolist():
        told = read_call(trace.args(int(call[i])), trace.text(names[i]))
        if told is None:
            continue
        seq[i], members, mark, count = told
        if count is not None:
            size[i] = count * (members if kind[i] == Kind.ALL_GATHER else 1)
        local = LocalGroup("", "", members, (), True, None, None, mark)
        if local not in known:
            known[local] = len(groups)
            groups.append(local)
        group[i] = known[local]
    return group, groups


def read_call(args: dict[str, Any], kernel: str) -> tuple[int, int, str, int | None] | None:
    """What the recorded inputs of a record_param_comms call say: (sequence number, group size, group's mark, bytes).

    The inputs are (tensors, sequence number, group, rank, name, split sizes, split sizes, .., group size), see
    ``RECORD_PARAM_COMMS_DATA`` in PyTorch's ParamCommsUtils.hpp; the group is written as its address in the process.
    Bytes are those of the first input, None where its shape or type is not recorded; a list of tensors has no type of
    its own, so that of the kernel's name is taken. None for calls of another form.
    """
    inputs = args.get("Concrete Inputs")
    if not isinstance(inputs, list) or not 8 <= len(inputs) <= 16 or inputs[0] not in ("", None):
        return None
    number, mark, members = (_whole(inputs[i]) for i in (1, 2, -1))
    if number is None or mark is None or members is None or not 1 <= members <= 1 << 24:
        return None
    return number, members, str(mark), _input_bytes(args, kernel)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    text = str(value)
    return int(text) if text.isdecimal() and len(text) <= 20 and int(text) < 2**62 else None


def _input_bytes(args: dict[str, Any], kernel: str) -> int | None:
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not shapes:
        return None
    each = element_bytes(types[0]) if isinstance(types, list) and types and isinstance(types[0], str) else None
    if each is None:
        named = _TYPE_IN_NAME.search(kernel[:200])
        each = int(named[1]) // 8 if named else None
    count = _elements(shapes[0], 0)
    return None if each is None or not count else each * count


def _elements(shape: Any, depth: int) -> int | None:
    """Elements of a shape, or of all shapes of a list of tensors."""
    if not isinstance(shape, list) or depth > 2 or not shape:
        return None
    if isinstance(shape[0], list):
        parts = [_elements(part, depth + 1) for part in shape]
        return sum(p for p in parts if p is not None) if all(p is not None for p in parts) else None
    product = 1
    for length in shape:
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < 1 << 48:
            return None
        product *= length
        if product >= 1 << 55:
            return None
    return product
