"""Device memory: its peak against the capacity, and how much of the allocator's reserve lies unused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure, RankValue
from viewer.base.selection import Selection, TimeRange
from viewer.base.units import format_bytes
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

PEAK: Final = 0.85
UNUSED: Final = 0.10
_CUDA: Final = 1
"""Device Type of an accelerator in the records; 0 is the host."""
_LARGEST: Final = 2**50
PEAK_HOW: Final = (
    "largest Total Allocated of the [memory] records of a device / its capacity; what other libraries hold outside the "
    "allocator (NCCL's buffers, the context) is in no record"
)
UNUSED_HOW: Final = (
    "(Total Reserved - Total Allocated) / Total Reserved of the [memory] records, at the instant of the largest "
    "Total Reserved"
)


class _Record(msgspec.Struct):
    kind: Any = msgspec.field(default=None, name="Device Type")
    device: Any = msgspec.field(default=None, name="Device Id")
    allocated: Any = msgspec.field(default=None, name="Total Allocated")
    reserved: Any = msgspec.field(default=None, name="Total Reserved")


@dataclass(frozen=True, slots=True)
class DevicePeak:
    """Peaks of one device of a file; bytes, and the raw ns at which they were.

    ``unused_bytes`` is what was reserved and not allocated at the peak of the reserve, the largest of that where
    several records have it as their reserve.
    """

    device: int
    allocated_bytes: int
    allocated_ns: int
    reserved_bytes: int
    reserved_ns: int
    unused_bytes: int


def device_peaks(trace: Trace) -> tuple[DevicePeak, ...]:
    """Peaks of the devices of a file from its [memory] records; () where it has none. Built once."""
    return trace.memo("memory peaks", lambda: _build(trace))


def _build(trace: Trace) -> tuple[DevicePeak, ...]:
    time, device, allocated, reserved = _records(trace)
    out = []
    for one in np.unique(device):
        mine = np.flatnonzero(device == one)
        top = int(mine[np.argmax(allocated[mine])])
        largest = int(reserved[mine].max())
        at_peak = mine[reserved[mine] == largest]
        # All instants of the peak's plateau have this reserve; the fullest of them is what it was reserved for.
        full = int(at_peak[np.argmax(allocated[at_peak])])
        out.append(
            DevicePeak(
                int(one),
                int(allocated[top]),
                int(time[top]),
                largest,
                int(time[full]),
                largest - int(allocated[full]),
            )
        )
    return tuple(out)


def _records(trace: Trace) -> tuple[I64, I64, I64, I64]:
    """(raw ns, device, allocated, reserved) of the records of accelerators, by time."""
    marks = trace.marks
    codes = [code for code in np.unique(marks.name).tolist() if trace.text(code) == "[memory]"]
    rows = np.flatnonzero(np.isin(marks.name, codes) & (marks.args_len > 0))
    texts = trace.args_text.read_many(marks.args_off[rows].tolist(), marks.args_len[rows].tolist())
    decoder = msgspec.json.Decoder(_Record)
    kept: list[tuple[int, int, int, int]] = []
    for row, text in zip(rows.tolist(), texts, strict=True):
        try:
            record = decoder.decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        told = record.device, record.allocated, record.reserved
        if record.kind == _CUDA and all(type(v) is int and 0 <= v < _LARGEST for v in told):
            kept.append((int(marks.time_ns[row]), *told))
    if not kept:
        empty = np.empty(0, np.int64)
        return empty, empty, empty, empty
    table = np.array(kept, np.int64)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return table[:, 0], table[:, 1], table[:, 2], table[:, 3]


@dataclass(frozen=True, slots=True)
class RankPeak:
    """The fullest device of a rank."""

    group: int
    input: int
    peak: DevicePeak


def rank_peaks(session: Session) -> tuple[RankPeak, ...]:
    """Per rank the device with the largest reserve, over its files; ranks without records are left out."""
    out = []
    for group in session.groups:
        every = [(p, index) for index in group.inputs for p in device_peaks(session.inputs[index].trace)]
        if every:
            peak, index = max(every, key=lambda e: (e[0].reserved_bytes, e[0].allocated_bytes, -e[1]))
            out.append(RankPeak(group.id, index, peak))
    return tuple(out)


NO_RECORDS: Final = "the traces hold no [memory] records of a GPU: profile with profile_memory=True"


def memory_peak(session: Session) -> Figure:
    """Peak of allocated memory / capacity, of the fullest rank."""
    found, capacity = rank_peaks(session), session.card.hardware.memory_bytes
    base = {"high": PEAK, "condition": "any job", "applies": True}
    title = "Memory peak"
    if not found:
        return Figure("memory_peak", title, PEAK_HOW, why=NO_RECORDS, **base)  # type: ignore[arg-type]
    if capacity is None:
        return Figure("memory_peak", title, PEAK_HOW, needs="hardware.memory_bytes", **base)  # type: ignore[arg-type]
    ranks = tuple(RankValue(r.group, session.groups[r.group].label, r.peak.allocated_bytes / capacity) for r in found)
    fullest = max(found, key=lambda r: (r.peak.allocated_bytes, -r.group))
    reserved = max(r.peak.reserved_bytes for r in found)
    label = session.groups[fullest.group].label
    text = f"{label}: {format_bytes(fullest.peak.allocated_bytes)} of {format_bytes(capacity)}"
    return Figure(
        "memory_peak",
        title,
        f"{PEAK_HOW}; of the fullest rank",
        value=max(r.value for r in ranks),
        note=f"reserved at most {format_bytes(reserved)}, {reserved / capacity:.1%} of the capacity",
        ranks=ranks,
        evidence=(Evidence(text, instant_of(session, fullest, fullest.peak.allocated_ns)),),
        **base,  # type: ignore[arg-type]
    )


def unused_reserve(session: Session) -> Figure:
    """What of the reserve is unused at its peak, of the rank with the largest share."""
    found = [r for r in rank_peaks(session) if r.peak.reserved_bytes]
    base = {"high": UNUSED, "condition": "any job", "applies": True}
    title = "Unused reserve"
    if not found:
        return Figure("unused_reserve", title, UNUSED_HOW, why=NO_RECORDS, **base)  # type: ignore[arg-type]
    ranks = tuple(
        RankValue(r.group, session.groups[r.group].label, r.peak.unused_bytes / r.peak.reserved_bytes) for r in found
    )
    at = max(range(len(ranks)), key=lambda i: (ranks[i].value, -i))
    peak = found[at].peak
    text = f"{ranks[at].label}: {format_bytes(peak.unused_bytes)} of {format_bytes(peak.reserved_bytes)} reserved"
    return Figure(
        "unused_reserve",
        title,
        f"{UNUSED_HOW}; of the rank with the largest share",
        value=ranks[at].value,
        note="an indicator of fragmentation, not a proof: memory that is kept for reuse counts too",
        ranks=ranks,
        evidence=(Evidence(text, instant_of(session, found[at], peak.reserved_ns)),),
        **base,  # type: ignore[arg-type]
    )


def instant_of(session: Session, rank: RankPeak, raw_ns: int) -> Selection:
    """An instant of a rank as a range that can be seen."""
    at = session.inputs[rank.input].clock.to_session(raw_ns)
    return Selection(range=TimeRange(at - 500_000, at + 500_000), group=rank.group)
