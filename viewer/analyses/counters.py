"""Counters of a trace: which there are, their samples in time order, the value at a time and the extremes in between.

A sample holds from its time until the next one of its series. Samples without a finite value say nothing and are left
out; before the first one there is no value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.analyses.idleness.queue_length import queue_devices, queue_lengths
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

BLOCK: Final = 16
"""Samples whose extremes are kept together."""
MOST_TRACKS: Final = 256
"""Counters of a file that get a lane; names are the file's own, so their number is bounded."""
MOST_SERIES: Final = 8
"""Series of one counter that are drawn."""
_BYTES = re.compile(r"\b(bytes?|memory|alloc\w*|reserved)\b", re.IGNORECASE)
_NO_BYTES = re.compile(r"(%|percent|count\b|number|\bnum\b|util|retries|ratio|[kmgt]i?b\b)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one key of a counter: ``time_ns`` int64[n] ascending, raw; ``value`` float64[n], finite; n >= 1.

    ``low`` and ``high`` float64[ceil(n / BLOCK)] are the extremes of each block of samples.
    """

    name: str
    time_ns: I64
    value: F64
    low: F64
    high: F64


@dataclass(frozen=True, slots=True)
class Track:
    """One counter of one process; ``keys`` are the packed (name, series, process) of its series."""

    number: int
    pid: str
    name: str
    series: tuple[str, ...]
    keys: tuple[int, ...]
    more: int
    """Series that are not drawn."""
    queue_of: int | None = None
    """The device whose launch queues it shows; None for a counter of the file."""

    @property
    def unit(self) -> str:
        """``"B"`` where the names speak of bytes, else ""."""
        said = " ".join((self.name, *self.series)).replace("_", " ")
        return "B" if _BYTES.search(said) and not _NO_BYTES.search(said) else ""


def tracks(trace: Trace) -> tuple[Track, ...]:
    """The counters of a trace, by process and name. Finds the distinct ones only; samples are gathered when asked."""
    return trace.memo("counter tracks", lambda: _tracks(trace))


def _keys(trace: Trace) -> tuple[I64, list[str]]:
    """Per sample what series it is of, as one number, and the processes that the lowest 20 bits stand for."""

    def build() -> tuple[I64, list[str]]:
        import pyarrow.compute as pc

        c = trace.counters
        pids = pc.dictionary_encode(pa.array(c.pid) if not isinstance(c.pid, pa.ChunkedArray) else c.pid)
        if isinstance(pids, pa.ChunkedArray):
            pids = pids.combine_chunks()
        codes = pids.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        known = (codes < 1 << 20) & (c.name >= 0) & (c.name < 1 << 21) & (c.series >= 0) & (c.series < 1 << 21)
        key = np.where(known, (c.name.astype(np.int64) << 41) | (c.series.astype(np.int64) << 20) | codes, -1)
        return key, pids.dictionary.to_pylist()

    return trace.memo("counter keys", build)


def _tracks(trace: Trace) -> tuple[Track, ...]:
    queues = queue_devices(trace)
    computed = [Track(-1, "", _queue_name(d, queues), (), (), 0, queue_of=d) for d in queues]
    if not len(trace.counters):
        return tuple(replace(t, number=i) for i, t in enumerate(computed))
    import pyarrow.compute as pc

    key, pids = _keys(trace)
    useful = key[np.isfinite(trace.counters.value) & (key >= 0)]
    found: dict[tuple[str, int], list[int]] = {}
    for one in pc.unique(pa.array(useful)).to_pylist():
        found.setdefault((pids[one & 0xFFFFF], one >> 41), []).append(one)
    out: list[Track] = []
    for pid, name in sorted(found, key=lambda k: (k[0], trace.text(k[1]))):
        keys = sorted(found[pid, name], key=lambda k: trace.text((k >> 20) & 0x1FFFFF))
        kept = tuple(keys[:MOST_SERIES])
        names = tuple(trace.text((k >> 20) & 0x1FFFFF) for k in kept)
        out.append(Track(len(out), pid, trace.text(name), names, kept, len(keys) - len(kept)))
        if len(out) == MOST_TRACKS:
            break
    return (*out, *(replace(t, number=len(out) + i) for i, t in enumerate(computed)))


def _queue_name(device: int, devices: tuple[int, ...]) -> str:
    return "launch queue" if len(devices) == 1 or device == ABSENT else f"launch queue of GPU {device}"


def series(trace: Trace, track: Track) -> tuple[Series, ...]:
    """The samples of a counter, one entry for each of its series. Gathered once."""

    def build() -> tuple[Series, ...]:
        if track.queue_of is not None:
            lengths = queue_lengths(trace, track.queue_of)
            return tuple(_series(name, time, length.astype(np.float64)) for name, time, length in lengths)
        c = trace.counters
        key, _ = _keys(trace)
        out = []
        for name, one in zip(track.series, track.keys, strict=True):
            at = np.flatnonzero(key == one)
            time, value = c.time_ns[at], c.value[at].astype(np.float64)
            good = np.isfinite(value)
            time, value = time[good].astype(np.int64), value[good]
            if (time[1:] < time[:-1]).any():
                order = np.argsort(time, kind="stable")
                time, value = time[order], value[order]
            out.append(_series(name, time, value))
        return tuple(out)

    return trace.memo(("counter series", track.number), build)


def _series(name: str, time: I64, value: F64) -> Series:
    starts = np.arange(0, len(value), BLOCK)
    return Series(name, time, value, np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts))


def value_at(one: Series, time_ns: int) -> float | None:
    """The value in force at an instant; None before the first sample."""
    at = int(np.searchsorted(one.time_ns, time_ns, "right")) - 1
    return float(one.value[at]) if at >= 0 else None


def extremes(one: Series, first: I64, last: I64) -> tuple[F64, F64, F64]:
    """(smallest, largest, last value) in each of some stretches of time, NaN where there is no value yet.

    Args:
        one: the samples.
        first: int64[n], the first instant of each stretch.
        last: int64[n], the last one, >= first. What is in force at the first instant counts, and every sample inside.
    """
    times = one.time_ns
    a = np.searchsorted(times, first, "right") - 1
    again = np.flatnonzero((a > 0) & (times[a] == first) & (times[np.maximum(a - 1, 0)] == first))
    if len(again):  # several samples at the first instant
        a[again] = np.searchsorted(times, first[again], "left")
    b = np.searchsorted(one.time_ns, last, "right")
    known = b > 0
    low, high, end = (np.full(len(first), np.nan) for _ in range(3))
    a, b = np.maximum(a[known], 0), b[known]
    low[known] = _reduced(np.minimum, one.value, one.low, a, b)
    high[known] = _reduced(np.maximum, one.value, one.high, a, b)
    end[known] = one.value[b - 1]
    return low, high, end


def _reduced(reduce: Any, values: F64, blocks: F64, a: I64, b: I64) -> F64:
    """``reduce`` over values[a:b] of each pair, b > a, by whole blocks where the stretch has some."""
    ahead, behind = -(-a // BLOCK), b // BLOCK
    whole = behind > ahead
    out = _few(reduce, values, a, np.where(whole, np.maximum(ahead * BLOCK, a + 1), b))
    if whole.any():
        middle = _many(reduce, blocks, ahead[whole], behind[whole])
        tail = _few(reduce, values, np.minimum(behind * BLOCK, b - 1)[whole], b[whole])
        out[whole] = reduce(out[whole], reduce(middle, tail))
    return out


def _few(reduce: Any, values: F64, a: I64, b: I64) -> F64:
    """Stretches of fewer than two blocks."""
    most = int((b - a).max(initial=1))
    at = np.minimum(a[:, None] + np.arange(most), b[:, None] - 1)
    out: F64 = reduce.reduce(values[at], axis=1)
    return out


def _many(reduce: Any, values: F64, a: I64, b: I64) -> F64:
    """Stretches of any length that hardly leave anything out between them."""
    pairs = np.empty(2 * len(a), np.int64)
    pairs[::2], pairs[1::2] = a, np.minimum(b, len(values) - 1)
    out: F64 = reduce.reduceat(values, pairs)[::2]  # a stretch that does not rise is its first value
    at_end = b == len(values)
    out[at_end] = reduce(out[at_end], values[-1])
    return out
