"""Operators and calls that are now and then held up for milliseconds: the host is disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.idling import SHOWN, RankIdle, rank_idles, saving_of, share_of, short, which_ranks, worst
from viewer.analyses.findings.ranking import LEAST_SHARE
from viewer.analyses.idleness.jitter import LEAST_NS, LEAST_RUNS, TIMES, Jitter, jitter
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

LEAST_NAMES: Final = 5
"""Fewer names can be the few operators that a step has for the first time."""


def _of(rank: RankIdle) -> Jitter:
    return jitter(rank.item.trace, rank.device)


def _ns(rank: RankIdle) -> int:
    found = _of(rank)
    return rank.mean(found.inside) if rank.step_ns is not None else int((found.end - found.start).sum())


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one finding for all ranks."""
    every = rank_idles(session, cancel)
    top = worst(every, _ns)
    if top is None or top[1] < LEAST_SHARE * top[0].whole_ns:
        return
    found, ns = top
    ranks = sorted((r for r in every if _ns(r) >= LEAST_SHARE * r.whole_ns), key=lambda r: -_ns(r))
    held = _of(found)
    saving, how = saving_of(session, ranks, found, ns, lambda r: (_of(r).start, _of(r).end))
    per = "per step" if found.step_ns is not None else "in all"
    yield JobFinding(
        id="host-jitter",
        kind="host-jitter",
        title=f"The host is held up {_often(held, found)}{which_ranks(ranks, every)}: the GPU idles "
        f"{format_duration(ns, 1)} {per} meanwhile ({format_share(ns, found.whole_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=how,
        evidence=tuple(e for r in ranks[:SHOWN] for e in _evidence(r, 2 if len(ranks) > 1 else SHOWN))[:SHOWN],
        next_step="Find what takes the core away: other processes or ranks on the same cores (pin them: numactl, "
        "taskset, torchrun --numa-binding), too many threads (OMP_NUM_THREADS, num_workers), the container's CPU "
        "limit, a thread that holds Python's interpreter lock (loader, logger, checkpoint writer).",
        how=f"Operators and calls of launching threads whose own time is above {format_duration(LEAST_NS, 1)} and "
        f"{TIMES} times the median of their name (at least {LEAST_RUNS} runs; no synchronisation, allocation, "
        "compilation or loading), and the idle time inside them; in a single step sure only where they have many "
        f"names. Told from {percent(LEAST_SHARE)} of the step on.",
        share=share_of(found, ns, saving),
        overlaps=("idle/host-jitter",),
        confident=found.step_ns is not None and (len(found.steady) > 1 or _anywhere(found)),
    )


def _anywhere(rank: RankIdle) -> bool:
    """Whether slices of many names are held up: what takes the core away strikes whatever runs.

    In one step nothing else tells it from operators that are slow where they run for the first time.
    """
    names = Counter(rank.item.trace.name(int(row)) for row in _of(rank).rows)
    return len(names) >= LEAST_NAMES and max(names.values()) <= names.total() // 2


def _often(held: Jitter, rank: RankIdle) -> str:
    """How often and how long: "34 times in one step, typically for 8.2 ms,"."""
    count, steps = len(held.rows), len(rank.steady)
    often = "once" if count == 1 else f"{count:,} times"
    within = "" if not steps else " in one step" if steps == 1 else f" in {steps:,} steps"
    usual = format_duration(int(np.median(held.own_ns)), 1) if count else ""
    return f"{often}{within}" + (f", {'typically ' if count > 1 else ''}for {usual}" if usual else "")


def _evidence(rank: RankIdle, most: int) -> list[Evidence]:
    held, trace = _of(rank), rank.item.trace
    order = (-held.own_ns).argsort(kind="stable")[:most]
    return [
        Evidence(
            f"{rank.label}: {short(trace.name(int(held.rows[i])))} takes {format_duration(int(held.own_ns[i]), 1)} of "
            f"its own, usually {format_duration(int(held.usual_ns[i]), 1)}",
            SliceRef(rank.item.index, int(held.rows[i])),
        )
        for i in order
    ]
