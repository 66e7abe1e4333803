"""Offsets by hand: what a person types, and what brings an edge of one slice to that of another."""

from __future__ import annotations

from typing import Final, Literal

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.lookup import member_of, operation_at, pair_of, place_at, place_of, sides
from viewer.base.errors import UsageError
from viewer.base.selection import SliceRef
from viewer.base.time import parse_duration
from viewer.store.session import Session
from viewer.views.figures import shown

Edge = Literal["start", "end"]
_BILLION: Final = 1_000_000_000


def typed_offset(text: str) -> int:
    """An offset as typed, ns: ``"12.5us"``, ``"-3ms"``, a bare number is ns. Raises UsageError."""
    return parse_duration(text.strip().replace("\u2212", "-").replace(",", ""))


def edge_of(session: Session, ref: SliceRef, edge: Edge) -> int:
    """Start or end of a slice, session time."""
    item = session.inputs[ref.input]
    start = int(item.trace.slices.start_ns[ref.index])
    raw = start if edge == "start" else start + int(item.trace.slices.dur_ns[ref.index])
    return item.clock.to_session(raw)


def offset_that_aligns(session: Session, ref: SliceRef, anchor: SliceRef, edge: Edge) -> int:
    """The offset of ``ref``'s rank that brings an edge of the slice to the same edge of ``anchor``.

    Raises:
        UsageError: both lie on one rank, whose own times never change against each other.
    """
    if session.group_of(ref.input).id == session.group_of(anchor.input).id:
        raise UsageError("Both slices are of one rank: select a slice of another rank than the anchor's.")
    item = session.inputs[ref.input]
    wanted = edge_of(session, anchor, edge)
    if item.clock.held:  # a step holds one offset: moving all of them alike moves this edge as far
        return item.clock.offset_ns + edge_of(session, ref, edge) - wanted
    start = int(item.trace.slices.start_ns[ref.index])
    raw = start if edge == "start" else start + int(item.trace.slices.dur_ns[ref.index])
    clock = item.clock
    drifted = round(clock.drift_ppb * (wanted - clock.t0_ns) / _BILLION)
    return raw + clock.base_ns - wanted - drifted


def partner_of(session: Session, ref: SliceRef) -> SliceRef:
    """The same operation on the reference rank, else on the lowest other rank that shares it; of a pair the other side.

    Raises:
        UsageError: nothing of another rank belongs to the slice; the sentence says what to do.
    """
    place = place_of(session, ref.input, ref.index)
    help_ = "Take a slice of another rank as the anchor first, then select this one."
    if place is None:
        raise UsageError(f"The selected slice is no communication kernel, so no other rank has the same. {help_}")
    member = member_of(session, place)
    if member is not None:
        _, span = operation_at(session, member)
        reference = align(session).reference
        others = [place_at(session, m) for m in span if m != member]
        others.sort(key=lambda p: session.group_of(p.input).id != reference)
        return SliceRef(others[0].input, others[0].row(session))
    pair = pair_of(session, place)
    if pair is None:
        raise UsageError(f"No other opened rank shares the selected operation. {help_}")
    one, other = sides(session, pair)
    far = other if place == one else one
    return SliceRef(far.input, far.row(session))


def told(session: Session, ref: SliceRef) -> str:
    """A slice in a few words: rank and name."""
    item = session.inputs[ref.input]
    return f"{shown(session.group_of(ref.input).label, 40)} · {shown(item.trace.name(ref.index), 60)}"
