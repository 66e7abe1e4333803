"""What the detectors of idle time share: idle time per steady step of each rank, evidence, savings. No detector.

Figures are means over the steady steps of a rank. A finding speaks of the rank where it costs most. What a step could
gain is told by replaying the steps of all ranks without that idle time, where several ranks have it and their clocks
are aligned; else it is that rank's idle time itself: of ranks that wait for each other, one alone cannot give more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_span
from viewer.analyses.collective.groups import world_size
from viewer.analyses.findings.base import Evidence
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_leaving_out
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.gap_list import IdleGap
from viewer.analyses.idleness.parts import CODE
from viewer.analyses.idleness.profile import Idleness, idleness
from viewer.analyses.idleness.sites import site_of
from viewer.analyses.steps import step_table
from viewer.base.selection import GapRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.jit.intervals import union
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]

SHOWN: Final = 4
NAME: Final = 80


@dataclass(frozen=True, eq=False)
class RankIdle:
    """The idle time of one device of one file.

    ``steady`` are the places (in ``step_table``) of its steps without warm-up, ``ahead`` those of them with work before
    them. Without steps both are empty, and figures are of the whole trace. ``span_ns`` is the device's span.
    """

    item: Input
    group: int
    label: str
    device: int
    idle: Idleness
    steady: I64
    ahead: I64
    step_ns: int | None
    span_ns: int

    def inside(self, causes: Sequence[str]) -> int:
        """Ns of some causes inside a step, mean; of the whole trace without steps."""
        if not len(self.steady):
            return int(self.idle.outside[[CODE[c] for c in causes]].sum()) if self.step_ns is None else 0
        return round(float(self.idle.of(causes)[self.steady].mean()))

    def between(self, causes: Sequence[str]) -> int:
        """Ns of some causes between a step and the work before it, mean; 0 without steps."""
        return round(float(self.idle.ahead(causes)[self.ahead].mean())) if len(self.ahead) else 0

    def mean(self, ns: I64) -> int:
        """Mean of a figure per step over the steady ones; 0 without."""
        return round(float(ns[self.steady].mean())) if len(self.steady) else 0

    @property
    def whole_ns(self) -> int:
        """What shares are of: the step, the trace without steps."""
        return self.step_ns or self.span_ns


def rank_idles(session: Session, cancel: CancelToken) -> list[RankIdle]:
    """The idle time of each device of each file that has work. Raises Cancelled."""
    steady = steady_steps(session)
    out = []
    for item in session.inputs:
        places = _steady_places(session, item, steady.first)
        for device in gpu_work(item.trace).devices:
            cancel.check()
            found, span = idleness(item.trace, device), device_span(item.trace, device)
            if found is None or span is None or span[1] <= span[0]:
                continue
            group = session.group_of(item.index)
            out.append(
                RankIdle(
                    item,
                    group.id,
                    group.label,
                    device,
                    found,
                    places,
                    places[places > 0],
                    steady.step_ns,
                    span[1] - span[0],
                )
            )
    return out


def _steady_places(session: Session, item: Input, first: int) -> I64:
    """Places of the steps of a file with GPU work, without the rank's first ones; files of a rank follow each other."""
    group, begins = session.group_of(item.index), []
    for index in group.inputs:
        other = session.inputs[index]
        for place, step in enumerate(step_table(other.trace).steps):
            if len(step.rows):
                begins.append((other.clock.to_session(step.start_ns), index, place))
    begins.sort()
    return np.array([place for _, index, place in begins[first:] if index == item.index], np.int64)


def worst(ranks: Sequence[RankIdle], ns_of: Callable[[RankIdle], int]) -> tuple[RankIdle, int] | None:
    """The rank with the largest figure, and that; None without ranks."""
    if not ranks:
        return None
    found = max(ranks, key=lambda r: (ns_of(r), -r.item.index, -r.device))
    return found, ns_of(found)


Intervals = tuple[I64, I64]
LATER: Final = (
    "The steps of all ranks replayed without this idle time (an estimate by replay). An upper bound: the host may need "
    "part of it all the same."
)
OWN: Final = (
    "The idle time itself, on {label}, mean over {steps}. An upper bound: what takes its place may take time as well."
)

OTHERS: Final = " Where ranks that are not open have it too, the step gains more: they wait for each other in turn."


def saving_of(
    session: Session, ranks: Sequence[RankIdle], found: RankIdle, ns: int, away: Callable[[RankIdle], Intervals]
) -> tuple[int | None, str]:
    """(what a step could gain, how it was computed); None without steps.

    Args:
        session: the job.
        ranks: whose idle time goes away.
        found: the rank with the most of it.
        ns: how much that is per step.
        away: the idle intervals of a rank, raw ns of its file.
    """
    if found.step_ns is None:
        return None, "Without steps nothing is said per step."
    per_rank: dict[int, list[Intervals]] = {}
    for rank in ranks:
        start, end = away(rank)
        clock = rank.item.clock
        per_rank.setdefault(rank.group, []).append((clock.many_to_session(start), clock.many_to_session(end)))
    every = {group: _together(parts) for group, parts in per_rank.items()}
    replayed = saved_by_leaving_out(session, every) if len(every) > 1 else None
    if replayed:
        return min(replayed, found.step_ns), LATER
    steps = f"{len(found.steady)} step{'' if len(found.steady) == 1 else 's'}"
    size = world_size(session)
    more = OTHERS if size is not None and len(session.groups) < size else ""
    return min(ns, found.step_ns), OWN.format(label=found.label, steps=steps) + more


def share_of(rank: RankIdle, ns: int, saving: int | None) -> float:
    """The share of the step (of the trace without steps) that a saving is, else the idle time itself."""
    return min(1.0, (ns if saving is None else saving) / rank.whole_ns)


def _together(parts: list[Intervals]) -> Intervals:
    start, end = (np.concatenate(c) for c in zip(*parts, strict=True))
    order = np.argsort(start, kind="stable")
    found: Intervals = union(start[order], end[order])
    return found


def gap_ref(item: Input, gap: IdleGap) -> GapRef:
    """Where a gap lies on the stream of the work after it."""
    to = item.clock.to_session
    return GapRef(item.index, gap.lane, TimeRange(to(gap.start_ns), to(gap.end_ns)))


def gaps_of(rank: RankIdle, causes: Sequence[str], *, inside: bool = True, between: bool = False) -> list[IdleGap]:
    """Gaps with time of some causes inside steps, between them, or both; those with most of it first."""
    steady = set(rank.steady.tolist())
    out = []
    for gap in rank.idle.book.gaps:
        if not (between if gap.between else inside) or (steady and gap.step not in steady):
            continue
        if any(p.cause in causes for p in gap.parts):
            out.append(gap)
    return sorted(out, key=lambda g: -sum(p.ns for p in g.parts if p.cause in causes))


def told_by(gap: IdleGap, causes: Sequence[str]) -> int:
    """The slice that tells the longest part of a gap with one of some causes; -1 for none."""
    parts = [p for p in gap.parts if p.cause in causes]
    return max(parts, key=lambda p: p.ns).row if parts else -1


def place_of(rank: RankIdle, row: int) -> str:
    """Where a slice was called, in words: "cudaStreamSynchronize in aten::item, train.py(7): log"."""
    if row < 0:
        return ""
    trace = rank.item.trace
    site = site_of(trace, row)
    words = short(trace.name(row))
    if site.operator_row >= 0:
        words += f" in {short(trace.name(site.operator_row))}"
    return f"{words}, {short(site.line)}" if site.line else words


def short(name: str) -> str:
    """A name that fits into a sentence; of a path the end tells more than the begin."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    if len(text) <= NAME:
        return text
    return "…" + text[1 - NAME :] if ".py(" in text else text[: NAME - 1] + "…"


def gap_evidence(
    ranks: Sequence[RankIdle],
    causes: Sequence[str],
    *,
    inside: bool = True,
    between: bool = False,
    shown: int = SHOWN,
) -> tuple[Evidence, ...]:
    """The gaps with most time of some causes, one per place and rank, of the ranks in the order given."""
    out: list[Evidence] = []
    seen: set[tuple[str, int]] = set()
    for rank in ranks:
        for gap in gaps_of(rank, causes, inside=inside, between=between):
            row = told_by(gap, causes)
            words = place_of(rank, row)
            if (words, rank.group) in seen:
                continue
            seen.add((words, rank.group))
            ns = sum(p.ns for p in gap.parts if p.cause in causes)
            step = "" if gap.step is None else f" of step {step_table(rank.item.trace).steps[gap.step].index}"
            where = f"before the work{step}" if gap.between else f"in the work{step}" if step else "idle"
            text = f"{rank.label}, {where}: {format_duration(ns, 1)}" + f", {words or 'nothing recorded'}"
            out.append(Evidence(text, gap_ref(rank.item, gap)))
            if len(out) >= shown:
                return tuple(out)
    return tuple(out)


def which_ranks(ranks: Sequence[RankIdle], every: Sequence[RankIdle]) -> str:
    """``"on rank 3"``, ``"on 4 of 8 ranks (most on rank 3)"``, ``"on every rank"``; "" for a job of one.

    ``ranks`` begin with the one whose figure is told.
    """
    groups, all_groups = {r.group for r in ranks}, {r.group for r in every}
    if len(all_groups) < 2:
        return ""
    if len(groups) == 1:
        return f" on {ranks[0].label}"
    if groups == all_groups:
        return " on every rank"
    return f" on {len(groups)} of {len(all_groups)} ranks (most on {ranks[0].label})"
