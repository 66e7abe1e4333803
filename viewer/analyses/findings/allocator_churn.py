"""Steady steps that ask the driver for memory and give it back again: each such call can wait for the whole device."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.memory.churn import MOSTLY, churn
from viewer.analyses.memory.places import devices_of, steps_range
from viewer.base.units import format_bytes, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per thing that is said of devices."""
    yield from folded(_each(session, cancel))


def _each(session: Session, cancel: CancelToken) -> Iterator[OfDevice]:
    """One finding per device whose steady steps do both."""
    for item, device, label in devices_of(session):
        cancel.check()
        found = churn(session, item, device)
        if found is None or not found.is_churn:
            continue
        steady = found.steady
        calls = median((found.got + found.given)[steady].tolist())
        size = median(found.given_bytes[steady].tolist())
        first, last = found.edges.first, found.edges.count - 1
        place = steps_range(session, item, device, found.edges, first, last)
        made = JobFinding(
            f"allocator-churn/{label}",
            "allocator-churn",
            f"{label}: the allocator gives {format_bytes(round(size))} back to the driver and asks for memory again in "
            f"every step, {calls:g} calls",
            "warning",
            None,
            "",
            (
                Evidence(
                    f"steps after the first {first}: {int(found.got[steady].sum())} requests to the driver and "
                    f"{int(found.given[steady].sum())} returns in {last - first + 1} steps",
                    place,
                ),
            ),
            "Remove torch.cuda.empty_cache() from the loop, and leave the allocator more room (a lower peak, "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True): giving memory back waits for the device.",
            f"Segments that are got and given back per step ({found.edges.source}); churn is both in at least "
            f"{percent(MOSTLY)} of the steps after warm-up, figures are medians.",
        )
        yield OfDevice(label, "", size, made)
