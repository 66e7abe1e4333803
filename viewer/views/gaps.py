"""The Gaps panel: idle time of the GPUs by cause, and the longest gaps with what each of them is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.gap_list import IdleGap
from viewer.analyses.idleness.profile import Idleness, idleness
from viewer.analyses.idleness.sites import site_of
from viewer.analyses.steps import step_table
from viewer.base.frames import BarFrame, TableFrame
from viewer.base.ids import ABSENT
from viewer.base.selection import GapRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session
from viewer.views.figures import NONE, TableMaker, device_name, dur, num, pct, share, shown, time_cell, word
from viewer.views.idle_words import words_of

MOST_ROWS: Final = 500
NAMED: Final = 3
"""Causes of one gap that are told in its row."""
WORTH_TELLING: Final = 0.02
"""Parts below this share of a gap are not told in its row."""
HUES: Final = 8
"""Causes with a colour of their own; the smaller ones share the hatching of idle time."""
NAME_LIMIT: Final = 300
EVERY_CAUSE: Final = (
    "Each gap is cut where its cause changes: what the launching thread was at until it launched the next work, the "
    "launch itself, or what queued work waited for. The parts add up to the idle time exactly. Choose a cause to read "
    "what it means; a gap leads to its place."
)


@dataclass(frozen=True, eq=False)
class GapsFrame:
    """What the panel shows.

    ``causes`` has one row per cause, largest first, ``names`` the causes of its rows. ``note`` explains the chosen one.
    """

    sentence: str
    bar: BarFrame | None = None
    causes: TableFrame | None = None
    names: tuple[str, ...] = ()
    gaps: TableFrame | None = None
    note: str = ""


def gaps_frame(
    session: Session, group: int | None, cause: str | None, least_ns: int, cancel: CancelToken | None = None
) -> GapsFrame:
    """The frame of the panel.

    Args:
        session: the job.
        group: the rank (RankGroup id) that is looked at; None for all.
        cause: only gaps with time of this cause; None for all.
        least_ns: only gaps of at least this length.
        cancel: asked between files.

    Raises:
        Cancelled: on request.
    """
    found = list(devices_of(session, group, cancel or CancelToken()))
    total = sum(idle.book.idle_ns for _, idle in found)
    if not found:
        return GapsFrame("There is no GPU work, so there are no gaps.")
    if not total:
        return GapsFrame("The GPU is never idle between its first and its last work.")
    sums: dict[str, int] = {}
    counts: dict[str, int] = {}
    for _, idle in found:
        for name, ns in idle.book.sums.items():
            sums[name] = sums.get(name, 0) + ns
            counts[name] = counts.get(name, 0) + idle.book.counts[name]
    order = sorted((name for name in sums if sums[name]), key=lambda name: -sums[name])
    whole = sum(idle.book.count for _, idle in found)
    gaps, matching = _list(session, found, cause, least_ns)
    return GapsFrame(
        sentence=_sentence(session, found, total, whole, matching, cause, least_ns, order),
        bar=_bar(order, sums, total),
        causes=_causes(order, sums, counts, total),
        names=tuple(order),
        gaps=gaps,
        note=words_of(cause).meaning if cause is not None else EVERY_CAUSE,
    )


def devices_of(session: Session, group: int | None, cancel: CancelToken) -> Iterator[tuple[Input, Idleness]]:
    """The idle time of each device of a rank (RankGroup id, None for all). Raises Cancelled."""
    for item in session.inputs:
        if group is not None and session.group_of(item.index).id != group:
            continue
        for device in gpu_work(item.trace).devices:
            cancel.check()
            found = idleness(item.trace, device)
            if found is not None:
                yield item, found


def _sentence(
    session: Session,
    found: list[tuple[Input, Idleness]],
    total: int,
    whole: int,
    matching: int,
    cause: str | None,
    least_ns: int,
    order: list[str],
) -> str:
    ranks = {session.group_of(item.index).id for item, _ in found}
    who = shown(session.groups[next(iter(ranks))].label, 60) if len(ranks) == 1 else f"{len(ranks)} ranks"
    largest = words_of(order[0]).label
    text = f"{who}: {format_duration(total, 1)} idle in {whole:,} gaps, most of it “{largest}”."
    if cause is not None or least_ns:
        what = f" with “{words_of(cause).label}”" if cause is not None else ""
        length = f" of at least {format_duration(least_ns, 0)}" if least_ns else ""
        text += f" Listed: gaps{length}{what}"
    else:
        text += " Listed: the longest"
    return f"{text}, {min(matching, MOST_ROWS):,} of them."


def _bar(order: list[str], sums: dict[str, int], total: int) -> BarFrame:
    parts = [(words_of(name).label, sums[name], None) for name in order[:HUES]]
    hues = list(range(len(parts)))
    rest = sum(sums[name] for name in order[HUES:])
    if rest:
        left = order[HUES:]
        parts.append((words_of(left[0]).label if len(left) == 1 else f"{len(left)} others", rest, None))
        hues.append(-1)
    return BarFrame(tuple(parts), total, tuple(hues))


def _causes(order: list[str], sums: dict[str, int], counts: dict[str, int], total: int) -> TableFrame | None:
    table = TableMaker(
        (
            ("Cause", "Why the GPU was idle. A row shows the gaps with that cause, and what it means."),
            ("Idle", "Length of the parts of gaps with this cause, summed over the devices shown: rank-ns."),
            ("Share", "Of the idle time."),
            ("Gaps", "Gaps with a part of this cause; one with two causes counts for both."),
        )
    )
    for name in order:
        table.add(word(words_of(name).label), dur(sums[name]), pct(sums[name], total), num(counts[name]))
    return table.frame()


def _list(
    session: Session, found: list[tuple[Input, Idleness]], cause: str | None, least_ns: int
) -> tuple[TableFrame | None, int]:
    """The gaps that are asked for, longest first (with a cause: most of it first), and how many are known of them."""
    rows = []
    for item, idle in found:
        for gap in idle.book.gaps:
            size = gap.length_ns if cause is None else gap.ns_of(cause)
            if size and gap.length_ns >= least_ns:
                rows.append((size, item, gap))
    rows.sort(key=lambda row: (-row[0], row[1].index, row[2].start_ns))
    several = len({(item.index, idle.device) for item, idle in found}) > 1
    columns = [
        ("Length", "End − start of the gap: nothing ran on the device in it. A row leads to the gap."),
        (
            "Causes",
            f"Its parts by cause, the {NAMED} largest in the order of their begin, with their share (from "
            f"{percent(WORTH_TELLING)} on).",
        ),
        ("Step", "Number of the step whose work ends the gap; “→” where the work before it is another step's."),
        (
            "Told by",
            "The slice that tells the largest part: the call that drained the queue, the loader, the operator.",
        ),
        ("Where", "The line of Python around that slice where stacks were recorded, else its operator."),
        ("Next work", "The GPU work that ends the gap."),
        ("Start", "Since the first GPU start of the job."),
    ]
    if several:
        columns.insert(2, ("Rank", "Whose device it is."))
    if cause is not None:
        columns.insert(1, (words_of(cause).label.capitalize(), "How much of the gap has the chosen cause."))
    table = TableMaker(columns)
    for size, item, gap in rows[:MOST_ROWS]:
        cells = [dur(gap.length_ns)]
        if cause is not None:
            cells.append(dur(size))
        cells.append(_parts(gap))
        if several:
            cells.append(rank_cell(session, item, gap.device))
        cells += [
            _step(item, gap),
            word(_name(item, gap.culprit_row)),
            word(_where(item, gap)),
            word(_name(item, gap.after_row)),
            time_cell(session, item.clock.to_session(gap.start_ns)),
        ]
        table.add(*cells, jump=gap_target(item, gap))
    return table.frame(), len(rows)


def gap_target(item: Input, gap: IdleGap) -> GapRef:
    """Where a gap lies: on the stream of the work that ends it."""
    to = item.clock.to_session
    return GapRef(item.index, gap.lane, TimeRange(to(gap.start_ns), to(gap.end_ns)))


def _parts(gap: IdleGap) -> tuple[str, str]:
    sums: dict[str, int] = {}
    for part in gap.parts:
        sums[part.cause] = sums.get(part.cause, 0) + part.ns
    largest = sorted(sums, key=lambda name: -sums[name])[:NAMED]
    told = [name for name in sums if name in largest and sums[name] >= WORTH_TELLING * gap.length_ns]
    if len(told) == 1:
        return word(words_of(told[0]).label)
    return word(" · ".join(f"{words_of(n).label} {share(sums[n], gap.length_ns)}" for n in told))


def _name(item: Input, row: int) -> str:
    return shown(item.trace.name(row), NAME_LIMIT) if row >= 0 else NONE


def _where(item: Input, gap: IdleGap) -> str:
    if gap.culprit_row < 0:
        return NONE
    site = site_of(item.trace, gap.culprit_row)
    return shown(site.line, NAME_LIMIT) if site.line else _name(item, site.operator_row)


def _step(item: Input, gap: IdleGap) -> tuple[str, int | None]:
    if gap.step is None:
        return NONE, None
    number = step_table(item.trace).steps[gap.step].index
    return (f"→ {number}" if gap.between else str(number)), number


def rank_cell(session: Session, item: Input, device: int) -> tuple[str, tuple[int, int]]:
    """Whose device it is."""
    group = session.group_of(item.index)
    text = shown(group.label, 60)
    if len(gpu_work(item.trace).devices) > 1 and device != ABSENT:
        text += f", {device_name(item, device)}"
    return text, (group.rank if group.rank is not None else group.id, device)
