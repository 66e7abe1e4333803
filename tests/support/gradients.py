"""Data-parallel jobs whose backward pass is followed by gradient reductions, with planted faults of communication.

Every step: ``layers`` pieces of backward compute, each followed by the reduction of its gradients (in ``pieces``
messages); then the optimizer, then one small reduction of all ranks. Reductions run beside the compute on a stream of
their own, or, with ``blocking``, on the compute stream. ``step_ns()`` is the length of a step as it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op
from viewer.app.clocks import settle_clocks
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.store.session import Session

BASE = 1_700_000_000_000_000_000
LAUNCH_NS = 400_000
"""The host runs so far ahead."""
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


@dataclass
class GradientJob:
    """What to make. ``transfer_ns`` is of one layer's gradients; each message costs ``own_ns`` besides its share."""

    ranks: int = 4
    groups: int = 2
    steps: int = 8
    layers: int = 4
    layer_ns: int = 1_000_000
    transfer_ns: int = 800_000
    own_ns: int = 30_000
    pieces: int = 1
    blocking: bool = False
    slow: dict[int, float] = field(default_factory=dict)
    """Per group (its number): how many times its transfers take."""
    world: int | None = None
    without_file: tuple[int, ...] = ()
    purpose: str = "DATA_PARALLEL_GROUP"
    elements: int = 24 << 20
    offset_ns: int = 150_000
    card: JobCard = EMPTY_CARD

    def session(self) -> Session:
        """The job as it is opened, on aligned clocks."""
        self._random = np.random.default_rng(3)
        self._events: list[list[Event]] = [[] for _ in range(self.ranks)]
        self._corr, self._seq, at = 0, [0] * (self.groups + 1), BASE
        self.lengths: list[int] = []
        for number in range(self.steps):
            end = self._step(number, at)
            self.lengths.append(end - at)
            at = end
        traces = [
            make_trace(
                *(self._shown(rank, e) for e in events),
                path=f"rank-{rank}.json",
                rank=rank,
                world_size=self.world or self.ranks,
                base_ns=BASE,
            )
            for rank, events in enumerate(self._events)
            if rank not in self.without_file
        ]
        return settle_clocks(make_session(*traces), "auto").with_card(self.card)

    def step_ns(self) -> int:
        """The median step of the job that was made last."""
        return int(np.median(self.lengths))

    def _shown(self, rank: int, event: Event) -> Event:
        return replace(event, start=event.start - BASE + rank * self.offset_ns)

    def _launch(self, rank: int, at: int, tid: int = 2) -> int:
        self._corr += 1
        self._events[rank].append(call("cudaLaunchKernel", at, 3_000, corr=self._corr, tid=tid))
        return self._corr

    def _compute(self, rank: int, start: int, length: int, name: str) -> int:
        at = start - LAUNCH_NS
        around = "autograd::engine::evaluate_function: MmBackward0" if name == "gemm" else "Optimizer.step#Adam.step"
        make = op if name == "gemm" else annotation
        self._events[rank].append(make(around, at - 1_000, 8_000, tid=2))
        self._events[rank].append(kernel(name, start, length, corr=self._launch(rank, at)))
        return start + length

    def _reduce(self, members: list[int], group: int, start: dict[int, int], length: int, elements: int) -> int:
        self._seq[group] += 1
        whole = group == self.groups
        about: dict[str, Any] = {
            "group": str(group),
            "group_desc": "default_pg" if whole else self.purpose,
            "group_ranks": str(members),
            "group_size": len(members),
            "seq": self._seq[group],
            "in_elems": elements,
            "dtype": "BFloat16",
        }
        ends = max(start.values()) + length
        stream = 7 if self.blocking and not whole else 20
        for m in members:
            end = ends + int(self._random.integers(0, 300))
            corr = self._launch(m, start[m] - LAUNCH_NS if whole else self._called[m])
            event = kernel(REDUCE, start[m], end - start[m], stream=stream, corr=corr)
            self._events[m].append(replace(event, collective="allreduce", about=about))
            self._called[m] += 3_500
        return ends + 300

    def _step(self, number: int, begin: int) -> int:
        size = self.ranks // self.groups
        ready, free = dict.fromkeys(range(self.ranks), begin + 500_000), dict.fromkeys(range(self.groups), 0)
        for rank in range(self.ranks):
            self._events[rank].append(annotation(f"ProfilerStep#{number}", begin + 50_000, 90_000_000, tid=9))
        for _ in range(self.layers):
            self._called = {}
            for rank in range(self.ranks):
                noise = int(self._random.integers(0, 20_000))
                ready[rank] = self._compute(rank, ready[rank], self.layer_ns + noise, "gemm")
                self._called[rank] = ready[rank] - LAUNCH_NS - (self.pieces * 3_500 if self.pieces > 1 else 0)
            for group in range(self.groups):
                members = list(range(group * size, (group + 1) * size))
                for _ in range(self.pieces):
                    start = {m: max(ready[m] + 1_000, free[group] + 900) for m in members}
                    length = round(self.transfer_ns / self.pieces * self.slow.get(group, 1.0)) + self.own_ns
                    free[group] = self._reduce(members, group, start, length, self.elements // self.pieces)
                if self.blocking:
                    ready.update(dict.fromkeys(members, free[group] + 1000))
        ended = {r: self._compute(r, max(ready[r], free[r // size]) + 2_000, 500_000, "adam") for r in ready}
        every = list(range(self.ranks))
        end = self._reduce(every, self.groups, {r: t + 2_000 for r, t in ended.items()}, 40_000, 1)
        for rank in every:  # the mark ends with its step
            marks = [i for i, e in enumerate(self._events[rank]) if e.name == f"ProfilerStep#{number}"]
            mark = self._events[rank][marks[0]]
            self._events[rank][marks[0]] = annotation(mark.name, mark.start, end - mark.start - 1_000, tid=9)
        return end
