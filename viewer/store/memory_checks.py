"""What must hold for the tables of memory before anything follows their indexes: packs are not trusted."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from viewer.base.allocator import NOT_GIVEN, Action, BlockEnd, Category
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace

_WRONG: Final = "its tables of memory point outside of each other"
_FAR: Final = 1 << 62


def check_memory(trace: Trace) -> None:
    """Raise ValueError when an index leads outside, ranges do not cover their rows, or times of a device fall."""
    t = trace.tables
    d, e, b, s = t["memory_devices"], t["allocator_events"], t["blocks"], t["segments"]
    strings = len(trace.strings)
    for begin, end, rows in ((d.event_begin, d.event_end, e), (d.block_begin, d.block_end, b)):
        borders = np.append(begin, len(rows))
        if borders[0] != 0 or (borders[1:] != end).any() or (np.diff(borders) < 0).any():
            raise ValueError(_WRONG)
        _require((rows.device == np.repeat(np.arange(len(d)), end - begin)).all())
    _within(-1, strings, e.pool, e.note, b.pool, s.pool, s.kind, t["frames"].name, t["frames"].file)
    _within(-1, len(t["stacks"]), e.stack, b.stack, s.stack)
    _within(0, len(d), s.device, t["holes"].device, t["category_levels"].device)
    _within(-1, len(b), e.block)
    _within(-1, len(e), b.made_event, b.asked_event, b.gone_event)
    _within(-1, len(s), b.segment)
    _within(0, len(trace.marks), e.mark[e.mark != ABSENT])
    _within(0, len(s), t["holes"].segment)
    _within(0, max(Action) + 1, e.action)
    _within(0, max(BlockEnd) + 1, b.end)
    _within(0, max(Category) + 1, t["category_levels"].category)
    for given in (e.category, b.category):
        _within(0, max(Category) + 1, given[given != NOT_GIVEN])
    _within(0, len(t["frames"]), t["stack_frames"].frame)
    _within(0, len(t["stack_frames"]) + 1, t["stacks"].begin, t["stacks"].end)
    _require((t["stacks"].begin <= t["stacks"].end).all())
    _within(0, _FAR, b.size, s.size, t["holes"].size)
    _require(((e.size >= 0) & (e.size < _FAR) | (e.size == ABSENT)).all())
    _within(-_FAR, _FAR, e.time_ns, t["category_levels"].time_ns)
    for begin, end in zip(d.event_begin.tolist(), d.event_end.tolist(), strict=True):
        _require((np.diff(e.time_ns[begin:end]) >= 0).all())


def _within(low: int, high: int, *columns: Any) -> None:
    for column in columns:
        _require(not len(column) or (column.min() >= low and column.max() < high))


def _require(held: Any) -> None:
    if not held:
        raise ValueError(_WRONG)
