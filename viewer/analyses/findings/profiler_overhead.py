"""What the profiler itself costs: a caveat for everything that is said of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.idling import rank_idles
from viewer.analyses.idleness.parts import HOST
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

SWITCHES: Final = ("with_stack", "record_shapes", "profile_memory")
LEAST: Final = 0.05
"""Below this share of idle time for the host's sake its slowness does not matter, nor does what causes it."""
SHOWN: Final = 4


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """At most one, for information."""
    every = rank_idles(session, cancel)
    slowed = []
    for rank in every:
        facts = rank.item.trace.meta.facts
        on = [name for name in SWITCHES if facts.get(name) in (1, True)]
        host = sum(rank.idle.book.sums.get(cause, 0) for cause in HOST)
        if on and host >= LEAST * rank.span_ns:
            slowed.append((rank, on, host))
    if not slowed:
        return
    names = [name for name in SWITCHES if any(name in on for _, on, _ in slowed)]
    yield JobFinding(
        id="profiler-overhead",
        kind="profiler-overhead",
        title=f"Recorded with {' and '.join(names)}, which slow{'s' if len(names) == 1 else ''} the host: without, the "
        "GPU waits less for it",
        severity="info",
        saving_ns_per_step=None,
        saving_how="",
        evidence=tuple(
            Evidence(
                f"{rank.label}: recorded with {', '.join(on)}; the host keeps its GPU waiting "
                f"{format_share(host, rank.span_ns)} of the time",
                rank.item.extent(),
            )
            for rank, on, host in slowed[:SHOWN]
        ),
        next_step="Record some steps without these switches to measure the host; keep a few with them to find its "
        "lines.",
        how="What the file states of how it was recorded, where the GPU waits for the host in at least "
        f"{percent(LEAST)} of the span. Recording a stack or shapes takes time in every call and operator.",
    )
