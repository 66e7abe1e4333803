"""What a rank's own time would be were it as fast as its peers: stretch by stretch between its communications.

A stretch is the own time before one of the communications of a step (and after the last). Peers run the same schedule,
so the same stretch of theirs says how long it takes; where a kernel is missing from a file, the comparison falls back
to what is still alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.dependencies import Dependencies
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.lost import whole
from viewer.analyses.numbering import numbered_rows
from viewer.analyses.robust import deviation
from viewer.store.session import Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Sequences = Sequence[Sequence[I64]]

NOISE: Final = 0.005
"""Own times of two steps that differ by less are the same: kernels vary by some percent each, and there are many."""
KNOWN: Final = 0.5
"""Share of the own time of a step that must lie between communications that both have for the rest to be told."""


class Work(Protocol):
    """What ranks run beside their communication: ``ns`` float64[ranks, steps], NaN without the step."""

    @property
    def ns(self) -> F64:
        """Per rank and step."""
        ...

    def alike(self) -> I64:
        """A number per rank, equal for ranks that run the same kernels equally often in a step."""
        ...


class Stretches(Protocol):
    """Own times of all ranks: ``own_time[part(rank, step)]``; ``begun`` counts communications, int64[ranks, steps]."""

    own_time: F64
    begun: I64

    def part(self, rank: int, step: int) -> slice:
        """Where the stretches of a rank's step lie."""
        ...


def sequences(session: Session, graph: Dependencies, ranks: tuple[int, ...], steps: int) -> Sequences:
    """Per rank and step what its communications are, in the order of their begins: equal numbers are alike.

    Alike are kind, purpose and number of members of the group, and size; not the group itself, as peers have their own.
    """
    every = whole(session).every
    groups = job_groups(session).groups
    about = [(g.purpose or "", len(g.ranks) if g.ranks is not None else -1) for g in groups]
    told = {a: i for i, a in enumerate(dict.fromkeys([*about, ("", -2)]))}
    which = np.array([told[a] for a in about] + [told["", -2]], np.int64)[every.group]
    number = numbered_rows(np.stack((every.kind.astype(np.int64), which, every.size), axis=1)).number
    there = np.flatnonzero(graph.begin >= 0)
    event = graph.begin[there]
    column = np.full(int(graph.rank.max(initial=-1)) + 2, -1, np.int64)
    column[list(ranks)] = np.arange(len(ranks))
    cell = np.where(graph.step[event] >= 0, column[graph.rank[event]] * steps + graph.step[event], -1)
    order = np.lexsort((graph.time[event], cell))
    bounds = np.searchsorted(cell[order], np.arange(len(ranks) * steps + 1))
    ordered = number[there][order]
    cells = [ordered[a:b] for a, b in itertools.pairwise(bounds.tolist())]
    return [cells[i * steps : (i + 1) * steps] for i in range(len(ranks))]


def usual_of(others: list[float], own: float) -> float:
    """What a rank of this role takes: the median of the others, of two ranks the faster one's."""
    return min(others[0], own) if len(others) == 1 else float(np.median(others))


@dataclass(frozen=True, eq=False)
class Nominal:
    """What makes each rank as fast as its peers.

    ``factor`` per stretch; per rank and step ``unsure`` (its file lacks so many communications that its own time and
    what it waited cannot be told apart, or nobody compares with it) and ``spread`` (how far the peers' own times are
    apart: three standard errors of what is usual, as a share of it); per rank ``patchy`` (its file or those of its
    peers lack any) and ``other_role`` (only ranks of another role compare with it).
    """

    factor: F64
    unsure: NDArray[np.bool_]
    spread: F64
    patchy: NDArray[np.bool_]
    other_role: NDArray[np.bool_]


def as_peers(engine: Stretches, role: I64, work: Work, order: Sequences) -> Nominal:
    """The factor per stretch that makes it as long as the peers', and where none can be told.

    Args:
        engine: the stretches.
        role: int64[ranks], equal for ranks of one role: peers. Without any, ranks that do the same work.
        work: what the ranks run.
        order: from :func:`sequences`.
    """
    factor = np.ones(len(engine.own_time))
    count, steps = engine.begun.shape
    unsure = np.zeros((count, steps), np.bool_)
    spread = np.full((count, steps), NOISE)
    patchy = np.zeros(count, np.bool_)
    other_role = np.array([int((role == r).sum()) == 1 for r in role], np.bool_)
    same_work = work.alike() if other_role.any() else role
    for i in range(count):
        if other_role[i]:
            _by_work(engine, work.ns, same_work, i, factor, unsure, spread)
            continue
        peers = [p for p in range(count) if p != i and role[p] == role[i]]
        lacking = _lacking(engine.begun, i, peers)
        patchy[i] = (engine.begun[[i, *peers]] != engine.begun[i]).any()
        for k in range(steps):
            mine = engine.own_time[engine.part(i, k)]
            if not mine.sum() > 0:
                continue
            alike = [t for p in peers if (t := _like(engine, order, p, i, k, lacking[k])) is not None]
            unsure[i, k] = lacking[k] and not alike
            if unsure[i, k]:
                continue
            sums = [float(t.sum()) for t in alike] or [float(engine.own_time[engine.part(p, k)].sum()) for p in peers]
            usual = usual_of(sums, float(mine.sum()))
            spread[i, k] = max(NOISE, _error(sums) / usual if usual > 0 else 0.0)
            if usual >= (1.0 - NOISE) * mine.sum():
                continue  # no slower than its peers: as it is
            if alike:
                nominal = np.median(np.stack(alike), axis=0)
                factor[engine.part(i, k)] = np.where(mine > 0, nominal / np.maximum(mine, 1.0), 1.0)
            else:
                factor[engine.part(i, k)] = usual / float(mine.sum())
    return Nominal(factor, unsure, spread, patchy, other_role)


def _by_work(
    engine: Stretches, ns: F64, alike: I64, rank: int, factor: F64, unsure: NDArray[np.bool_], spread: F64
) -> None:
    """Cut a rank's steps to what ranks that run the same kernels take for them, in whatever order they run them."""
    peers = [p for p in range(len(alike)) if p != rank and alike[p] == alike[rank]]
    for k in range(engine.begun.shape[1]):
        others = [float(ns[p, k]) for p in peers if ns[p, k] > 0]
        mine = float(ns[rank, k])
        unsure[rank, k] = not others or not mine > 0
        if unsure[rank, k]:
            continue
        usual = usual_of(others, mine)
        spread[rank, k] = max(NOISE, _error(others) / usual)
        if usual < (1.0 - NOISE) * mine:
            factor[engine.part(rank, k)] = usual / mine


def _error(sums: list[float]) -> float:
    """Three standard errors of the median of some values; 0 for one or two, which do not tell."""
    return 3.75 * deviation(np.array(sums)) / len(sums) ** 0.5 if len(sums) > 2 else 0.0


def _lacking(begun: I64, rank: int, peers: list[int]) -> NDArray[np.bool_]:
    """Steps with fewer communications than a peer has there and than the rank itself has in a step of its own."""
    mine = begun[rank]
    return np.asarray((mine < mine.max(initial=0)) & (begun[peers] > mine).any(axis=0))


def _like(engine: Stretches, order: Sequences, peer: int, rank: int, step: int, lacking: bool) -> F64 | None:
    """The peer's stretches as they stand against the rank's in a step; None where too little of them can be told.

    Of equal numbers each stands against its own, also where two that begin at once come in another order.
    Where the peer lacks some communications in this step, its other steps with as many as the rank has here tell what
    it usually takes; else, and where the rank itself is ``lacking`` some, those stretches whose two ends both have.
    """
    steps = engine.begun.shape[1]

    def of(k: int) -> F64:
        return engine.own_time[engine.part(peer, k)]

    if engine.begun[peer, step] == engine.begun[rank, step]:
        return of(step)
    same = [k for k in range(steps) if engine.begun[peer, k] == engine.begun[rank, step]]
    if same and not lacking:
        return np.median(np.stack([of(k) for k in same]), axis=0)
    mine = engine.own_time[engine.part(rank, step)]
    return _where_known(mine, order[rank][step], of(step), order[peer][step])


def _where_known(mine: F64, wanted: I64, theirs: F64, seen: I64) -> F64 | None:
    """Their stretches as they stand against mine where either of us lacks communications.

    What lies between two that follow each other in both is told as it is, and says how many times as long as theirs my
    own time is. Where I lack one, my stretch holds the waiting for it too: only what exceeds their time by that ratio
    is taken off. Where they lack one, mine is cut by the ratio. None where less than half can be told.
    """
    from difflib import SequenceMatcher

    place = np.full(len(wanted) + 2, -1, np.int64)  # of my communications among theirs, with both ends of the step
    place[0], place[-1] = 0, len(seen) + 1
    for block in SequenceMatcher(None, wanted.tolist(), seen.tolist(), autojunk=False).get_matching_blocks():
        place[block.a + 1 : block.a + 1 + block.size] = np.arange(block.b + 1, block.b + 1 + block.size)
    before, after = place[:-1], place[1:]
    both = (before >= 0) & (after >= 0)
    clean = both & (after == before + 1)
    known, spent = float(mine[clean].sum()), float(theirs[after[clean] - 1].sum())
    # Of the one of us that lacks communications the sum holds waiting: the other's says how much is told.
    told, whole = (spent, float(theirs.sum())) if len(seen) > len(wanted) else (known, float(mine.sum()))
    if told < KNOWN * whole or known <= 0.0 or spent <= 0.0:
        return None
    total = np.concatenate(([0.0], np.cumsum(theirs)))
    out = mine * min(1.0, spent / known)
    out[clean] = theirs[after[clean] - 1]
    held = both & ~clean
    out[held] = np.maximum(mine[held] - (total[after[held]] - total[before[held]]) * max(0.0, known / spent - 1.0), 0.0)
    return out
