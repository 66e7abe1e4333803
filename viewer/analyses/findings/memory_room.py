"""Device memory that is nearly full, and a reserve that fills it without being used. Neither costs time by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.advice import advice
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.fingerprint.memory_peak import PEAK, PEAK_HOW, UNUSED, UNUSED_HOW, RankPeak, instant_of, rank_peaks
from viewer.analyses.workload import workload
from viewer.base.units import format_bytes, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

NAMED: Final = 4
"""Ranks that are named as evidence, the fullest first."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """A peak near the capacity; an unused reserve, where the device is nearly full because of it."""
    capacity = session.card.hardware.memory_bytes
    if capacity is None:
        return
    cancel.check()
    peaks = rank_peaks(session)
    full = sorted((p for p in peaks if p.peak.allocated_bytes >= PEAK * capacity), key=_allocated)
    # A serving engine fills what is left with its KV cache, and means to.
    if full and workload(session) != "inference":
        yield _full(session, full, capacity)
    wasteful = [p for p in peaks if _is_wasteful(p, capacity)]
    wasteful.sort(key=lambda p: (-(p.peak.unused_bytes or 0), p.group))
    if wasteful:
        yield _wasteful(session, wasteful, capacity)


def _allocated(p: RankPeak) -> tuple[int, int]:
    return -p.peak.allocated_bytes, p.group


def _is_wasteful(p: RankPeak, capacity: int) -> bool:
    """An unused reserve does no harm while there is room beside it."""
    reserved, unused = p.peak.reserved_bytes, p.peak.unused_bytes
    if reserved is None or unused is None:
        return False
    return reserved >= PEAK * capacity and unused >= UNUSED * reserved


def _full(session: Session, full: list[RankPeak], capacity: int) -> JobFinding:
    worst = full[0].peak.allocated_bytes
    return JobFinding(
        "memory-peak",
        "memory-peak",
        f"Memory is {percent(worst / capacity)} full at its peak on {_who(session, full)}: little more and it runs out",
        "warning",
        None,
        "It costs no time until an allocation fails or has to wait for memory to be given back.",
        tuple(
            Evidence(
                f"{session.groups[p.group].label}: {format_bytes(p.peak.allocated_bytes)} of {format_bytes(capacity)}",
                instant_of(session, p, p.peak.allocated_ns),
            )
            for p in full[:NAMED]
        ),
        advice(
            session,
            "memory",
            "See on the Memory panel what is held at the peak; then recompute activations, shard optimizer state and "
            "gradients (ZeRO, FSDP, Megatron --use-distributed-optimizer), or take a smaller micro-batch.",
        ),
        f"{PEAK_HOW}; found from {percent(PEAK)} on.",
    )


def _wasteful(session: Session, found: list[RankPeak], capacity: int) -> JobFinding:
    peak = found[0].peak
    unused, reserved = peak.unused_bytes or 0, peak.reserved_bytes or 1
    return JobFinding(
        "unused-reserve",
        "unused-reserve",
        f"{format_bytes(unused)} ({percent(unused / reserved)}) of the allocator's reserve is unused on "
        f"{_who(session, found)}, while the device is nearly full",
        "warning",
        None,
        "It costs no time until an allocation fails or cached memory has to be given back to the device first.",
        tuple(
            Evidence(
                f"{session.groups[p.group].label}: {format_bytes(p.peak.unused_bytes)} of "
                f"{format_bytes(p.peak.reserved_bytes)} reserved, {format_bytes(capacity)} in all",
                instant_of(session, p, p.peak.reserved_ns),
            )
            for p in found[:NAMED]
        ),
        "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, keep the sizes of tensors the same from step to step, "
        "and call no torch.cuda.empty_cache() inside the step.",
        f"{UNUSED_HOW}; found from {percent(UNUSED)} on, where the reserve is at least {percent(PEAK)} of the "
        "capacity.",
    )


def _who(session: Session, found: list[RankPeak]) -> str:
    label = session.groups[found[0].group].label
    return label if len(found) == 1 else f"{label} and {len(found) - 1} more"
