"""What an importer hands over: raw columns in file order, before lanes, nesting and sorting."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


@dataclass(slots=True)
class RawSlices:
    """Events with a start and a duration >= 0, in file order; all arrays have one length.

    ``pid`` and ``tid`` are the ids as written: int64, or TEXT_ID | index into strings when they are text or do not fit
    63 bits. ``device`` and ``stream`` come from args; ABSENT when the args do not state them. ``is_async`` marks
    slices from b/e pairs, which may overlap freely.
    """

    start_ns: I64
    dur_ns: I64
    name: I32
    cat: I32
    pid: I64
    tid: I64
    corr: I64
    ext: I64
    device: I64
    stream: I64
    args_off: I64
    args_len: I32
    is_async: NDArray[np.bool_]

    @classmethod
    def filled(cls, start_ns: I64, dur_ns: I64, name: I32, cat: I32, **given: NDArray[np.generic]) -> RawSlices:
        """Columns that are not given are absent (pid, tid: 0)."""
        n = len(start_ns)

        def absent() -> I64:
            return np.full(n, ABSENT, np.int64)

        columns = {
            "pid": np.zeros(n, np.int64),
            "tid": np.zeros(n, np.int64),
            "corr": absent(),
            "ext": absent(),
            "device": absent(),
            "stream": absent(),
            "args_off": absent(),
            "args_len": np.zeros(n, np.int32),
            "is_async": np.zeros(n, np.bool_),
        }
        columns.update(given)
        return cls(start_ns, dur_ns, name, cat, **columns)  # type: ignore[arg-type]


@dataclass(slots=True)
class RawMarks:
    """Instants, in file order: see the ``marks`` table."""

    time_ns: I64
    phase: NDArray[np.uint8]
    pid: I64
    tid: I64
    name: I32
    cat: I32
    args_off: I64
    args_len: I32


@dataclass(slots=True)
class RawFlows:
    """Flow ends, in file order: see the ``flows`` table."""

    time_ns: I64
    phase: NDArray[np.uint8]
    id: I64
    cat: I32
    pid: I64
    tid: I64


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
    process_names: dict[int, str] = field(default_factory=dict)
    """pid (tagged as in RawSlices) -> name."""
    thread_names: dict[tuple[int, int], str] = field(default_factory=dict)
    thread_sort: dict[tuple[int, int], int] = field(default_factory=dict)
