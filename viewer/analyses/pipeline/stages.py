"""Which ranks form a pipeline, and in which order: from groups, the job card, sends, or numbers in annotations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.groups import job_groups, world_size
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.pipeline.model import Line, NoPipelineError, Worker
from viewer.base.ids import ABSENT
from viewer.base.job_card import PlanCard
from viewer.store.session import RankGroup, Session

USUAL_ORDER: Final = "tp-cp-ep-dp-pp"
"""Megatron's order of dimensions, the fastest changing rank first."""
MOST_RANKS: Final = 1 << 20
_PIPELINE: Final = re.compile(r"pipeline|(^|[^a-z])pp([^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Lines of ranks by stage, and from what they are known."""

    lines: tuple[tuple[int, ...], ...]
    source: str


def workers_of(session: Session, ranks: Ranks) -> tuple[tuple[Worker, ...], tuple[Line, ...]]:
    """Workers and lines; ranks whose traces are not opened have no group."""
    opened = opened_ranks(session)
    workers: list[Worker] = []
    lines: list[Line] = []
    labels = _labels(session, ranks.lines)
    for number, members in enumerate(ranks.lines):
        indexes = []
        for stage, rank in enumerate(members):
            group = opened.get(rank)
            indexes.append(len(workers))
            workers.append(
                Worker(len(workers), f"rank {rank}", stage, number, rank, None if group is None else group.id)
            )
        lines.append(Line(number, labels[number], tuple(indexes)))
    return tuple(workers), tuple(lines)


def _labels(session: Session, lines: Sequence[Sequence[int]]) -> list[str]:
    """What tells lines apart: the places of their first ranks in groups of the other dimensions, else numbers."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for group in sorted(job_groups(session).groups, key=lambda g: -len(g.ranks or ())):
        if group.ranks is not None and group.purpose in ("dp", "cp", "tp"):
            groups.setdefault(group.purpose, []).append(group.ranks)
    told = []
    for line in lines:
        first = line[0]
        places = [
            (k, next((r.index(first) for r in groups.get(k, ()) if first in r), None)) for k in ("dp", "cp", "tp")
        ]
        told.append(", ".join(f"{k.upper()} {at}" for k, at in places if at is not None))
    return told if len(set(told)) == len(told) and all(told) else [f"replica {i}" for i in range(len(lines))]


def opened_ranks(session: Session) -> dict[int, RankGroup]:
    """The rank groups by rank, those without a rank or with a conflict over it left out."""
    return {
        g.rank: g
        for g in session.groups
        if g.rank is not None and not any(session.inputs[i].conflict for i in g.inputs)
    }


def find_ranks(session: Session) -> Ranks:
    """The pipelines of a job of one trace per rank.

    Raises:
        NoPipelineError: there is none, or its stages cannot be told.
    """
    plan = session.card.plan
    filled = {name for name, _ in session.card.filled}
    if plan.pp == 1 and "plan.pp" not in filled:
        raise NoPipelineError("the job card says that there is no pipeline (plan.pp = 1)")
    if not opened_ranks(session):
        raise NoPipelineError("no trace states its rank")
    found = _from_groups(session) or _from_plan(session, plan) or _from_sends(session)
    if found is None:
        if plan.pp is not None and plan.pp > 1:
            raise NoPipelineError(
                f"the job card says {plan.pp} pipeline stages, but which ranks they are cannot be told: "
                "needs a world size that the plan divides, or all ranks of one pipeline"
            )
        raise NoPipelineError("no group of ranks, send or receive shows a pipeline, and the job card names none")
    if plan.pp is not None and "plan.pp" not in filled and len(found.lines[0]) != plan.pp:
        raise NoPipelineError(
            f"{found.source} show pipelines of {len(found.lines[0])} stages, the job card says {plan.pp}: correct it"
        )
    return found


def _from_groups(session: Session) -> Ranks | None:
    """Process groups that say they are the pipeline's; of several that hold a rank the largest."""
    lists: list[tuple[int, ...]] = [
        g.ranks
        for g in job_groups(session).groups
        if g.purpose == "pp" and g.purpose_source == "description" and g.ranks is not None
    ]
    for item in session.inputs:
        for group in item.trace.meta.groups:
            named = any(_PIPELINE.search(text[:200]) for text in (group.description, group.name))
            if named and group.ranks_complete:
                lists.append(tuple(sorted(group.ranks)))
    opened = opened_ranks(session)
    chosen: dict[int, tuple[int, ...]] = {}
    for ranks in sorted(set(lists), key=lambda r: (-len(r), r)):
        if len(ranks) > 1 and not any(r in chosen for r in ranks):
            chosen.update(dict.fromkeys(ranks, ranks))
    lines = sorted({chosen[r] for r in opened if r in chosen})
    if not lines:
        return None
    longest = max(len(line) for line in lines)
    return Ranks(tuple(line for line in lines if len(line) == longest), "process groups")


def _from_plan(session: Session, plan: PlanCard) -> Ranks | None:
    if plan.pp is None or plan.pp < 2:
        return None
    opened = opened_ranks(session)
    world = world_size(session) or max(opened) + 1
    lines = plan_lines(plan, world)
    if lines is None:
        return None
    shown = tuple(line for line in lines if any(r in opened for r in line))
    return Ranks(shown, "the parallel plan of the job card") if shown else None


def plan_lines(plan: PlanCard, world: int) -> tuple[tuple[int, ...], ...] | None:
    """The pipelines of a plan: ranks by stage. None where the sizes do not multiply to the world.

    Expert parallelism shares its ranks with data parallelism and is no dimension of its own here. A size that the plan
    leaves out is 1, that of dp what is left of the world.
    """
    sizes = {"tp": plan.tp or 1, "cp": plan.cp or 1, "pp": plan.pp or 1}
    others = math.prod(sizes.values())
    if min(sizes.values()) < 1 or world % others or not 0 < world <= MOST_RANKS:
        return None
    sizes["dp"] = plan.dp or world // others
    if others * sizes["dp"] != world:
        return None
    order = [d for d in (plan.order or USUAL_ORDER).lower().replace(",", "-").split("-") if d in sizes]
    order += [d for d in ("tp", "cp", "dp", "pp") if d not in order]
    if len(set(order)) != len(order):
        return None
    # The last dimension changes slowest: it is the first axis.
    grid = np.arange(world).reshape([sizes[d] for d in reversed(order)])
    lines = np.moveaxis(grid, list(reversed(order)).index("pp"), -1).reshape(-1, sizes["pp"])
    return tuple(tuple(int(r) for r in line) for line in lines)


def _from_sends(session: Session) -> Ranks | None:
    """Chains of first sends: what a stage sends first is its first result, and it goes to the next stage.

    A stage that sends before it receives anything begins a chain, and all others receive first (unlike in the ring of
    context parallelism, where all send at once); the last one sends first to a stage that is already in it (a gradient,
    or the next model chunk of the first stage). Groups that are known to be for something else do not count.
    """
    every = everything(session)
    opened = opened_ranks(session)
    follow: dict[int, int] = {}
    begins: list[int] = []
    fits = np.array([g.purpose in ("pp", "", "world") for g in job_groups(session).groups] + [True], np.bool_)
    told = ((every.kind == Kind.SEND) | (every.kind == Kind.RECV)) & fits[every.group]
    for rank, group in sorted(opened.items()):
        mine = np.flatnonzero(told & (every.node == group.id) & (every.peer != ABSENT) & (every.peer != rank))
        if not len(mine):
            continue
        mine = mine[np.argsort(every.end[mine], kind="stable")]
        sends = mine[every.kind[mine] == Kind.SEND]
        if not len(sends):
            continue
        follow[rank] = int(every.peer[sends[0]])
        if every.kind[mine[0]] == Kind.SEND:
            begins.append(rank)
    lines = []
    used: set[int] = set()
    for first in begins:
        line = [first]
        while line[-1] in follow and follow[line[-1]] not in line:
            line.append(follow[line[-1]])
        if len(line) > 1 and not used & set(line) and not set(line[1:]) & set(begins):
            used |= set(line)
            lines.append(tuple(line))
    if not lines or len({len(line) for line in lines}) != 1:
        return None
    return Ranks(tuple(sorted(lines)), "sends between ranks")


def by_numbers(session: Session, numbers: dict[int, Sequence[int]]) -> Ranks | None:
    """Pipelines from stage numbers that annotations name.

    Args:
        session: the job.
        numbers: by rank the (virtual) stages that its annotations name.
    """
    if not numbers or world_size(session) not in (None, len(numbers)):
        return None
    stages = sorted({min(n) for n in numbers.values() if n})
    if len(stages) != len(numbers) or len(stages) < 2:
        return None  # several replicas: which ranks belong together is not said
    return Ranks((tuple(sorted(numbers, key=lambda r: min(numbers[r]))),), "stage numbers of annotations")


def along_line(session: Session, line: Sequence[int], input_index: int) -> NDArray[np.bool_]:
    """Per operation of an input: whether it is a send or receive along the pipeline.

    One whose other side is known must be of the line; one that is not (a batch of several) counts unless its group is
    for something else (the ring of context parallelism).
    """
    table = operations(session.inputs[input_index].trace)
    point = np.isin(table.kind, [int(Kind.SEND), int(Kind.RECV), int(Kind.SEND_RECV)])
    purposes = np.array([g.purpose in ("pp", "", "world") for g in job_groups(session).groups] + [True], np.bool_)
    local = job_groups(session).of_local[input_index]
    fits = purposes[local[table.group]] if len(table) else np.empty(0, np.bool_)
    known = table.peer != ABSENT
    out: NDArray[np.bool_] = point & np.where(known, np.isin(table.peer, list(line)), fits)
    return out
