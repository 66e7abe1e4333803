"""Device memory: its peak against the capacity, and how much of the allocator's reserve lies unused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.findings.base import Evidence
from viewer.analyses.fingerprint.figure import Figure, RankValue
from viewer.analyses.memory.figures import MemoryFigures, device_events, memory_figures, source_of
from viewer.base.selection import Selection, TimeRange
from viewer.base.units import format_bytes, percent
from viewer.store.session import Session
from viewer.store.trace import Trace

PEAK: Final = 0.85
UNUSED: Final = 0.10
HOST: Final = "cpu"
PEAK_HOW: Final = (
    "largest allocation that the allocator's records tell of ([memory] events or a snapshot) / capacity of the device; "
    "what other libraries hold outside the allocator (NCCL's buffers, the context) is in no record"
)
UNUSED_HOW: Final = (
    "(reserved - allocated) / reserved of the allocator's records, at the instant at which most is reserved"
)


@dataclass(frozen=True, slots=True)
class DevicePeak:
    """Peaks of one device of a source; bytes, and the raw ns at which they were (None where times are not told).

    ``unused_bytes`` is what was reserved and not allocated at the peak of the reserve, as ``memory.figures`` has it.
    """

    device: str
    allocated_bytes: int
    allocated_ns: int | None
    reserved_bytes: int | None
    reserved_ns: int | None
    unused_bytes: int | None


def device_peaks(trace: Trace) -> tuple[DevicePeak, ...]:
    """Peaks of the accelerators of a source; () where it tells of none. Built once."""
    return trace.memo("memory peaks", lambda: _build(trace))


def _build(trace: Trace) -> tuple[DevicePeak, ...]:
    return tuple(
        DevicePeak(
            f.device, f.peak_allocated, f.peak_at_ns, f.peak_reserved, _reserved_ns(trace, f), f.unused_reserve_at_peak
        )
        for f in memory_figures(trace)
        if f.peak_allocated is not None and f.device != HOST
    )


def _reserved_ns(trace: Trace, figures: MemoryFigures) -> int | None:
    """When the reserve is at its peak, at the fullest of such instants."""
    if not figures.timed or figures.peak_reserved is None or figures.unused_reserve_at_peak is None:
        return None
    rows, events = device_events(trace, figures.number), trace.tables["allocator_events"]
    at_peak = np.flatnonzero(events.reserved[rows] == figures.peak_reserved)
    if not len(at_peak):
        return None
    return int(events.time_ns[rows][at_peak[np.argmax(events.allocated[rows][at_peak])]])


@dataclass(frozen=True, slots=True)
class RankPeak:
    """The fullest device of a rank (RankGroup id), and the input that tells of it."""

    group: int
    input: int
    peak: DevicePeak


def rank_peaks(session: Session) -> tuple[RankPeak, ...]:
    """Per rank its fullest device, over its sources; ranks of which none tells are left out.

    A snapshot goes before the profiler's totals: both count the same memory, and it knows what was there before.
    """
    out = []
    for group in session.groups:
        every = [
            (source_of(session.inputs[index].trace) == "snapshot", peak.allocated_bytes, -index, peak)
            for index in group.inputs
            for peak in device_peaks(session.inputs[index].trace)
        ]
        if every:
            _, _, index, peak = max(every, key=lambda e: e[:3])
            out.append(RankPeak(group.id, -index, peak))
    return tuple(out)


NO_RECORDS: Final = "the traces hold no memory records of a GPU: profile with profile_memory=True"


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
    reserved = max((r.peak.reserved_bytes or 0 for r in found), default=0)
    label = session.groups[fullest.group].label
    text = f"{label}: {format_bytes(fullest.peak.allocated_bytes)} of {format_bytes(capacity)}"
    return Figure(
        "memory_peak",
        title,
        f"{PEAK_HOW}; of the fullest rank",
        value=max(r.value for r in ranks),
        note=f"reserved at most {format_bytes(reserved)}, {percent(reserved / capacity, 1)} of the capacity"
        if reserved
        else "",
        ranks=ranks,
        evidence=(Evidence(text, instant_of(session, fullest, fullest.peak.allocated_ns)),),
        **base,  # type: ignore[arg-type]
    )


def unused_reserve(session: Session) -> Figure:
    """What of the reserve is unused at its peak, of the rank with the largest share."""
    found = [(r, r.peak.unused_bytes, r.peak.reserved_bytes) for r in rank_peaks(session)]
    told = [(r, unused, reserved) for r, unused, reserved in found if unused is not None and reserved]
    base = {"high": UNUSED, "condition": "any job", "applies": True}
    title = "Unused reserve"
    if not told:
        why = "the memory records do not tell what is reserved" if found else NO_RECORDS
        return Figure("unused_reserve", title, UNUSED_HOW, why=why, **base)  # type: ignore[arg-type]
    ranks = tuple(RankValue(r.group, session.groups[r.group].label, unused / reserved) for r, unused, reserved in told)
    at = max(range(len(ranks)), key=lambda i: (ranks[i].value, -i))
    rank, unused, reserved = told[at]
    text = f"{ranks[at].label}: {format_bytes(unused)} of {format_bytes(reserved)} reserved"
    return Figure(
        "unused_reserve",
        title,
        f"{UNUSED_HOW}; of the rank with the largest share",
        value=ranks[at].value,
        note="an indicator of fragmentation, not a proof: memory that is kept for reuse counts too",
        ranks=ranks,
        evidence=(Evidence(text, instant_of(session, rank, rank.peak.reserved_ns)),),
        **base,  # type: ignore[arg-type]
    )


def instant_of(session: Session, rank: RankPeak, raw_ns: int | None) -> Selection | None:
    """An instant of a rank as a range that can be seen; None without a time."""
    if raw_ns is None:
        return None
    at = session.inputs[rank.input].clock.to_session(raw_ns)
    return Selection(range=TimeRange(at - 500_000, at + 500_000), group=rank.group)
