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
from viewer.analyses.memory.ranges import SMALL, Ranges, ranges_after
from viewer.base.allocator import Action
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

ROUND: Final = 512
"""Bytes to which the caching allocator rounds (c10/core/AllocatorConfig.h)."""
HOW: Final = (
    "segments that are held at that event, less the blocks that are held (rounded up to 512 bytes); what a block keeps "
    "beyond its request is not recorded, so holes are upper bounds"
)


@dataclass(frozen=True, eq=False)
class Layout:
    """Holes by address, arrays of one length.

    Attributes:
        ranges: what is held from the device.
        of: int64[n], the range that each hole lies in.
        address: int64[n].
        size: int64[n], bytes.
        loose: int64[n], bytes of it that could be given back: of a free segment all, of an expandable one whole pages.
    """

    ranges: Ranges
    of: I64
    address: I64
    size: I64
    loose: I64

    @property
    def free(self) -> int:
        """Bytes of all holes."""
        return int(self.size.sum())

    @property
    def split(self) -> int:
        """Bytes of holes that cannot be given back: blocks in use lie beside them."""
        return int((self.size - self.loose).sum())

    @property
    def largest(self) -> int:
        """The largest hole, 0 without one."""
        return int(self.size.max(initial=0))


def layout_after(trace: Trace, device: int, event: int | None) -> Layout | None:
    """Holes after an event (row of allocator_events; None: at the end). None where segments are not told."""
    ranges = ranges_after(trace, device, event)
    if ranges is None:
        return None
    rows = device_events(trace, device)
    blocks = held_rows(trace, device, (rows.stop - 1 if rows.stop > rows.start else None) if event is None else event)
    b = trace.tables["blocks"]
    begin = b.address[blocks]
    at = np.searchsorted(ranges.address, begin, "right") - 1
    inside = at >= 0
    if len(ranges):
        last = ranges.address + ranges.size
        inside &= begin < last[np.maximum(at, 0)]
    order = np.lexsort((begin[inside], at[inside]))
    begin, at = begin[inside][order], at[inside][order]
    end = begin - -b.size[blocks][inside][order] // ROUND * ROUND
    # Gaps between what comes before (the range's begin, the furthest end so far) and the next block or the range's end.
    of = np.concatenate([at, np.arange(len(ranges))])
    place = np.concatenate([begin, ranges.address + ranges.size])
    reach = np.concatenate([np.minimum(end, place[len(at) + at]) if len(at) else end, place[len(at) :]])
    order = np.lexsort((np.arange(len(of)), place, of))
    of, place, reach = of[order], place[order], reach[order]
    first = np.concatenate([[True], of[1:] != of[:-1]]) if len(of) else np.zeros(0, np.bool_)
    before = np.maximum.accumulate(reach)  # ranges do not overlap: those before reach less far
    cursor = np.where(first, ranges.address[of], np.concatenate([place[:1], before[:-1]])) if len(of) else place
    gap = place - np.maximum(cursor, ranges.address[of])
    hole = np.flatnonzero(gap > 0)
    address, size, of = place[hole] - gap[hole], gap[hole], of[hole]
    whole = size == ranges.size[of]
    page = np.maximum(ranges.page[of], 1)
    low = address - ranges.address[of]  # what is mapped in one piece begins with a page
    pages = np.maximum((low + size) // page * page - -(-low // page) * page, 0)
    loose = np.where(whole, size, np.where(ranges.page[of] > 0, pages, 0))
    return Layout(ranges, of, address, size, loose)


def unusable(trace: Trace, device: int, layout: Layout) -> int:
    """Bytes of holes beside blocks in use that are smaller than every request of their kind (small, large).

    0 where the recording has no request: then nothing is known to be lost.
    """
    e, rows = trace.tables["allocator_events"], device_events(trace, device)
    sizes = e.size[rows][(e.action[rows] == Action.ALLOC) & (e.size[rows] != ABSENT)]
    small = layout.ranges.small[layout.of]
    lost = 0
    for kind in (False, True):
        requests = sizes[(sizes <= SMALL) == kind]
        if len(requests):
            mine = (layout.loose < layout.size) & (small == kind) & (layout.size < int(requests.min()))
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
    r, of = layout.ranges, layout.of
    kind = r.small[of] == (requested <= SMALL)
    kind &= (r.stream[of] == e.stream[event]) | (e.stream[event] == ABSENT)
    kind &= (r.pool[of] == e.pool[event]) | (e.pool[event] < 0)
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
