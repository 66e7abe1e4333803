"""A step whose memory stands out from the others."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.memory.places import devices_of, instant
from viewer.analyses.memory.spikes import LEAST_SHARE, OUTLIER, spikes, step_peaks
from viewer.base.units import format_bytes, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per thing that is said of devices."""
    yield from folded(_each(session, cancel))


def _each(session: Session, cancel: CancelToken) -> Iterator[OfDevice]:
    """One finding per device: the largest spike, the others as evidence."""
    for item, device, label in devices_of(session):
        cancel.check()
        found = spikes(session, item, device)
        peaks = step_peaks(session, item, device)
        if not found or peaks is None:
            continue
        top = found[0]
        number = int(peaks.edges.index[top.step])
        told = [
            Evidence(
                f"step {int(peaks.edges.index[s.step])}: {format_bytes(s.peak)}, "
                f"{format_bytes(s.excess)} above the usual",
                instant(session, item, device, s.event),
            )
            for s in found[:5]
        ]
        told += [
            Evidence(f"{format_bytes(size)} more than in a usual step are held by {who} ({category})")
            for size, who, category in top.makers
        ]
        by = f", made at {top.makers[0][1]} ({top.makers[0][2]})" if top.makers else ""
        made = JobFinding(
            f"memory-spike/{label}",
            "memory-spike",
            f"{label}: step {number} peaks {format_bytes(top.excess)} above the others "
            f"({format_bytes(top.peak)} against {format_bytes(top.usual)}){by}",
            "warning",
            None,
            "",
            tuple(told),
            "See what that step did that others do not: a longer batch, an evaluation, a checkpoint or a gathered "
            "tensor; cut the batch by tokens, or free before it.",
            f"Peak of allocated memory per step ({peaks.edges.source}), less a steady drift; a spike is more than "
            f"{OUTLIER:g} robust spreads and {percent(LEAST_SHARE)} above the median of the steps after warm-up.",
        )
        yield OfDevice(label, number, top.excess, made)
