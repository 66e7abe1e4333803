"""Work that is spread unevenly: over the ranks of one role, or over the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import figures_of
from viewer.analyses.collective.groups import job_groups, world_size
from viewer.analyses.collective.lateness import SHARE_OF_STEP, lateness
from viewer.analyses.collective.rank_steps import RankStep, rank_steps, step_selection
from viewer.analyses.collective.roles import roles
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.steady import SteadySteps, steady_steps
from viewer.base.ids import Paint
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

F64 = NDArray[np.float64]

MOSTLY: Final = 0.7
"""The same rank has the most work in at least this share of the steps: the spread is fixed, else it changes."""
CAUSES: Final = {
    True: ("fp32-matmul", "recompute"),
    False: ("data-loading", "launch-bound", "sync-drain", "host-bound", "serialised-communication"),
}
"""Whether a stage's surplus is compute -> kinds of findings that name its root."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Time of parts (rows) per steady step (columns), ns, and what even shares would save.

    ``excess`` is per step what the part with the most has beyond the mean of all: a step cannot get shorter by more
    when nothing but the shares changes. ``most`` is the row with the most per step.
    """

    time: F64
    excess: F64
    most: NDArray[np.int64]

    @property
    def saving_ns(self) -> int:
        """The median excess over the steps."""
        return round(float(np.median(self.excess)))

    @property
    def usual(self) -> tuple[int, float]:
        """The row that has the most in most steps, and in which share of them."""
        counts = np.bincount(self.most, minlength=len(self.time))
        return int(counts.argmax()), float(counts.max() / len(self.most))


def spread_of(time: F64) -> Spread | None:
    """The spread of parts by steps; None below two parts or without steps."""
    if len(time) < 2 or not time.shape[1]:
        return None
    return Spread(time, time.max(axis=0) - time.mean(axis=0), time.argmax(axis=0))


def beyond_next(time: F64) -> Spread | None:
    """As :func:`spread_of`, with what the part with the most has beyond the next one; None below three parts.

    What stages spend outside their kernels differs by their place in the pipeline: the first and the last send and
    receive less. So one only stands out where it stands out from every other.
    """
    if len(time) < 3 or not time.shape[1]:
        return None
    ordered = np.sort(time, axis=0)
    return Spread(time, ordered[-1] - ordered[-2], time.argmax(axis=0))


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """Uneven ranks of a role, then uneven or late stages."""
    steady = steady_steps(session)
    if steady.step_ns is None or len(session.groups) < 2:
        return
    found = lateness(session)
    late = set() if found is None else {r for r, yes in zip(found.ranks, found.straggler, strict=True) if yes}
    compute = {}
    for group in session.groups:
        cancel.check()
        compute[group.id] = compute_per_step(session, group.id)
    of_role: dict[int, list[int]] = {}
    for group_id, role in roles(session).items():
        if group_id not in late and len(compute[group_id]) > steady.first:
            of_role.setdefault(role, []).append(group_id)
    for members in of_role.values():
        yield from _ranks(session, steady, members, compute)
    cancel.check()
    yield from _stages(session, steady, compute, late)


def compute_per_step(session: Session, group: int) -> F64:
    """float64[steps]: time in which a rank's step ran compute, ns (a union over its devices' streams). Built once."""

    def measure(step: RankStep) -> int:
        s = session.inputs[step.input].trace.slices
        rows = step.rows[s.paint[step.rows] == Paint.COMPUTE]
        start = s.start_ns[rows]
        figures = figures_of(start, start + s.dur_ns[rows], s.paint[rows]) if len(rows) else None
        return 0 if figures is None else figures.compute_ns

    def build() -> F64:
        return np.array([measure(s) for s in rank_steps(session, session.groups[group])], np.float64)

    return session.clocked_memo(("compute_per_step", group), build)


def _ranks(session: Session, steady: SteadySteps, members: list[int], compute: dict[int, F64]) -> Iterator[JobFinding]:
    step_ns = steady.step_ns or 0
    count = min((len(compute[m]) for m in members), default=0)
    spread = spread_of(np.array([compute[m][steady.first : count] for m in members]).reshape(len(members), -1))
    if spread is None or spread.saving_ns < SHARE_OF_STEP * step_ns:
        return
    saving = spread.saving_ns
    row, share = spread.usual
    label = session.groups[members[row]].label
    fixed = share >= MOSTLY
    who = (
        f"{label} has the most in {percent(share)} of the steps"
        if fixed
        else "another rank has the most from step to step"
    )
    worst = int(spread.excess.argmax())
    most, least = int(spread.most[worst]), int(spread.time[:, worst].argmin())
    numbers = rank_steps(session, session.groups[members[most]])
    at = steady.first + worst
    evidence = []
    for i, word in ((most, "most"), (least, "least")):
        much = format_duration(round(float(spread.time[i, worst])), 1)
        text = f"{session.groups[members[i]].label} computes {much}, the {word}"
        evidence.append(Evidence(f"step {numbers[at].number}: {text}", step_selection(session, members[i], at)))
    yield JobFinding(
        id=f"uneven-ranks/{session.groups[members[0]].label}",
        kind="uneven-ranks",
        title=f"Compute is uneven over {len(members)} ranks of one role: the busiest computes "
        f"{format_duration(saving, 1)} per step ({format_share(saving, step_ns)}) more than their mean; {who}",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how="Median over the steps of (compute of the rank with the most - mean compute of the ranks). An upper "
        "bound: with even shares the busiest falls to the mean, and other things may then hold the step up.",
        evidence=tuple(evidence),
        next_step=(
            "See whether this rank has more work (layers, experts, its share of the batch) or does the same work "
            "slower (clocks, power and temperature of its GPU): then even it out, or mend or swap the card."
            if fixed
            else "Balance each step's work: sort or pack sequences by length, balance the experts' tokens."
        ),
        how="Compute per rank and step is a union over streams of the kernels that the step launched; the surplus is "
        f"at least {percent(SHARE_OF_STEP)} of the step in the median of {spread.time.shape[1]} steps. Ranks that are "
        "late by their own doing are findings of their own and left out.",
        share=saving / step_ns,
        confident=spread.time.shape[1] > 1,
        overlaps=("late",),
    )


def stages_of(session: Session) -> list[list[int]]:
    """RankGroup ids per pipeline stage, first stage first; [] where no pipeline group is known."""
    pipelines = [g.ranks for g in job_groups(session).groups if g.purpose == "pp" and g.ranks]
    at_rank = {rank: stage for ranks in pipelines for stage, rank in enumerate(ranks)}
    out: list[list[int]] = []
    for rank_group in session.groups:
        at = at_rank.get(rank_group.rank) if rank_group.rank is not None else None
        if at is not None:
            out.extend([] for _ in range(at + 1 - len(out)))
            out[at].append(rank_group.id)
    return out


def _stages(session: Session, steady: SteadySteps, compute: dict[int, F64], late: set[int]) -> Iterator[JobFinding]:
    stages = [[m for m in members if len(compute[m]) > steady.first] for members in stages_of(session)]
    # Of a stage with a late rank the others say how much work it has.
    stages = [[m for m in members if m not in late] or members for members in stages]
    known = [i for i, members in enumerate(stages) if members]
    if len(known) < 2:
        return
    step_ns = steady.step_ns or 0
    count = min(len(compute[m]) for i in known for m in stages[i])
    worked = spread_of(np.array([_usual([compute[m][steady.first : count] for m in stages[i]]) for i in known]))
    if worked is None:
        return
    is_work = worked.saving_ns >= SHARE_OF_STEP * step_ns
    # Only where the kernels say nothing the time between them is looked at: it is told by replay.
    chosen = worked if is_work else _own_time(session, [stages[i] for i in known], steady.first, count)
    if chosen is None:
        return
    row, share = chosen.usual
    saving = chosen.saving_ns
    if saving < SHARE_OF_STEP * step_ns or share < MOSTLY:
        return
    stage = known[row]
    labels = ", ".join(session.groups[m].label for m in stages[stage][:8])
    evidence = [
        Evidence(
            f"stage {i}: {format_duration(round(float(np.median(chosen.time[k]))), 1)} per step "
            f"({session.groups[stages[i][0]].label})",
            step_selection(session, stages[i][0], steady.first + int(chosen.excess.argmax())),
        )
        for k, i in sorted(enumerate(known), key=lambda pair: -float(np.median(chosen.time[pair[0]])))[:8]
    ]
    much = f"{format_duration(saving, 1)} per step ({format_share(saving, step_ns)})"
    what = "compute" if is_work else "its own time up to the last shared operation"
    yield JobFinding(
        id=f"{'uneven-stages' if is_work else 'late-stage'}/stage {stage}",
        kind="uneven-stages" if is_work else "late-stage",
        title=(
            f"Pipeline stage {stage} ({labels}) computes {much} more than the mean of the stages: others wait for it"
            if is_work
            else f"Pipeline stage {stage} ({labels}) takes {much} longer by itself than any other stage, not in "
            "its kernels: the stages around it wait for its host or its copies"
        ),
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=(
            "Median over the steps of (time of the stage with the most - mean of the stages). An upper bound: the "
            "pipeline goes as fast as its slowest stage, which falls to the mean when the work is spread evenly."
            if is_work
            else "Median over the steps of (time of the stage with the most - the next). An upper bound: the pipeline "
            "goes as fast as its slowest stage, and then the next one is that."
        ),
        evidence=tuple(evidence),
        next_step=(
            "Move layers from this stage to the others, embedding, output layer and loss counted as layers (Megatron "
            "--pipeline-model-parallel-layout, --decoder-first-pipeline-num-layers, "
            "--account-for-loss-in-pipeline-split; DeepSpeed partition_method)."
            if is_work
            else "Look at what this stage does between its kernels: data loading, copies to the host, its CPU's load."
        ),
        how=f"A stage's time is the (lower) median of its ranks: {what} per step, warm-up set apart. At least "
        f"{percent(SHARE_OF_STEP)} of the step, the same stage in {percent(MOSTLY)} of the steps.",
        share=saving / step_ns,
        confident=chosen.time.shape[1] > 1,
        overlaps=("late", "bubble"),
        caused_by=CAUSES[is_work],
    )  # fmt: skip


def _usual(rows: list[F64]) -> F64:
    """The median of a stage's ranks per step; of an even number the lower one: of two, the slower is no measure."""
    chosen: F64 = np.sort(np.array(rows), axis=0)[(len(rows) - 1) // 2]
    return chosen


def _own_time(session: Session, stages: list[list[int]], first: int, count: int) -> Spread | None:
    """What each stage spent by itself per step; None where lateness cannot be told."""
    found = lateness(session)
    if found is None or any(m not in found.ranks for members in stages for m in members):
        return None
    if np.isnan(found.least[[found.ranks.index(m) for members in stages for m in members]]).any():
        return None  # by a clock that is not aligned with the others' waiting begins and ends anywhere
    if len(session.groups) < (world_size(session) or 0):
        return None  # waiting for ranks that are not open looks like own time
    rows = [_usual([found.own_time[found.ranks.index(m), first:count] for m in members]) for members in stages]
    return beyond_next(np.array(rows))
