"""Figures of one shared operation: what it is, who came when, how long was waited, how fast the data went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from viewer.analyses.collective.groups import JobGroup
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.lookup import Place
from viewer.analyses.collective.matching import Matches, Method
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.table import bus_factor
from viewer.analyses.collective.waits import Waits
from viewer.base.frames import Figure
from viewer.base.ids import ABSENT
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration, format_exact
from viewer.base.units import format_bytes
from viewer.store.session import Session
from viewer.views.figures import absent, exact, plural, shown
from viewer.views.picture.provenance import rank_words

BY: Final = {
    Method.COMMS_ID: "the Comms Id that the profiler writes",
    Method.SEQUENCE: "group and sequence number",
    Method.ORDER: "group, kind, size and order, checked on the clocks",
}
CLOCKS: Final = {"collectives": "aligned by collectives", "base": "base times", "none": "as written", "given": "given"}


@dataclass(frozen=True, slots=True)
class Member:
    """One rank's kernel of an operation; instants in session time."""

    place: Place
    ref: SliceRef
    label: str
    start: int
    end: int
    length: int


def member(session: Session, place: Place) -> Member:
    """The kernel at a place, on the clock in force."""
    item = session.inputs[place.input]
    table = operations(item.trace)
    start, end = int(table.start_ns[place.at]), int(table.end_ns[place.at])
    return Member(
        place,
        SliceRef(place.input, int(table.row[place.at])),
        shown(session.group_of(place.input).label, 40),
        item.clock.to_session(start),
        item.clock.to_session(end),
        end - start,
    )


def what(found: Matches, op: int, kind: Kind, group: JobGroup | None) -> list[Figure]:
    """What the operation is: kind, group, bytes."""
    by = BY.get(Method(int(found.method[op])), "")
    figures = [Figure("operation", kind.text, f"Kernels of several ranks that are one operation, matched by {by}.")]
    if group is not None:
        figures.append(_group_figure(group))
    size = int(found.size_bytes[op])
    if size != ABSENT:
        figures.append(
            Figure(
                "bytes",
                f"{format_bytes(size)} ({size:,} B)",
                "S of nccl-tests: the whole buffer (the output of an all-gather, else the input), from element count "
                "and type in the trace.",
            )
        )
    else:
        figures.append(absent("bytes", "not stated, or the members disagree"))
    return figures


def _group_figure(group: JobGroup) -> Figure:
    ranks = f"ranks {rank_words(group.ranks)}" if group.ranks else ""
    size = f"{plural(group.size, 'rank')}" if group.size is not None and not ranks else ""
    what = group.purpose or shown(group.description, 60) or (f"group {shown(group.name, 40)}" if group.name else "")
    text = " · ".join(part for part in (what, size, ranks) if part and part != "(no name)")
    how = f"Process group {shown(group.name, 60)}" if group.name else "Process group without a name"
    if group.purpose:
        how += f"; its purpose is told by its {group.purpose_source}"
    if group.ranks_source:
        how += f"; its ranks: {group.ranks_source}"
    return Figure("group", text or "not named", how + ".")


def arrivals(
    session: Session, members: Sequence[Member], mine: Member, last: Member, unsure: int | None
) -> list[Figure]:
    """Who came when. ``mine`` is the selected member, ``unsure`` the doubt of the clocks (None: not aligned)."""
    first = min(members, key=lambda m: m.start)
    doubt = "" if unsure is None else f" ± {format_duration(unsure, 1)}"
    on = f"on the job's clock ({CLOCKS.get(session.clock_method, session.clock_method)})"
    after = (
        "first to arrive" if mine is first else f"{format_duration(mine.start - first.start)}{doubt} after the first"
    )
    starts = max(m.start for m in members) - first.start
    ends = max(m.end for m in members) - min(m.end for m in members)
    figures = [
        Figure(
            "arrival",
            after,
            f"Own start − the earliest start ({first.label}), {on}.",
            jump=None if mine is first else first.ref,
        ),
        Figure(
            "last to arrive",
            last.label
            + (" (this one)" if last is mine else f", {format_duration(last.start - first.start)} after the first"),
            f"The member with the latest start, {on}. It waits for nobody; the others wait for it.",
            jump=None if last is mine else last.ref,
        ),
        Figure("spread of starts", exact(starts), f"Latest − earliest start, {on}."),
        Figure(
            "spread of ends", exact(ends), f"Latest − earliest end, {on}. Members of such an operation end together."
        ),
    ]
    if unsure is not None:
        figures.append(
            Figure(
                "uncertainty",
                f"± {format_duration(unsure, 1)}",
                "Of the clocks of its members, the largest: three times the scatter of matched ends or the standard "
                "error, and 3 us that no trace can tell from a clock. Lateness below it is not reported.",
            )
        )
    return figures


def timing(
    session: Session,
    told: Waits,
    at: int,
    op: int,
    members: Sequence[Member],
    mine: Member,
    last: Member,
    unsure: int | None,
) -> list[Figure]:
    """Arrivals, and waiting and transfer by both estimates. ``at`` is the position of the selected member."""
    complete = bool(told.complete[op])
    least, most = ("", "") if complete else ("at least ", "at most ")
    wait, aligned, transfer = int(told.wait[at]), int(told.aligned_wait[at]), int(told.transfer[op])
    shortest = min(members, key=lambda m: m.length)
    figures = arrivals(session, members, mine, last, unsure)
    figures += [
        Figure(
            "wait",
            f"{least}{exact(wait)}",
            "Own duration − the shortest duration of a member. Needs no clock: the last to arrive waits for nobody, so "
            "its kernel is the shortest." + ("" if complete else " Members are missing: a lower bound."),
        ),
        Figure(
            "wait, by the clock",
            exact(aligned),
            "Last arrival − own arrival on the job's clock: the second estimate.",
        ),
    ]
    if unsure is not None and abs(wait - aligned) > 2 * unsure:
        figures.append(
            Figure(
                "undecided",
                f"the two differ by {format_duration(abs(wait - aligned))}",
                f"More than twice the uncertainty of the clocks (± {format_exact(unsure)}): kernels of this operation "
                "do not end together, or a clock is wrong here. Neither estimate is preferred.",
                tone="warning",
            )
        )
    end = max(m.end for m in members)
    figures += [
        Figure(
            "transfer",
            f"{most}{exact(transfer)}",
            f"The shortest duration of a member ({shortest.label}): from the last arrival on nobody waits any more."
            + ("" if complete else " Members are missing: an upper bound."),
            jump=None if shortest is mine else shortest.ref,
        ),
        Figure("transfer, by the clock", exact(end - last.start), "Latest end − last arrival on the job's clock."),
    ]
    return figures


def rates(found: Matches, told: Waits, op: int, kind: Kind, opened: int, *, complete: bool) -> list[Figure]:
    """Algorithm and bus bandwidth. ``opened`` members stand for the group where its size is not stated."""
    size, transfer = int(found.size_bytes[op]), int(told.transfer[op])
    if size == ABSENT or transfer <= 0 or not told.waits[op]:
        why = "unknown: the size is not stated" if size == ABSENT else "unknown: its transfer time is not known"
        return [absent("bandwidth", why)]
    members = int(found.expected()[op]) or opened
    factor = bus_factor(kind, members)
    bound = "" if complete else "at least "
    figures = [
        Figure(
            "algbw",
            f"{bound}{size / transfer:,.4g} GB/s",
            f"bytes ÷ transfer = {size:,} B ÷ {transfer:,} ns, decimal GB/s.",
        )
    ]
    if factor is None:
        figures.append(absent("busbw", f"not defined for {kind.text}"))
    else:
        figures.append(
            Figure(
                "busbw",
                f"{bound}{factor * size / transfer:,.4g} GB/s",
                f"algbw × {factor:.6g}, the factor of nccl-tests for {kind.text} among {members:,} ranks. In-network "
                "reduction may exceed the wire.",
            )
        )
    return figures


def missing(session: Session, group: JobGroup | None, members: Sequence[Member], expected: int) -> list[Figure]:
    """The members that are not opened, and those in whose trace the operation is not found."""
    opened = {g.rank for g in session.groups if g.rank is not None}
    present = {session.inputs[m.place.input].rank for m in members}
    figures = []
    if group is not None and group.ranks is not None:
        gone = sorted(set(group.ranks) - opened)
        lost = sorted((set(group.ranks) & opened) - present)
        if gone:
            figures.append(
                Figure(
                    "not open",
                    f"{'ranks' if len(gone) > 1 else 'rank'} {rank_words(gone)}",
                    "Members whose files are not opened. Waits are lower, transfers upper bounds without them.",
                    tone="warning",
                )
            )
        if lost:
            figures.append(
                Figure(
                    "without this one",
                    f"{'ranks' if len(lost) > 1 else 'rank'} {rank_words(lost)}",
                    "Opened members in whose trace this operation is not found.",
                    tone="warning",
                )
            )
    elif expected > len(members):
        more = expected - len(members)
        figures.append(
            Figure(
                "not open",
                plural(more, "member"),
                "The group's size − the members that are opened; the trace does not tell which ranks they are.",
                tone="warning",
            )
        )
    return figures
