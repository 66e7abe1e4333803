"""Levels of memory as series for drawing: step lines of a device, and bytes by category at any instants.

Nothing here grows with events times categories: what is held of a category at an instant is what was made until then
less what was freed, each a binary search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.counters import BLOCK, Series
from viewer.analyses.memory.categories import block_categories
from viewer.analyses.memory.figures import device_blocks, device_events
from viewer.base.allocator import BEFORE, CATEGORY_NAMES, Category
from viewer.base.ids import ABSENT
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

LINES = ("allocated", "live", "reserved")


def step_lines(trace: Trace, device: int) -> dict[str, Series]:
    """The lines of a device that its source tells, as counters are: "allocated", "live", "reserved". Built once.

    Each begins with the level before the recording, at the first event's time. {} for sources without events.
    """
    return trace.memo(("memory lines", device), lambda: _lines(trace, device))


def _lines(trace: Trace, device: int) -> dict[str, Series]:
    d, e, rows = trace.tables["memory_devices"], trace.tables["allocator_events"], device_events(trace, device)
    time = e.time_ns[rows]
    out: dict[str, Series] = {}
    for name in LINES:
        level = getattr(e, name)[rows]
        if not len(level) or level[0] == ABSENT or (name == "live" and not d.split_free[device]):
            continue
        before = int(getattr(d, f"{name}_before")[device])
        if before != ABSENT:
            level, when = np.concatenate([[before], level]), np.concatenate([time[:1], time])
        else:
            when = time
        value = level.astype(np.float64)
        starts = np.arange(0, len(value), BLOCK)
        low, high = np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts)
        out[name] = Series(name, when, value, low, high)
    return out


@dataclass(frozen=True, eq=False)
class CategorySeries:
    """Bytes by category over time, in the order of CATEGORY_NAMES.

    ``rest`` int64[changes + 1] are bytes that no block shows, from each of ``level_time`` on; they count as category
    ``rest_of``.
    Per category: times (ascending) at which bytes come and go, with sums up to each; the first sum is 0.
    """

    made: tuple[I64, ...]
    made_sum: tuple[I64, ...]
    gone: tuple[I64, ...]
    gone_sum: tuple[I64, ...]
    level_time: I64
    rest: I64
    rest_of: int = Category.UNKNOWN

    def at(self, times: I64) -> I64:
        """int64[categories, n]: what is held at each instant (raw ns of the file), after all its events."""
        out = np.zeros((len(CATEGORY_NAMES), len(times)), np.int64)
        for c in range(len(CATEGORY_NAMES)):
            out[c] = self.made_sum[c][np.searchsorted(self.made[c], times, "right")]
            out[c] -= self.gone_sum[c][np.searchsorted(self.gone[c], times, "right")]
        if len(self.rest):
            out[self.rest_of] += self.rest[np.searchsorted(self.level_time, times, "right")]
        return out


def category_series(session: Session, item: Input, device: int, *, live: bool = False) -> CategorySeries:
    """Bytes by category of a device; ``live``: a block counts until its free is requested. Built once per clocks.

    What the source's own total has beyond its blocks (made before a profiler's recording and not freed in it) counts as
    :class:`BlockCategories` says.
    """
    key = ("memory category series", item.index, device, live)
    return session.clocked_memo(key, lambda: _series(session, item, device, live))


def _series(session: Session, item: Input, device: int, live: bool) -> CategorySeries:
    trace = item.trace
    levels = trace.tables["category_levels"]
    own = np.flatnonzero(levels.device == device)
    if len(own):
        return _of_levels(levels.time_ns[own], levels.category[own], levels.value[own])
    b, rows = trace.tables["blocks"], device_blocks(trace, device)
    category = block_categories(session, item).category[rows]
    size, start, end = b.size[rows], b.start_ns[rows], b.asked_ns[rows] if live else b.end_ns[rows]
    there = end != BEFORE
    made: list[I64] = []
    made_sum: list[I64] = []
    gone: list[I64] = []
    gone_sum: list[I64] = []
    for c in range(len(CATEGORY_NAMES)):
        mine = there & (category == c)
        for times, into, sums in ((start[mine], made, made_sum), (end[mine], gone, gone_sum)):
            order = np.argsort(times, kind="stable")
            into.append(times[order])
            sums.append(np.concatenate([[0], np.cumsum(size[mine][order])]))
    shown = CategorySeries(
        tuple(made), tuple(made_sum), tuple(gone), tuple(gone_sum), np.zeros(0, np.int64), np.zeros(0, np.int64)
    )
    return _with_rest(trace, device, shown, live, int(block_categories(session, item).rest))


def _with_rest(trace: Trace, device: int, shown: CategorySeries, live: bool, rest_of: int) -> CategorySeries:
    """With the part of the level that no block shows: it changes at events only."""
    d, e, events = trace.tables["memory_devices"], trace.tables["allocator_events"], device_events(trace, device)
    level = (e.live if live and d.split_free[device] else e.allocated)[events]
    before = (d.live_before if live and d.split_free[device] else d.allocated_before)[device]
    if not len(level) or level[0] == ABSENT or before == ABSENT:
        return shown
    time = e.time_ns[events]
    last = np.flatnonzero(np.append(time[1:] != time[:-1], True))  # of several at one time the last
    when = time[last]
    rest = level[last] - shown.at(when).sum(axis=0)
    first = int(before) - int(shown.at(np.array([int(when[0]) - 1])).sum())
    rest = np.concatenate([[first], rest])
    change = np.flatnonzero(np.diff(rest))
    if not len(change) and not rest[0]:
        return shown
    left = np.append(rest[:1], rest[change + 1])
    return CategorySeries(shown.made, shown.made_sum, shown.gone, shown.gone_sum, when[change], left, rest_of)


def _of_levels(time: I64, category: NDArray[np.uint8], value: I64) -> CategorySeries:
    """Of a source that gives the sums themselves: every change is bytes that come (or go, as negative ones)."""
    made: list[I64] = []
    made_sum: list[I64] = []
    for c in range(len(CATEGORY_NAMES)):
        mine = category == c
        times, values = time[mine], value[mine]
        # What is told at the first instant was there before it.
        made.append(np.where(np.arange(len(times)) == 0, BEFORE, times))
        made_sum.append(np.concatenate([[0], values]))
    nothing = np.zeros(0, np.int64)
    zero = np.zeros(1, np.int64)
    n = len(CATEGORY_NAMES)
    return CategorySeries(tuple(made), tuple(made_sum), (nothing,) * n, (zero,) * n, nothing, nothing)
