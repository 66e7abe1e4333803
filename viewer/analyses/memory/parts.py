"""What memory is made up of at an instant: bytes by category that add up to what is allocated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import block_categories, held_rows
from viewer.analyses.memory.figures import device_blocks, memory_figures
from viewer.analyses.memory.settle import COLUMNS, REST, block_tiers, settled
from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.ids import ABSENT
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


def bytes_by_category(session: Session, item: Input, device: int, event: int | None) -> dict[str, int]:
    """Bytes of the blocks that are held after an event by category, and what the level has beyond blocks.

    Never negative; they add up to the level, where the source tells one.
    """
    trace = item.trace
    rows = held_rows(trace, device, event)
    categories = block_categories(session, item)
    tier = block_tiers(trace, device)[rows - device_blocks(trace, device).start].astype(np.int64)
    raw = np.zeros((1, COLUMNS), np.int64)
    np.add.at(raw[0], tier * len(CATEGORY_NAMES) + categories.category[rows], trace.tables["blocks"].size[rows])
    level = _level(trace, device, event)
    if level is not None:  # made before the recording and not freed in it: profiler events never show such blocks
        raw[0, REST] = level - int(raw.sum())
    parts, _ = settled(raw, int(categories.rest))
    return dict(zip(CATEGORY_NAMES, parts[:, 0].tolist(), strict=True))


def _level(trace: Trace, device: int, event: int | None) -> int | None:
    d, e = trace.tables["memory_devices"], trace.tables["allocator_events"]
    value = d.allocated_before[device] if event is None else e.allocated[event]
    return None if value == ABSENT else int(value)


def categories_at_peak(session: Session, item: Input, device: int) -> dict[str, int] | None:
    """Bytes by category at the peak of allocated memory; None where the source gives neither blocks nor categories."""
    trace = item.trace
    found = memory_figures(trace)[device]
    levels = trace.tables["category_levels"]
    own = np.flatnonzero(levels.device == device)
    if len(own):
        return _levels_at(trace, own, found.peak_at_ns)
    rows = device_blocks(trace, device)
    if found.peak_allocated is None or rows.stop == rows.start:
        return None
    return bytes_by_category(session, item, device, found.peak_event)


def _levels_at(trace: Trace, own: I64, time_ns: int | None) -> dict[str, int]:
    levels = trace.tables["category_levels"]
    out = dict.fromkeys(CATEGORY_NAMES, 0)
    for category in range(len(CATEGORY_NAMES)):
        rows = own[levels.category[own] == category]
        at = len(rows) if time_ns is None else int(np.searchsorted(levels.time_ns[rows], time_ns, "right"))
        if at:
            out[CATEGORY_NAMES[category]] = int(levels.value[rows[at - 1]])
    return out
