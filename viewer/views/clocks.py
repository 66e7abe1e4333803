"""The Clocks panel: how the ranks' clocks were brought together, how sure that is, and what it leaves."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.analyses.collective.alignment import Alignment, RankClock, align
from viewer.analyses.collective.matching import matches
from viewer.base.frames import Figure, PanelFrame, Section, TableFrame
from viewer.base.residuals import ResidualFrame
from viewer.base.selection import GroupRef
from viewer.base.time import format_duration
from viewer.base.units import with_minus
from viewer.store.session import Input, Session
from viewer.views.figures import TableMaker, absent, num, plural, shown, since_origin, word
from viewer.views.lanes.missing import missing_ranks, missing_words

METHODS: Final = {
    "collectives": "aligned by collectives",
    "base": "base times",
    "none": "as written",
    "given": "given offsets",
}
MOST_POINTS: Final = 400_000
"""Points of other ranks that the plot shows behind the chosen one; beyond, evenly chosen ones."""
_NAMED: Final = 3


def clock_frame(session: Session, group: int | None = None) -> PanelFrame:
    """All of the panel.

    Args:
        session: the job on its present clocks.
        group: RankGroup id whose residuals are shown in front, None for all ranks alike.
    """
    found = align(session)
    sections = [Section("", _figures(session, found), note=_cannot(session, found))]
    plot = residuals(session, found, group)
    if plot is not None:
        sections.append(
            Section(
                "Ends of shared operations",
                residuals=plot,
                note="How far each end lies from the median end of its operation. One line per column of pixels joins "
                "the least and the greatest value there; the band is the uncertainty. A click on a rank shows its own.",
            )
        )
    sections.append(Section("Ranks", table=_table(session, found)))
    return PanelFrame("Clocks", summary_line(session), sections=tuple(sections))


def summary_line(session: Session) -> str:
    """How the clocks came about, in a few words for the status bar."""
    if not session.inputs:
        return ""
    given = sum(i.clock.given for i in session.inputs)
    more = f", {given} given" if given and session.clock_method != "given" else ""
    if session.clock_method != "collectives":
        return METHODS.get(session.clock_method, session.clock_method) + more
    found = align(session)
    doubt = worst(found)
    unsure = "" if doubt is None else f", ± {format_duration(doubt, 0 if doubt >= 10_000 else 1)}"
    return f"aligned by {plural(found.operations, 'collective')}{unsure}{more}"


def worst(found: Alignment) -> int | None:
    """The largest uncertainty of a connected rank; None when nothing was aligned."""
    told = [c.uncertainty_ns for c in found.clocks if c.connected and c.uncertainty_ns is not None]
    return max(told, default=None)


def _cannot(session: Session, found: Alignment) -> str:
    """What the data cannot say, as sentences; "" when all ranks are aligned."""
    if len(session.groups) < 2:
        return "One rank is open: there is nothing to align."
    if found.reference is None:
        why = next((c.why for c in found.clocks if c.why), "no operation is shared")
        based = any(i.clock.base_ns for i in session.inputs)
        times = "times are base times" if based else "times are as written"
        return f"The traces cannot say how these clocks differ: {why}. Nothing was moved: {times}."
    jumped = " ".join(jump_words(session, c) for c in found.clocks if c.jump is not None)
    apart = [c for c in found.clocks if not c.connected]
    return " ".join(part for part in (jumped, _apart_words(session, apart)) if part)


def jump_words(session: Session, clock: RankClock) -> str:
    """A sentence on a clock that was set in the middle of the recording; "" for one that was not."""
    if clock.jump is None:
        return ""
    at, by = clock.jump
    return (
        f"The clock of {shown(session.groups[clock.group].label, 40)} jumped by {signed(by)} at "
        f"{since_origin(session, at)}: it is aligned up to there, its times behind are off by as much."
    )


def _apart_words(session: Session, apart: list[RankClock]) -> str:
    if not apart:
        return ""
    others = [c for c in apart if matches(session).run[c.group]]
    if others:
        names, more = _names(session, others)
        return (
            f"Files of different runs, by their times: {names}{more} were recorded at another time than the others. "
            "Nothing was moved between runs: open them apart, or give their offsets here if only a clock is off."
        )
    names, more = _names(session, apart)
    return f"Not aligned, left on base times: {names}{more}. The table says why."


def _names(session: Session, apart: list[RankClock]) -> tuple[str, str]:
    names = ", ".join(shown(session.groups[c.group].label, 40) for c in apart[:_NAMED])
    more = f" and {len(apart) - _NAMED:,} more" if len(apart) > _NAMED else ""
    return names, more


def _figures(session: Session, found: Alignment) -> tuple[Figure, ...]:
    method = METHODS.get(session.clock_method, session.clock_method)
    figures = [
        Figure(
            "method",
            method + (f", {plural(given, 'rank')} given" if (given := _given(session)) else ""),
            "Aligned by collectives: members of an all-reduce, all-gather, reduce-scatter or equal all-to-all end at "
            "about the same instant, so differences of their ends are differences of clocks. Base times: each file's "
            "base time is added. As written: nothing is added. A rank's own durations never change.",
        )
    ]
    if session.clock_method == "collectives" and found.reference is not None:
        group = session.groups[found.reference]
        t0 = (
            ""
            if found.t0_ns is None
            else f"; offsets hold at its first GPU start ({since_origin(session, found.t0_ns)})"
        )
        figures.append(
            Figure(
                "reference", shown(group.label, 40), f"The lowest rank that is connected: its clock is the job's{t0}."
            )
        )
        doubt = worst(found)
        if doubt is not None:
            figures.append(
                Figure(
                    "uncertainty",
                    f"± {format_duration(doubt, 1)} at most",
                    "The largest of the ranks'. Per rank: three times the scatter of a match or the standard error, "
                    "whichever is more, + 3 us that no trace can tell from a clock. Lateness below it is not told.",
                )
            )
    rate = found.match_rate
    if rate is None:
        figures.append(absent("match rate", "no operation has a member on another opened rank"))
    else:
        figures.append(
            Figure(
                "match rate",
                f"{100 * rate:.1f} %",
                "Communication kernels that are matched with those of other opened ranks ÷ those whose group or peer "
                "says that another opened rank takes part (sends and receives included).",
                tone="warning" if rate < 0.5 else "",
            )
        )
    missing = missing_words(session)
    if missing:
        figures.append(
            Figure(
                "open",
                missing,
                f"World size as the files state it. Not open: {missing_ranks(session) or 'the others'}.",
            )
        )
    return tuple(figures)


def _given(session: Session) -> int:
    return 0 if session.clock_method == "given" else sum(i.clock.given for i in session.inputs)


def residuals(session: Session, found: Alignment, group: int | None) -> ResidualFrame | None:
    """The plot of residuals; None when nothing was aligned."""
    if found.reference is None or not len(found.residual_time):
        return None
    chosen = found.residual_group == group if group is not None else np.ones(len(found.residual_group), np.bool_)
    label = "all ranks"
    told = worst(found)
    if group is not None and chosen.any():
        label = shown(session.groups[group].label, 40)
        told = found.clocks[group].uncertainty_ns
    else:
        chosen = np.ones(len(found.residual_group), np.bool_)
    keep = np.flatnonzero(chosen)
    others = np.flatnonzero(~chosen)
    step = max(1, -(-len(others) // MOST_POINTS))
    keep = np.concatenate((keep, others[::step]))
    time = found.residual_time[keep]
    return ResidualFrame(
        time - time.min(),
        found.residual_before[keep],
        found.residual_after[keep],
        chosen[keep],
        told,
        label,
        f"before, on base times: {label}",
        f"after, aligned by collectives: {label}",
    )


def signed(ns: int | None) -> str:
    """A signed length: ``"+1.234 ms"``."""
    if ns is None:
        return "–"
    return f"{'+' if ns > 0 else '−' if ns < 0 else ''}{format_duration(abs(ns))}"


def _table(session: Session, found: Alignment) -> TableFrame | None:
    table = TableMaker(
        (
            ("Rank", "A click chooses the rank: its residuals are shown, and its offset can be set."),
            ("Offset", "In force now, at t0: file time + base time = session time + offset + drift × (t − t0)."),
            (
                "Drift",
                "In force now, with how far it may be off (four standard errors): 1 ppm is 1 us per second. Unknown, "
                "and taken as 0, where its operations lie too close together to tell.",
            ),
            (
                "Uncertainty",
                "Three times the spread or the standard error of the offset (that of the drift in it), whichever is "
                "more, + 3 us.",
            ),
            ("State", "Whether the rank is connected with the reference by shared operations, or why not."),
            ("Matches", "Ends of shared operations that were used for this rank."),
            ("Spread", "Scatter of its residuals (robust standard deviation) after the alignment."),
            ("Earliest", "Least offset that causality allows: no member ends before the last one began."),
            ("Latest", "Greatest offset that causality allows."),
        )
    )
    for group in session.groups:
        told = found.clocks[group.id]
        item = session.inputs[group.inputs[0]]
        known = item.clock.known
        table.add(
            (shown(group.label, 40), (group.rank is None, group.rank or 0, group.id)),
            (signed(offset_of(item)) if known else "–", offset_of(item) if known else None),
            (_drift(session, found, told, item), item.clock.drift_ppb),
            (format_duration(told.uncertainty_ns), told.uncertainty_ns),
            word(_state(session, found, told, item)),
            num(told.matches),
            (format_duration(told.spread_ns), told.spread_ns),
            (signed(told.low_ns), told.low_ns),
            (signed(told.high_ns), told.high_ns),
            jump=GroupRef(group.id),
        )
    return table.frame()


def _drift(session: Session, found: Alignment, told: RankClock, item: Input) -> str:
    ppm = with_minus(f"{item.clock.drift_ppb / 1000:+,.2f}") if item.clock.drift_ppb else "0"
    if session.clock_method != "collectives" or item.clock.given or not told.connected or told.group == found.reference:
        return f"{ppm} ppm" if item.clock.drift_ppb else ppm
    return "unknown" if told.drift_error_ppb is None else f"{ppm} ± {told.drift_error_ppb / 1000:,.2f} ppm"


def offset_of(item: Input) -> int:
    """The offset of a file beyond its base time; of one shown as written 0."""
    return item.clock.offset_ns


def _state(session: Session, found: Alignment, told: RankClock, item: Input) -> str:
    if not item.clock.known:
        return "moved to be seen: its file counts time from another origin"
    if item.clock.given:
        return "given"
    if told.group == found.reference:
        return "reference"
    if told.connected:
        steps = ", set step by step" if told.held else ""
        steps += f", jumped by {signed(told.jump[1])}" if told.jump is not None else ""
        return ("connected" if session.clock_method == "collectives" else "connected, not applied") + steps
    return f"not connected: {told.why}" if told.why else "not connected"
