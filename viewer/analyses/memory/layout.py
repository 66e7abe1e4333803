"""How segments are filled at an instant: their blocks and holes, and what of the holes any request could use.

Reserved less allocated is mostly cache that the next request of its size takes again. Lost are only holes inside
segments that are in use and smaller than every request of their kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import held_rows
from viewer.analyses.memory.figures import device_events
from viewer.base.allocator import Action
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

ROUND: Final = 512
"""Bytes to which the caching allocator rounds (c10/core/AllocatorConfig.h)."""
SMALL: Final = 1 << 20
"""Requests up to this come from small segments."""
HOW: Final = (
    "segments that are held at that event, less the blocks that are held (rounded up to 512 bytes); what a block keeps "
    "beyond its request is not recorded, so holes are upper bounds"
)


@dataclass(frozen=True, eq=False)
class Layout:
    """Holes by (segment, address), arrays of one length; ``segments`` are rows of the segments that are held.

    ``segment`` is a row of segments; ``whole``: the segment is free as a whole and could be given back.
    """

    segments: I64
    segment: I64
    address: I64
    size: I64
    whole: NDArray[np.bool_]

    @property
    def free(self) -> int:
        """Bytes of all holes."""
        return int(self.size.sum())

    @property
    def split(self) -> int:
        """Bytes of holes in segments that are in use: they cannot be given back."""
        return int(self.size[~self.whole].sum())

    @property
    def largest(self) -> int:
        """The largest hole, 0 without one."""
        return int(self.size.max(initial=0))


def layout_after(trace: Trace, device: int, event: int | None) -> Layout | None:
    """Holes after an event (row of allocator_events; None: at the end). None where segments are not told."""
    s, e = trace.tables["segments"], trace.tables["allocator_events"]
    own = np.flatnonzero(s.device == device)
    if not len(own):
        return None
    rows = device_events(trace, device)
    if event is None:
        own = own[s.at_end[own] == 1]
        event = rows.stop - 1 if rows.stop > rows.start else None
        blocks = held_rows(trace, device, event)
    else:
        time = int(e.time_ns[event])
        own = own[(s.start_ns[own] <= time) & (s.end_ns[own] > time)]
        blocks = held_rows(trace, device, event)
    if not len(own):
        nothing = np.zeros(0, np.int64)
        return Layout(own, nothing, nothing, nothing, nothing.astype(np.bool_))
    b = trace.tables["blocks"]
    own = own[np.argsort(s.address[own], kind="stable")]
    at = np.searchsorted(s.address[own], b.address[blocks], "right") - 1
    inside = at >= 0
    inside &= b.address[blocks] < s.address[own[np.maximum(at, 0)]] + s.size[own[np.maximum(at, 0)]]
    blocks, at = blocks[inside], at[inside]
    order = np.lexsort((b.address[blocks], at))
    blocks, at = blocks[order], at[order]
    size = -(-b.size[blocks] // ROUND) * ROUND
    segment, address, length, whole = [], [], [], []
    first = np.searchsorted(at, np.arange(len(own)))
    last = np.searchsorted(at, np.arange(len(own)), "right")
    for k in range(len(own)):
        cursor, end = int(s.address[own[k]]), int(s.address[own[k]] + s.size[own[k]])
        for i in range(first[k], last[k]):
            begin = int(b.address[blocks[i]])
            if begin > cursor:
                segment.append(own[k])
                address.append(cursor)
                length.append(begin - cursor)
                whole.append(False)
            cursor = max(cursor, begin + int(size[i]))
        if end > cursor:
            segment.append(own[k])
            address.append(cursor)
            length.append(end - cursor)
            whole.append(first[k] == last[k])
    return Layout(
        own,
        np.array(segment, np.int64),
        np.array(address, np.int64),
        np.array(length, np.int64),
        np.array(whole, np.bool_),
    )


def unusable(trace: Trace, device: int, layout: Layout) -> int:
    """Bytes of holes in use segments that are smaller than every request of their kind (small, large) in the recording.

    0 where the recording has no request: then nothing is known to be lost.
    """
    s, e, rows = trace.tables["segments"], trace.tables["allocator_events"], device_events(trace, device)
    sizes = e.size[rows][(e.action[rows] == Action.ALLOC) & (e.size[rows] != ABSENT)]
    small = np.array([trace.text(k) == "small" for k in s.kind[layout.segment]], np.bool_)
    lost = 0
    for kind in (False, True):
        requests = sizes[(sizes <= SMALL) == kind]
        if len(requests):
            mine = ~layout.whole & (small == kind) & (layout.size < int(requests.min()))
            lost += int(layout.size[mine].sum())
    return lost


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A request that failed: an OOM event.

    Bytes; None where the source cannot tell. ``free`` is what the device said it had, ``cached`` reserved less
    allocated, ``split`` what lies in holes of segments that are in use. The request could use holes of its kind, stream
    and pool: ``largest`` is the largest of them, and it is ``fragmented`` when all of them together would have held it.
    """

    event: int
    requested: int
    free: int | None
    allocated: int | None
    reserved: int | None
    cached: int | None
    largest: int | None
    split: int | None
    fragmented: bool
    missing: int | None
    """By how much the memory that was free anywhere (device and holes) falls short; None when it would have been enough
    or is not known."""


def failed_requests(trace: Trace, device: int) -> tuple[FailedRequest, ...]:
    """The failed requests of a device, by time. Built once."""

    def build() -> tuple[FailedRequest, ...]:
        e, rows = trace.tables["allocator_events"], device_events(trace, device)
        return tuple(
            _failed(trace, device, int(i)) for i in np.flatnonzero(e.action[rows] == Action.OOM)[:1000] + rows.start
        )

    return trace.memo(("failed requests", device), build)


def _failed(trace: Trace, device: int, event: int) -> FailedRequest:
    e = trace.tables["allocator_events"]
    requested = int(e.size[event])
    allocated, reserved = (None if v == ABSENT else int(v) for v in (e.allocated[event], e.reserved[event]))
    free = None if e.address[event] == ABSENT or e.mark[event] != ABSENT else int(e.address[event])
    layout = layout_after(trace, device, event)
    cached = None if allocated is None or reserved is None else reserved - allocated
    if layout is None:
        return FailedRequest(event, requested, free, allocated, reserved, cached, None, None, False, None)
    s = trace.tables["segments"]
    small = requested <= SMALL
    kind = np.array([(trace.text(k) == "small") == small for k in s.kind[layout.segment]], np.bool_)
    kind &= (s.stream[layout.segment] == e.stream[event]) | (e.stream[event] == ABSENT)
    kind &= (s.pool[layout.segment] == e.pool[event]) | (e.pool[event] < 0)
    size = layout.size[kind]
    fragmented = int(size.sum()) >= requested and int(size.max(initial=0)) < requested
    anywhere = layout.free + (free or 0)
    missing = max(0, requested - anywhere) or None
    return FailedRequest(
        event, requested, free, allocated, reserved, cached, int(size.max(initial=0)), layout.split, fragmented, missing
    )


def outside(failed: FailedRequest, capacity: int | None) -> int | None:
    """Bytes of the device that others than the allocator held when a request failed: capacity - reserved - free.

    The context, NCCL's buffers, graphs, other processes. None where one of the three is not known.
    """
    if capacity is None or failed.free is None or failed.reserved is None:
        return None
    return max(0, capacity - failed.reserved - failed.free)
