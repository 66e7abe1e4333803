"""Levels of memory as series for drawing: step lines of a device, and bytes by category at any instants.

Nothing here grows with events times categories: bytes that come and go are kept once, with sums by category now and
then between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import block_categories
from viewer.analyses.memory.figures import device_blocks, device_events
from viewer.analyses.memory.settle import COLUMNS, REST, block_tiers, settled
from viewer.base.allocator import BEFORE, CATEGORY_NAMES, NEVER, Category
from viewer.base.ids import ABSENT
from viewer.jit import memory_columns as loops
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

LINES: Final = ("allocated", "live", "reserved")


@dataclass(frozen=True, eq=False)
class StepLine:
    """A level over the events of a device: ``value[k]`` bytes from ``time[k]`` (raw ns, not falling) on; n >= 1.

    ``before`` is the level before the first event, None where it is not told.
    """

    name: str
    time: I64
    value: I64
    before: int | None

    def at(self, time_ns: int) -> int | None:
        """The level after all events up to an instant; None before the first one."""
        place = int(np.searchsorted(self.time, time_ns, "right")) - 1
        return int(self.value[place]) if place >= 0 else None


def step_lines(trace: Trace, device: int) -> dict[str, StepLine]:
    """The lines of a device that its source tells: "allocated", "live", "reserved". {} for sources without events."""
    d, e, rows = trace.tables["memory_devices"], trace.tables["allocator_events"], device_events(trace, device)
    out: dict[str, StepLine] = {}
    for name in LINES:
        level = getattr(e, name)[rows]
        if not len(level) or level[0] == ABSENT or (name == "live" and not d.split_free[device]):
            continue
        before = int(getattr(d, f"{name}_before")[device])
        out[name] = StepLine(name, e.time_ns[rows], level, None if before == ABSENT else before)
    return out


@dataclass(frozen=True, eq=False)
class CategorySeries:
    """Bytes by category over the instants of a device, in the order of CATEGORY_NAMES.

    Attributes:
        time: int64[m] not falling, raw ns: instants at which bytes may come or go (events of the device).
        first, of, column, delta, sums: changes, see :func:`viewer.jit.memory_columns.lay_changes`.
        columns: what each column of the sums is, see :mod:`viewer.analyses.memory.settle`.
        rest_of: the category of bytes that no block shows.
    """

    time: I64
    first: I64
    of: U8
    column: U8
    delta: I64
    sums: I64
    columns: I64
    rest_of: int = Category.UNKNOWN

    @cached_property
    def category_of(self) -> tuple[int, ...]:
        """The category of each column of the sums."""
        return tuple(self.rest_of if c == REST else c % len(CATEGORY_NAMES) for c in self.columns.tolist())

    def unsettled(self, found: I64) -> bool:
        """Whether blocks sum to more than the source's total in some of the sums by column, int64[n, columns]."""
        return bool(self.columns[-1] == REST and (found[:, -1] < 0).any())

    def after(self, done: I64) -> tuple[I64, I64]:
        """After so many instants, int64[n]: (int64[categories, n] bytes, int64[n] bytes that blocks have too many)."""
        found = np.empty((len(done), len(self.columns)), np.int64)
        none = np.zeros(0, np.int64)
        loops.sums_after(
            np.ascontiguousarray(done, np.int64), self.first, self.of, self.column, self.delta, self.sums,
            np.full(len(done), -1), 1, none, none.reshape(0, 1), found,
        )  # fmt: skip
        return self.parts(found)

    def parts(self, found: I64) -> tuple[I64, I64]:
        """As :meth:`after`, of sums by column, int64[n, columns]."""
        if not self.unsettled(found):
            out = np.zeros((len(CATEGORY_NAMES), len(found)), np.int64)
            for k, category in enumerate(self.category_of):
                out[category] += found[:, k]
            return out, np.zeros(len(found), np.int64)
        raw = np.zeros((len(found), COLUMNS), np.int64)
        raw[:, self.columns] = found
        return settled(raw, self.rest_of)

    def at(self, times: I64) -> I64:
        """int64[categories, n]: what is held at each instant (raw ns of the file), after all its events."""
        return self.after(np.searchsorted(self.time, times, "right"))[0]


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
    b, e = trace.tables["blocks"], trace.tables["allocator_events"]
    rows, events = device_blocks(trace, device), device_events(trace, device)
    categories = block_categories(session, item)
    kind = categories.category[rows].astype(np.int64)
    kind += block_tiers(trace, device).astype(np.int64) * len(CATEGORY_NAMES)
    end = (b.asked_ns if live else b.end_ns)[rows]
    gone = (b.asked_event if live else b.gone_event)[rows] - events.start
    made = b.made_event[rows] - events.start
    made = np.where(b.start_ns[rows] == BEFORE, -1, made)
    gone = np.where(end == NEVER, len(e), gone)
    size = np.where(end == BEFORE, 0, b.size[rows])  # given back before anything was recorded
    gone[end == BEFORE] = len(e)
    rest_at, rest = _rest(trace, device, made, gone, size, live)
    return _laid(e.time_ns[events], made, gone, size, kind, rest_at, rest, int(categories.rest))


def _rest(trace: Trace, device: int, made: I64, gone: I64, size: I64, live: bool) -> tuple[I64, I64]:
    """(event, bytes): changes of the part of the level that no block shows; event -1 for what was there before."""
    d, e, events = trace.tables["memory_devices"], trace.tables["allocator_events"], device_events(trace, device)
    split = live and d.split_free[device]
    level, before = (
        (e.live if split else e.allocated)[events],
        (d.live_before if split else d.allocated_before)[device],
    )
    nothing = np.zeros(0, np.int64)
    n = len(level)
    if not n or level[0] == ABSENT or before == ABSENT:
        return nothing, nothing
    shown = np.zeros(n, np.int64)
    inside = (made >= 0) & (made < n)
    np.add.at(shown, made[inside], size[inside])
    inside = (gone >= 0) & (gone < n)
    np.subtract.at(shown, gone[inside], size[inside])
    np.cumsum(shown, out=shown)
    shown += int(size[made < 0].sum())
    rest = level - shown
    first = int(before) - int(size[made < 0].sum())
    change = np.diff(rest, prepend=first)
    at = np.flatnonzero(change)
    if not len(at) and not first:
        return nothing, nothing
    return np.concatenate([[-1], at]), np.concatenate([[first], change[at]])


def _laid(
    time: I64, made: I64, gone: I64, size: I64, kind: I64, rest_at: I64, rest: I64, rest_of: int
) -> CategorySeries:
    columns = np.unique(kind)
    place = np.full(COLUMNS, 0, np.uint8)
    place[columns] = np.arange(len(columns))
    if len(rest) or not len(columns):
        columns = np.append(columns, REST)
    m = len(time)
    changes = int((made >= 0).sum() + ((gone >= 0) & (gone < m)).sum() + (rest_at >= 0).sum())
    first = np.zeros(m // loops.CHUNK + 2, np.int64)
    of, column, delta = np.empty(changes, np.uint8), np.empty(changes, np.uint8), np.empty(changes, np.int64)
    sums = np.zeros((m // loops.CHUNK + 1, len(columns)), np.int64)
    loops.lay_changes(
        made, gone, np.ascontiguousarray(size, np.int64), place[kind], rest_at, rest, len(columns) - 1, first, of,
        column, delta, sums, np.zeros(m + 1, np.int32),
    )  # fmt: skip
    return CategorySeries(time, first, of, column, delta, sums, columns, rest_of)


def _of_levels(time: I64, category: U8, value: I64) -> CategorySeries:
    """Of a source that gives the sums themselves: every change is bytes that come (or go, as negative ones)."""
    times, instant = np.unique(time, return_inverse=True)
    at: list[I64] = []
    size: list[I64] = []
    kind: list[I64] = []
    for c in np.unique(category).tolist():
        mine = np.flatnonzero(category == c)
        when = instant[mine].astype(np.int64)
        when[0] = -1  # what is told at the first instant was there before it
        at.append(when)
        size.append(np.diff(value[mine], prepend=0))
        kind.append(np.full(len(mine), c, np.int64))
    made, change, of = np.concatenate(at), np.concatenate(size), np.concatenate(kind)
    nothing = np.zeros(0, np.int64)
    never = np.full(len(made), len(times), np.int64)
    return _laid(times, made, never, change, of, nothing, nothing, int(Category.UNKNOWN))
