"""What memory holds, for jobs of which nothing but memory is told: the peak, who holds it, what is free beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.memory_fragmentation import holders
from viewer.analyses.memory.figures import MemoryFigures, memory_figures
from viewer.analyses.memory.growth import growth
from viewer.analyses.memory.layout import layout_after, unusable
from viewer.analyses.memory.parts import categories_at_peak
from viewer.analyses.memory.places import devices_of, instant
from viewer.base.units import format_bytes, format_share
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session

NAMED: Final = 4
"""Categories that are named, the largest first."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per accelerator (per host without one), those that peak at the same told together."""
    if any(item.trace.meta.gpu_first_ns is not None for item in session.inputs):
        return
    yield from folded(_each(session, cancel))


def _each(session: Session, cancel: CancelToken) -> Iterator[OfDevice]:
    for item, device, label in devices_of(session):
        cancel.check()
        found = memory_figures(item.trace)[device]
        peak = found.peak_allocated
        if not peak:
            continue
        parts = categories_at_peak(session, item, device) or {}
        shown = sorted(((size, name) for name, size in parts.items() if size > 0), reverse=True)
        most = f", {format_share(shown[0][0], peak)} of it {_named(shown[0][1])}" if shown else ""
        told = tuple(_evidence(session, item, found, shown))
        made = JobFinding(
            f"memory-overview/{label}",
            "memory-overview",
            f"{label}: memory peaks at {format_bytes(peak)}{most}",
            "info",
            None,
            "",
            told,
            "Open the Memory panel: P goes to the peak, a click on a block says who made it.",
            "The allocator's events and its state at the end; categories by the source, else by the rules of memory.",
        )
        yield OfDevice(label, "", peak, made)


def _named(category: str) -> str:
    return "for what is not known" if category == "unknown" else category


def _evidence(session: Session, item: Input, found: MemoryFigures, shown: list[tuple[int, str]]) -> Iterator[Evidence]:
    trace, device = item.trace, found.number
    peak = found.peak_allocated or 0
    at = None if found.peak_event is None else instant(session, item, device, found.peak_event)
    if shown:
        said = ", ".join(f"{name} {format_bytes(size)}" for size, name in shown[:NAMED])
        yield Evidence(f"held at the peak by category: {said}", at)
    if found.peak_event is not None:
        for size, who in holders(trace, device, found.peak_event):
            yield Evidence(f"held at the peak by {who}: {format_bytes(size)}", at)
    if found.peak_reserved is not None:
        beside = found.peak_reserved - peak
        cached = f", {format_bytes(beside)} more than the peak" if beside > 0 else ""
        yield Evidence(f"reserved from the device at most: {format_bytes(found.peak_reserved)}{cached}")
    layout = layout_after(trace, device, None)
    if layout is not None:
        yield Evidence(
            f"at the end {format_bytes(layout.free)} are free inside segments, {format_bytes(layout.split)} of it "
            f"beside blocks in use, {format_bytes(unusable(trace, device, layout))} of no use to any request; the "
            f"largest hole has {format_bytes(layout.largest)}"
        )
    if found.events:
        yield Evidence("no request failed" if not found.ooms else f"requests that failed: {found.ooms:,}")
        grown = growth(session, item, device)
        if grown is None:
            yield Evidence("whether it grows from step to step cannot be told: the recording shows too few steps")
        elif not grown.growers:
            yield Evidence(f"nothing grows over {grown.edges.count - grown.edges.first} steps ({grown.edges.source})")
