"""Where communication that a file lacks was: after the kernel after which it comes in the rank's other steps."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.rank_times import computing, step_starts
from viewer.store.session import Session

if TYPE_CHECKING:
    from viewer.analyses.collective.lost import Whole

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
About = tuple[int, int, int, int]
"""Kind, group of the job, peer, bytes."""
FAR: Final = 1 << 62
_Place = tuple[int, int]
"""Begin, and a kernel, or -1 - one of the rank's that it is like."""

USUALLY: Final = 0.5
"""Share of a rank's alike steps in which a communication comes after the same kernel, from which it belongs there."""
NEAR_NS: Final = 50_000
"""A kernel that began this close to the end of what was lost, after the compute stood still, waited for it."""
AFTER_NS: Final = 1_000
"""How long after it, usually."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A member of an operation that is missing: on which rank, what it was, and what its counterparts tell, ns."""

    node: int
    about: About
    ends: int
    after: int
    """When it cannot have ended yet: the last begin of the others."""
    between: tuple[int, int]
    """End of the one before it of its group on its rank, and begin of the one behind it."""
    op: int


@dataclass(frozen=True, slots=True)
class Placed:
    """What was put back: its operation (-1 for a send or receive), session time, and a kernel that it is like."""

    op: int
    begin: int
    end: int
    like: int


@dataclass(eq=False)
class Places:
    """All that is put back, and pairs of sends and receives that count instead of those of their kernels.

    Numbers of kernels are those of ``Whole``; what is put back comes behind the recorded ones.
    """

    placed: list[Placed] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    paired_again: list[int] = field(default_factory=list)
    """Sends of whose pairs nothing else counts."""


class RankPlaces:
    """After which kernels of its steps a rank's communications come."""

    def __init__(self, session: Session, seen: Whole, node: int) -> None:
        group = session.groups[node]
        every = seen.every
        self._seen = seen
        self._lanes: dict[int, list[tuple[int, int]]] = {}
        self.busy_from, self.busy_to = computing(session, group)
        self.steps = step_starts(session, group)
        self.mine = np.flatnonzero(every.node == node)
        start = seen.start[self.mine]
        self.step = self.step_of(start)
        before = np.searchsorted(self.busy_to, start, "right")
        self.first = np.searchsorted(self.busy_to, self.steps, "left")
        self.runs = np.diff(np.append(self.first, len(self.busy_to)))
        inside = self.step >= 0
        self.ordinal = (
            np.where(inside, before - self.first[np.maximum(self.step, 0)], -1) if len(self.steps) else before
        )
        # Since the kernel before it in the step; before the first one since the begin of the step.
        behind = self.busy_to[np.maximum(before - 1, 0)] if len(self.busy_to) else start
        opened = self.steps[np.maximum(self.step, 0)] if len(self.steps) else start
        self.lag = start - np.where(self.ordinal > 0, behind, opened)
        what = np.stack(
            [a[self.mine].astype(np.int64) for a in (every.kind, every.group, every.peer, every.size)], axis=1
        )
        self.about: dict[About, list[int]] = {}
        for i, (kind, group_, peer, size) in enumerate(what.tolist()):
            self.about.setdefault((kind, group_, peer, size), []).append(i)

    def step_of(self, time: I64) -> I64:
        """The step in which each time lies, -1 before all."""
        return np.searchsorted(self.steps, time, "right") - 1

    def _lane(self, like: int) -> list[tuple[int, int]]:
        """(begin, end) of what is on the lane of one of ``mine``, by begin; what is put back is among them."""
        lane = int(self._seen.lane[self.mine[like]])
        if lane not in self._lanes:
            mine = self.mine[self._seen.lane[self.mine] == lane]
            self._lanes[lane] = sorted(zip(self._seen.start[mine].tolist(), self._seen.end[mine].tolist(), strict=True))
        return self._lanes[lane]

    def after_others(self, begin: int, like: int) -> int:
        """A begin, moved behind the one before it on its lane: one comes after another there."""
        spans = self._lane(like)
        at = bisect.bisect_left(spans, (begin, begin))
        return spans[at - 1][1] + AFTER_NS if at and spans[at - 1][1] >= begin else begin

    def free_until(self, begin: int, like: int) -> int | None:
        """When the next one on the lane begins."""
        spans = self._lane(like)
        at = bisect.bisect_left(spans, (begin, begin))
        return spans[at][0] if at < len(spans) else None

    def take(self, begin: int, end: int, like: int) -> None:
        """From now on the lane is taken."""
        bisect.insort(self._lane(like), (begin, end))

    def shortest(self, like: int) -> int:
        """Length of the shortest one on the lane."""
        return min(end - begin for begin, end in self._lane(like))

    def usual_length(self, like: int) -> int:
        """Of one of ``mine``."""
        return int(self._seen.end[self.mine[like]] - self._seen.start[self.mine[like]])

    def length(self, step: int) -> int:
        """From the begin of a step to that of the next; of the last one as long as its communication lasts."""
        if step + 1 < len(self.steps):
            return int(self.steps[step + 1] - self.steps[step])
        inside = self.mine[self.step == step]
        return int(self._seen.end[inside].max(initial=int(self.steps[step])) - self.steps[step])

    def of(self, about: About, step: int) -> list[tuple[int, int]]:
        """(begin, kernel) of those of a sort in a step."""
        mine = [i for i in self.about.get(about, []) if self.step[i] == step]
        return [(int(self._seen.start[self.mine[i]]), int(self.mine[i])) for i in mine]

    def resumed_near(self, end: int) -> int | None:
        """When the compute went on that had stood still, where that is close to an instant."""
        at = int(np.searchsorted(self.busy_from, end - NEAR_NS))
        if at == len(self.busy_from) or self.busy_from[at] > end + NEAR_NS:
            return None
        resumed = int(self.busy_from[at])
        last = int(np.searchsorted(self.busy_to, resumed, "right")) - 1
        return resumed if last < 0 or resumed - int(self.busy_to[last]) > AFTER_NS else None

    def places(self, about: About, step: int) -> list[tuple[int, int]]:
        """Where the step lacks communications of this sort: (begin, one of ``mine`` that is like it), by begin."""
        alike = np.array(self.about.get(about, []), np.int64)
        if step < 0 or not len(alike):
            return []
        other = np.flatnonzero(self.runs == self.runs[step])
        alike = alike[np.isin(self.step[alike], other)]
        out: list[tuple[int, int]] = []
        for at in np.unique(self.ordinal[alike]).tolist():
            here = alike[self.ordinal[alike] == at]
            counts = np.bincount(self.step[here], minlength=len(self.steps))[other]
            if (counts > 0).mean() <= USUALLY:
                continue
            full = other[counts == counts.max()]
            same = here[np.isin(self.step[here], full)].reshape(len(full), -1)  # they ascend by begin
            lags = np.median(self.lag[same], axis=0)
            missing = _left_out(lags, self.lag[here[self.step[here] == step]])
            since = int(self.busy_to[self.first[step] + at - 1] if at else self.steps[step])
            out += [(since + round(float(lags[k])), int(same[0, k])) for k in missing]
        return sorted(out)


def _left_out(usual: F64, seen: I64) -> list[int]:
    """Which of the ascending ``usual`` have no counterpart among the ascending ``seen``, of which there are fewer.

    The others are as close to theirs as they can be together.
    """
    rows, width = len(seen), len(usual)
    if not rows:
        return list(range(width))
    cost = np.abs(seen[:, None] - usual[None, :])
    best = np.full((rows + 1, width + 1), np.inf)
    best[0] = 0.0
    for i in range(rows):
        best[i + 1, 1:] = np.minimum.accumulate(best[i, :-1] + cost[i])
    taken, j = set(), width
    for i in range(rows, 0, -1):
        while j > i and best[i, j] == best[i, j - 1]:
            j -= 1
        j -= 1
        taken.add(j)
    return [k for k in range(width) if k not in taken]


class Placing:
    """Puts back what ranks lack."""

    def __init__(self, session: Session, seen: Whole) -> None:
        self._session, self._seen = session, seen
        self._ranks: dict[int, RankPlaces] = {}
        self.found = Places()

    def rank(self, node: int) -> RankPlaces:
        """The steps of a rank."""
        if node not in self._ranks:
            self._ranks[node] = RankPlaces(self._session, self._seen, node)
        return self._ranks[node]

    def members(self, lost: list[Lost]) -> None:
        """Put back members of operations."""
        by_step: dict[tuple[int, About, int], list[Lost]] = {}
        for one in sorted(lost, key=lambda one: one.ends):
            step = int(self.rank(one.node).step_of(np.array([one.ends - 1]))[0])
            by_step.setdefault((one.node, one.about, step), []).append(one)
        for (node, about, step), ones in by_step.items():
            rank = self.rank(node)
            free = rank.places(about, step)
            for one in ones:
                low, high = one.between[0], min(one.between[1], one.ends)
                fits = [p for p in free if low <= p[0] <= high] or free
                if fits and low < high:
                    chosen = min(fits, key=lambda p: abs(p[0] - high)) if len(fits) > len(ones) else fits[0]
                    free.remove(chosen)
                    begin = rank.after_others(min(max(chosen[0], low + AFTER_NS), high), chosen[1])
                    self._put(rank, one.op, begin, (max(one.ends, begin), max(one.after, begin)), chosen[1])

    def sends(self, source: int, target: int, about: About, late: int) -> None:
        """Put back sends of one sort from a rank to another, and their receives, where both lack as many in a step.

        Which send a receive belongs to is not known of single ones where some are missing: as soon as a step is whole
        again it follows from their order.

        Args:
            source: RankGroup id of the sender.
            target: of the receiver.
            about: the sends, as the sender states them.
            late: how much later a receive that waited ends than its send, ns.
        """
        one, other = self.rank(source), self.rank(target)
        own = self._session.groups[source].rank
        received: About = (int(Kind.RECV), about[1], -1 if own is None else own, about[3])
        for step in range(len(one.steps)):
            middle = np.array([int(one.steps[step]) + int(one.length(step)) // 2])
            there = int(other.step_of(middle)[0])
            sent, got = one.of(about, step), other.of(received, there)
            free = [(begin, -1 - like) for begin, like in one.places(about, step)]
            asked = [(begin, -1 - like) for begin, like in other.places(received, there)]
            if not (free or asked) or len(sent) + len(free) != len(got) + len(asked):
                continue
            pairs = list(zip(sorted(sent + free), sorted(got + asked), strict=True))
            # Begins that are put back are about right: the receive's end limits them.
            ends = [FAR if k < 0 else int(self._seen.end[k]) - 1 for _, (_, k) in pairs]
            begins = [begin if k >= 0 else min(begin, end) for ((begin, k), _), end in zip(pairs, ends, strict=True)]
            if all(b <= e for b, e in zip(begins, ends, strict=True)) and begins == sorted(begins):
                pairs = [((begin, k), r) for begin, ((_, k), r) in zip(begins, pairs, strict=True)]
                self._pair(one, other, pairs, late)

    def _pair(self, one: RankPlaces, other: RankPlaces, pairs: list[tuple[_Place, _Place]], late: int) -> None:
        """Put back what has no kernel (a number below 0 stands for one that it is like), and pair all."""
        seen = self._seen
        for (begin, send), (due, receive) in pairs:
            if send < 0:
                length = one.usual_length(-1 - send)
                at = self._put(one, -1, begin, (begin + length, begin), -1 - send)
            else:
                self.found.paired_again.append(send)
                at, length = send, int(seen.end[send] - seen.start[send])
            to = receive
            if receive < 0:
                asked = other.after_others(due, -1 - receive)
                ends = max(begin + length + late, asked + other.shortest(-1 - receive))
                to = self._put(other, -1, asked, (ends, max(asked, begin)), -1 - receive)
            if at >= 0 and to >= 0:
                self.found.pairs.append((at, to))

    def _put(self, rank: RankPlaces, op: int, begin: int, end: tuple[int, int], like: int) -> int:
        """Put one back; its number, -1 where it does not fit between its neighbours. ``end``: about, and at least."""
        about, least = end
        resumed = rank.resumed_near(about)
        if resumed is not None:
            about = max(min(about, resumed - AFTER_NS), least)
        until = rank.free_until(begin, like)
        if until is not None:
            about = min(about, until)
        if about < least:
            return -1
        rank.take(begin, about, like)
        self.found.placed.append(Placed(op, begin, about, int(rank.mine[like])))
        return len(self._seen.start) + len(self.found.placed) - 1
