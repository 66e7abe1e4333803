"""A reserve that grows from step to step though what is held does not: fragmentation that ends in a failed request."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.memory.places import devices_of, steps_range
from viewer.analyses.memory.ranges import is_expandable
from viewer.analyses.memory.reserve import EXPLAINED, LEAST_STEPS, reserve_growth
from viewer.base.units import format_bytes, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per thing that is said of devices."""
    yield from folded(_each(session, cancel))


def _each(session: Session, cancel: CancelToken) -> Iterator[OfDevice]:
    for item, device, label in devices_of(session):
        cancel.check()
        found = reserve_growth(session, item, device)
        if found is None:
            continue
        first, last = found.edges.first, found.edges.count - 1
        per = format_bytes(round(found.bytes_per_step))
        begin, end = (format_bytes(int(v)) for v in (found.reserved[0], found.reserved[-1]))
        remedy = (
            "Make sizes repeat (pad batches), and make what is held for long before what varies"
            if is_expandable(item.trace, device)
            else "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or make sizes repeat (pad batches)"
        )
        held = found.held_per_step
        made = JobFinding(
            f"reserve-growth/{label}",
            "reserve-growth",
            f"{label}: the reserve grows by {per} per step though what is held does not: new requests do not fit into "
            "the memory that is cached",
            "warning",
            None,
            "",
            (
                Evidence(
                    f"reserved from {begin} to {end} over {last - first + 1} steps; the peak of what is held changes "
                    f"by {'−' if held < 0 else ''}{format_bytes(abs(round(held)))} per step",
                    steps_range(session, item, device, found.edges, first, last),
                ),
            ),
            f"{remedy}; it is no leak: nothing is held longer than before.",
            f"Theil-Sen slope of the largest reserve of each step ({found.edges.source}) after the first {first}, at "
            f"least {LEAST_STEPS}; told where the peak of what is held grows by less than {percent(EXPLAINED)} of it.",
        )
        yield OfDevice(label, "", found.bytes_per_step, made)
