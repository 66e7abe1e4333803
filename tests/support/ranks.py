"""Jobs of several ranks whose clocks are known, made in memory: steps of collectives and of sends along a pipeline.

    job = RankJob(ranks=4, steps=10, offsets={1: 250_000})
    session = job.session()

Rank r of pipeline stage r // 2 and replica r % 2. In each step every rank computes, sends to the next stage, reduces in
its stage's data-parallel group several times, and all of them reduce once together. Times are true ns; a rank's file
shows true + offset + drift x true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace
from viewer.store.session import Session

BASE = 1_700_000_000_000_000_000
STEP_NS = 40_000_000
_DESCRIPTIONS = {"dp": "DATA_PARALLEL_GROUP", "world": "default_pg", "pp": "PIPELINE_PARALLEL_GROUP"}
_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


@dataclass
class RankJob:
    """What to make. ``lost`` is the share of a rank's collectives that its file lacks; ``about`` what kernels state."""

    ranks: int = 4
    steps: int = 12
    seed: int = 1
    offsets: dict[int, int] = field(default_factory=dict)
    drift_ppm: dict[int, float] = field(default_factory=dict)
    late_ns: dict[int, int] = field(default_factory=dict)
    noise_ns: int = 300
    lost: dict[int, float] = field(default_factory=dict)
    without_file: tuple[int, ...] = ()
    states: tuple[str, ...] = ("group", "group_desc", "group_ranks", "group_size", "seq", "in_elems", "dtype")
    world_operations: bool = True
    sends: bool = True
    bases: dict[int, int] = field(default_factory=dict)

    def session(self) -> Session:
        """The job as it is opened."""
        self._random = np.random.default_rng(self.seed)
        self._events: dict[int, list[Event]] = {r: [] for r in range(self.ranks)}
        self._corr = 0
        self._number: dict[tuple[int, ...], int] = {}
        for step in range(self.steps):
            self._step(step)
        traces = []
        for rank in range(self.ranks):
            if rank in self.without_file:
                continue
            base = self.bases.get(rank, BASE)
            moved = [self._seen(rank, e, base) for e in self._events[rank] if not self._is_lost(rank, e)]
            traces.append(
                make_trace(
                    *moved,
                    path=f"rank-{rank}.json",
                    rank=rank,
                    rank_source="distributedInfo",
                    world_size=self.ranks,
                    base_ns=base,
                )
            )
        return make_session(*traces)

    def _is_lost(self, rank: int, event: Event) -> bool:
        share = self.lost.get(rank, 0.0)
        return bool(share and event.collective and self._random.random() < share)

    def clock(self, rank: int, true_ns: int) -> int:
        """What rank's clock shows at a true instant."""
        return true_ns + self.offsets.get(rank, 0) + round(self.drift_ppm.get(rank, 0.0) * 1e-6 * (true_ns - BASE))

    def _seen(self, rank: int, event: Event, base: int) -> Event:
        start = self.clock(rank, event.start)
        return replace(event, start=start - base, dur=self.clock(rank, event.start + event.dur) - start)

    def _step(self, step: int) -> None:
        begin = BASE + step * STEP_NS
        for rank in range(self.ranks):
            self._events[rank].append(annotation(f"ProfilerStep#{step}", begin, STEP_NS))
            self._compute(rank, begin + 1_000_000, 6_000_000 + self.late_ns.get(rank, 0))
        arrive = {
            r: begin + 8_000_000 + self.late_ns.get(r, 0) + int(self._random.integers(0, 400_000))
            for r in range(self.ranks)
        }
        if self.sends:
            for rank in range(self.ranks - 2):
                at = begin + 1_500_000 + int(self._random.integers(0, 200_000))
                self._send(rank, rank + 2, at)
        groups = [tuple(range(r, min(r + 2, self.ranks))) for r in range(0, self.ranks, 2)]
        for bucket in range(4):
            for members in groups:
                if len(members) > 1:
                    self._reduce(members, "dp", {m: arrive[m] + bucket * 1_700_000 for m in members}, 500_000)
        if self.world_operations:
            last = begin + 20_000_000
            everyone = tuple(range(self.ranks))
            self._reduce(everyone, "world", {m: last + arrive[m] - begin for m in everyone}, 60_000)
            for rank in everyone:  # waits for the last reduction
                reduced = self._events[rank][-1]
                self._compute(rank, reduced.start + reduced.dur + 5_000, 1_000_000, "optimizer")

    def _compute(self, rank: int, start: int, length: int, name: str = "gemm") -> None:
        self._corr += 1
        self._events[rank] += [
            call("cudaLaunchKernel", start - 20_000, 5_000, corr=self._corr),
            kernel(name, start, length, corr=self._corr),
        ]

    def _about(self, members: tuple[int, ...], purpose: str, **more: Any) -> dict[str, Any]:
        key = (*members, -1 if purpose == "pp" else 0)
        number = self._number[key] = self._number.get(key, -1) + 1
        every = {
            "group": "0" if purpose == "world" else f"{purpose}{members[0]}",
            "group_desc": {"dp": "DATA_PARALLEL_GROUP", "world": "default_pg", "pp": "PIPELINE_PARALLEL_GROUP"}[
                purpose
            ],
            "group_ranks": str(list(members)),
            "group_size": len(members),
            "seq": number,
            "comms_id": abs(hash((members, number, purpose))) % 2**60,
            "in_elems": 1 << 20,
            "dtype": "BFloat16",
        }
        return {k: v for k, v in every.items() if k in self.states} | more

    def _reduce(self, members: tuple[int, ...], purpose: str, arrive: dict[int, int], transfer: int) -> None:
        about = self._about(members, purpose)
        ends = max(arrive.values()) + transfer
        for m in members:
            end = ends + int(self._random.integers(0, self.noise_ns + 1))
            self._corr += 1
            self._events[m] += [
                call("cudaLaunchKernel", arrive[m] - 50_000, 5_000, corr=self._corr),
                kernel(
                    _REDUCE, arrive[m], end - arrive[m], stream=20, corr=self._corr, collective="allreduce", about=about
                ),
            ]

    def _send(self, source: int, target: int, at: int) -> None:
        members = tuple(range(source % 2, self.ranks, 2))
        transfer = int(self._random.integers(60_000, 90_000))
        waits = int(self._random.integers(0, 300_000))
        self._events[source].append(
            kernel("ncclDevKernel_SendRecv", at, transfer, stream=28, collective="send",
                   about=self._about(members, "pp", dst=target))
        )  # fmt: skip
        self._events[target].append(
            kernel("ncclDevKernel_SendRecv", at - waits, transfer + waits, stream=24, collective="recv",
                   about=self._about(members, "pp", src=source))
        )  # fmt: skip
