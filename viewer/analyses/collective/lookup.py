"""Which operation a kernel of one trace is a member of, with whom, and why it has no partner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.kinds import POINT_TO_POINT, Kind
from viewer.analyses.collective.matching import everything, matches, nodes
from viewer.analyses.collective.operations import Operations, operations
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Place:
    """A communication kernel: the input, its position in ``operations`` of that input, and its kind."""

    input: int
    at: int
    kind: Kind

    def row(self, session: Session) -> int:
        """Its row of ``slices``."""
        return int(operations(session.inputs[self.input].trace).row[self.at])


def place_of(session: Session, source: int, row: int) -> Place | None:
    """The communication kernel that a row of ``slices`` is; None when it is none (a copy between devices is none)."""
    table = operations(session.inputs[source].trace)
    position = session.inputs[source].trace.memo("operation_rows", lambda: _positions(table))
    at = position.get(row)
    return None if at is None else Place(source, at, Kind(int(table.kind[at])))


def member_of(session: Session, place: Place) -> int | None:
    """Its position among the members of ``matches(session)``; None when no other opened rank shares it."""
    found = session.memo("member_positions", lambda: _members(session))
    if place.input not in found:
        return None
    member = int(found[place.input][place.at])
    return None if member < 0 else member


def operation_at(session: Session, member: int) -> tuple[int, range]:
    """The operation that a member belongs to, and the positions of all its members."""
    offset = matches(session).offset
    op = int(np.searchsorted(offset, member, "right")) - 1
    return op, range(int(offset[op]), int(offset[op + 1]))


def place_at(session: Session, member: int) -> Place:
    """The kernel of a member of ``matches(session)``."""
    found = matches(session)
    source, at = int(found.input[member]), int(found.at[member])
    return Place(source, at, Kind(int(operations(session.inputs[source].trace).kind[at])))


def pair_of(session: Session, place: Place) -> int | None:
    """The index in ``align(session).pairs`` of a send or a receive; None when its other side is not known."""
    found = session.memo("pair_positions", lambda: _pairs(session))
    return found.get((place.input, place.at))


def sides(session: Session, pair: int) -> tuple[Place, Place]:
    """The send and the receive of a pair."""
    every, pairs = everything(session), align(session).pairs

    def place(position: int) -> Place:
        return Place(int(every.input[position]), int(every.at[position]), Kind(int(every.kind[position])))

    return place(int(pairs.send[pair])), place(int(pairs.receive[pair]))


def why_alone(session: Session, place: Place) -> str:
    """Why a kernel without a match has none: half a sentence."""
    item = session.inputs[place.input]
    if len(session.groups) < 2:
        return "only one rank of the job is open"
    if nodes(session)[place.input] < 0:
        return "another file states the same rank for the same time, so it is not known whose operations these are"
    table, found = operations(item.trace), matches(session)
    opened = {g.rank for g in session.groups if g.rank is not None}
    if place.kind in POINT_TO_POINT:
        return _why_unpaired(place, table, opened)
    number = int(found.groups.of_local[place.input][table.group[place.at]])
    if number < 0 and table.comms_id[place.at] == ABSENT:
        return "the trace states neither its group nor a number for it"
    group = found.groups.groups[number] if number >= 0 else None
    if group is not None and group.ranks is not None and not (opened - {item.rank}) & set(group.ranks):
        return "no other rank of its group is open"
    if group is not None and group.ranks is None and len(group.members) < 2:
        return "no other opened rank uses a group of that name and size"
    return (
        "no other opened rank has an operation of that kind and number in this group: it is lost there, outside the "
        "recorded time, or joined with others"
    )


def _why_unpaired(place: Place, table: Operations, opened: set[int]) -> str:
    peer = int(table.peer[place.at])
    if place.kind is Kind.SEND_RECV:
        return "it sends and receives at once, and the trace does not say with whom"
    if peer == ABSENT:
        return "the trace does not state the other side"
    if peer not in opened:
        return f"rank {peer}, its other side, is not open"
    other = "receive" if place.kind is Kind.SEND else "send"
    return f"no {other} of rank {peer} fits it in order, size and time"


def _positions(table: Operations) -> dict[int, int]:
    return {int(row): at for at, row in enumerate(table.row.tolist())}


def _members(session: Session) -> dict[int, I64]:
    found = matches(session)
    out: dict[int, I64] = {}
    for item in session.inputs:
        mine = np.flatnonzero(found.input == item.index)
        if len(mine):
            position = np.full(len(operations(item.trace)), -1, np.int64)
            position[found.at[mine]] = mine
            out[item.index] = position
    return out


def _pairs(session: Session) -> dict[tuple[int, int], int]:
    every, pairs = everything(session), align(session).pairs
    out: dict[tuple[int, int], int] = {}
    for positions in (pairs.send, pairs.receive):
        keys = zip(every.input[positions].tolist(), every.at[positions].tolist(), strict=True)
        out.update({key: i for i, key in enumerate(keys)})
    return out
