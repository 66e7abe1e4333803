"""What made the last rank of an operation late: its work since the group last met, held against that of its peers.

The time from the end of the last operation that all members shared to the arrival is, on every rank's own clock,
compute + exposed copies + exposed communication + idle. The part in which the last rank exceeds the median of its peers
most is the cause; without peers the largest part. Communication in which it waited itself leads to the rank that it
waited for, and so on to the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median_low
from typing import Final

import numpy as np

from viewer.analyses.attribution import Block, attribute, largest_blocks, largest_gaps
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.lookup import Place, member_of, operation_at, pair_of, place_at, place_of, sides
from viewer.analyses.collective.matching import matches
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.waits import sent_waits, waits
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.host import launch_of
from viewer.base.ids import ABSENT, Paint
from viewer.store.session import Session

MOST_LINKS: Final = 12
MOST_PEERS: Final = 15
"""Peers that a rank is held against; of more, evenly spaced ones."""
MOST_BLOCKS: Final = 40
MOST_MEETINGS: Final = 500
"""Operations of other groups that are looked through for one that all members share."""
PARTS: Final = ("compute", "memory_exposed", "comm_exposed", "idle")


class Cause(StrEnum):
    """What took the time before an arrival."""

    KERNEL = "kernel"
    COPY = "copy"
    WAIT = "wait"
    """It waited for another rank in another operation, or was idle until that rank came to it (then ``gap`` is set)."""
    TRANSFER = "transfer"
    """Communication of its own in which it waited for nobody that is known."""
    HOST = "host"
    """The device was free and the next work was launched late."""
    QUEUED = "queued"
    """The device was idle although the next work had been launched."""
    NOTHING = "nothing"
    """No time lies between."""


@dataclass(frozen=True, slots=True)
class Link:
    """Why the kernel ``place`` began when it did. Raw ns of its file; lengths in ns.

    [``since_ns``, ``arrival_ns``) is what was looked at, ``peers`` how many members it was held against. ``part_ns`` is
    the length of the part of it that the cause belongs to, ``beyond_ns`` how much that exceeds the peers' median (None
    without peers). ``row`` is the slice to look at (the launch call when the host was late, -1 for none), ``piece_ns``
    its length or that of the gap, ``gap`` the gap itself.
    """

    place: Place
    cause: Cause
    since_ns: int
    arrival_ns: int
    peers: int
    part_ns: int
    beyond_ns: int | None
    row: int
    piece_ns: int
    gap: tuple[int, int] | None = None
    call_row: int = -1

    @property
    def span_ns(self) -> int:
        """Length of what was looked at."""
        return self.arrival_ns - self.since_ns


def late_chain(session: Session, member: int) -> list[Link]:
    """The chain of causes for the last member of an operation, from the operation back to the root.

    Args:
        session: the job.
        member: position of the member in ``matches(session)``.
    """
    links: list[Link] = []
    seen: set[tuple[int, int]] = set()
    at: Place | None = place_at(session, member)
    while at is not None and len(links) < MOST_LINKS and (at.input, at.at) not in seen:
        seen.add((at.input, at.at))
        link = explain(session, at)
        links.append(link)
        at = _waited_for(session, link) if link.cause is Cause.WAIT else None
    return links


def explain(session: Session, place: Place) -> Link:
    """Why one communication kernel began when it did."""
    arrival = _start(session, place)
    since, peers = _interval(session, place)
    window = (since, arrival)
    own = _parts(session, place, window)
    if own is None:
        return Link(place, Cause.NOTHING, since, arrival, len(peers), 0, None, -1, 0)
    told = [(p, w, parts) for p, w in peers if (parts := _parts(session, p, w)) is not None]
    beyond = {k: own[k] - median_low([t[2][k] for t in told]) for k in PARTS} if told else None
    part = max(PARTS, key=lambda k: (beyond or own)[k])
    excess = None if beyond is None else beyond[part]
    if part == "idle":
        return _idle(session, place, window, own[part], excess, len(told))
    if part == "comm_exposed":
        return _communication(session, place, window, own[part], excess, len(told))
    paint = Paint.COMPUTE if part == "compute" else Paint.MEMORY
    row, length = _block(session, place, window, paint, [(p, w) for p, w, _ in told])
    cause = Cause.KERNEL if part == "compute" else Cause.COPY
    return Link(place, cause, since, arrival, len(told), own[part], excess, row, length)


def _start(session: Session, place: Place) -> int:
    return int(operations(session.inputs[place.input].trace).start_ns[place.at])


def _device(session: Session, place: Place) -> int:
    trace = session.inputs[place.input].trace
    work = gpu_work(trace)
    return int(work.device[work.position(place.row(session))])


def _parts(session: Session, place: Place, window: tuple[int, int]) -> dict[str, int] | None:
    found = attribute(session.inputs[place.input].trace, _device(session, place), window)
    return None if found is None else {k: int(getattr(found, f"{k}_ns")) for k in PARTS}


def _interval(session: Session, place: Place) -> tuple[int, list[tuple[Place, tuple[int, int]]]]:
    """Since when the work before an arrival counts (raw ns), and the same span of each peer."""
    member = member_of(session, place)
    if member is None:
        return _since_last_like_it(session, place), []
    found = matches(session)
    op, span = operation_at(session, member)
    others = [m for m in span if m != member]
    table = operations(session.inputs[place.input].trace)
    known = _last_meeting(session, member, op, span)
    step = max(1, -(-len(others) // MOST_PEERS))
    if known is None:
        peers = [(place_at(session, m), _whole(session, place_at(session, m))) for m in others[::step]]
        return _whole(session, place)[0], [(p, w) for p, w in peers if w[1] > w[0]]
    at_previous = {int(found.input[m]): m for m in known}
    since = int(table.end_ns[found.at[at_previous[place.input]]])
    peers = []
    for m in others[::step]:
        before_m = at_previous.get(int(found.input[m]))
        if before_m is not None:
            peer = operations(session.inputs[int(found.input[m])].trace)
            window = int(peer.end_ns[found.at[before_m]]), int(peer.start_ns[found.at[m]])
            if window[1] > window[0]:
                peers.append((place_at(session, m), window))
    return since, peers


def _last_meeting(session: Session, member: int, op: int, span: range) -> range | None:
    """The members of the last operation before this one in which all of its members waited for each other."""
    found = matches(session)
    source = int(found.input[member])
    table = operations(session.inputs[source].trace)
    mine = np.flatnonzero(found.input == source)
    ends = table.end_ns[found.at[mine]]
    before = ends <= table.start_ns[found.at[member]]
    mine, ends = mine[before], ends[before]
    ops = np.searchsorted(found.offset, mine, "right") - 1
    meeting = waits(session).waits[ops] & (ops != op)
    mine, ends, ops = mine[meeting], ends[meeting], ops[meeting]
    order = np.argsort(ends, kind="stable")[::-1]
    wanted = {int(found.input[m]) for m in span}
    same = order[found.group[ops[order]] == found.group[op]][:1] if found.group[op] >= 0 else order[:0]
    for i in (*order[:MOST_MEETINGS], *same):
        _, members = operation_at(session, int(mine[i]))
        if wanted <= {int(found.input[m]) for m in members}:
            return members
    return None


def _since_last_like_it(session: Session, place: Place) -> int:
    """End of the previous kernel of the same kind, group and peer on this rank; else its first GPU work."""
    trace = session.inputs[place.input].trace
    table, start = operations(trace), _start(session, place)
    alike = (
        (table.kind == place.kind)
        & (table.group == table.group[place.at])
        & (table.peer == table.peer[place.at])
        & (table.end_ns <= start)
    )
    alike[place.at] = False
    if alike.any():
        return int(table.end_ns[alike].max())
    return _whole(session, place)[0]


def _whole(session: Session, place: Place) -> tuple[int, int]:
    """From the first GPU work of the file to the arrival."""
    first, start = session.inputs[place.input].trace.meta.gpu_first_ns, _start(session, place)
    return (start if first is None else min(first, start)), start


def _block(
    session: Session, place: Place, window: tuple[int, int], paint: Paint, peers: list[tuple[Place, tuple[int, int]]]
) -> tuple[int, int]:
    """The longest run of the kernel whose total exceeds that of the peers most, and its length."""
    own = _blocks(session, place, window, paint)
    if not own:
        return -1, 0
    others = [_blocks(session, p, w, paint) for p, w in peers]

    def beyond(name: str) -> int:
        if not others:
            return own[name].longest_end_ns - own[name].longest_start_ns
        return own[name].sum_ns - median_low([o[name].sum_ns if name in o else 0 for o in others])

    chosen = own[max(own, key=beyond)]
    return chosen.longest_row, chosen.longest_end_ns - chosen.longest_start_ns


def _blocks(session: Session, place: Place, window: tuple[int, int], paint: Paint) -> dict[str, Block]:
    found = largest_blocks(session.inputs[place.input].trace, _device(session, place), window, MOST_BLOCKS)
    return {b.name: b for b in found if b.paint is paint}


def _idle(session: Session, place: Place, window: tuple[int, int], part: int, excess: int | None, peers: int) -> Link:
    trace = session.inputs[place.input].trace
    gaps = largest_gaps(trace, _device(session, place), window, 1)
    if not gaps:
        return Link(place, Cause.NOTHING, *window, peers, part, excess, -1, 0)
    gap = gaps[0]
    row = gap.after_row
    if row >= 0 and 2 * _kept_waiting(session, place.input, row, gap.start_ns, gap.end_ns) > gap.length_ns:
        return Link(place, Cause.WAIT, *window, peers, part, excess, row, gap.length_ns, (gap.start_ns, gap.end_ns))
    launch = launch_of(trace, row) if row >= 0 else None
    host = launch is not None and launch.start_ns > gap.start_ns and not launch.started_before_call
    cause = Cause.HOST if host else Cause.QUEUED
    call = launch.call_row if launch is not None else -1
    return Link(place, cause, *window, peers, part, excess, row, gap.length_ns, (gap.start_ns, gap.end_ns), call)


def _kept_waiting(session: Session, source: int, row: int, start: int, end: int) -> int:
    """How much of a gap before a communication kernel would have been the same had it been launched at once.

    That is the part before its partner arrived, which only aligned clocks tell; 0 where they do not.
    """
    place = place_of(session, source, row)
    other = None if place is None else _partner(session, place)
    if other is None:
        return 0
    item = session.inputs[other.input]
    came = session.inputs[source].clock.to_raw(item.clock.to_session(_start(session, other)))
    return max(0, min(came, end) - start)


def _partner(session: Session, place: Place) -> Place | None:
    """The kernel that one waits for: of the member that arrived last beside it, or the send of a receive."""
    member = member_of(session, place)
    if member is not None:
        told = waits(session)
        op, span = operation_at(session, member)
        if told.unsure[op] == ABSENT or not told.waits[op]:
            return None
        return place_at(session, max((m for m in span if m != member), key=lambda m: int(told.arrival[m])))
    pair = pair_of(session, place)
    if pair is None or place.kind is not Kind.RECV or sent_waits(session).unsure[pair] == ABSENT:
        return None
    return sides(session, pair)[0]


def _communication(
    session: Session, place: Place, window: tuple[int, int], part: int, excess: int | None, peers: int
) -> Link:
    """The communication kernel that covers most of the window: the rank waited in it, or it took long by itself."""
    trace = session.inputs[place.input].trace
    table = operations(trace)
    cut = np.minimum(table.end_ns, window[1]) - np.maximum(table.start_ns, window[0])
    cut[place.at] = 0
    if not len(cut) or int(cut.max()) <= 0:  # a copy between devices is no operation
        blocks = _blocks(session, place, window, Paint.COMM)
        best = max(blocks.values(), key=lambda b: b.sum_ns, default=None)
        row, length = (-1, 0) if best is None else (best.longest_row, best.longest_end_ns - best.longest_start_ns)
        return Link(place, Cause.TRANSFER, *window, peers, part, excess, row, length)
    at = int(np.argmax(cut))
    row, length = int(table.row[at]), int(table.end_ns[at] - table.start_ns[at])
    waited = _wait(session, Place(place.input, at, Kind(int(table.kind[at]))))
    cause = Cause.WAIT if 2 * waited > length else Cause.TRANSFER
    return Link(place, cause, *window, peers, part, excess, row, length)


def _wait(session: Session, place: Place) -> int:
    """How long a communication kernel waited for another rank, 0 where nothing tells."""
    member = member_of(session, place)
    if member is not None:
        told = waits(session)
        op, _ = operation_at(session, member)
        return int(told.wait[member]) if told.waits[op] else 0
    pair = pair_of(session, place)
    if pair is None or place.kind is not Kind.RECV:
        return 0
    wait = int(sent_waits(session).wait[pair])
    return 0 if wait == ABSENT else wait


def last_member(session: Session, op: int) -> int:
    """The member that arrived last: on aligned clocks; else the one of the shortest kernel, which waited for nobody."""
    found, told = matches(session), waits(session)
    if told.unsure[op] != ABSENT:
        return int(told.last[op])
    begin, end = int(found.offset[op]), int(found.offset[op + 1])
    return begin + int(np.argmin(told.wait[begin:end]))


def _waited_for(session: Session, link: Link) -> Place | None:
    """The kernel that a rank waited for in ``link.row``."""
    place = place_of(session, link.place.input, link.row)
    if place is None:
        return None
    if link.gap is not None:
        return _partner(session, place)
    member = member_of(session, place)
    if member is not None:
        op, _ = operation_at(session, member)
        last = last_member(session, op)
        return None if last == member else place_at(session, last)
    pair = pair_of(session, place)
    return None if pair is None else sides(session, pair)[0]
