"""What runs inside a range, by name, class, category, rank or lane: counts, sums, unions, own times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.kernels import mean_half_even
from viewer.base.ids import LaneKind
from viewer.base.work import CancelToken
from viewer.jit.lanes import number_keys
from viewer.jit.range_stats import BLOCK, COUNT, CUT, FULL, LEAST, LONGEST, MOST, OWN, UNION, range_stats
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

GROUPINGS: Final = ("name", "class", "category", "rank", "lane")
Parts = Mapping[int, frozenset[int] | None]
"""Per input index the ids of its lanes that count; None stands for all. Inputs that are missing are left out."""
Windows = Mapping[int, tuple[int, int]]
"""Per input index [start, end) in raw ns of that file; inputs that are missing are taken whole."""

_EVERYTHING: Final = (-(2**62), 2**62)
MOST_KEPT: Final = 20_000
"""Groups of a file whose figures over the whole file are kept."""


@dataclass(frozen=True, eq=False)
class RangeIndex:
    """The slices of a trace in time order, and their kinds: distinct (lane, name, category, class).

    ``order`` are rows of ``slices`` by start, without GPU work that has neither a time nor a duration. ``block_end`` as
    in viewer.jit.range_stats. ``kind`` numbers the kind of every slice; ``lane``, ``name``, ``cat``, ``paint`` describe
    each kind (int64[kinds]).
    """

    order: I32
    block_end: I64
    kind: I32
    lane: I64
    name: I64
    cat: I64
    paint: I64

    def inside(self, trace: Trace, window: tuple[int, int]) -> bool:
        """Whether a window holds every slice whole, so that its figures are those of the file."""
        if not len(self.order):
            return True
        return bool(window[0] <= trace.slices.start_ns[self.order[0]] and self.block_end.max() < window[1])


@dataclass(frozen=True, eq=False)
class RangeTable:
    """Groups of slices inside a range; all arrays have one entry per group and hold int64 ns unless said otherwise.

    ``keys`` are (name, class) by name, (class,), (category,), (rank group,) or (rank group, lane kind, pid, tid,
    device, stream). ``count`` slices touch the range. ``cut`` adds their durations cut to it. ``union`` is the length
    of what they cover on a rank, added over ranks. ``own`` is ``cut`` less what direct children take of it. ``least``,
    ``most`` and ``full`` (a sum) are of whole durations. The longest is row ``longest_row`` of input
    ``longest_input``. ``total`` has (count, cut, union, own) of all groups: the union is no sum. ``span_ns`` is the
    length of the range, added over the ranks that were asked for; None when no range was given. ``done`` of ``inputs``
    are counted.
    """

    by: str
    keys: list[tuple[Any, ...]]
    count: I64
    cut: I64
    union: I64
    own: I64
    full: I64
    least: I64
    most: I64
    longest_input: I64
    longest_row: I64
    total: tuple[int, int, int, int]
    span_ns: int | None
    done: int
    inputs: int

    def __len__(self) -> int:
        return len(self.keys)

    def means(self) -> list[int]:
        """Mean whole durations, halves to the even neighbour."""
        return [mean_half_even(total, n) for total, n in zip(self.full.tolist(), self.count.tolist(), strict=True)]


def range_index(trace: Trace) -> RangeIndex:
    """The slices of a trace in time order with their kinds. Built once per trace."""
    return trace.memo("range_index", lambda: _index(trace))


def _index(trace: Trace) -> RangeIndex:
    s, rows, n = trace.slices, trace.rows, len(trace)
    columns = np.empty((n, 2), np.int64)
    lane = np.repeat(rows.lane.astype(np.int64), rows.end - rows.begin)
    columns[:, 0] = lane << 32 | (s.name.astype(np.int64) + 1)
    columns[:, 1] = (s.cat.astype(np.int64) + 1) << 8 | s.paint
    kind = np.empty(n, np.int32)
    first = columns[number_keys(columns, kind)]
    # The table is a run of rows, each sorted by start: merging runs is what this sort is good at.
    order = np.argsort(s.start_ns, kind="stable").astype(np.int32)
    if gpu_work(trace).untimed:
        on_stream = np.array([item.kind == LaneKind.STREAM for item in trace.lanes], np.bool_)
        untimed = (s.start_ns == 0) & (s.dur_ns == 0) & on_stream[lane]
        order = order[~untimed[order]]
    end = (s.start_ns + s.dur_ns)[order]
    block_end = np.maximum.reduceat(end, np.arange(0, len(end), BLOCK)) if len(end) else np.empty(0, np.int64)
    return RangeIndex(
        order,
        block_end,
        kind,
        lane=first[:, 0] >> 32,
        name=(first[:, 0] & 0xFFFFFFFF) - 1,
        cat=(first[:, 1] >> 8) - 1,
        paint=first[:, 1] & 0xFF,
    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """Kinds of one trace by group: group of each kind, and the key of each group (without the rank)."""

    of_kind: I32
    keys: list[tuple[Any, ...]]


def _groups(trace: Trace, by: str) -> _Groups:
    return trace.memo(("range_groups", by), lambda: _build_groups(trace, by))


def _build_groups(trace: Trace, by: str) -> _Groups:
    index = range_index(trace)
    if by == "name":
        code = index.name << 8 | index.paint
        found, of = np.unique(code, return_inverse=True)
        keys: list[tuple[Any, ...]] = [(trace.text(c >> 8), c & 0xFF) for c in found.tolist()]
    elif by == "class":
        found, of = np.unique(index.paint, return_inverse=True)
        keys = [(c,) for c in found.tolist()]
    elif by == "category":
        found, of = np.unique(index.cat, return_inverse=True)
        keys = [(trace.text(c),) for c in found.tolist()]
    elif by == "lane":
        found, of = np.unique(index.lane, return_inverse=True)
        lanes = [trace.lanes[c] for c in found.tolist()]
        keys = [(int(x.kind), x.pid, x.tid, x.device, x.stream) for x in lanes]
    else:
        of, keys = np.zeros(len(index.lane), np.int64), [()]
    return _Groups(of.astype(np.int32), keys)


def _chosen_groups(trace: Trace, by: str, lanes: frozenset[int] | None) -> tuple[I32, list[tuple[Any, ...]]]:
    groups = _groups(trace, by)
    if lanes is None:
        return groups.of_kind, groups.keys
    keep = np.zeros(len(trace.lanes) + 1, np.bool_)
    keep[list(lanes)] = True
    return np.where(keep[range_index(trace).lane], groups.of_kind, -1).astype(np.int32), groups.keys


def range_table(
    session: Session,
    parts: Parts,
    windows: Windows,
    by: str = "name",
    *,
    cancel: CancelToken | None = None,
    tell: Callable[[Callable[[], RangeTable]], None] | None = None,
) -> RangeTable:
    """What runs on lanes inside a range.

    Args:
        session: the job.
        parts: the lanes that count.
        windows: the range on each file's own clock.
        by: one of GROUPINGS.
        cancel: stops between two files.
        tell: is given what makes the table so far, after each file but the last.
    """
    merger = _Merger(session, by, len(parts), _span(session, parts, windows))
    for number, (source, lanes) in enumerate(parts.items()):
        if cancel is not None:
            cancel.check()
        merger.add(source, lanes, windows.get(source, _EVERYTHING))
        if tell is not None and number + 1 < len(parts):
            tell(merger.table)
    return merger.table()


def _span(session: Session, parts: Parts, windows: Windows) -> int | None:
    if any(source not in windows for source in parts):
        return None
    # Segments of one rank share the range: it counts once for them.
    by_group = {session.group_of(source).id: windows[source] for source in parts}
    return sum(hi - lo for lo, hi in by_group.values())


class _Merger:
    """Adds up the figures of several files."""

    def __init__(self, session: Session, by: str, inputs: int, span_ns: int | None) -> None:
        self._session, self._by, self._inputs, self._span = session, by, inputs, span_ns
        self._number: defaultdict[tuple[Any, ...], int] = defaultdict(count().__next__)
        self._into: list[I64] = []
        self._stats: list[I64] = []
        self._source: list[I64] = []
        self._total = [0, 0, 0, 0]

    def add(self, source: int, lanes: frozenset[int] | None, window: tuple[int, int]) -> None:
        """Count one file."""
        trace = self._session.inputs[source].trace
        index = range_index(trace)
        group_of, keys = _chosen_groups(trace, self._by, lanes)
        s = trace.slices

        def stats_of(lo: int, hi: int) -> I64:
            found: I64 = range_stats(
                index.order, index.block_end, s.start_ns, s.dur_ns, s.parent, index.kind, group_of, len(keys), lo, hi
            )
            return found

        if lanes is None and len(keys) <= MOST_KEPT and index.inside(trace, window):
            stats = trace.memo(("range_whole", self._by), lambda: stats_of(*_EVERYTHING))
        else:
            stats = stats_of(*window)
        used = np.flatnonzero(stats[:-1, COUNT])
        rank = (self._session.group_of(source).id,) if self._by in ("rank", "lane") else ()
        names = [rank + keys[g] for g in used.tolist()] if rank else [keys[g] for g in used.tolist()]
        self._into.append(np.fromiter(map(self._number.__getitem__, names), np.int64, len(used)))
        self._stats.append(stats[used])
        self._source.append(np.full(len(used), source, np.int64))
        for place, column in enumerate((COUNT, CUT, UNION, OWN)):
            self._total[place] += int(stats[-1, column])

    def table(self) -> RangeTable:
        """What is counted by now."""
        into = np.concatenate(self._into) if self._into else np.empty(0, np.int64)
        stats = np.concatenate(self._stats) if self._stats else np.empty((0, 8), np.int64)
        source = np.concatenate(self._source) if self._source else np.empty(0, np.int64)
        # Groups one after another, in each the longest first, the earlier file first of equals.
        at = np.lexsort((-stats[:, MOST], into))
        stats, source = stats[at], source[at]
        first = np.flatnonzero(np.diff(into[at], prepend=-1))
        if len(first):
            added = np.add.reduceat(stats[:, : FULL + 1], first, axis=0)
            least = np.minimum.reduceat(stats[:, LEAST], first)
        else:
            added, least = np.empty((0, FULL + 1), np.int64), np.empty(0, np.int64)
        return RangeTable(
            by=self._by,
            keys=list(self._number),
            count=added[:, COUNT].copy(),
            cut=added[:, CUT].copy(),
            union=added[:, UNION].copy(),
            own=added[:, OWN].copy(),
            full=added[:, FULL].copy(),
            least=least,
            most=stats[first, MOST],
            longest_input=source[first],
            longest_row=stats[first, LONGEST],
            total=(self._total[0], self._total[1], self._total[2], self._total[3]),
            span_ns=self._span,
            done=len(self._into),
            inputs=self._inputs,
        )


def runs_in(session: Session, parts: Parts, windows: Windows, by: str, key: tuple[Any, ...]) -> dict[int, I64]:
    """Rows of ``slices``, ascending, of the slices of one group that touch the range, per input that has any."""
    out = {}
    for source, lanes in parts.items():
        trace = session.inputs[source].trace
        rank = (session.group_of(source).id,) if by in ("rank", "lane") else ()
        group_of, keys = _chosen_groups(trace, by, lanes)
        numbers = [g for g, k in enumerate(keys) if rank + k == key]
        if not numbers:
            continue
        lo, hi = windows.get(source, _EVERYTHING)
        s = trace.slices
        wanted = np.isin(group_of, numbers)
        rows = np.flatnonzero(wanted[range_index(trace).kind])
        start = s.start_ns[rows]
        end = start + s.dur_ns[rows]
        rows = rows[(start < hi) & ((end > lo) | (start >= lo))]
        if len(rows):
            out[source] = rows.astype(np.int64)
    return out
