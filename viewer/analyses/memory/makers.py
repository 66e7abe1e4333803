"""What made a block: the frames of its stack, or in a profiler trace the slices of its thread at that instant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.names import distinct, remembered
from viewer.analyses.numbering import numbered_values
from viewer.base.ids import ABSENT, LaneKind, Paint
from viewer.jit.grouping import mark_around, spread_down
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

MOST_LEVELS = 512
"""Enclosing slices that are looked at."""

Pattern = tuple[str, re.Pattern[str]]


def frame_text(trace: Trace, frame: int) -> str:
    """A frame as "function (file)"; the file as written."""
    f = trace.tables["frames"]
    return f"{trace.text(f.name[frame])} ({trace.text(f.file[frame])})"


def stack_frames(trace: Trace, stack: int) -> list[tuple[str, str, int]]:
    """(function, file, line) of a stack, innermost first; [] for -1."""
    if stack < 0:
        return []
    s, f = trace.tables["stacks"], trace.tables["frames"]
    rows = trace.tables["stack_frames"].frame[int(s.begin[stack]) : int(s.end[stack])].tolist()
    return [(trace.text(f.name[r]), trace.text(f.file[r]), int(f.line[r])) for r in rows]


def stack_bits(trace: Trace, patterns: Sequence[Pattern]) -> U64:
    """uint64[stacks]: bit k says whether a frame of the stack matches pattern k. Patterns see each frame once."""
    s, frames = trace.tables["stacks"], len(trace.tables["frames"])
    of_frame = np.zeros(frames, np.uint64)
    bits_of = _bits(tuple(patterns))
    for frame in range(frames):
        of_frame[frame] = bits_of(frame_text(trace, frame))
    used = trace.tables["stack_frames"].frame
    out = np.zeros(len(s), np.uint64)
    filled = np.flatnonzero(s.end > s.begin)
    if len(filled):
        # Stacks lie one after another: reduceat takes each from its beginning to that of the next.
        bits = of_frame[used]
        out[filled] = np.bitwise_or.reduceat(bits, s.begin[filled])
    return out


@lru_cache(8)
def _bits(patterns: tuple[Pattern, ...]) -> Callable[[str], int]:
    """What the bits of a text are. Files of one job have the same names."""
    return remembered(lambda text: sum(1 << k for k, (_, pattern) in enumerate(patterns) if pattern.search(text)))


def maker_slices(trace: Trace) -> I64:
    """int64[allocator events]: the deepest slice that was open on the thread of the event; -1 without one.

    Only profiler traces say the thread. Built once.
    """
    return trace.memo("maker slices", lambda: _makers(trace))


def _makers(trace: Trace) -> I64:
    e, marks, s = trace.tables["allocator_events"], trace.marks, trace.slices
    out = np.full(len(e), -1, np.int64)
    told = np.flatnonzero(e.mark != ABSENT)
    if not len(told):
        return out
    rows = e.mark[told]
    import pyarrow as pa
    import pyarrow.compute as pc

    where = pa.array(rows)
    between = pa.scalar("\0", pa.large_string())
    key = pc.binary_join_element_wise(marks.lane_pid.take(where), marks.lane_tid.take(where), between)
    codes = pc.dictionary_encode(key)
    threads, of = codes.dictionary.to_pylist(), codes.indices.to_numpy(zero_copy_only=False)
    lane_of = {f"{lane.pid}\0{lane.tid}": lane for lane in trace.lanes if lane.kind == LaneKind.THREAD}
    time = e.time_ns[told]
    for number, thread in enumerate(threads):
        lane = lane_of.get(thread)
        if lane is None:
            continue
        mine = np.flatnonzero(of == number)
        when, rows_at = time[mine], told[mine]
        for row in range(lane.row_begin, lane.row_end):
            begin, end = int(trace.rows.begin[row]), int(trace.rows.end[row])
            if begin == end:
                continue
            starts = s.start_ns[begin:end]
            at = np.searchsorted(starts, when, "right") - 1
            inside = np.flatnonzero((at >= 0) & (starts[at] + s.dur_ns[begin:end][at] >= when))
            out[rows_at[inside]] = begin + at[inside]  # deeper rows come later
    return out


def slice_bits(trace: Trace, makers: I64, patterns: Sequence[Pattern]) -> U64:
    """uint64[len(makers)]: bit k says whether a slice at or around the maker has a name that matches pattern k."""
    s = trace.slices
    seen = np.zeros(len(s) + 1, np.bool_)
    mark_around(makers, s.parent, seen)
    rows = np.flatnonzero(seen)
    names = s.name[rows]
    of_name = np.zeros(len(trace.strings) + 1, np.uint64)
    bits_of = _bits(tuple(patterns))
    for code in distinct(names):
        of_name[code] = bits_of(trace.text(code))
    bits = np.zeros(len(s) + 1, np.uint64)
    bits[rows] = of_name[names]
    spread_down(rows, s.parent, bits)
    out: U64 = bits[makers]  # -1 is none
    return out


def maker_names(trace: Trace) -> I64:
    """int64[allocator events]: the name that says best who allocated, index into strings; -1 without a slice.

    Of the slices around the event on its thread: the innermost frame of the program's own code, else the outermost
    operator (aten::linear says more than the aten::empty in it), else the innermost slice that is no mark. Built once.
    """

    def build() -> I64:
        makers, s = maker_slices(trace), trace.slices
        rows, _, place = numbered_values(makers)
        own, operator = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
        kind = np.zeros(len(trace.strings), np.int8)  # 0 not looked at, 1 a frame of its own, 2 another
        current = rows.copy()
        for _ in range(MOST_LEVELS):
            live = np.flatnonzero((current >= 0) & (own < 0))
            if not len(live):
                break
            at = current[live]
            names, paint = s.name[at].astype(np.int64), s.paint[at]
            python = paint == Paint.PYTHON
            for code in np.unique(names[python & (kind[names] == 0)]).tolist():
                kind[code] = 1 if _is_own_frame(trace.text(code)) else 2
            found = python & (kind[names] == 1)
            own[live[found]] = names[found]
            operators = paint == Paint.OPERATOR
            operator[live[operators]] = names[operators]
            current[live] = s.parent[at]
        best = np.where(own >= 0, own, operator)
        # A mark of a step says nothing of who allocated, and has another name in each step.
        bare = np.flatnonzero((best < 0) & (rows >= 0))
        bare = bare[s.paint[rows[bare]] != Paint.ANNOTATION]
        best[bare] = s.name[rows[bare]]
        out: I64 = best[place]
        return out

    return trace.memo("maker names", build)


def _is_own_frame(name: str) -> bool:
    """Whether a Python slice ("file.py(12): function") is of the program itself."""
    file, _, _ = name.partition("(")
    return file.endswith(".py") and not of_library(file)


def of_library(file: str) -> bool:
    """Whether a file is of PyTorch or another installed package, or of compiled code."""
    path = file.replace("\\", "/")
    return (
        "site-packages/" in path
        or "/torch/" in path
        or path.startswith("torch/")
        or path.endswith((".cpp", ".h", ".cc", ".cu"))
        or path in ("", "??")
    )
