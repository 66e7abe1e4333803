"""Synchronisations inside the step: a blocking call waits until the queue is empty, and compute starves after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from viewer.analyses.findings.advice import advice
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.idling import (
    SHOWN,
    RankIdle,
    gap_evidence,
    place_of,
    rank_idles,
    saving_of,
    share_of,
    which_ranks,
    worst,
)
from viewer.analyses.findings.ranking import LEAST_SHARE
from viewer.analyses.host_time import SYNC_DRAIN
from viewer.analyses.idleness.starving import Starving, starved_by, starved_intervals, starving
from viewer.base.selection import Selection, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

CAUSES: Final = (SYNC_DRAIN,)
NEXT: Final = (
    "Keep the value on the GPU: inside the step no .item(), .cpu(), .tolist(), nonzero(), print or Python branch on a "
    "tensor; copy with non_blocking=True from and to pinned memory; read losses and counts every some steps. "
    "torch.cuda.set_sync_debug_mode('warn') lists such calls."
)


def _figures(rank: RankIdle) -> tuple[int, int, bool]:
    """(ns per step, the part that is not the recording's, whether the whole device idles then): the larger of both."""
    found = []
    for idle in (False, True):
        total, own = starved_by(rank.item.trace, rank.device, CAUSES, idle=idle)
        if rank.step_ns is None:
            found.append((int(total[-1]), int(own[-1]), idle))
        else:
            found.append((rank.mean(total), rank.mean(own), idle))
    return max(found)


def _gaps(rank: RankIdle) -> Starving | None:
    return starving(rank.item.trace, rank.device, idle=_figures(rank)[2])


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding for all synchronisations inside steps; what lies between steps is the step gap's."""
    every = rank_idles(session, cancel)
    top = worst(every, lambda r: _figures(r)[0])
    if top is None or top[1] < LEAST_SHARE * top[0].whole_ns:
        return
    found, ns = top
    ranks = sorted((r for r in every if _figures(r)[0] >= LEAST_SHARE * r.whole_ns), key=lambda r: -_figures(r)[0])
    places = _places(found)
    if not places:
        return
    main = places.most_common(1)[0][0]
    more = f" and {len(places) - 1} other {'place' if len(places) == 2 else 'places'}" if len(places) > 1 else ""
    saving, how = saving_of(session, ranks, found, ns, lambda r: starved_intervals(r.item.trace, r.device, CAUSES))
    per = "per step" if found.step_ns is not None else "in all"
    _, own, idle = _figures(found)
    yield JobFinding(
        id="sync-drain",
        kind="sync-drain",
        title=f"{main}{more} empt{'y' if more else 'ies'} the queue inside the step{which_ranks(ranks, every)}: "
        f"{'the GPU idles' if idle else 'compute waits'} {format_duration(ns, 1)} {per} after that "
        f"({format_share(ns, found.whole_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=gap_evidence(ranks, CAUSES) or _evidence(found),
        next_step=advice(session, "sync-drain", NEXT),
        how="Time inside steps in which nothing computed, from the end of the work that a blocking call "
        "(synchronisation, synchronous copy) waited for until its thread queued work again, where that work then began "
        "at once (communication may run meanwhile); data loading, collections and compilations in it apart. "
        f"Told from {percent(LEAST_SHARE)} of the step on; sure where that is more than recording stacks and shapes "
        "takes.",
        share=share_of(found, ns, saving),
        overlaps=("idle/sync-drain",) if idle else ("idle/sync-drain", "exposed"),
        confident=own >= LEAST_SHARE * found.whole_ns,
    )


def _places(rank: RankIdle) -> Counter[str]:
    """Where the queue was emptied in steady steps, with how long compute starved after it."""
    out, gaps = Counter[str](), _gaps(rank)
    if gaps is None:
        return out
    by_row = Counter[int]()
    for i in _steady(rank, gaps):
        by_row[int(gaps.parts.row[i])] += int(gaps.parts.end[i] - gaps.parts.start[i])
    for row, ns in by_row.items():
        out[place_of(rank, row)] += ns
    return out


def _steady(rank: RankIdle, gaps: Starving) -> list[int]:
    at = gaps.of(CAUSES)
    if len(rank.steady):
        at = at[np.isin(gaps.now[gaps.parts.gap[at]], rank.steady)]
    return [int(i) for i in at]


def _evidence(rank: RankIdle) -> tuple[Evidence, ...]:
    """The longest of a rank's, where communication runs meanwhile: no gap of the device."""
    gaps, out, seen = _gaps(rank), [], set()
    if gaps is None:
        return ()
    parts, to = gaps.parts, rank.item.clock.to_session
    for i in sorted(_steady(rank, gaps), key=lambda i: int(parts.start[i] - parts.end[i])):
        words = place_of(rank, int(parts.row[i]))
        if words not in seen:
            seen.add(words)
            place = TimeRange(to(int(parts.start[i])), to(int(parts.end[i])))
            text = f"{rank.label}: nothing computes for {format_duration(place.length_ns, 1)} after {words}"
            out.append(Evidence(text, Selection(range=place, group=rank.group)))
        if len(out) >= SHOWN:
            break
    return tuple(out)
