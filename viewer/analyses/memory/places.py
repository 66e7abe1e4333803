"""Where findings about memory point to: instants and steps of a source as ranges of the job's clock."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.analyses.memory.edges import Edges
from viewer.analyses.memory.figures import device_name, source_of
from viewer.base.selection import Selection, TimeRange
from viewer.store.session import Input, Session

AROUND_NS = 500_000
HOST = "cpu"
"""The name of the host among devices."""


def devices_of(session: Session, *, host: bool = False) -> Iterator[tuple[Input, int, str]]:
    """(input, device, "rank 3 (cuda:0)") of every device that a source tells of.

    The host's memory counts where ``host`` asks for it, and for ranks of which no accelerator is told. Of several
    sources of one rank and device only a snapshot is taken: they tell of the same memory.
    """
    accelerated = {
        session.group_of(item.index).id
        for item in session.inputs
        for device in range(len(item.trace.tables["memory_devices"]))
        if device_name(item.trace, device) != HOST
    }
    sure: set[tuple[int, str]] = set()
    for item in session.inputs:
        if source_of(item.trace) == "snapshot":
            group = session.group_of(item.index).id
            names = (device_name(item.trace, d) for d in range(len(item.trace.tables["memory_devices"])))
            sure |= {(group, name) for name in names}
    for item in session.inputs:
        told = source_of(item.trace)
        for device in range(len(item.trace.tables["memory_devices"])):
            name = device_name(item.trace, device)
            group = session.group_of(item.index).id
            if name == HOST and not host and group in accelerated:
                continue
            if told != "snapshot" and (group, name) in sure:
                continue
            yield item, device, f"{item.label} ({name})"


def instant(session: Session, item: Input, device: int, event: int) -> Selection | None:
    """The time of an allocator event; None for sources without times."""
    if not item.trace.tables["memory_devices"].timed[device]:
        return None
    at = item.clock.to_session(int(item.trace.tables["allocator_events"].time_ns[event]))
    return Selection(range=TimeRange(at - AROUND_NS, at + AROUND_NS), group=session.group_of(item.index).id)


def steps_range(session: Session, item: Input, device: int, edges: Edges, first: int, last: int) -> Selection | None:
    """The time of steps [first, last] among those of ``edges``."""
    e = item.trace.tables["allocator_events"]
    if not item.trace.tables["memory_devices"].timed[device] or not len(e):
        return None
    a, b = (int(e.time_ns[min(int(edges.at[k]), len(e) - 1)]) for k in (first, last + 1))
    begin, end = item.clock.to_session(a), item.clock.to_session(b)
    return Selection(range=TimeRange(begin, max(end, begin + 1)), group=session.group_of(item.index).id)
