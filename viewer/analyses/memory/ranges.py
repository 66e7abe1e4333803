"""Stretches of addresses that the allocator holds from the device at an instant.

Most are segments as they were got. Expandable segments (c10/cuda/CUDACachingAllocator.cpp) are reserved addresses of
which pages are mapped and unmapped: such a stretch is what is mapped in one piece, as snapshots report it. What was
mapped at an earlier instant is what is mapped at the end less what was mapped since, with what was unmapped since.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.figures import device_events
from viewer.base.allocator import Action
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

SMALL: Final = 1 << 20
"""Requests up to this come from segments of small blocks (c10/core/AllocatorConfig.h: kSmallSize)."""
SMALL_PAGE: Final = 2 << 20
"""What is mapped at once for small requests (kSmallBuffer)."""
LARGE_PAGE: Final = 20 << 20
"""What is mapped at once for others, where the settings do not say large_segment_size_mb."""
_PAGE: Final = re.compile(r"large_segment_size_mb\D{1,5}(\d{1,6})")


@dataclass(frozen=True, eq=False)
class Ranges:
    """Stretches by address, arrays of one length: bytes; ``stream`` and ``pool`` as in the table of segments.

    ``page``: what can be given back are whole pages of so many bytes; 0: only the whole stretch.
    """

    address: I64
    size: I64
    stream: I64
    pool: I64
    small: Flags
    page: I64

    def __len__(self) -> int:
        return len(self.address)


def ranges_after(trace: Trace, device: int, event: int | None) -> Ranges | None:
    """What is held after an event (row of allocator_events; None: at the end). None where segments are not told."""
    s, e, rows = trace.tables["segments"], trace.tables["allocator_events"], device_events(trace, device)
    own = np.flatnonzero(s.device == device)
    maps = _moves(trace, device)
    if not len(own) and not len(maps):
        return None
    if event is None:
        own = own[s.at_end[own] == 1]
        event = rows.stop - 1
    else:
        time = int(e.time_ns[event])
        own = own[(s.start_ns[own] <= time) & (s.end_ns[own] > time)]
    grows = s.expandable[own] == 1
    page = large_page(trace)
    small = np.array([trace.text(k) == "small" for k in s.kind[own]], np.bool_)
    whole = own[~grows]
    mapped = _mapped(trace, device, own[grows], small[grows], maps, event, page)
    parts = [
        Ranges(s.address[whole], s.size[whole], s.stream[whole], s.pool[whole].astype(np.int64), small[~grows],
               np.zeros(len(whole), np.int64)),
        mapped,
    ]  # fmt: skip
    joined = {name: np.concatenate([getattr(p, name) for p in parts]) for name in Ranges.__dataclass_fields__}
    order = np.argsort(joined["address"], kind="stable")
    return Ranges(**{name: values[order] for name, values in joined.items()})


def is_expandable(trace: Trace, device: int) -> bool:
    """Whether the allocator of a device used expandable segments."""
    s = trace.tables["segments"]
    return bool((s.expandable[s.device == device] == 1).any()) or len(_moves(trace, device)) > 0


def large_page(trace: Trace) -> int:
    """What is mapped at once for large requests, bytes."""
    found = _PAGE.search(str(trace.meta.facts.get("allocator_settings", ""))) if trace.meta.facts else None
    return int(found[1]) << 20 if found and int(found[1]) else LARGE_PAGE


def _moves(trace: Trace, device: int) -> I64:
    """Rows of the events of a device that map or unmap."""

    def build() -> I64:
        e, rows = trace.tables["allocator_events"], device_events(trace, device)
        which = np.isin(e.action[rows], (Action.SEGMENT_MAP, Action.SEGMENT_UNMAP))
        out: I64 = np.flatnonzero(which & (e.address[rows] != ABSENT)) + rows.start
        return out

    return trace.memo(("memory maps", device), build)


def _mapped(trace: Trace, device: int, own: I64, small: Flags, maps: I64, event: int, page: int) -> Ranges:
    """What is mapped of expandable segments after an event: how often each stretch is, by a sum over its borders.

    Args:
        trace: the file.
        device: row of memory_devices.
        own: rows of segments that are mapped at the end.
        small: of each of them.
        maps: see :func:`_moves`.
        event: row of allocator_events.
        page: see :func:`large_page`.
    """
    s, e = trace.tables["segments"], trace.tables["allocator_events"]
    known_end = bool(trace.tables["memory_devices"].final_reserved[device] != ABSENT)
    after = maps > event
    used = maps[after] if known_end else maps[~after]
    sign = np.where(e.action[used] == Action.SEGMENT_MAP, -1, 1) if known_end else np.where(
        e.action[used] == Action.SEGMENT_MAP, 1, -1
    )  # fmt: skip
    address = np.concatenate([s.address[own], e.address[used]])
    size = np.concatenate([s.size[own], e.size[used]])
    sign = np.concatenate([np.ones(len(own), np.int64), sign])
    stream = np.concatenate([s.stream[own], e.stream[used]])
    pool = np.concatenate([s.pool[own], e.pool[used]]).astype(np.int64)
    is_small = np.concatenate([small, e.size[used] % page != 0])
    columns: list[list[I64]] = [[] for _ in range(6)]
    keys = np.unique(np.stack([stream, pool], axis=1), axis=0) if len(address) else np.zeros((0, 2), np.int64)
    for one in keys:
        mine = np.flatnonzero((stream == one[0]) & (pool == one[1]))
        borders = np.unique(np.concatenate([address[mine], address[mine] + size[mine]]))
        change = np.zeros(len(borders), np.int64)
        np.add.at(change, np.searchsorted(borders, address[mine]), sign[mine])
        np.subtract.at(change, np.searchsorted(borders, address[mine] + size[mine]), sign[mine])
        there = np.cumsum(change) > 0
        begins = np.flatnonzero(there & ~np.concatenate([[False], there[:-1]]))
        ends = np.flatnonzero(~there & np.concatenate([[False], there[:-1]]))
        low, high = borders[begins], borders[ends]
        # Of large blocks unless something that lies in it says otherwise: pages of the two do not mix.
        at = np.searchsorted(low, address[mine], "right") - 1
        inside = (at >= 0) & (address[mine] < high[np.maximum(at, 0)]) if len(low) else np.zeros(len(mine), np.bool_)
        of_small = np.zeros(len(low), np.int64)
        np.maximum.at(of_small, at[inside], is_small[mine][inside].astype(np.int64))
        n = len(low)
        pages = np.where(of_small == 1, SMALL_PAGE, page)
        for into, values in zip(
            columns, (low, high - low, np.full(n, one[0]), np.full(n, one[1]), of_small, pages), strict=True
        ):
            into.append(values)
    low, length, streams, pools, small_ones, pages = (
        np.concatenate(c) if c else np.zeros(0, np.int64) for c in columns
    )
    return Ranges(low, length, streams, pools, small_ones.astype(np.bool_), pages)
