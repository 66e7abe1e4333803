"""Ranks of one role whose memory peaks lie apart: the fullest one decides what fits."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from viewer.analyses.collective.roles import roles
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.memory.figures import RankPeak, rank_peaks
from viewer.base.selection import GroupRef
from viewer.base.units import format_bytes, format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

LEAST_SHARE: Final = 0.05
"""Above the median of its peers: ranks that do the same work differ by rounding and by when a step is cut."""
NAMED: Final = 4


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per role with an uneven rank."""
    # Files that state no rank may be of any job; a level without events is no peak.
    peaks = [p for p in rank_peaks(session) if p.rank is not None and p.has_history]
    if len(peaks) < 2:
        return
    cancel.check()
    of_role = roles(session)
    members: dict[int, list[RankPeak]] = {}
    for peak in peaks:
        members.setdefault(of_role.get(session.group_of(peak.input).id, 0), []).append(peak)
    for role, mine in members.items():
        if len(mine) < 2:
            continue
        top = max(mine, key=lambda p: p.peak_allocated)
        usual = median(p.peak_allocated for p in mine if p is not top)
        excess = top.peak_allocated - round(usual)
        if excess <= LEAST_SHARE * usual:
            continue
        label = session.inputs[top.input].label
        ordered = sorted(mine, key=lambda p: -p.peak_allocated)
        yield JobFinding(
            f"uneven-memory/{role}",
            "uneven-memory",
            f"{label} peaks at {format_bytes(top.peak_allocated)}, {format_bytes(excess)} "
            f"({format_share(excess, round(usual))}) above its peers",
            "warning",
            None,
            "",
            tuple(
                Evidence(
                    f"{session.inputs[p.input].label}: {format_bytes(p.peak_allocated)}",
                    GroupRef(session.group_of(p.input).id),
                )
                for p in (*ordered[:NAMED], ordered[-1])
            ),
            "Level what these ranks hold (tokens per rank, experts, the stage's layers, gathered tensors of one rank): "
            "the batch of all is bounded by the fullest.",
            f"Peak of allocated memory per rank, against the median of the other ranks of its role; told beyond "
            f"{percent(LEAST_SHARE)}.",
        )
