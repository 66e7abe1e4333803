"""What the memory lane of one device is drawn from: its step lines, where they peak, and bytes by category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.counters import BLOCK, Series
from viewer.analyses.memory.figures import device_blocks
from viewer.analyses.memory.growth import capacity
from viewer.analyses.memory.series import CategorySeries, category_series, step_lines
from viewer.base.allocator import BEFORE
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

_CHUNK: Final = 64
CAPACITY_FROM: Final = 0.5
"""The axis reaches up to the device's capacity where so much of it was reserved: else the lines would lie flat."""


class PeakIndex:
    """Finds the largest of any stretch of values quickly: its place is kept for every power of two chunks."""

    def __init__(self, values: F64) -> None:
        self._values = values
        n = len(values)
        starts = np.arange(0, n, _CHUNK)
        padded = np.full(len(starts) * _CHUNK, -np.inf)
        padded[:n] = values
        level = starts + np.argmax(padded.reshape(-1, _CHUNK), axis=1) if n else starts
        self._levels = [level.astype(np.int64)]
        step = 1
        while 2 * step <= len(starts):
            left, right = self._levels[-1][:-step], self._levels[-1][step:]
            self._levels.append(np.where(values[right] > values[left], right, left))
            step *= 2

    def largest(self, a: I64, b: I64) -> I64:
        """int64[n]: the place of the largest value of each stretch [a, b), b > a."""
        short = b - a <= 2 * _CHUNK
        best = self._near(a, b, int((b - a)[short].max(initial=_CHUNK)))
        long = np.flatnonzero(~short)
        if len(long):
            first, last = -(-a[long] // _CHUNK), b[long] // _CHUNK  # whole chunks, at least one
            power = np.floor(np.log2(last - first)).astype(np.int64)
            found = [self._near(np.minimum(last * _CHUNK, b[long] - 1), b[long], _CHUNK)]
            whole = np.empty(len(long), np.int64)
            for p in np.unique(power).tolist():
                mine = power == p
                x, y = self._levels[p][first[mine]], self._levels[p][last[mine] - (1 << p)]
                whole[mine] = np.where(self._values[y] > self._values[x], y, x)
            for other in (*found, whole):
                now = best[long]
                best[long] = np.where(self._values[other] > self._values[now], other, now)
        return best

    def _near(self, a: I64, b: I64, most: int) -> I64:
        """Places of the largest among the first ``most`` values of each stretch."""
        at = np.minimum(a[:, None] + np.arange(most), b[:, None] - 1)
        column = np.argmax(self._values[at], axis=1)
        out: I64 = at[np.arange(len(a)), column]
        return out


@dataclass(frozen=True, eq=False)
class MemoryLevels:
    """Memory of one device over time; raw times of its file.

    Attributes:
        lines: "allocated", "live" and "reserved" as far as the source tells them.
        peaks: of "allocated"; None without that line.
        categories: bytes by category; None where the source tells neither blocks nor sums.
        top: the largest value of any line.
    """

    lines: dict[str, Series]
    peaks: PeakIndex | None
    categories: CategorySeries | None
    top: float


def _key(session: Session, item: Input, device: int) -> tuple[object, ...]:
    """Levels hold as long as the rank's files keep their places to each other."""
    own = item.clock.to_session(0)
    others = (session.inputs[i].clock for i in session.group_of(item.index).inputs)
    return "memory levels", item.index, device, tuple((c.to_session(0) - own, c.known) for c in others)


def memory_levels(session: Session, item: Input, device: int) -> MemoryLevels:
    """The levels of a device; built once. Slow where there are millions of events: for a worker."""
    return session.memo(_key(session, item, device), lambda: _build(session, item, device))


def ready_levels(session: Session, item: Input, device: int) -> MemoryLevels | None:
    """The levels of a device if they are built; never waits."""
    found: MemoryLevels | None = session.peek(_key(session, item, device))
    return found


def _build(session: Session, item: Input, device: int) -> MemoryLevels:
    trace = item.trace
    lines = dict(step_lines(trace, device))
    blocks, sums = device_blocks(trace, device), trace.tables["category_levels"].device == device
    categories = None
    if blocks.stop > blocks.start or sums.any():
        categories = category_series(session, item, device)
    if "allocated" not in lines and categories is not None:
        total = _total(categories)
        if total is not None:
            lines["allocated"] = total
    held = lines.get("allocated")
    top = max((float(one.high.max()) for one in lines.values()), default=0.0)
    return MemoryLevels(lines, PeakIndex(held.value) if held is not None else None, categories, top)


def _total(categories: CategorySeries) -> Series | None:
    """The sum over categories of a source that gives nothing else."""
    times = np.unique(np.concatenate([*categories.made, *categories.gone] or [np.zeros(0, np.int64)]))
    times = times[(times != BEFORE) & (times < 2**63 - 1)]
    if not len(times):
        return None
    value = categories.at(times).sum(axis=0).astype(np.float64)
    starts = np.arange(0, len(value), BLOCK)
    return Series("allocated", times, value, np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts))


def axis_top(session: Session, item: Input, device: int, levels: MemoryLevels) -> float:
    """Bytes at the upper border of a lane: the largest value, the capacity where memory is at least half full."""
    room = capacity(session, item, device)
    if room is not None and levels.top >= CAPACITY_FROM * room:
        return max(levels.top, float(room))
    return max(levels.top, 1.0)
