"""All detectors, by the module that holds them; each has a function ``find``. Adding one is one file and one line."""

from __future__ import annotations

import contextlib
import importlib
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from viewer.analyses.ahead import looking_ahead
from viewer.analyses.findings.base import Detector, Evidence, JobFinding
from viewer.analyses.findings.ranking import ranked
from viewer.base.errors import Cancelled
from viewer.base.memo import Memo
from viewer.base.work import CancelToken
from viewer.store.session import Session

log = logging.getLogger(__name__)

DETECTORS: Final[Mapping[str, tuple[str, ...]]] = {
    "caveats": (
        *("several-jobs", "cut-files", "missing-ranks", "clocks-not-aligned", "clocks-not-connected"),
        *("no-steps", "one-step", "warm-up", "start-up", "no-shapes"),
    ),
    "memory_room": ("memory-peak", "unused-reserve"),
    "memory_fragmentation": ("memory-fragmentation", "out-of-memory"),
    "memory_leak": ("memory-leak",),
    "memory_spike": ("memory-spike",),
    "allocator_churn": ("allocator-churn",),
    "uneven_memory": ("uneven-memory",),
    "reserve_growth": ("reserve-growth",),
    "memory_overview": ("memory-overview",),
    "late_rank": ("late-rank",),
    "uneven": ("uneven-ranks", "uneven-stages", "late-stage"),
    "serialised_communication": ("serialised-communication",),
    "small_messages": ("small-messages",),
    "bubble": (
        *("bubble-order", "bubble-uneven", "bubble-late", "bubble-varies", "bubble-inside", "bubble-p2p"),
        *("bubble-host", "bubble", "few-micro-batches", "late-worker"),
    ),
    "slow_link": ("slow-link",),
    "wrong_placement": ("wrong-placement",),
    "extra_collectives": ("extra-collectives", "repeated-sync"),
    "exposed_communication": ("exposed-communication", "below-baseline"),
    "sync_drain": ("sync-drain",),
    "data_loading": ("data-loading",),
    "launch_bound": ("launch-bound", "graph-gaps"),
    "host_bound": ("host-bound",),
    "host_jitter": ("host-jitter",),
    "host_stalls": ("garbage-collection", "recompilation", "allocator-churn"),
    "step_gap": ("step-gap",),
    "profiler_overhead": ("profiler-overhead",),
    "utilisation": ("mfu",),
    "fp32_matmul": ("fp32-matmul",),
    "recompute": ("recompute",),
    "contention": ("contention",),
    "uneven_runs": ("uneven-runs",),
}
"""Names of modules of this folder, the cheap ones first, and the kinds of findings that each makes."""
IDLE: Final = tuple(DETECTORS)[tuple(DETECTORS).index("sync_drain") : tuple(DETECTORS).index("utilisation")]
"""Those that tell of idle time."""


def detector(name: str) -> Detector:
    """The detector of a module of this folder."""
    found: Detector = importlib.import_module(f"viewer.analyses.findings.{name}").find
    return found


def job_findings(
    session: Session, cancel: CancelToken | None = None, on_found: Callable[[JobFinding], None] | None = None
) -> tuple[JobFinding, ...]:
    """All findings of a job in the order of reading (``ranking``); kept on the session.

    A detector that fails takes nothing from the others: the failure is logged, and a finding says what is missing.

    Args:
        session: the job with its card.
        cancel: asked between detectors.
        on_found: told of each at once, while others are looked for.
    """
    token = cancel or CancelToken()
    kept = session.card_memo("findings", Memo)  # a lock of its own: other panels do not wait for a detector
    out: dict[str, JobFinding] = {}
    searches = {name: partial(kept.get, name, partial(_found, session, name, token)) for name in DETECTORS}
    done = all(name in kept for name in DETECTORS)
    with contextlib.nullcontext() if done else looking_ahead(session, token, then=reversed(searches.values())):
        for search in searches.values():
            token.check()
            for found in search():
                if found.id not in out:
                    out[found.id] = found
                    if on_found is not None:
                        on_found(found)
    return tuple(r.finding for r in ranked(out.values()))


def _found(session: Session, name: str, cancel: CancelToken) -> tuple[JobFinding, ...]:
    try:
        return tuple(detector(name)(session, cancel))
    except Cancelled:
        raise
    except Exception as error:
        log.exception("the detector %s failed", name)
        return (failed_finding(name, error),)


def failed_finding(name: str, error: Exception) -> JobFinding:
    """What is said in the place of the findings of a detector that failed."""
    what = name.replace("_", " ")
    return JobFinding(
        id=f"detector-failed/{name}",
        kind="detector-failed",
        title=f"The search for {what} failed: its findings are missing",
        severity="info",
        saving_ns_per_step=None,
        saving_how="",
        evidence=(Evidence(f"{type(error).__name__}: {str(error)[:200] or 'no message'}"),),
        next_step="Send the log to the makers of Rankscope: this is a defect of it, not of the job.",
        how="Every search runs by itself; one that fails takes nothing from the others.",
    )
