"""Rows of the tables of memory of one device: blocks, levels and segments from its events and its state at the end.

The state before the recording is what the state at the end and all events leave no other choice: a block that is freed
but never made, and one that is there at the end but in no event, were there before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import BEFORE, NEVER, NOT_GIVEN, Action, BlockEnd
from viewer.base.ids import ABSENT
from viewer.jit import memory_replay as loops
from viewer.jit.lanes import number_keys

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

_SEGMENT_SIGN: Final = {
    Action.SEGMENT_ALLOC: 1,
    Action.SEGMENT_MAP: 1,
    Action.SEGMENT_FREE: -1,
    Action.SEGMENT_UNMAP: -1,
}


@dataclass(slots=True)
class Events:
    """Allocator events of one device, in the order of the recorder; arrays of one length n.

    ``allocated`` and ``reserved`` are bytes after each event where the source states them itself (then nothing is
    computed); ``split_free``: request and completion of a free are two events.
    """

    time_ns: I64
    action: U8
    address: I64
    size: I64
    stream: I64
    stack: I32
    pool: I32
    note: I32
    category: U8 | None = None
    allocated: I64 | None = None
    reserved: I64 | None = None
    mark: I64 | None = None
    timed: bool = True
    split_free: bool = True
    before: int | None = None
    """Bytes before the first event where ``allocated`` is stated and they are known."""
    addressed: bool = True
    """Whether events say which block they are of; without, there are no blocks."""

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(slots=True)
class FinalState:
    """What there is at the end on one device: segments and their blocks, as columns.

    ``segments`` has the columns of the table SEGMENTS but device and times; ``blocks`` address, size, requested, end
    (BlockEnd; FREED is an inactive one), stack and segment (row of ``segments``).
    """

    segments: dict[str, NDArray[Any]]
    blocks: dict[str, NDArray[Any]]


def replayed(events: Events, final: FinalState | None) -> tuple[I64, I32, I64]:
    """(blocks, block of each event, counts) as viewer.jit.memory_replay writes them."""
    n = len(events)
    if not events.addressed:
        return np.empty((0, loops.BLOCK_WORDS), np.int64), np.full(n, -1, np.int32), np.zeros(4, np.int64)
    held = np.zeros(0, np.int64)
    if final is not None:
        held = np.flatnonzero(final.blocks["end"] != BlockEnd.FREED)
    address = events.address
    last = final.blocks["address"][held] if final is not None else held
    number = np.empty(n + len(held), np.int32)
    distinct = number_keys(np.concatenate([address, last]).reshape(-1, 1), number)
    blocks = np.empty((n + len(held), loops.BLOCK_WORDS), np.int64)
    counts = np.zeros(4, np.int64)
    block_of = np.full(n, -1, np.int32)
    count = loops.replay_blocks(
        events.action,
        number[:n],
        address,
        events.size,
        number[n:],
        last,
        final.blocks["size"][held] if final is not None else held,
        final.blocks["end"][held].astype(np.uint8) if final is not None else np.zeros(0, np.uint8),
        final is not None,
        np.full(len(distinct), -1, np.int32),
        blocks,
        block_of,
        counts,
    )
    blocks = blocks[:count]
    known = blocks[:, loops.FINAL] >= 0
    blocks[known, loops.FINAL] = held[blocks[known, loops.FINAL]]
    return blocks, block_of, counts


@dataclass(slots=True)
class Levels:
    """Bytes after each event, int64[n] each, and the columns of memory_devices that say how it began and ended."""

    allocated: I64
    live: I64
    reserved: I64
    summary: dict[str, int]

    def forget_segments(self) -> None:
        """Nothing is known of what was reserved."""
        self.reserved = np.full(len(self.reserved), ABSENT, np.int64)
        self.summary |= dict.fromkeys(("reserved_before", "final_reserved", "final_inactive"), ABSENT)


def levels(events: Events, final: FinalState | None, blocks: I64) -> Levels:
    """The levels of a device: as its source states them, else from its blocks (see :func:`replayed`)."""
    n = len(events)
    absent = np.full(n, ABSENT, np.int64)
    s = {
        "allocated_before": ABSENT, "live_before": ABSENT, "reserved_before": ABSENT, "final_allocated": ABSENT,
        "final_pending": ABSENT, "final_reserved": ABSENT, "final_inactive": ABSENT,
    }  # fmt: skip
    if events.allocated is not None:  # the source's own word
        reserved = absent if events.reserved is None else events.reserved
        if n and events.allocated[0] != ABSENT:
            freed = np.isin(events.action[:1], (Action.FREE, Action.FREE_COMPLETED))[0]
            first = int(events.allocated[0]) - int(events.size[0]) * (-1 if freed else 1)
            s["allocated_before"] = first if events.before is None else events.before
            s["final_allocated"] = int(events.allocated[-1])
            s["final_reserved"] = int(reserved[-1])
        return Levels(events.allocated, absent, reserved, s)
    allocated, live = np.zeros(n, np.int64), np.zeros(n, np.int64)
    before, live_before = loops.add_levels(blocks, len(blocks), allocated, live)
    s["allocated_before"], s["live_before"] = int(before), int(live_before)
    if final is None:
        s["final_allocated"] = int(live[-1]) if n else int(live_before)
        s["final_pending"] = (int(allocated[-1]) if n else int(before)) - s["final_allocated"]
        return Levels(allocated, live, absent, s)
    b = final.blocks
    for key, end in (
        ("final_allocated", BlockEnd.ALLOCATED),
        ("final_pending", BlockEnd.PENDING),
        ("final_inactive", BlockEnd.FREED),
    ):
        s[key] = int(b["size"][b["end"] == end].sum())
    total = int(final.segments["size"].sum())
    delta = np.zeros(n, np.int64)
    for action, sign in _SEGMENT_SIGN.items():
        rows = events.action == action
        delta[rows] = sign * events.size[rows]
    s["final_reserved"], s["reserved_before"] = total, total - int(delta.sum())
    return Levels(allocated, live, s["reserved_before"] + np.cumsum(delta), s)


def _when(events: Events, numbers: I64) -> I64:
    """Times of events by their number: BEFORE for -1, NEVER for one past the last."""
    n = len(events)
    times = np.concatenate([events.time_ns, [NEVER, BEFORE]]).astype(np.int64)
    return times[np.where(numbers < 0, n + 1, numbers)]


def block_columns(
    number: int, events: Events, final: FinalState | None, blocks: I64, first_event: int, first_segment: int
) -> dict[str, Any]:
    """Columns of the table of blocks of device ``number``, whose events and segments begin with the rows given."""
    n, count = len(events), len(blocks)
    made, asked, gone = (blocks[:, k] for k in (loops.MADE, loops.ASKED, loops.GONE))
    at_end = blocks[:, loops.FINAL]
    told = np.where(made >= 0, made, np.where(asked >= 0, asked, gone))
    told = np.where((told >= 0) & (told < n), told, -1)  # the event that tells of its stream and pool
    in_events = told >= 0

    def of_events(column: NDArray[Any], otherwise: int, kind: Any) -> NDArray[Any]:
        out = np.full(count, otherwise, kind)
        out[in_events] = column[told[in_events]]
        return out

    stack = np.full(count, -1, np.int32)
    stack[made >= 0] = events.stack[made[made >= 0]]  # the stack of a free says who freed it, not who made it
    requested = of_events(events.size, ABSENT, np.int64)
    segment = np.full(count, -1, np.int32)
    stream, pool = of_events(events.stream, ABSENT, np.int64), of_events(events.pool, -1, np.int32)
    if final is not None:
        known = at_end >= 0
        rows = at_end[known]
        b, s = final.blocks, final.segments
        requested[known] = b["requested"][rows]
        stack[known] = np.where(stack[known] >= 0, stack[known], b["stack"][rows])
        segment[known] = b["segment"][rows] + first_segment
        stream[known] = s["stream"][b["segment"][rows]]
        pool[known] = s["pool"][b["segment"][rows]]

    def event(numbers: I64) -> I64:
        return np.where((numbers >= 0) & (numbers < n), numbers + first_event, -1)

    category = np.full(count, NOT_GIVEN, np.uint8)
    if events.category is not None:
        category = of_events(events.category, NOT_GIVEN, np.uint8)
    return {
        "device": np.full(count, number, np.int32),
        "address": blocks[:, loops.ADDRESS],
        "size": blocks[:, loops.SIZE],
        "requested": requested,
        "start_ns": _when(events, made),
        "asked_ns": _when(events, asked),
        "end_ns": _when(events, gone),
        "made_event": event(made),
        "asked_event": event(asked),
        "gone_event": event(gone),
        "stream": stream,
        "stack": stack,
        "pool": pool,
        "segment": segment,
        "end": blocks[:, loops.END].astype(np.uint8),
        "category": category,
    }


def segment_columns(events: Events, final: FinalState | None) -> dict[str, NDArray[Any]]:
    """Segments at the end, then those that were given back; with times where whole segments come and go."""
    rows = len(final.segments["address"]) if final is not None else 0
    columns: dict[str, NDArray[Any]] = dict(final.segments) if final is not None else {}
    columns["start_ns"] = np.full(rows, BEFORE, np.int64)
    columns["end_ns"] = np.full(rows, NEVER, np.int64)
    columns["at_end"] = np.ones(rows, np.uint8)
    whole = np.flatnonzero(np.isin(events.action, (Action.SEGMENT_ALLOC, Action.SEGMENT_FREE)))
    if not len(whole):
        return columns if rows else {"address": np.zeros(0, np.int64)}
    action = np.where(events.action[whole] == Action.SEGMENT_ALLOC, Action.ALLOC, Action.FREE).astype(np.uint8)
    sub = Events(
        events.time_ns[whole], action, events.address[whole], events.size[whole], events.stream[whole],
        events.stack[whole], events.pool[whole], events.note[whole],
    )  # fmt: skip
    held: FinalState | None = None
    if final is not None:
        held = FinalState(
            final.segments,
            {
                "address": final.segments["address"],
                "size": final.segments["size"],
                "end": np.full(rows, BlockEnd.ALLOCATED, np.uint8),
            },
        )
    blocks, _, _ = replayed(sub, held)
    made, gone, at_end = blocks[:, loops.MADE], blocks[:, loops.GONE], blocks[:, loops.FINAL]
    known = at_end >= 0
    columns["start_ns"][at_end[known]] = _when(sub, made[known])
    lost = np.flatnonzero(~known)
    told = np.where(made[lost] >= 0, made[lost], gone[lost])
    more: dict[str, Any] = {
        "address": blocks[lost, loops.ADDRESS],
        "size": blocks[lost, loops.SIZE],
        "start_ns": _when(sub, made[lost]),
        "end_ns": _when(sub, gone[lost]),
        "stream": sub.stream[told],
        "pool": sub.pool[told],
        "stack": np.where(made[lost] >= 0, sub.stack[told], -1).astype(np.int32),
        "at_end": np.zeros(len(lost), np.uint8) if final is not None else (gone[lost] == len(sub)).astype(np.uint8),
    }
    count = len(lost)
    for name, otherwise, kind in (
        ("allocated", ABSENT, np.int64),
        ("active", ABSENT, np.int64),
        ("requested", ABSENT, np.int64),
        ("kind", -1, np.int32),
        ("expandable", 0, np.uint8),
    ):
        more[name] = np.full(count, otherwise, kind)
    return {k: np.concatenate([columns[k], v]) if rows else v for k, v in more.items()}
