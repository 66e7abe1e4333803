"""Small traces in memory, written by hand in the test that needs them.

    trace = make_trace(
        call("cudaLaunchKernel", 0, 5, corr=1),
        kernel("gemm", 10, 30, corr=1),
        kernel("ncclDevKernel_AllReduce", 20, 50, stream=20),
    )

Times are ns; ``start`` and ``dur`` follow the name. GPU events get category, device and stream, CPU events a process
and a thread. ``rows_named(trace, name)`` finds rows again (assembly sorts them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from viewer.base.ids import ABSENT
from viewer.store.args import ArgsText
from viewer.store.assemble import assemble
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.raw import RawCollectives, RawCounters, RawFlows, RawSlices, RawTrace
from viewer.store.rules import RuleTable, shipped_rules
from viewer.store.schema import FORMAT_VERSION
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace

PROCESS = 100
THREAD = 1


@dataclass(frozen=True)
class Event:
    """One slice to be; ``collective`` fills a row of the collectives table (its "Collective name").

    ``about`` holds further columns of that row by name, texts as texts.
    """

    name: str
    start: int
    dur: int
    cat: str
    pid: int = PROCESS
    tid: int = THREAD
    corr: int | None = None
    ext: int | None = None
    device: int | None = None
    stream: int | None = None
    collective: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    args: dict[str, Any] = field(default_factory=dict)


def kernel(
    name: str, start: int, dur: int, *, stream: int = 7, device: int = 0, corr: int | None = None, **more: Any
) -> Event:
    """GPU work of category kernel."""
    event = Event(name, start, dur, "kernel", device, stream, corr, device=device, stream=stream)
    return replace(event, **more)


def copy(name: str, start: int, dur: int, **more: Any) -> Event:
    """GPU work of category gpu_memcpy."""
    return kernel(name, start, dur, **{"cat": "gpu_memcpy", **more})


def fill(name: str, start: int, dur: int, **more: Any) -> Event:
    """GPU work of category gpu_memset."""
    return kernel(name, start, dur, **{"cat": "gpu_memset", **more})


def mark(name: str, start: int, dur: int, **more: Any) -> Event:
    """An annotation on the GPU's track: no work."""
    return kernel(name, start, dur, **{"cat": "gpu_user_annotation", **more})


def sync(name: str, start: int, dur: int, **more: Any) -> Event:
    """A wait on the GPU's track: no work."""
    return kernel(name, start, dur, **{"cat": "cuda_sync", **more})


def call(name: str, start: int, dur: int, corr: int | None = None, **more: Any) -> Event:
    """A runtime call."""
    return replace(Event(name, start, dur, "cuda_runtime", corr=corr), **more)


def op(name: str, start: int, dur: int, **more: Any) -> Event:
    """An operator."""
    return replace(Event(name, start, dur, "cpu_op"), **more)


def python(name: str, start: int, dur: int, **more: Any) -> Event:
    """A Python frame."""
    return replace(Event(name, start, dur, "python_function"), **more)


def annotation(name: str, start: int, dur: int, **more: Any) -> Event:
    """A range set by the user or the framework."""
    return replace(Event(name, start, dur, "user_annotation"), **more)


def make_trace(
    *events: Event,
    rules: RuleTable | None = None,
    path: str = "trace.json",
    flows: Sequence[tuple[str, int, str, int, int, int]] = (),
    counters: Sequence[tuple[int, str, str, str, float]] = (),
    **meta: Any,
) -> Trace:
    """A trace in memory. ``meta`` are fields of TraceMeta (rank=3, base_ns=...).

    ``flows`` are ends of arrows: (phase, id, category, time, process, thread); ``counters`` are samples by time:
    (time, process, counter, series, value).
    """
    rules = rules or shipped_rules()
    strings: dict[str, int] = {}
    text = bytearray()

    def code(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def ids(values: Iterable[int | None]) -> Any:
        return np.array([ABSENT if v is None else v for v in values], np.int64)

    offsets, lengths = [], []
    for e in events:
        written = msgspec.json.encode(e.args) if e.args else b""
        offsets.append(len(text) if written else None)
        lengths.append(len(written))
        text += written
    slices = RawSlices.filled(
        np.array([e.start for e in events], np.int64),
        np.array([e.dur for e in events], np.int64),
        np.array([code(e.name) for e in events], np.int32),
        np.array([code(e.cat) for e in events], np.int32),
        pid=np.array([e.pid for e in events], np.int64),
        tid=np.array([e.tid for e in events], np.int64),
        corr=ids(e.corr for e in events),
        ext=ids(e.ext for e in events),
        device=ids(e.device for e in events),
        stream=ids(e.stream for e in events),
        args_off=ids(offsets),
        args_len=np.array(lengths, np.int32),
    )
    described = [i for i, e in enumerate(events) if e.collective]

    def about(column: str) -> Any:
        return ids(events[i].about.get(column) for i in described)

    def text_about(column: str) -> Any:
        values = [events[i].about.get(column) for i in described]
        return np.array([-1 if v is None else code(v) for v in values], np.int32)

    numbers = ("in_elems", "out_elems", "group_size", "seq", "comms_id", "src", "dst", "first_rank", "rank_stride")
    collectives = RawCollectives(
        slice=np.array(described, np.int64),
        kind=np.array([code(events[i].collective) for i in described], np.int32),
        **{name: about(name) for name in numbers},
        **{name: text_about(name) for name in ("dtype", "group", "group_desc", "group_ranks")},
    )
    ends = RawFlows.filled(
        time_ns=np.array([f[3] for f in flows], np.int64),
        phase=np.array([ord(f[0]) for f in flows], np.uint8),
        ids=np.array([f[1] for f in flows], np.int64),
        cat=np.array([code(f[2]) for f in flows], np.int32),
        pid=np.array([f[4] for f in flows], np.int64),
        tid=np.array([f[5] for f in flows], np.int64),
    )
    samples = RawCounters(
        time_ns=np.array([c[0] for c in counters], np.int64),
        pid=np.array([int(c[1]) for c in counters], np.int64),
        name=np.array([code(c[2]) for c in counters], np.int32),
        series=np.array([code(c[3]) for c in counters], np.int32),
        value=np.array([c[4] for c in counters], np.float64),
    )
    raw = RawTrace(strings=[], slices=slices, collectives=collectives, flows=ends if flows else None)
    raw.counters = samples if counters else None
    raw.strings.extend(strings)
    gpu = [e for e in events if e.cat in ("kernel", "gpu_memcpy", "gpu_memset")]
    facts: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "format": "kineto",
        "source": SourceStamp(path, len(text), 0, ""),
        "rules_hash": rules.hash,
        "events": len(events),
        "first_ns": min((e.start for e in events), default=None),
        "last_ns": max((e.start + e.dur for e in events), default=None),
        "gpu_first_ns": min((e.start for e in gpu), default=None),
        "gpu_last_ns": max((e.start + e.dur for e in gpu), default=None),
    }
    return Trace.in_memory(TraceMeta(**{**facts, **meta}), assemble(raw, rules), ArgsText.of_bytes(bytes(text)))


def make_session(*traces: Trace, align: str = "auto", rules: RuleTable | None = None) -> Session:
    """A session over traces in the order given."""
    return build_session([Opened(Path(t.meta.source.path), t) for t in traces], rules, align)


def rows_named(trace: Trace, name: str) -> list[int]:
    """Rows of the slices of that name, by start."""
    code = trace.strings.to_pylist().index(name)
    rows = np.flatnonzero(trace.slices.name == code)
    return [int(r) for r in rows[np.argsort(trace.slices.start_ns[rows], kind="stable")]]


def row_named(trace: Trace, name: str) -> int:
    """The row of the only slice of that name."""
    (row,) = rows_named(trace, name)
    return row
