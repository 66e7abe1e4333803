"""What the memory lane of one device is drawn from: its step lines with their extremes, and bytes by category."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.figures import device_blocks
from viewer.analyses.memory.growth import capacity
from viewer.analyses.memory.series import CategorySeries, StepLine, category_series, step_lines
from viewer.jit import memory_columns as loops
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]

CAPACITY_FROM: Final = 0.5
"""The axis reaches up to the device's capacity where so much of it was reserved: else the lines would lie flat."""
FINE: Final = 8
"""Parts of a column that are not told apart: where blocks of events are that short, they are not looked into."""
DRAWN: Final[tuple[str, ...]] = ("allocated", "reserved")
_COARSE: Final = 1
"""The level of blocks (of 64 events) at whose largest instants bytes by category are kept."""
_COARSE_STEPS: Final = loops.BLOCK * loops.FAN**_COARSE


@dataclass(frozen=True, eq=False)
class LineIndex:
    """A step line with the extremes of its blocks at every level, see :mod:`viewer.jit.memory_columns`.

    ``heads`` are the times of the first steps of blocks, at each level.
    """

    line: StepLine
    heads: tuple[I64, ...]
    levels: I64
    ends: I64

    @property
    def top(self) -> int:
        """The largest value of all."""
        return max(int(self.ends[self.levels[-2] :, 1].max()), self.line.before or 0)

    def columns(self, cut: tuple[I64, I64]) -> tuple[I64, I64, int, int]:
        """The stretches of steps of columns; a border may move back by an eighth of a column, among many steps.

        Args:
            cut: int64[n] each, first and last instant of every column, raw ns, not falling.

        Returns:
            (int64[n] the first step that counts: what is in force when the column begins, int64[n] one past the last,
            the first column that has a step at all, the first column before which a step lies).
        """
        time, (first, last) = self.line.time, cut
        n = len(first)
        edges, begin, end = (np.empty(n, np.int64) for _ in range(3))
        outer = np.searchsorted(time, [int(first[0]), int(last[-1]) + 1])
        many, level, block = int(outer[1] - outer[0]) // (n * FINE), 0, loops.BLOCK
        while level + 1 < len(self.heads) and block * loops.FAN <= many:
            level, block = level + 1, block * loops.FAN
        heads = self.heads[level]
        slack = (int(last[-1]) - int(first[0])) // n // FINE
        loops.find_slots(time, heads, block, first, slack, edges, begin)
        if slack:  # an instant that two columns share is the later one's
            end[:-1], end[-1] = edges[1:], outer[1]
        else:
            loops.find_slots(time, heads, block, last + 1, 0, end, edges.copy())
        known, later = loops.settle_columns(edges, begin, end)
        return begin, end, known, later

    def extremes(self, begin: I64, end: I64) -> tuple[I64, I64, I64]:
        """(least, most, step of the most) of stretches of steps [begin, end); -1 where a stretch is empty."""
        least, most, at = (np.empty(len(begin), np.int64) for _ in range(3))
        loops.column_extremes(self.line.value, self.levels, self.ends, begin, end, least, most, at)
        return least, most, at

    def spans(self, cut: tuple[I64, I64]) -> tuple[int, I64, I64, I64]:
        """(first column with a value, then of it and all after it: least, most, step of the most; -1 before the first).

        What has begun goes on: there is a value in every later column.
        """
        begin, end, start, later = self.columns(cut)
        least, most, at = self.extremes(begin[start:], end[start:])
        level = self.line.before
        if level is not None and later > start:  # the level before the first step is seen as well
            seen = slice(0, later - start)
            at[seen][most[seen] < level] = -1
            most[seen], least[seen] = np.maximum(most[seen], level), np.minimum(least[seen], level)
        return start, least, most, at


def line_index(line: StepLine) -> LineIndex:
    """The index of a line; takes a fifth of its room."""
    sizes = [-(-len(line.value) // loops.BLOCK)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // loops.FAN))
    levels = np.cumsum([0, *sizes])
    ends = np.empty((levels[-1], 3), np.int64)
    loops.first_level(line.value, ends[: sizes[0]])
    for a, b, c in zip(levels[:-2], levels[1:-1], levels[2:], strict=True):
        loops.level_up(ends[a:b], ends[b:c])
    heads = tuple(line.time[:: loops.BLOCK * loops.FAN**level].copy() for level in range(len(sizes)))
    return LineIndex(line, heads, levels, ends)


def _changes(line: StepLine) -> StepLine:
    """The same line without the steps that change nothing, where these are most of them."""
    kept = np.flatnonzero(np.diff(line.value, prepend=line.value[0] - 1))
    if len(kept) * 4 > len(line.value):
        return line
    return StepLine(line.name, _read_only(line.time[kept]), _read_only(line.value[kept]), line.before)


@dataclass(frozen=True, eq=False)
class MemoryLevels:
    """Memory of one device over time; raw times of its file.

    Attributes:
        lines: "allocated", "live" and "reserved" as far as the source tells them.
        drawn: of those that are drawn; "allocated" has all of its steps.
        categories: bytes by category; None where the source tells neither blocks nor sums.
        highs: int64[blocks], the largest steps of coarse blocks of "allocated".
        at_highs: int64[blocks, columns], sums of ``categories`` at these.
        together: whether the instants of ``categories`` are the steps of "allocated"; else it has its own.
        top: the largest value of any line.
    """

    lines: dict[str, StepLine]
    drawn: dict[str, LineIndex]
    categories: CategorySeries | None
    highs: I64
    at_highs: I64
    together: bool
    top: float

    @property
    def first_ns(self) -> int | None:
        """The first instant that a line has a value for."""
        return min((int(one.time[0]) for one in self.lines.values()), default=None)

    def held_at(self, at: I64) -> I64:
        """int64[categories, n]: bytes by category after steps of "allocated" (-1: before the first)."""
        assert self.categories is not None
        return self.categories.parts(self.sums_at(at))[0]

    def sums_at(self, at: I64) -> I64:
        """int64[n, columns]: the same by columns of ``categories``."""
        assert self.categories is not None
        c = self.categories
        found = np.empty((len(at), self.at_highs.shape[1]), np.int64)
        done = at + 1
        if not self.together:
            done = np.where(
                at < 0, 0, np.searchsorted(c.time, self.lines["allocated"].time[np.maximum(at, 0)], "right")
            )
        loops.sums_after(
            done, c.first, c.of, c.column, c.delta, c.sums, at, _COARSE_STEPS, self.highs, self.at_highs, found
        )
        return found


def _key(session: Session, item: Input, device: int) -> tuple[object, ...]:
    """Levels hold as long as the rank's files keep their places to each other."""

    def places() -> tuple[object, ...]:
        own = item.clock.to_session(0)
        others = (session.inputs[i].clock for i in session.group_of(item.index).inputs)
        return tuple((c.to_session(0) - own, c.known) for c in others)

    return "memory levels", item.index, device, session.clocked_memo(("memory places", item.index), places)


def memory_levels(session: Session, item: Input, device: int) -> MemoryLevels:
    """The levels of a device; built once. Slow where there are millions of events: for a worker."""
    return session.memo(_key(session, item, device), lambda: _build(session, item, device))


def ready_levels(session: Session, item: Input, device: int) -> MemoryLevels | None:
    """The levels of a device if they are built; never waits."""
    found: MemoryLevels | None = session.peek(_key(session, item, device))
    return found


def _build(session: Session, item: Input, device: int) -> MemoryLevels:
    trace = item.trace
    steps = dict(step_lines(trace, device))
    blocks, sums = device_blocks(trace, device), trace.tables["category_levels"].device == device
    categories = None
    if blocks.stop > blocks.start or sums.any():
        categories = category_series(session, item, device)
    if not steps and categories is not None and len(categories.time):
        steps["allocated"] = _total(categories)
    drawn = {n: line_index(steps[n] if n == "allocated" else _changes(steps[n])) for n in DRAWN if n in steps}
    top = max((float(one.top) for one in drawn.values()), default=0.0)
    highs, at_highs = (
        np.zeros(0, np.int64),
        np.zeros((0, 1 if categories is None else len(categories.columns)), np.int64),
    )
    held = drawn.get("allocated")
    together = held is not None and categories is not None and np.array_equal(categories.time, held.line.time)
    found = MemoryLevels(steps, drawn, categories, highs, at_highs, together, top)
    for one in drawn.values():  # what reads them is compiled here, not while the window paints
        at = one.spans((one.line.time[:1].copy(), one.line.time[:1].copy()))[3]
        if one is held and categories is not None:
            found.sums_at(at)
    if held is None or categories is None or len(held.levels) <= _COARSE + 2:
        return found
    highs = held.ends[held.levels[_COARSE] : held.levels[_COARSE + 1], 2].copy()
    return replace(found, highs=highs, at_highs=found.sums_at(highs))


def _total(categories: CategorySeries) -> StepLine:
    """The sum over categories of a source that gives nothing else."""
    value = np.empty(len(categories.time), np.int64)
    for begin in range(0, len(value), 1 << 16):
        done = np.arange(begin, min(begin + (1 << 16), len(value))) + 1
        value[begin : begin + len(done)] = categories.after(done)[0].sum(axis=0)
    return StepLine("allocated", _read_only(categories.time.view()), _read_only(value), None)


def _read_only(values: I64) -> I64:
    """As mapped tables are: another type to the compiler."""
    values.flags.writeable = False
    return values


def axis_top(session: Session, item: Input, device: int, levels: MemoryLevels) -> float:
    """Bytes at the upper border of a lane: the largest value, the capacity where memory is at least half full."""
    room = capacity(session, item, device)
    if room is not None and levels.top >= CAPACITY_FROM * room:
        return max(levels.top, float(room))
    return max(levels.top, 1.0)
