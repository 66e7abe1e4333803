"""A clicked send or receive with its other side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.lookup import Place, sides
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.waits import sent_waits
from viewer.base.frames import Figure, Section
from viewer.base.ids import ABSENT
from viewer.base.rank_bars import RankBar, RankBarsFrame
from viewer.base.selection import Selection, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_bytes
from viewer.store.session import Session
from viewer.views.breakdown.collective_figures import CLOCKS, Member, member
from viewer.views.figures import absent, exact, plural
from viewer.views.subject import Subject

TITLE: Final = "On all ranks"


def pair_section(subject: Subject, place: Place, pair: int) -> Section:
    """Both sides of a send or receive; ``pair`` is its index in ``align(session).pairs``."""
    session = subject.session
    found = align(session)
    send, receive = sides(session, pair)
    one, other = member(session, send), member(session, receive)
    mine, far = (one, other) if place == send else (other, one)
    told = sent_waits(session)
    wait = int(told.wait[pair])
    unsure = None if told.unsure[pair] == ABSENT else int(told.unsure[pair])
    table = operations(session.inputs[send.input].trace)
    size = int(table.size_bytes[send.at])
    doubt = "" if unsure is None else f" ± {format_duration(unsure, 1)}"
    gap = one.start - other.start
    figures = [
        Figure(
            "operation",
            f"{'send to' if place == send else 'receive from'} {far.label}",
            f"Sends and receives of two ranks are paired in order by group and size, checked on the clocks; "
            f"{plural(len(found.pairs), 'pair')} in this job.",
            jump=far.ref,
        ),
        absent("bytes", "not stated") if size == ABSENT else Figure("bytes", f"{format_bytes(size)} ({size:,} B)", ""),
        Figure(
            "begins",
            f"the {'send' if gap > 0 else 'receive'} begins {format_duration(abs(gap))}{doubt} later",
            "Start of the send − start of the receive, on the job's clock.",
        ),
    ]
    if wait == ABSENT:
        figures.append(absent("wait", "not known: the clocks of the two ranks are not aligned"))
    else:
        transfer = int(told.transfer[pair])
        figures += [
            Figure(
                "wait of the receive",
                f"{exact(wait)}{doubt}",
                "Begin of the send − begin of the receive, not below 0. A send waits for nobody as far as a trace "
                "tells: small ones are buffered.",
            ),
            Figure("transfer", f"{exact(transfer)}{doubt}", "End of the receive − the later of the two begins."),
        ]
        if size != ABSENT and transfer > 0:
            figures.append(
                Figure(
                    "busbw",
                    f"{size / transfer:,.4g} GB/s",
                    "bytes ÷ transfer; the factor of a send is 1. Decimal GB/s, as far as the clocks hold.",
                )
            )
    zero = min(one.start, other.start)
    bars = []
    for m, what in ((one, "sends"), (other, "receives")):
        waited = wait if m is other and wait != ABSENT else 0
        told_text = f"{m.label} {what}\nruns {format_duration(m.length)}"
        bars.append(
            RankBar(
                f"{m.label} {what}",
                m.start - zero,
                m.end - zero,
                min(waited, m.length),
                told_text,
                m.ref,
                "",
                m is mine,
            )
        )
    start, end = zero, max(one.end, other.end)
    return Section(
        TITLE,
        tuple(figures),
        actions=(
            ("Select on both ranks", everywhere(session, (one, other), start, end)),
            (f"Go to {far.label}", far.ref),
        ),
        bars=RankBarsFrame(tuple(bars), end - zero, None, unsure),
        note=clock_note(session, unsure),
    )


def clock_note(session: Session, unsure: int | None, count: int = 2, most: int = 2) -> str:
    """What is to be said of the clocks, and of members that the chart leaves out; "" for nothing."""
    more = "" if count <= most else f" The chart shows {most} of {count:,}: those that arrived last."
    if unsure is None:
        clock = CLOCKS.get(session.clock_method, session.clock_method)
        return (
            f"The clocks of these ranks are not aligned ({clock}): arrivals and the last rank hold as far as they do."
            + more
        )
    return more.strip()


def everywhere(session: Session, members: Sequence[Member], start: int, end: int) -> Selection:
    """The time of the operation on the lanes of all its kernels."""
    from viewer.views.lanes.tree import build_tree

    parts = {(m.ref.input, session.inputs[m.ref.input].trace.lane_of(m.ref.index).id) for m in members}
    keys = frozenset(
        lane.key for group in build_tree(session) for lane in group.lanes if not parts.isdisjoint(lane.parts)
    )
    return Selection(range=TimeRange(start, max(end, start + 1)), lanes=keys)
