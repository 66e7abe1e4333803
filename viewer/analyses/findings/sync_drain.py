"""Synchronisations inside the step: a blocking call waits until the queue is empty, and the device idles after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.idling import (
    gap_evidence,
    gaps_of,
    place_of,
    rank_idles,
    saving_of,
    share_of,
    told_by,
    which_ranks,
    worst,
)
from viewer.analyses.findings.ranking import LEAST_SHARE
from viewer.analyses.host_time import SYNC_DRAIN
from viewer.analyses.idleness.profile import intervals_of
from viewer.base.time import format_duration
from viewer.base.units import format_share
from viewer.base.work import CancelToken
from viewer.store.session import Session

CAUSES: Final = (SYNC_DRAIN,)


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding for all synchronisations inside steps; what lies between steps is the step gap's."""
    every = rank_idles(session, cancel)
    top = worst(every, lambda r: r.inside(CAUSES))
    if top is None or top[1] < LEAST_SHARE * top[0].whole_ns:
        return
    found, ns = top
    ranks = sorted((r for r in every if r.inside(CAUSES) >= LEAST_SHARE * r.whole_ns), key=lambda r: -r.inside(CAUSES))
    gaps = gaps_of(found, CAUSES)
    if not gaps:
        return
    places = Counter[str]()
    for gap in gaps:
        places[place_of(found, told_by(gap, CAUSES))] += gap.ns_of(SYNC_DRAIN)
    main = places.most_common(1)[0][0]
    more = f" and {len(places) - 1} other places" if len(places) > 1 else ""
    saving, how = saving_of(session, ranks, found, ns, lambda r: intervals_of(r.item.trace, r.device, CAUSES))
    per = "per step" if found.step_ns is not None else "in all"
    yield JobFinding(
        id="sync-drain",
        kind="sync-drain",
        title=f"{main}{more} empt{'y' if more else 'ies'} the queue inside the step{which_ranks(ranks, every)}: the "
        "GPU "
        f"idles {format_duration(ns, 1)} {per} after that ({format_share(ns, found.whole_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=gap_evidence(ranks, CAUSES),
        next_step="Keep the value on the GPU: no .item(), .cpu(), print or Python branch on a tensor inside the step; "
        "copy with non_blocking=True from pinned memory, and read losses or counts every some steps, after the step.",
        how="Idle time inside steps whose gap began while a blocking call (synchronisation, synchronous copy) waited, "
        "or "
        "after one had emptied its thread's queue, until that thread queued work again; data loading, collections and "
        f"compilations in it apart. Told from {LEAST_SHARE:.0%} of the step on.",
        share=share_of(found, ns, saving),
        overlaps=("idle/sync-drain",),
    )
