"""Levels and peaks of memory per device, from the tables that an importer made of a source.

Allocated counts a block until its free is completed (what the device cannot reuse), live until the free is requested
(what the program holds). Reserved is what the allocator got from the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import Action, BlockEnd
from viewer.base.ids import ABSENT
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

HOW: Final = {
    "events": "allocator events of this device in the source",
    "allocated_before": "bytes before the first event: of a snapshot, blocks of the end that no event makes and "
    "blocks that are freed without having been made; of profiler events, the first total less the change of its event",
    "peak_allocated": "largest of the bytes before the first event and after each one; a block counts until its free "
    "is completed (profiler events: the allocator's own total)",
    "peak_live": "the same, but a block counts until its free is requested",
    "peak_at_ns": "time of the first event after which the peak is reached, on the file's own clock",
    "peak_reserved": "largest of the bytes that the allocator held from the device, before the first event and after "
    "each one; of a snapshot, worked back from its segments",
    "final_allocated": "bytes of the blocks that are held at the end, those with a pending free left out",
    "final_reserved": "bytes of all segments at the end",
    "min_allocated": "smallest of the bytes before the first event and after each one",
    "pending_free": "bytes of blocks at the end whose free was requested while another stream still used them",
    "inactive": "bytes of inactive blocks inside segments at the end",
    "unused_reserve_at_peak": "reserved less allocated where reserved is at its peak; of several such instants the one "
    "with the most allocated",
    "frees_of_unseen_blocks": "blocks that are freed in the events but were made before them",
    "blocks_never_in_trace": "blocks held at the end that no event makes or frees",
    "ooms": "failed requests that the source records",
    "pools": "bytes at the end by memory pool",
    "categories_at_peak": "bytes by category of the blocks that are allocated at the peak",
}
"""Of each figure, one sentence."""


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """One pool at the end, bytes."""

    reserved: int
    allocated: int
    pending_free: int
    inactive: int


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """One device of one source. Bytes; None where the source cannot tell. ``number`` is its row of memory_devices.

    ``peak_event`` is the row of allocator_events after which the peak is reached, None when that is before the first
    event or unknown.
    """

    number: int
    device: str
    events: int
    timed: bool
    allocated_before: int | None
    peak_allocated: int | None
    peak_live: int | None
    peak_at_ns: int | None
    peak_event: int | None
    peak_reserved: int | None
    final_allocated: int | None
    final_reserved: int | None
    min_allocated: int | None
    pending_free: int | None
    inactive: int | None
    unused_reserve_at_peak: int | None
    frees_of_unseen_blocks: int | None
    blocks_never_in_trace: int | None
    ghosts: int
    ooms: int
    pools: dict[str, PoolFigures] | None


def source_of(trace: Trace) -> str | None:
    """What kind of source tells of memory: "snapshot", "profiler", "memory timeline", "memory summary"; None: none."""
    if not len(trace.tables["memory_devices"]):
        return None
    return {
        "torch-snapshot": "snapshot",
        "memory-timeline": "memory timeline",
        "memory-summary": "memory summary",
    }.get(trace.meta.format, "profiler")


def memory_figures(trace: Trace) -> tuple[MemoryFigures, ...]:
    """Figures of every device that a source tells of; () without any."""
    return trace.memo("memory figures", lambda: tuple(_figures(trace, d) for d in range(_devices(trace))))


def _devices(trace: Trace) -> int:
    return len(trace.tables["memory_devices"])


def device_events(trace: Trace, device: int) -> slice:
    """Rows of allocator_events of a device."""
    d = trace.tables["memory_devices"]
    return slice(int(d.event_begin[device]), int(d.event_end[device]))


def device_blocks(trace: Trace, device: int) -> slice:
    """Rows of blocks of a device."""
    d = trace.tables["memory_devices"]
    return slice(int(d.block_begin[device]), int(d.block_end[device]))


def device_name(trace: Trace, device: int) -> str:
    """As torch names it."""
    name: str = trace.tables["memory_devices"].name[device].as_py()
    return name


def _known(value: Any) -> int | None:
    return None if value == ABSENT else int(value)


def _with_before(level: I64, before: int | None) -> I64:
    return level if before is None else np.concatenate([[before], level])


def _figures(trace: Trace, device: int) -> MemoryFigures:
    d, events = trace.tables["memory_devices"], trace.tables["allocator_events"]
    rows = device_events(trace, device)
    allocated, live, reserved = (getattr(events, k)[rows] for k in ("allocated", "live", "reserved"))
    before, final = _known(d.allocated_before[device]), _known(d.final_allocated[device])
    peak = low = peak_event = peak_at = None
    timed = bool(d.timed[device])
    known = len(allocated) and allocated[0] != ABSENT
    if known:
        at = int(np.argmax(allocated))
        peak, low = int(allocated[at]), int(allocated.min())
        if before is not None and before > peak:
            peak, at = before, -1
        low = low if before is None else min(low, before)
        peak_event = None if at < 0 else rows.start + at
        peak_at = int(events.time_ns[rows.start + max(at, 0)]) if timed else None
    elif final is not None and not len(allocated):  # a state without history
        peak = low = final + (_known(d.final_pending[device]) or 0)
    stated = _known(d.stated_peak_allocated[device])
    if stated is not None:
        peak, low = stated, None
    peak_reserved = unused = None
    final_reserved = _known(d.final_reserved[device])
    if len(reserved) and reserved[0] != ABSENT:
        levels = _with_before(reserved, _known(d.reserved_before[device]))
        peak_reserved = int(levels.max())
        if known:
            held = allocated if len(levels) == len(allocated) else _with_before(allocated, before)
            # Blocks beyond what is reserved: the segments are not all of the device's memory.
            if len(held) == len(levels) and (held <= levels).all():
                unused = peak_reserved - int(held[levels == peak_reserved].max())
    elif d.stated_peak_reserved[device] != ABSENT:
        peak_reserved = int(d.stated_peak_reserved[device])
    elif not len(reserved) and final_reserved is not None:
        peak_reserved = final_reserved
        unused = None if peak is None or peak > final_reserved else final_reserved - peak
    peak_live = None
    if d.split_free[device] and len(live) and live[0] != ABSENT:
        peak_live = int(_with_before(live, _known(d.live_before[device])).max())
    return MemoryFigures(
        number=device,
        device=device_name(trace, device),
        events=rows.stop - rows.start,
        timed=timed,
        allocated_before=before,
        peak_allocated=peak,
        peak_live=peak_live,
        peak_at_ns=peak_at,
        peak_event=peak_event,
        peak_reserved=peak_reserved,
        final_allocated=final,
        final_reserved=final_reserved,
        min_allocated=low,
        pending_free=_known(d.final_pending[device]),
        inactive=_known(d.final_inactive[device]),
        unused_reserve_at_peak=unused,
        frees_of_unseen_blocks=_known(d.unseen_frees[device]),
        blocks_never_in_trace=_known(d.never_seen[device]),
        ghosts=max(0, int(d.ghosts[device])),
        ooms=int((events.action[rows] == Action.OOM).sum()) + max(0, int(d.stated_ooms[device])),
        pools=_pools(trace, device),
    )


def _pools(trace: Trace, device: int) -> dict[str, PoolFigures] | None:
    s, b, holes = (trace.tables[k] for k in ("segments", "blocks", "holes"))
    own = np.flatnonzero((s.device == device) & (s.at_end == 1))
    if not len(own):
        return None
    rows = device_blocks(trace, device)
    segment, end, size = b.segment[rows], b.end[rows], b.size[rows]
    held = segment >= 0
    pool_of_block = np.full(len(segment), -2, np.int64)
    pool_of_block[held] = s.pool[segment[held]]
    mine = holes.device == device
    pool_of_hole = s.pool[holes.segment[mine]]
    out = {}
    for pool in np.unique(s.pool[own]).tolist():
        of = pool_of_block == pool
        out[trace.text(pool) or "(0, 0)"] = PoolFigures(
            int(s.size[own][s.pool[own] == pool].sum()),
            int(size[of & (end == BlockEnd.ALLOCATED)].sum()),
            int(size[of & (end == BlockEnd.PENDING)].sum()),
            int(holes.size[mine][pool_of_hole == pool].sum()),
        )
    return out


@dataclass(frozen=True, slots=True)
class RankPeak:
    """The largest peak of a rank's devices, over its sources. ``input`` and ``device`` say where.

    ``has_history``: the source tells how the level got there, else it is that of one instant.
    """

    rank: int | None
    input: int
    device: str
    peak_allocated: int
    peak_reserved: int | None
    unused_reserve_at_peak: int | None
    has_history: bool = True


def rank_peaks(session: Session) -> tuple[RankPeak, ...]:
    """Of every rank (of every input without one) the accelerator with the largest peak; ranks without memory left out.

    Where several sources tell of one device, a snapshot goes before the profiler's totals: they count the same memory.
    """

    def build() -> tuple[RankPeak, ...]:
        best: dict[tuple[int | None, int], tuple[tuple[int, int], RankPeak]] = {}
        for item in session.inputs:
            sure = 1 if source_of(item.trace) == "snapshot" else 0
            for f in memory_figures(item.trace):
                if f.peak_allocated is None or f.device == "cpu":
                    continue
                key = (item.rank, -1 if item.rank is not None else item.index)
                peak = RankPeak(
                    item.rank,
                    item.index,
                    f.device,
                    f.peak_allocated,
                    f.peak_reserved,
                    f.unused_reserve_at_peak,
                    f.events > 0,
                )
                order = (sure, f.peak_allocated)
                if key not in best or order > best[key][0]:
                    best[key] = order, peak
        return tuple(
            peak for _, peak in sorted(best.values(), key=lambda v: (v[1].rank is None, v[1].rank, v[1].input))
        )

    return session.memo("rank peaks", build)
