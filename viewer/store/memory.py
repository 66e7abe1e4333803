"""Tables of memory from allocator events and the state at their end.

The state before the recording is what the state at the end and all events leave no other choice: a block that is freed
but never made, and one that is there at the end but in no event, were there before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import BEFORE, NEVER, NOT_GIVEN, Action, BlockEnd
from viewer.base.ids import ABSENT
from viewer.jit import memory_replay as loops
from viewer.jit.lanes import number_keys
from viewer.store.growing import in_file
from viewer.store.schema import MEMORY_DEVICES

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

_STATED: Final = ("stated_peak_allocated", "stated_peak_reserved", "stated_ooms")
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


@dataclass(slots=True)
class DeviceMemory:
    """One device to be."""

    name: str
    ordinal: int | None
    events: Events
    final: FinalState | None = None


@dataclass(slots=True)
class MemoryBuilder:
    """Collects devices; ``tables()`` gives the columns of their tables. ``stacks`` is shared by all devices.

    With a ``scratch`` folder large columns wait in files there.
    """

    stacks: dict[str, dict[str, Any]] = field(default_factory=dict)
    scratch: Path | None = None
    _parts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def _add(self, table: str, columns: dict[str, Any]) -> None:
        kept = {k: self._waiting(v) if isinstance(v, np.ndarray) else v for k, v in columns.items()}
        self._parts.setdefault(table, []).append(kept)
        self._rows[table] = self._rows.get(table, 0) + len(next(iter(columns.values())))

    def _waiting(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.scratch is None else in_file(values, self.scratch)

    def add(self, device: DeviceMemory) -> None:
        """Build the rows of one more device."""
        number = len(self.names)
        self.names.append(device.name)
        first_event, first_block = self._rows.get("allocator_events", 0), self._rows.get("blocks", 0)
        first_segment = self._rows.get("segments", 0)
        events, final = device.events, device.final
        n = len(events)
        blocks, block_of, counts = _blocks(events, final)
        order = np.argsort(blocks[:, loops.MADE], kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        levels = _levels(events, final, blocks)
        blocks = blocks[order]  # the other one goes: there may be millions
        del order
        at = {"device": np.full(n, number, np.int32)}
        self._add(
            "allocator_events",
            at
            | {
                "time_ns": events.time_ns,
                "action": events.action,
                "address": events.address,
                "size": events.size,
                "stream": events.stream,
                "stack": events.stack,
                "pool": events.pool,
                "note": events.note,
                "category": np.full(n, NOT_GIVEN, np.uint8) if events.category is None else events.category,
                "block": np.where(block_of >= 0, place[block_of] + first_block, -1).astype(np.int32)
                if len(place)
                else block_of,
                "mark": np.full(n, ABSENT, np.int64) if events.mark is None else events.mark,
                "allocated": levels.allocated,
                "live": levels.live,
                "reserved": levels.reserved,
            },
        )
        self._add("blocks", _block_columns(number, events, final, blocks, first_event, first_segment))
        self._add_segments(number, events, final)
        self._add(
            "memory_devices",
            {
                "ordinal": [ABSENT if device.ordinal is None else device.ordinal],
                "event_begin": [first_event],
                "event_end": [first_event + n],
                "block_begin": [first_block],
                "block_end": [first_block + len(blocks)],
                "timed": [int(events.timed)],
                "split_free": [int(events.split_free)],
                **{k: [v] for k, v in levels.summary.items()},
                **{k: [ABSENT] for k in _STATED},
                "unseen_frees": [int(counts[loops.UNSEEN]) if events.addressed else ABSENT],
                "never_seen": [int(counts[loops.NEVER_SEEN]) if final else ABSENT],
                "ghosts": [int(counts[loops.GHOSTS])],
                "contradictions": [int(counts[loops.CONTRADICTIONS])],
            },
        )

    def _add_segments(self, number: int, events: Events, final: FinalState | None) -> None:
        columns = _segment_columns(events, final)
        rows = len(columns["address"])
        if not rows:
            return
        first = self._rows.get("segments", 0)
        self._add("segments", {"device": np.full(rows, number, np.int32)} | columns)
        if final is not None:
            b = final.blocks
            holes = np.flatnonzero(b["end"] == BlockEnd.FREED)
            self._add(
                "holes",
                {
                    "device": np.full(len(holes), number, np.int32),
                    "segment": (b["segment"][holes] + first).astype(np.int32),
                    "address": b["address"][holes],
                    "size": b["size"][holes],
                },
            )

    def add_stated(self, name: str, ordinal: int | None, values: dict[str, int]) -> None:
        """A device of which a source states figures and no events: columns of memory_devices by name."""
        events, blocks = self._rows.get("allocator_events", 0), self._rows.get("blocks", 0)
        self.names.append(name)
        numbers = ("timed", "split_free", "ghosts", "contradictions")
        places = {"event_begin": events, "event_end": events, "block_begin": blocks, "block_end": blocks}
        places |= {"ordinal": ABSENT if ordinal is None else ordinal}
        columns = (c.name for c in MEMORY_DEVICES.columns if c.name != "name")
        row = {c: places.get(c, values.get(c, 0 if c in numbers else ABSENT)) for c in columns}
        self._add("memory_devices", {c: [v] for c, v in row.items()})

    def add_levels(self, device: int, time_ns: I64, category: U8, value: I64) -> None:
        """Rows of the table of bytes by category."""
        n = len(time_ns)
        self._add(
            "category_levels",
            {"time_ns": time_ns, "device": np.full(n, device, np.int32), "category": category, "value": value},
        )

    def tables(self) -> dict[str, dict[str, Any]]:
        """Columns of the tables of memory by name."""
        out: dict[str, dict[str, Any]] = {}
        for table, parts in self._parts.items():
            names = parts[0]
            out[table] = {
                c: parts[0][c] if len(parts) == 1 else self._waiting(np.concatenate([p[c] for p in parts]))
                for c in names
            }
        if "memory_devices" in out:
            out["memory_devices"]["name"] = self.names
        return out | self.stacks


def _blocks(events: Events, final: FinalState | None) -> tuple[I64, I32, I64]:
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
class _Levels:
    allocated: I64
    live: I64
    reserved: I64
    summary: dict[str, int]


def _levels(events: Events, final: FinalState | None, blocks: I64) -> _Levels:
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
        return _Levels(events.allocated, absent, reserved, s)
    allocated, live = np.zeros(n, np.int64), np.zeros(n, np.int64)
    before, live_before = loops.add_levels(blocks, len(blocks), allocated, live)
    s["allocated_before"], s["live_before"] = int(before), int(live_before)
    if final is None:
        s["final_allocated"] = int(live[-1]) if n else int(live_before)
        s["final_pending"] = (int(allocated[-1]) if n else int(before)) - s["final_allocated"]
        return _Levels(allocated, live, absent, s)
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
    return _Levels(allocated, live, s["reserved_before"] + np.cumsum(delta), s)


def _when(events: Events, numbers: I64) -> I64:
    """Times of events by their number: BEFORE for -1, NEVER for one past the last."""
    n = len(events)
    times = np.concatenate([events.time_ns, [NEVER, BEFORE]]).astype(np.int64)
    return times[np.where(numbers < 0, n + 1, numbers)]


def _block_columns(
    number: int, events: Events, final: FinalState | None, blocks: I64, first_event: int, first_segment: int
) -> dict[str, Any]:
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


def _segment_columns(events: Events, final: FinalState | None) -> dict[str, NDArray[Any]]:
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
    blocks, _, _ = _blocks(sub, held)
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
