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

from viewer.base.allocator import NOT_GIVEN, BlockEnd
from viewer.base.ids import ABSENT
from viewer.jit import memory_replay as loops
from viewer.store.growing import in_file
from viewer.store.memory_rows import Events, FinalState, block_columns, levels, replayed, segment_columns
from viewer.store.schema import MEMORY_DEVICES

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

_STATED: Final = ("stated_peak_allocated", "stated_peak_reserved", "stated_ooms")


@dataclass(slots=True)
class DeviceMemory:
    """One device to be."""

    name: str
    ordinal: int | None
    events: Events
    final: FinalState | None = None
    segmented: bool = True
    """Whether the segments of ``final`` are memory that was reserved; otherwise they only hold its blocks."""


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
        blocks, block_of, counts = replayed(events, final)
        order = np.argsort(blocks[:, loops.MADE], kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        found = levels(events, final, blocks)
        if not device.segmented:
            found.forget_segments()
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
                "allocated": found.allocated,
                "live": found.live,
                "reserved": found.reserved,
            },
        )
        columns = block_columns(number, events, final, blocks, first_event, first_segment)
        if device.segmented:
            self._add_segments(number, events, final)
        else:
            columns["segment"][:] = -1
        self._add("blocks", columns)
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
                **{k: [v] for k, v in found.summary.items()},
                **{k: [ABSENT] for k in _STATED},
                "unseen_frees": [int(counts[loops.UNSEEN]) if events.addressed else ABSENT],
                "never_seen": [int(counts[loops.NEVER_SEEN]) if final else ABSENT],
                "ghosts": [int(counts[loops.GHOSTS])],
                "contradictions": [int(counts[loops.CONTRADICTIONS])],
            },
        )

    def _add_segments(self, number: int, events: Events, final: FinalState | None) -> None:
        columns = segment_columns(events, final)
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
