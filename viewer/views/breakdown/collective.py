"""A clicked communication kernel on all its ranks: who came when, who waited how long, how fast the data went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from viewer.analyses.collective.chain import last_member
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.lookup import member_of, operation_at, pair_of, place_at, place_of, why_alone
from viewer.analyses.collective.matching import matches
from viewer.analyses.collective.waits import Waits, waits
from viewer.base.frames import Section, TableFrame
from viewer.base.ids import ABSENT, Paint
from viewer.base.rank_bars import RankBar, RankBarsFrame
from viewer.base.time import format_duration
from viewer.views.breakdown.collective_figures import Member, arrivals, member, missing, rates, timing, what
from viewer.views.breakdown.collective_pair import TITLE, clock_note, everywhere, pair_section
from viewer.views.breakdown.late_chain import late_section
from viewer.views.figures import TableMaker, absent, dur, word
from viewer.views.subject import Subject

MOST_BARS: Final = 128
"""Bars of the chart; of larger groups those that arrived last, and the selected one."""


def collective_sections(subject: Subject) -> list[Section]:
    """What a communication kernel is on all ranks, or why its partners are not known; [] for other slices."""
    if subject.paint is not Paint.COMM:
        return []
    session = subject.session
    place = place_of(session, subject.item.index, subject.row)
    if place is None:
        return []
    pair = pair_of(session, place)
    if pair is not None:
        return [pair_section(subject, place, pair)]
    at = member_of(session, place)
    if at is None:
        note = f"Its partners are not known: {why_alone(session, place)}. So nothing is said of waiting."
        return [Section(TITLE, note=note)]
    return _operation_sections(subject, at)


def _operation_sections(subject: Subject, at: int) -> list[Section]:
    session = subject.session
    found, told = matches(session), waits(session)
    op, span = operation_at(session, at)
    members = [member(session, place_at(session, m)) for m in span]
    mine = members[at - span.start]
    group = found.groups.groups[found.group[op]] if found.group[op] >= 0 else None
    kind = Kind(int(found.kind[op]))
    waiting = bool(told.waits[op])
    unsure = None if told.unsure[op] == ABSENT else int(told.unsure[op])
    last_at = last_member(session, op)
    last = members[last_at - span.start]
    head = what(found, op, kind, group)
    if waiting:
        head += timing(session, told, at, op, members, mine, last, unsure)
    else:
        head += arrivals(session, members, mine, last, unsure)
        head.append(absent("wait", f"not told: members of a {kind.text} need not wait for each other"))
    head += rates(found, told, op, kind, len(members), complete=bool(told.complete[op]))
    head += missing(session, group, members, int(found.expected()[op]))
    bars = _bars(members, told, span, mine, last, unsure, waiting=waiting)
    first_ns, last_ns = min(m.start for m in members), max(m.end for m in members)
    section = Section(
        TITLE,
        tuple(head),
        table=_table(members, told, span, mine, last, waiting=waiting),
        actions=(
            ("Select on all ranks", everywhere(session, members, first_ns, last_ns)),
            (f"Last to arrive: {last.label}", last.ref),
        ),
        bars=bars,
        note=clock_note(session, unsure, len(members), MOST_BARS),
    )
    sections = [section]
    if waiting:
        sections += late_section(session, last_at)
    return sections


def _bars(
    members: Sequence[Member],
    told: Waits,
    span: range,
    mine: Member,
    last: Member,
    unsure: int | None,
    *,
    waiting: bool,
) -> RankBarsFrame:
    zero = min(m.start for m in members)
    chosen = range(len(members))
    if len(members) > MOST_BARS:
        late = sorted(chosen, key=lambda i: -members[i].start)[:MOST_BARS]
        chosen = sorted({*late, members.index(mine)})  # type: ignore[assignment]
    bars = []
    for i in chosen:
        m = members[i]
        wait = int(told.aligned_wait[span.start + i]) if waiting else 0
        lines = [f"{m.label}: arrives {format_duration(m.start - zero)} after the first"]
        if waiting:
            lines.append(f"waits {format_duration(int(told.wait[span.start + i]))} (own duration − the shortest)")
            lines.append(f"last arrival − own arrival: {format_duration(wait)}")
        lines.append(f"runs {format_duration(m.length)}")
        bars.append(
            RankBar(
                m.label,
                m.start - zero,
                m.end - zero,
                min(wait, m.length),
                "\n".join(lines),
                m.ref,
                "last" if m is last else "",
                m is mine,
            )
        )
    return RankBarsFrame(
        tuple(bars), max(m.end for m in members) - zero, last.start - zero if waiting else None, unsure
    )


def _table(
    members: Sequence[Member],
    told: Waits,
    span: range,
    mine: Member,
    last: Member,
    *,
    waiting: bool,
) -> TableFrame | None:
    zero = min(m.start for m in members)
    table = TableMaker(
        (
            ("Rank", "A row leads to its kernel."),
            ("Arrival", "Own start − the earliest start, on the job's clock."),
            ("Wait", "Own duration − the shortest duration of a member: needs no clock."),
            ("By clock", "Last arrival − own arrival, on the job's clock."),
            ("Duration", "Of the kernel, on its own clock."),
        )
    )
    for i, m in enumerate(members):
        label = m.label + (" (this)" if m is mine else "") + (" last" if m is last else "")
        table.add(
            (label, (i,)),
            dur(m.start - zero),
            dur(int(told.wait[span.start + i])) if waiting else word("–"),
            dur(int(told.aligned_wait[span.start + i])) if waiting else word("–"),
            dur(m.length),
            jump=m.ref,
        )
    return table.frame()
