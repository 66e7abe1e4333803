"""What a bubble is made of.

The bubble is taken apart by replaying the passes in the order in which they ran, with one more of what really was each
time; the parts add up to the bubble exactly:

- theory: what equal stages would have at least, see ``schedule`` (of an order that is none of the known ones: what its
  replay with equal stages has);
- order: what equal stages have in the order in which the passes ran, beyond theory;
- imbalance: what it grows by when each stage computes as long as its workers usually do; below 0 for a stage that
  computes longer than the others, which has less bubble than they have;
- late: when each worker computes as long as it does on its mean: it is the others of its pipeline that then wait for
  one that is slower than its peers (0 where a stage has one worker only: then slow work is imbalance);
- variation: when each pass computes as long as it did;
- inside: when passes keep the time without compute inside them (launch gaps, exposed collectives);
- p2p: when results take as long to reach the next stage as they did;
- rest: what is left (the host was late, sends that block, recomputed dependencies).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.pipeline.model import CommKind, Passes
from viewer.analyses.pipeline.replay import Order, all_alike, stage_means

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

PARTS: Final = ("theory_ns", "order_ns", "imbalance_ns", "late_ns", "variation_ns", "inside_ns", "p2p_ns", "rest_ns")


@dataclass(frozen=True, slots=True)
class Parts:
    """A bubble taken apart; ns, the sum is the bubble."""

    theory_ns: int
    order_ns: int
    imbalance_ns: int
    late_ns: int
    variation_ns: int
    inside_ns: int
    p2p_ns: int
    rest_ns: int

    def total_ns(self) -> int:
        """The bubble."""
        return sum(getattr(self, f.name) for f in fields(self))


@dataclass(frozen=True, slots=True)
class Replayed:
    """Phases by replay, ns; ``slowdown`` per stage as in LineFigures.

    Equal stages, stages as they usually are, workers as their means, passes as they computed, as long as they were,
    with their results on the way.
    """

    equal: float
    usual: float
    means: float
    busy: float
    length: float
    sent: float
    slowdown: tuple[float, ...]

    def parts(self, least: float, mean: float, usual: float, compute: float, bubble: int) -> Parts:
        """The bubble of a worker, taken apart.

        Args:
            least: the bubble in theory, ns.
            mean: what workers usually compute, mean over the stages, ns.
            usual: what workers of its stage usually compute, ns.
            compute: what it computed, ns.
            bubble: its bubble, ns.
        """
        told = {
            "theory_ns": round(least),
            "order_ns": round(self.equal - mean - least),
            "imbalance_ns": round(self.usual - usual - self.equal + mean),
            "late_ns": round(self.means - compute - self.usual + usual),
            "variation_ns": round(self.busy - self.means),
            "inside_ns": round(self.length - self.busy),
            "p2p_ns": round(self.sent - self.length),
        }
        return Parts(**told, rest_ns=bubble - sum(told.values()))


def replay_line(order: Order, stages: Sequence[Passes], usual: F64) -> Replayed:
    """The replays of one line: passes by stage, and how long each of them usually computes (float64, all stages)."""
    busy = np.concatenate([p.busy for p in stages]).astype(np.float64)
    length = np.concatenate([p.length for p in stages]).astype(np.float64)
    chunk = np.concatenate([p.chunk for p in stages])
    means = stage_means(order, busy, chunk)
    alike, own = all_alike(order, usual, chunk), all_alike(order, means, chunk)
    only = [np.where(order.worker == stage, means, own) for stage in range(len(stages))]
    lists = np.stack([alike, usual, means, busy, length, length, own, *only])
    late = np.zeros_like(lists)
    late[5] = delays(order, stages)
    equal, as_usual, mean, computed, long, sent, base, *alone = order.run(lists, late).tolist()
    slowdown = tuple(x / base for x in alone) if base else ()
    return Replayed(equal, as_usual, mean, computed, long, sent, slowdown)


def in_order(order: Order, stages: Sequence[Passes]) -> bool:
    """Whether every pass begins after the one whose result it needs has ended, by the clocks in force."""
    start = np.concatenate([p.start for p in stages])
    end = np.concatenate([p.end for p in stages])
    across = order.across()
    return bool((start[across] >= end[order.feeds[across]]).all())


def delays(order: Order, stages: Sequence[Passes]) -> F64:
    """How long each result from another stage was on its way, ns: an estimate.

    Where the receiving stage had nothing else to do: to the end of its receive, without one to the begin of the pass.
    Where it was busy that cannot be seen: the median of those that can (same sender, kind), no more than would fit.
    """
    start = np.concatenate([p.start for p in stages])
    end = np.concatenate([p.end for p in stages])
    out = np.zeros(len(start))
    waited = np.zeros(len(start), np.bool_)
    across = np.flatnonzero(order.across())
    first = set(order.first.tolist())
    received = [np.sort(p.comm.end[p.comm.kind == int(CommKind.RECEIVE)]) for p in stages]
    links: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for i in across.tolist():
        ready = int(end[order.feeds[i]])
        room = max(0, int(start[i]) - ready)
        out[i] = room
        waited[i] = i in first or int(end[i - 1]) <= ready
        links[int(order.worker[order.feeds[i]]), int(order.worker[i]), int(order.kind[i])].append(i)
        if waited[i]:
            arrived = _last_in(received[int(order.worker[i])], ready, int(start[i]))
            out[i] = room if arrived is None else min(room, arrived - ready)
    for members in links.values():
        seen = [out[i] for i in members if waited[i]]
        usual = float(np.median(seen)) if seen else 0.0
        for i in members:
            if not waited[i]:
                out[i] = min(out[i], usual)
    return out


def _last_in(ends: I64, after: int, before: int) -> int | None:
    """The last of ascending instants in (after, before], None without one."""
    if not len(ends):
        return None
    at = int(np.searchsorted(ends, before, "right")) - 1
    return int(ends[at]) if at >= 0 and ends[at] > after else None
