"""What the threads of the host did when, and which calls waited for the device."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import flags_where, named_where, names_of, remembered, rows_named
from viewer.analyses.steps import marks_step
from viewer.base.ids import Paint
from viewer.jit.grouping import of_segments, thread_kinds
from viewer.jit.intervals import deepest, running_end
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

LOADING, COLLECTION, RECOMPILATION, ALLOCATOR = "data loading", "garbage collection", "recompilation", "allocator"
HOST_CAUSES = (
    "python",
    "operator",
    "runtime call",
    "annotation",
    "profiler overhead",
    "other",
    ALLOCATOR,
    LOADING,
    RECOMPILATION,
    COLLECTION,
)
"""What a host thread can be at. From the allocator on a slice stands for all that is inside it; of nested ones the
later in this list counts: allocations of a loader belong to it, and a collection is one wherever it strikes."""
UNTRACED, SYNC_DRAIN = "untraced", "sync-drain"
_KIND_OF_PAINT = {
    Paint.PYTHON: 0,
    Paint.OPERATOR: 1,
    Paint.RUNTIME: 2,
    Paint.ANNOTATION: 3,
    Paint.OVERHEAD: 4,
}
_OTHER_KIND, FIRST_SPECIAL = 5, 6
_ALLOCATOR_CALL = re.compile(
    r"^(?:(?:cuda|hip)(?:Malloc|Free|HostAlloc|HostMalloc|HostFree|HostRegister|HostUnregister|MemPoolTrim)\w*"
    r"|cuMem(?:Alloc|Free|Create|Map|Unmap|Release|AddressReserve|AddressFree|SetAccess|HostAlloc|HostRegister)\w*"
    r"|hipMem(?:Create|Map|Unmap|Release|AddressReserve|AddressFree|SetAccess)\w*"
    r"|(?:aclrt|musa|xpu)(?:Malloc|Free)\w*|zeMem(?:Alloc|Free)\w*)$",
    re.IGNORECASE,
)
_SPECIAL: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        COLLECTION,
        re.compile(
            r"garbage.?collect|\bpython gc\b|^gc(?:$|[ :(])|\bgc[._](?:collect|gen)|\bgc\.py\(\d+\): collect"
            r"|<built-in (?:function collect>|method collect of module)",
            re.IGNORECASE,
        ),
    ),
    (
        RECOMPILATION,
        re.compile(
            # Dynamo, AOTAutograd and Inductor mark their phases so
            r"\(dynamo_timed\)|^(?:entire_frame_compile|\w*compile_fx_inner|(?:_compile\.)?compile_inner|create_aot_dispatcher)"
            r"|^(?:GraphLowering\.(?:run|compile)|Scheduler\.codegen|CachingAutotuner\.benchmark|async_compile\.wait)"
            r"|\b_dynamo/convert_frame\.py\(\d+\): _?compile"
            r"|\b_inductor/(?:compile_fx|codecache|async_compile|graph|scheduler)\.py\(\d+\): \w*(?:compile|codegen)"
            r"|\btriton/compiler/compiler\.py\(\d+\): compile$|\btriton/runtime/jit\.py\(\d+\): (?:_do_)?compile$"
            r"|\btriton/runtime/autotuner\.py\(\d+\): _?bench"
            r"|\btriton_heuristics\.py\(\d+\): (?:precompile|make_launchers|benchmark_all|autotune_to|coordinate)"
            r"|^(?:nvrtc|hiprtc)CompileProgram|^(?:cu|hip)(?:Module|Library)Load(?:Data(?:Ex)?|FatBinary|FromFile)?$"
            r"|^cudaLibraryLoad|\bXlaCompile|\bbackend_compile\b|\bcompile_or_get_cached\b"
        ),
    ),
    (
        LOADING,
        re.compile(
            r"dataloader|\bdata[_ ]?load(?:ing|er)?\b|\b(?:load|next|fetch|wait_for)[_ ](?:next_)?batch\b"
            r"|\btorch/utils/data/|\bIteratorGetNext\b",
            re.IGNORECASE,
        ),
    ),
    (ALLOCATOR, re.compile(r"\bempty_?cache\b|emptyCache", re.IGNORECASE)),
)
_AT_WORK = [HOST_CAUSES.index(name) for name in ("operator", "runtime call", "profiler overhead", LOADING)]
HOST_PAINTS = (Paint.PYTHON, Paint.ANNOTATION, Paint.OPERATOR, Paint.OTHER, Paint.OVERHEAD, Paint.RUNTIME)
_BLOCKING = re.compile(
    r"^(?:(?:cuda|hip)(?:Device|Stream|Event|Thread)Synchronize|cu(?:Ctx|Stream|Event)Synchronize"
    r"|(?:cuda|hip)Memcpy(?:2D|3D|ToSymbol|FromSymbol|DtoH|HtoD|DtoD|WithStream)?|cuMemcpy(?:DtoH|HtoD|DtoD)?(?:_v2)?"
    r"|(?:cuda|hip)(?:Free|HostFree|FreeHost)|zeCommandQueueSynchronize|ze(?:Event|Fence)HostSynchronize)(?:_v\d+|_spt|_ptsz)?$",
    re.IGNORECASE,
)


@remembered
def blocks_host(name: str) -> bool:
    """Whether a call of this name waits for the device (synchronisations, synchronous copies, frees)."""
    return _BLOCKING.match(name) is not None


@remembered
def allocates(name: str) -> bool:
    """Whether a call of this name asks the driver for memory or gives some back."""
    return _ALLOCATOR_CALL.match(name) is not None


@remembered
def special_cause(name: str) -> str:
    """The cause that a host slice of this name stands for with all that is inside it; "" for none."""
    for cause, pattern in _SPECIAL:
        if pattern.search(name):
            return cause
    return ALLOCATOR if allocates(name) else ""


@dataclass(frozen=True, eq=False)
class ThreadTime:
    """A thread as segments: from ``start`` on, ``row`` is the deepest open slice (-1: none) and ``kind`` its cause.

    ``told_by`` is the slice that tells the cause: the data loader's range, not what runs inside it; else ``row``.
    """

    start: I64
    row: NDArray[np.int32]
    kind: NDArray[np.int8]
    told_by: NDArray[np.int32]


def thread_time(trace: Trace, lane: int) -> ThreadTime:
    """What one thread did when; kinds index :data:`HOST_CAUSES`. Built once per lane."""
    return trace.memo(("thread_time", lane), lambda: _thread_time(trace, lane))


def _thread_time(trace: Trace, lane_id: int) -> ThreadTime:
    s, lane = trace.slices, trace.lanes[lane_id]
    a = int(trace.rows.begin[lane.row_begin])
    b = int(trace.rows.end[lane.row_end - 1])
    # The lane is a run of levels, each sorted by start: a stable sort by start leaves the upper level first.
    order = np.argsort(s.start_ns[a:b], kind="stable")
    rows = a + order
    start = s.start_ns[rows]
    seg_start, seg_at = np.empty(2 * len(rows) + 1, np.int64), np.empty(2 * len(rows) + 1, np.int64)
    n = deepest(start, start + s.dur_ns[rows], seg_start, seg_at)
    kind, told_by = _kinds(trace, a, b)
    row, kinds, tellers = np.empty(n, np.int32), np.empty(n, np.int8), np.empty(n, np.int32)
    of_segments(seg_at[:n], order, kind, told_by, a, row, kinds, tellers)
    return ThreadTime(seg_start[:n].copy(), row, kinds, tellers)


def _special_names(trace: Trace) -> I64:
    """int64[strings + 1]: index into HOST_CAUSES of the cause that a name stands for, -1 for none."""

    def build() -> I64:
        out = np.full(len(trace.strings) + 1, -1, np.int64)
        for code in names_of(trace, *HOST_PAINTS):
            cause = special_cause(trace.text(code))
            if cause:
                out[code] = HOST_CAUSES.index(cause)
        return out

    return trace.memo("special_names", build)


def _kinds(trace: Trace, begin: int, end: int) -> tuple[I64, I64]:
    """(kind, slice that tells it) of the slices [begin, end) of a thread, -1 for marks of whole steps.

    What is inside a special range is of its kind.
    """
    s = trace.slices
    of_paint = np.full(256, _OTHER_KIND, np.int64)
    for paint, number in _KIND_OF_PAINT.items():
        of_paint[paint] = number
    marks = trace.memo("step_mark_names", lambda: named_where(trace, (Paint.ANNOTATION,), marks_step))
    kind, told_by, inherited = (np.empty(end - begin, np.int64) for _ in range(3))
    thread_kinds(
        begin, end, s.parent, s.name, s.paint, of_paint, _special_names(trace), marks, kind, told_by, inherited
    )
    return kind, told_by


@dataclass(frozen=True, eq=False)
class _Calls:
    """Calls by start; ``latest`` is the position of the latest end so far."""

    row: I64
    start: I64
    end: I64
    latest: I64

    def waiting(self, at: I64) -> I64:
        """The call that had begun before each instant and not ended by it; -1 without one."""
        if not len(self.row):
            return np.full(len(at), -1, np.int64)
        i = np.searchsorted(self.start, at, "left") - 1
        j = self.latest[np.maximum(i, 0)]
        out: I64 = np.where((i >= 0) & (self.end[j] >= at), self.row[j], -1)
        return out


def _calls(trace: Trace, rows: I64) -> _Calls:
    start = trace.slices.start_ns[rows]
    end = start + trace.slices.dur_ns[rows]
    return _Calls(rows, start, end, running_end(start, end))


COPIED_NS = 50_000
"""A copy that waits for nothing is queued within some 10 us."""


def blocking_calls(trace: Trace) -> I64:
    """Rows of the calls that wait for the device, of all threads, by start. Built once.

    By name; and copies that took :data:`COPIED_NS` and more and returned only when the copy was over: of memory that is
    not pinned, whatever their name says.
    """

    def build() -> I64:
        s = trace.slices
        rows = rows_named(trace, (Paint.RUNTIME,), blocks_host)
        calls, ended = links(trace).last_ends(trace)
        copies = flags_where(trace, s.name[calls], lambda n: "memcpy" in n.lower())[s.name[calls]]
        copies &= (s.dur_ns[calls] >= COPIED_NS) & (s.start_ns[calls] + s.dur_ns[calls] >= ended)
        rows = np.union1d(rows, calls[copies])
        found: I64 = rows[np.argsort(s.start_ns[rows], kind="stable")]
        return found

    return trace.memo("blocking_calls", build)


def _blocking_of(trace: Trace, lane: int) -> _Calls:
    def build() -> _Calls:
        rows = blocking_calls(trace)
        return _calls(trace, rows[lanes_of_rows(trace, rows) == lane])

    return trace.memo(("blocking_calls", lane), build)


def _blocking_launchers(trace: Trace) -> _Calls:
    """The blocking calls of all threads that launch GPU work: others (watchdogs, pinning) hold no launch up."""

    def build() -> _Calls:
        rows = blocking_calls(trace)
        launchers = np.unique(lanes_of_rows(trace, links(trace).calls))
        return _calls(trace, rows[np.isin(lanes_of_rows(trace, rows), launchers)])

    return trace.memo("blocking_launchers", build)


def draining_call(trace: Trace, lane: int, at: I64, refilled: I64) -> I64:
    """For each instant at which the device ran dry the blocking call that had drained the queue; -1 without one.

    The call was waiting at that instant, on the thread that launched next, or on another one that launches work while
    neither a call nor an operator was open on this one (it was to hand over). Or the thread's last launch before the
    call ended while it waited, and the thread launched nothing more until the queue was refilled: what ran last was
    another thread's.

    Args:
        trace: the file.
        lane: the thread that launched the next work.
        at: int64[n], when the device ran dry, raw ns.
        refilled: int64[n], begin of the next launch, >= ``at``.
    """
    if not len(blocking_calls(trace)):
        return np.full(len(at), -1, np.int64)
    own = _blocking_of(trace, lane)
    found = own.waiting(at)
    rest = np.flatnonzero(found < 0)
    if len(rest):
        other = _blocking_launchers(trace).waiting(at[rest])
        time = thread_time(trace, lane)
        i = np.searchsorted(time.start, at[rest], "left") - 1
        kind = np.where(i >= 0, time.kind[np.maximum(i, 0)], -1) if len(time.kind) else np.full(len(rest), -1)
        found[rest] = np.where(np.isin(kind, _AT_WORK), -1, other)
        rest = np.flatnonzero(found < 0)
    if len(rest) and len(own.row):
        found[rest] = _drained_before(trace, lane, own, refilled[rest])
    return found


def _drained_before(trace: Trace, lane: int, own: _Calls, refilled: I64) -> I64:
    """The thread's last blocking call before each launch, where its queue emptied meanwhile and nothing was added."""
    begins, ends = _launches(trace, lane)
    i = np.searchsorted(own.start, refilled, "left") - 1
    j = np.maximum(i, 0)
    k = np.searchsorted(begins, own.start[j], "right") - 1
    last = np.where(k >= 0, ends[np.maximum(k, 0)], np.iinfo(np.int64).min)
    emptied = (last > own.start[j]) & (last <= own.end[j])
    added = np.searchsorted(begins, refilled, "left") - 1 > k
    out: I64 = np.where((i >= 0) & emptied & ~added, own.row[j], -1)
    return out


def _launches(trace: Trace, lane: int) -> tuple[I64, I64]:
    """When the calls of a thread began that launched GPU work, ascending, and when the last work of each ended."""

    def build() -> tuple[I64, I64]:
        calls, ends = links(trace).last_ends(trace)
        mine = lanes_of_rows(trace, calls) == lane
        begins = trace.slices.start_ns[calls[mine]]
        order = np.argsort(begins, kind="stable")
        return begins[order], ends[mine][order]

    return trace.memo(("launches", lane), build)


@dataclass(frozen=True, slots=True)
class HostSlice:
    """What the host thread did in a gap: a slice and its own time (children excluded) inside the gap, ns.

    ``row`` is -1 for time in which no slice was open.
    """

    row: int
    name: str
    paint: Paint
    self_ns: int


def host_activity(trace: Trace, lane: int, start_ns: int, end_ns: int, top: int = 12) -> tuple[HostSlice, ...]:
    """What a thread did in [start, end) of raw ns, by own time, longest first; runs of one slice are one entry."""
    time = thread_time(trace, lane)
    a = max(0, int(np.searchsorted(time.start, start_ns, "right")) - 1)
    b = int(np.searchsorted(time.start, end_ns, "left"))
    starts = time.start[a:b]
    ends = np.append(starts[1:], end_ns)
    own = np.clip(ends, start_ns, end_ns) - np.clip(starts, start_ns, end_ns)
    sums: dict[int, int] = {}
    for row, ns in zip(time.row[a:b], own, strict=True):
        if ns > 0:
            sums[int(row)] = sums.get(int(row), 0) + int(ns)
    missing = end_ns - start_ns - sum(sums.values())
    if missing > 0:
        sums[-1] = sums.get(-1, 0) + missing
    found = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:top]
    s = trace.slices
    return tuple(
        HostSlice(row, trace.name(row) if row >= 0 else "", Paint(int(s.paint[row])) if row >= 0 else Paint.OTHER, ns)
        for row, ns in found
    )
