"""What made the last rank late, as rows: each cause one click away, back to the root."""

from __future__ import annotations

from viewer.analyses.collective.chain import Cause, Link, late_chain
from viewer.analyses.collective.operations import operations
from viewer.base.frames import Figure, Jump, Section
from viewer.base.selection import GapRef, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.store.session import Session
from viewer.views.figures import plural, shown

TITLE = "What made the last rank late"
_NAME = 90


def late_section(session: Session, member: int) -> list[Section]:
    """The chain for the last member of an operation."""
    links = late_chain(session, member)
    figures: list[Figure] = []
    for number, link in enumerate(links):
        figures += _figures(session, link, number)
    if not figures:
        return []
    return [Section(TITLE, tuple(figures), note=_root(session, links))]


def _figures(session: Session, link: Link, number: int) -> list[Figure]:
    item = session.inputs[link.place.input]
    label = shown(session.group_of(link.place.input).label, 40)
    told = f"{_what(session, link)}"
    arrives = SliceRef(link.place.input, int(operations(item.trace).row[link.place.at]))
    out = [
        Figure(
            f"{number + 1}. {label}",
            told,
            _how(link),
            jump=_jump(session, link) or arrives,
        )
    ]
    if link.cause is Cause.HOST and link.call_row >= 0:
        out.append(
            Figure(
                "launch call",
                shown(item.trace.name(link.call_row), _NAME),
                "The call that launched the first work after the gap: it began after the device was free.",
                jump=SliceRef(link.place.input, link.call_row),
            )
        )
    return out


def _what(session: Session, link: Link) -> str:
    name = shown(session.inputs[link.place.input].trace.name(link.row), _NAME) if link.row >= 0 else ""
    piece = format_duration(link.piece_ns)
    beyond = _beyond(link)
    idle = f"idle for {piece}{beyond}, for the rank of the next row: {name}"
    texts = {
        Cause.KERNEL: f"kernel of {piece}{beyond}: {name}",
        Cause.COPY: f"copy of {piece}{beyond}: {name}",
        Cause.WAIT: idle if link.gap is not None else f"wait of {piece}{beyond} for the rank of the next row: {name}",
        Cause.TRANSFER: f"communication of {piece}{beyond}: {name}" if name else "communication",
        Cause.HOST: f"host gap of {piece}{beyond}: the device was free, the launch came late: {name}",
        Cause.QUEUED: f"idle for {piece}{beyond} before work that had been launched: {name}",
        Cause.NOTHING: "nothing lies between: it began as soon as the previous operation ended",
    }
    return texts[link.cause]


def _beyond(link: Link) -> str:
    """How much the part exceeds the peers'."""
    if link.beyond_ns is None:
        return ""
    if link.beyond_ns <= 0:
        return " (no more than its peers)"
    return f" ({format_duration(link.beyond_ns)} beyond its peers)"


_PART = {
    Cause.KERNEL: "compute",
    Cause.COPY: "exposed copies",
    Cause.WAIT: "exposed communication",
    Cause.TRANSFER: "exposed communication",
    Cause.HOST: "idle",
    Cause.QUEUED: "idle",
}


def _how(link: Link) -> str:
    if link.cause is Cause.WAIT and link.gap is not None:
        return _why(link) + " An earlier launch would not have helped: the other side came only then, by the clock."
    return _why(link)


def _why(link: Link) -> str:
    if link.cause is Cause.NOTHING:
        return "From the end of the previous operation of these members to this arrival, on the rank's own clock."
    part = f"{_PART[link.cause]} {format_duration(link.part_ns)} of {format_duration(link.span_ns)}"
    span = f"Before its arrival, since these members last met (else since the trace begins), on its own clock: {part}"
    if link.beyond_ns is None:
        return span + ", the largest of compute, copies, communication and idle; there are no peers to compare with."
    against = f"the median of {plural(link.peers, 'other member')}"
    return (
        span + f". Of compute, copies, communication and idle this part exceeds {against} most "
        f"({format_duration(link.beyond_ns)}); shown is the piece of it that does."
    )


def _jump(session: Session, link: Link) -> Jump:
    item = session.inputs[link.place.input]
    if link.gap is not None:
        if link.row < 0:
            return None
        lane = item.trace.lane_of(link.row).id
        return GapRef(item.index, lane, TimeRange(*(item.clock.to_session(t) for t in link.gap)))
    return SliceRef(item.index, link.row) if link.row >= 0 else None


def _root(session: Session, links: list[Link]) -> str:
    if len(links) < 2:
        return ""
    root = shown(session.group_of(links[-1].place.input).label, 40)
    waited = len(links) - 1
    return f"The root is {root}: {plural(waited, 'wait')} {'leads' if waited == 1 else 'lead'} back to it."
