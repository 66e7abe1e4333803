"""What an importer hands over: raw columns in file order, before lanes, nesting and sorting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, UNREAD
from viewer.jit.lanes import number_keys

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@dataclass(slots=True)
class Tracks:
    """What many events have in common, said once; all arrays have one length.

    ``pid`` and ``tid`` are the ids as written: int64, or TEXT_ID | index into strings when they are text or do not fit
    63 bits. ``device`` and ``stream`` come from args; ABSENT when the args do not state them. ``cat`` indexes strings,
    -1 without one. ``is_async`` marks slices from b/e pairs, which may overlap freely.
    """

    pid: I64
    tid: I64
    device: I64
    stream: I64
    cat: I32
    is_async: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.pid)

    @classmethod
    def distinct(cls, pid: I64, tid: I64, cat: I32, **given: NDArray[Any]) -> tuple[I32, Tracks]:
        """The track of each event, and all tracks. What is not given is absent (is_async: False)."""
        n = len(pid)
        absent = (("device", ABSENT), ("stream", ABSENT), ("is_async", 0))
        keys = np.empty((n, 6), np.int64)
        columns = [pid, tid, cat, *(given.get(column, otherwise) for column, otherwise in absent)]
        for i, column in enumerate(columns):
            keys[:, i] = column
        track = np.empty(n, np.int32)
        found = keys[number_keys(keys, track)]
        pids, tids, cats, devices, streams, flags = (found[:, i].copy() for i in range(6))
        return track, cls(pids, tids, devices, streams, cats.astype(np.int32), flags != 0)


@dataclass(slots=True)
class RawSlices:
    """Events with a start and a duration >= 0, in file order; all arrays have one length.

    ``track`` indexes ``tracks``; a track need not have a slice.
    """

    start_ns: I64
    dur_ns: I64
    name: I32
    track: I32
    corr: I64
    ext: I64
    args_off: I64
    args_len: I32
    recorded: I32
    tracks: Tracks

    @classmethod
    def filled(cls, start_ns: I64, dur_ns: I64, name: I32, cat: I32, **given: NDArray[np.generic]) -> RawSlices:
        """From a value per slice of everything; columns that are not given are absent (pid, tid: 0)."""
        n = len(start_ns)

        def get(column: str, otherwise: int, kind: type = np.int64) -> NDArray[Any]:
            values = given.pop(column, None)
            return np.full(n, otherwise, kind) if values is None else values

        extra = {k: given.pop(k) for k in ("device", "stream", "is_async") if k in given}
        track, tracks = Tracks.distinct(get("pid", 0), get("tid", 0), cat, **extra)
        corr, ext, args_off = (get(c, ABSENT) for c in ("corr", "ext", "args_off"))
        args_len, recorded = get("args_len", 0, np.int32), get("recorded", UNREAD, np.int32)
        assert not given, f"unknown columns: {sorted(given)}"
        return cls(start_ns, dur_ns, name, track, corr, ext, args_off, args_len, recorded, tracks)

    @property
    def pid(self) -> I64:
        """Of each slice; a copy, as those below."""
        return self.tracks.pid[self.track]

    @property
    def tid(self) -> I64:
        """Of each slice."""
        return self.tracks.tid[self.track]

    @property
    def device(self) -> I64:
        """Of each slice."""
        return self.tracks.device[self.track]

    @property
    def stream(self) -> I64:
        """Of each slice."""
        return self.tracks.stream[self.track]

    @property
    def cat(self) -> I32:
        """Of each slice."""
        return self.tracks.cat[self.track]

    @property
    def is_async(self) -> NDArray[np.bool_]:
        """Of each slice."""
        return self.tracks.is_async[self.track]


@dataclass(slots=True)
class RawMarks:
    """Instants, in file order: see the ``marks`` table. ``track`` indexes ``tracks``."""

    time_ns: I64
    phase: NDArray[np.uint8]
    name: I32
    args_off: I64
    args_len: I32
    track: I32
    tracks: Tracks


@dataclass(slots=True)
class RawFlows:
    """Flow ends, in file order: see the ``flows`` table. ``track`` indexes ``tracks``."""

    time_ns: I64
    phase: NDArray[np.uint8]
    id: I64
    track: I32
    tracks: Tracks

    @classmethod
    def filled(cls, time_ns: I64, phase: NDArray[np.uint8], ids: I64, cat: I32, pid: I64, tid: I64) -> RawFlows:
        """From a value per flow end of everything."""
        return cls(time_ns, phase, ids, *Tracks.distinct(pid=pid, tid=tid, cat=cat))


@dataclass(slots=True)
class RawAllocations:
    """What the args of allocator events among the marks say; ABSENT where they do not. In file order.

    ``mark`` indexes RawMarks (file order). Those that are not here have args that were not read yet.
    """

    mark: I64
    device_type: I64
    device: I64
    address: I64
    size: I64
    allocated: I64
    reserved: I64


@dataclass(slots=True)
class RawCounters:
    """Counter samples, in file order: see the ``counters`` table."""

    time_ns: I64
    pid: I64
    name: I32
    series: I32
    value: NDArray[np.float64]


@dataclass(slots=True)
class RawCollectives:
    """Communication metadata: see the ``collectives`` table; ``slice`` indexes RawSlices (file order)."""

    slice: I64
    kind: I32
    in_elems: I64
    out_elems: I64
    dtype: I32
    group_size: I64
    group: I32
    group_desc: I32
    group_ranks: I32
    seq: I64
    comms_id: I64
    src: I64
    dst: I64
    first_rank: I64
    rank_stride: I64


@dataclass(slots=True)
class RawTrace:
    """All raw columns of one source. ``strings`` holds every name, category and text id."""

    strings: list[str]
    slices: RawSlices
    marks: RawMarks | None = None
    flows: RawFlows | None = None
    counters: RawCounters | None = None
    collectives: RawCollectives | None = None
    allocations: RawAllocations | None = None
    recorded: list[str] = field(default_factory=list)
    """The table ``recorded``."""
    process_names: dict[int, str] = field(default_factory=dict)
    """pid (tagged as in Tracks) -> name."""
    thread_names: dict[tuple[int, int], str] = field(default_factory=dict)
    thread_sort: dict[tuple[int, int], int] = field(default_factory=dict)
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Columns of the tables of memory (MEMORY_TABLES) by name, as viewer.store.memory makes them."""
