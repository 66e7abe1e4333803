"""Requests for memory that failed: what was held, by whom, and what would have let them fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from viewer.analyses.findings.advice import advice
from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.memory.categories import held_rows
from viewer.analyses.memory.edges import block_keys, key_text
from viewer.analyses.memory.figures import device_blocks
from viewer.analyses.memory.growth import capacity
from viewer.analyses.memory.layout import HOW, FailedRequest, failed_requests, outside
from viewer.analyses.memory.parts import bytes_by_category
from viewer.analyses.memory.places import devices_of, instant
from viewer.analyses.memory.ranges import is_expandable
from viewer.base.units import format_bytes
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

HOLDERS = 4


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """The largest request that failed of each device; devices that fail alike are one finding."""
    yield from folded(_each(session, cancel))


def _each(session: Session, cancel: CancelToken) -> Iterator[OfDevice]:
    for item, device, label in devices_of(session):
        cancel.check()
        failed = failed_requests(item.trace, device)
        if failed:
            largest = max(f.requested for f in failed)
            yield OfDevice(label, "", largest, _finding(session, item, device, label, failed))


def _finding(session: Session, item: Input, device: int, label: str, failed: tuple[FailedRequest, ...]) -> JobFinding:
    top = max(failed, key=lambda f: (f.fragmented, f.requested))
    place = instant(session, item, device, top.event)
    wanted = format_bytes(top.requested)
    told = []
    if top.allocated is not None and top.reserved is not None:
        told.append(Evidence(f"allocated {format_bytes(top.allocated)}, reserved {format_bytes(top.reserved)}", place))
    if top.free is not None:
        told.append(Evidence(f"free on the device outside the allocator: {format_bytes(top.free)}", place))
    others = outside(top, capacity(session, item, device))
    if others is not None:
        text = f"held outside the allocator (context, NCCL, graphs, other processes): {format_bytes(others)}"
        told.append(Evidence(text, place))
    if top.largest is not None and top.split is not None:
        told.append(
            Evidence(
                f"largest free block that it could use {format_bytes(top.largest)} against the request of {wanted}; "
                f"{format_bytes(top.split)} lie in holes of segments that are in use",
                place,
            )
        )
    parts = bytes_by_category(session, item, device, top.event)
    shown = [f"{name} {format_bytes(size)}" for name, size in sorted(parts.items(), key=lambda p: -p[1]) if size > 0]
    if shown:
        told.append(Evidence("held by category: " + ", ".join(shown[:6]), place))
    told += [
        Evidence(f"held by {text}: {format_bytes(size)}", place)
        for size, text in holders(item.trace, device, top.event)
    ]
    count = f" ({len(failed)} requests failed)" if len(failed) > 1 else ""
    if top.fragmented:
        return JobFinding(
            f"memory-fragmentation/{label}",
            "memory-fragmentation",
            f"{label}: a request of {wanted} failed although {format_bytes(top.split or 0)} were free in holes, the "
            f"largest of {format_bytes(top.largest or 0)}{count}",
            "warning",
            None,
            "",
            tuple(told),
            _remedy(is_expandable(item.trace, device)),
            f"An OOM event whose request is larger than every hole of its kind and smaller than all of them. {HOW}.",
        )
    short = f"{format_bytes(top.missing)} short" if top.missing is not None else "by how much cannot be told"
    return JobFinding(
        f"out-of-memory/{label}",
        "out-of-memory",
        f"{label}: a request of {wanted} failed, {short}{count}",
        "warning",
        None,
        "",
        tuple(told) or (Evidence(f"a request of {wanted} failed", place),),
        advice(
            session,
            "memory",
            "Free what is not needed at that instant (see who holds most), or spread it: smaller micro-batches, "
            "recomputed activations, sharded optimizer state and gradients (ZeRO, FSDP).",
        ),
        f"An OOM event; short is the request less what was free on the device and in holes. {HOW}.",
    )


def _remedy(expandable: bool) -> str:
    if expandable:
        return (
            "Its segments are expandable already, and blocks in use keep their pages: make what is held for long first "
            "and what varies last, make sizes repeat (pad batches), or free what lies between the holes."
        )
    return (
        "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or make sizes repeat (pad batches, allocate the "
        "largest first); that much in one piece would have let it fit."
    )


def holders(trace: Trace, device: int, event: int) -> list[tuple[int, str]]:
    """(bytes, who) of the makers that hold most after an event."""
    rows, key = device_blocks(trace, device), block_keys(trace, device)
    size = trace.tables["blocks"].size
    sums: defaultdict[int, int] = defaultdict(int)
    for block in held_rows(trace, device, event).tolist():
        sums[int(key[block - rows.start])] += int(size[block])
    best = sorted(sums.items(), key=lambda s: -s[1])[:HOLDERS]
    return [(total, key_text(trace, k)) for k, total in best]
