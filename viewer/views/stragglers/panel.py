"""The Stragglers panel: the verdict, the ranking of ranks with cause and pattern, and the heat map's choices."""

from __future__ import annotations

import numpy as np

from viewer.analyses.collective.as_peers import as_fast_as_peers
from viewer.analyses.collective.causes import Cause, cause_of
from viewer.analyses.collective.lateness import OUTSIDE, SHARE_OF_STEP, Lateness, lateness
from viewer.analyses.collective.rank_bandwidth import slow_links
from viewer.analyses.collective.rank_steps import step_selection
from viewer.base.frames import Jump, TableFrame
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_share, percent, with_minus
from viewer.store.session import Session
from viewer.views.figures import NONE, Cell, shown
from viewer.views.stragglers.frame import StragglersFrame
from viewer.views.stragglers.spans import span_stragglers
from viewer.views.stragglers.words import ESTIMATE, pattern, step_numbers, verdict
from viewer.views.timeline.ticks import unit_for

HEADERS = ("Rank", "Wait caused", "Own", "Inherited", "Straggler", "Cause", "Pattern", "Step if as fast")
HOW = (
    "The rank. A click jumps to the evidence of its cause, else to the step in which it was most late.",
    "Waiting of all other ranks that its own lateness causes in the replay: mean per step. Of several late ranks the "
    "waiting is shared out: what mending one saves, averaged over the orders in which they could be mended (Shapley). "
    "Stragglers come first, then the table is ordered by it. " + ESTIMATE,
    "Its own lateness: how much earlier it would reach the step's gradient reduction (without one, the last shared "
    "operation) with its own time as its peers'. Mean per step, with how far it may be off. " + ESTIMATE,
    "The rest of its lateness: what it would gain if no rank were slow. Less sure than its own: it is what other files "
    "say, too. Mean per step, with how far it may be off. " + ESTIMATE,
    f"yes: own lateness, as it was or with all others as fast as their peers, of at least {percent(SHARE_OF_STEP)} of "
    f"the step (and twice the clock's doubt) in more than half of at least two steps, and its "
    f"median beyond {OUTSIDE:g} times the spread of the peers of its role.",
    "What its late steps take longer than its peers': kernels by name, larger grids or more kernels, idle while the "
    "launch had not begun, data loading, garbage collection. In brackets: how much of its own lateness it explains.",
    "How its late steps lie: persistent (most of them), once (one run, or from a change on), comes and goes (jitter).",
    "The median step less what this rank alone adds: its own lateness (replayed), and after the gradient reduction "
    "what its compute takes longer than its peers'. An estimate; another rank may then be the one that is waited for.",
)
LINK_HEADERS = ("Kind", "Group", "Size", "busbw", "Others", "Waiting")
LINK_HOW = (
    "Kind of operation.",
    "The group of ranks, or the two ranks of a send.",
    "Bytes of one operation.",
    "Median over its operations, bytes × factor ÷ transfer, without waiting.",
    "Median of the other groups (or pairs) of the same kind, number of members and size.",
    "Waiting ÷ (waiting + transfer) of its operations: small, so the link is slow, not a rank late. Of sends – : they "
    "wait for nobody.",
)


def stragglers(session: Session) -> StragglersFrame:
    """The verdict, the ranking and the slow links of a job."""
    if (spans := span_stragglers(session)) is not None:
        return spans
    told = verdict(session)
    found = lateness(session)
    links = _links(session) if len(session.groups) > 1 else None
    tone = "warning" if told.kind == "straggler" else ""
    if found is None or not (~np.isnan(found.own)).any():
        return StragglersFrame(told.text, tone, "", None, (), links)
    table, targets = _ranking(session, found)
    return StragglersFrame(told.text, tone, _what_if(session, found, told.group), table, targets, links)


def _what_if(session: Session, found: Lateness, group: int | None) -> str:
    if group is None or found.step_ns is None:
        return ESTIMATE
    replayed = as_fast_as_peers(session, group)
    if replayed is None:
        return ESTIMATE
    gain = format_share(found.step_ns - replayed, found.step_ns)
    return (
        f"The step takes {format_duration(found.step_ns, 1)} (median, measured); with "
        f"{shown(session.groups[group].label, 40)} as fast as its peers {format_duration(replayed, 1)} "
        f"({gain} less). {ESTIMATE}"
    )


def _ranking(session: Session, found: Lateness) -> tuple[TableFrame, tuple[Selection | None, ...]]:
    rows, keys, targets = [], [], []
    for group in found.ranking():
        i = found.ranks.index(group)
        figures = found.of(group)
        own, inherited, caused = figures if figures is not None else (None, None, None)
        cause = cause_of(session, group)
        late = pattern(found, group)
        replayed = as_fast_as_peers(session, group)
        yes = "yes" if found.straggler[i] else "no"
        label = shown(session.groups[group].label, 40)
        why = (
            f"{cause.code} ({percent(cause.share)})"
            if cause is not None and cause.share
            else (cause.code if cause else NONE)
        )
        words = late.words(step_numbers(session, group))
        errors = found.errors_of(group) or (None, None)
        cells = (
            (label, session.groups[group].rank if session.groups[group].rank is not None else group),
            _short(None if caused is None else max(caused, 0)),
            _unsure(own, errors[0]),
            _unsure(inherited, errors[1]),
            (yes, yes),
            (why, why),
            (words, words),
            _short(replayed),
        )
        rows.append(tuple(c[0] for c in cells))
        keys.append(tuple(c[1] for c in cells))
        targets.append(_target(session, found, group, cause))
    jumps: list[Jump] = [_jump(t) for t in targets]
    return TableFrame(HEADERS, rows, keys, jumps, HOW), tuple(targets)


def _short(ns: int | None) -> Cell:
    return format_duration(ns, 1), ns


def _unsure(ns: int | None, error: int | None) -> Cell:
    """A lateness with how far it may be off, both in one unit."""
    if ns is None or error is None:
        return _short(ns)
    name, unit = unit_for(max(abs(ns), error))
    return f"{with_minus(f'{ns / unit:,.1f}')} ± {error / unit:,.1f} {name}", ns


def _jump(target: Selection | None) -> Jump:
    return None if target is None else target.slice or target.range


def _target(session: Session, found: Lateness, group: int, cause: Cause | None) -> Selection | None:
    where = cause.evidence[0].where if cause is not None and cause.evidence else None
    if isinstance(where, SliceRef):
        return Selection(slice=where, group=group)
    if isinstance(where, TimeRange):
        return Selection(range=where, group=group)
    own = found.own[found.ranks.index(group)]
    return step_selection(session, group, int(np.nanargmax(own))) if (~np.isnan(own)).any() else None


def _links(session: Session) -> TableFrame | None:
    found = slow_links(session)[:50]
    if not found:
        return None
    rows: list[tuple[str, ...]] = []
    keys: list[tuple[object, ...]] = []
    for link in found:
        kind = link.kind.name.lower().replace("_", " ")
        label = shown(link.label, 60)
        rows.append(
            (kind, label, format_bytes(link.bytes), f"{link.busbw_gbps:,.1f} GB/s", f"{link.usual_gbps:,.1f} GB/s",
             NONE if link.wait_share is None else percent(link.wait_share))
        )  # fmt: skip
        keys.append((kind, label, link.bytes, link.busbw_gbps, link.usual_gbps, link.wait_share))
    return TableFrame(LINK_HEADERS, rows, keys, [], LINK_HOW)
