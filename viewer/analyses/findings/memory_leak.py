"""Memory that grows from step to step and is not given back."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.memory.growth import LEAST_STEPS, RISING, growth
from viewer.analyses.memory.places import devices_of, steps_range
from viewer.base.units import format_bytes, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

NAMED = 5


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per thing that is said of devices."""
    yield from folded(_each(session, cancel))


def _each(session: Session, cancel: CancelToken) -> Iterator[OfDevice]:
    """One finding per device that grows."""
    for item, device, label in devices_of(session, host=True):
        cancel.check()
        found = growth(session, item, device)
        if found is None or not found.growers:
            continue
        first, last = found.edges.first, found.edges.count - 1
        place = steps_range(session, item, device, found.edges, first, last)
        top = found.growers[0]
        end = ""
        if found.steps_left is not None:
            end = f"; the device is full after {found.steps_left:,} more steps" if found.steps_left else "; it is full"
        told = [
            Evidence(
                f"{g.text}: {format_bytes(round(g.bytes_per_step))} per step ({g.category}), "
                f"holds {format_bytes(g.held)} at the end",
                place,
            )
            for g in found.growers[:NAMED]
        ]
        rise = int(found.level[-1] - found.level[first])
        told.append(
            Evidence(f"held at the borders of steps: {format_bytes(rise)} more after {last - first + 1} steps", place)
        )
        made = JobFinding(
            f"memory-leak/{label}",
            "memory-leak",
            f"{label}: memory grows by {format_bytes(round(found.bytes_per_step))} per step, most of it made at "
            f"{top.text}{end}",
            "warning",
            None,
            "",
            tuple(told),
            f"Look at who keeps what {top.text} makes: lists of losses or metrics with their graph (use .item() or "
            ".detach()), caches without a bound, hooks; then record a snapshot again.",
            f"Bytes held at the borders of steps ({found.edges.source}), by maker; the Theil-Sen slope over the steps "
            f"after the first {first}, of makers that rise between at least {percent(RISING)} of all pairs of borders; "
            f"at least {LEAST_STEPS} steps.",
        )
        yield OfDevice(label, top.text, found.bytes_per_step, made)
