"""Slow and obvious counterparts of the interval and join kernels, in plain Python. Only tests use them.

Sets of intervals are lists of (start, end) in any order; every function cuts time at all borders and asks for each
piece who covers it, so it shares no idea with the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

Interval = tuple[int, int]


def pieces(*sets: Sequence[Interval], lo: int | None = None, hi: int | None = None) -> list[Interval]:
    """Elementary pieces between all neighbouring borders of the sets (and of a window)."""
    borders = {t for intervals in sets for interval in intervals for t in interval}
    borders |= {t for t in (lo, hi) if t is not None}
    ordered = sorted(borders)
    return list(pairwise(ordered))


def covers(intervals: Iterable[Interval], piece: Interval) -> bool:
    """Whether some interval covers an elementary piece."""
    return any(s <= piece[0] and piece[1] <= e for s, e in intervals)


def joined(chosen: Iterable[Interval]) -> list[Interval]:
    """Elementary pieces in order, touching ones joined."""
    out: list[Interval] = []
    for start, end in chosen:
        if out and out[-1][1] == start:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def _where(sets: tuple[Sequence[Interval], ...], keep: Callable[[Interval], bool]) -> list[Interval]:
    return joined(piece for piece in pieces(*sets) if keep(piece))


def union(a: Sequence[Interval]) -> list[Interval]:
    """What a covers, disjoint."""
    return _where((a,), lambda p: covers(a, p))


def intersect(a: Sequence[Interval], b: Sequence[Interval]) -> list[Interval]:
    """What both cover, disjoint."""
    return _where((a, b), lambda p: covers(a, p) and covers(b, p))


def subtract(a: Sequence[Interval], b: Sequence[Interval]) -> list[Interval]:
    """What a covers and b does not, disjoint."""
    return _where((a, b), lambda p: covers(a, p) and not covers(b, p))


def clip(a: Sequence[Interval], lo: int, hi: int) -> list[Interval]:
    """What a covers inside [lo, hi), disjoint."""
    return intersect(a, [(lo, hi)] if hi > lo else [])


def gaps(a: Sequence[Interval], lo: int, hi: int) -> list[Interval]:
    """What a leaves uncovered of [lo, hi), disjoint."""
    return subtract([(lo, hi)] if hi > lo else [], a)


def total(a: Sequence[Interval]) -> int:
    """Length of the union of a."""
    return sum(e - s for s, e in union(a))


def join(calls: Sequence[tuple[int, int, int, int]], events: Sequence[tuple[int, int]], most: int) -> list[int]:
    """The rules of viewer.jit.join: calls are (key, start, end, process), events (key, start)."""
    out = []
    for key, start in events:
        mine = [i for i, c in enumerate(calls) if c[0] == key]
        if not mine:
            out.append(-1)
            continue
        if len(mine) > most or len({calls[i][3] for i in mine}) > 1:
            out.append(-2 if len(mine) > 1 else mine[0])
            continue
        outer = [i for i in mine if not any(_inside(calls, i, j) for j in mine if j != i)]
        before = [i for i in outer if calls[i][1] <= start]
        if before:
            latest = max(calls[i][1] for i in before)
            out.append(min(i for i in before if calls[i][1] == latest))
        else:
            out.append(min(outer, key=lambda i: (calls[i][1], i)))
    return out


def _inside(calls: Sequence[tuple[int, int, int, int]], i: int, j: int) -> bool:
    a, b = calls[i][1:3], calls[j][1:3]
    return b[0] <= a[0] and a[1] <= b[1] and (a != b or j < i)


def deepest(slices: Sequence[Interval], t: int) -> int:
    """The slice that is the deepest open one at an instant: nesting by order of (start, position); -1 for none."""
    open_ = [i for i, (s, e) in enumerate(slices) if s <= t < e]
    return max(open_, key=lambda i: (slices[i][0], i), default=-1)
