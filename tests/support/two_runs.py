"""A small training job whose run can be changed in one known way, for tests that compare two runs of it.

    base, test = a_run(), a_run(gemm=1.2)

Per step each rank multiplies, adds (which hides the reduction of gradients, or comes after it), and steps its
optimizer; the next step begins PAUSE_NS after the last rank ended. All times are ns. A rank's reduction ends with that
of the others, so who computes longer is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op, python
from viewer.store.session import Session

PAUSE_NS = 500_000
GEMM_NS = 2_000_000
ADD_NS = 600_000
ADAM_NS = 300_000
REDUCE_NS = 1_000_000
GEMM, ADD, ADAM, REDUCE = "gemm_nn", "add_kernel", "adam_kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


@dataclass
class ARun:
    """What to make.

    ``gemm`` times the usual length, on ``slow_rank`` alone if given; ``messages`` reductions in place of one, each of
    ``size`` bytes; ``gap_ns`` of Python before the second launch; ``hidden``: whether the reduction is; ``gemm_name``
    and ``grid`` of the multiplication.
    """

    steps: int = 6
    ranks: int = 2
    seed: int = 1
    noise: float = 0.004
    gemm: float = 1.0
    slow_rank: int | None = None
    messages: int = 1
    size: int = 1 << 20
    gap_ns: int = 0
    hidden: bool = True
    gemm_name: str = GEMM
    grid: tuple[int, int, int] = (8, 8, 1)
    first_step: int = 0
    world_size: int | None = None
    with_steps: bool = True
    with_operators: bool = True

    def session(self) -> Session:
        """The run as it is opened."""
        self._random = np.random.default_rng(self.seed)
        self._corr = 0
        self._begin = 1_000_000
        events: list[list[Event]] = [[] for _ in range(self.ranks)]
        for step in range(self.steps):
            self._step(step, events)
        return make_session(
            *(
                make_trace(
                    *mine,
                    path=f"rank-{rank}.json",
                    rank=rank,
                    rank_source="distributedInfo",
                    world_size=self.world_size or self.ranks,
                )
                for rank, mine in enumerate(events)
            )
        )

    def _length(self, usual: float) -> int:
        return round(usual * (1 + self.noise * self._random.standard_normal()))

    def _step(self, step: int, events: list[list[Event]]) -> None:
        begin = self._begin
        free: list[int] = []
        arrive: list[int] = []
        for rank, mine in enumerate(events):
            slow = self.gemm if self.slow_rank in (None, rank) else 1.0
            length = self._length(GEMM_NS * slow)
            self._launch(
                mine, "aten::mm", begin + 10_000, self.gemm_name, begin + 50_000, length, args={"grid": list(self.grid)}
            )
            free.append(begin + 50_000 + length)
            arrive.append(free[-1] + 1_000)
        for number in range(self.messages):
            transfer = self._length(REDUCE_NS * self.size / (1 << 20))
            ends = max(arrive) + transfer
            for rank, mine in enumerate(events):
                at = begin + 20_000 + 4_000 * number
                about: dict[str, Any] = {
                    "group": "0",
                    "group_desc": "default_pg",
                    "group_ranks": str(list(range(self.ranks))),
                    "group_size": self.ranks,
                    "seq": step * self.messages + number,
                    "in_elems": self.size // 2,
                    "dtype": "BFloat16",
                }
                self._corr += 1
                start = arrive[rank]
                mine.append(call("cudaLaunchKernelExC", at, 2_000, corr=self._corr))
                mine.append(
                    kernel(REDUCE, start, ends - start, stream=20, corr=self._corr, collective="allreduce", about=about)
                )
                arrive[rank] = ends + 1_000
        for rank, mine in enumerate(events):
            launched = begin + 40_000 + 4_000 * self.messages
            if self.gap_ns:
                mine.append(python("hook.py(3): wait", free[rank] - 50_000, self.gap_ns + 50_000))
                launched = free[rank] + self.gap_ns + 1_000
            start = max(free[rank], launched + 5_000)
            if not self.hidden:
                start = max(start, arrive[rank])
            length = self._length(ADD_NS)
            self._launch(mine, "aten::add", launched, ADD, start, length)
            last = max(start + length, arrive[rank]) + 2_000
            length = self._length(ADAM_NS)
            self._launch(mine, "aten::_fused_adamw_", launched + 20_000, ADAM, last, length)
            self._begin = max(self._begin, last + length + PAUSE_NS)
        if self.with_steps:
            for mine in events:
                mine.append(annotation(f"ProfilerStep#{self.first_step + step}", begin, self._begin - begin - 1_000))

    def _launch(
        self, mine: list[Event], operator: str, at: int, name: str, start: int, length: int, **more: Any
    ) -> None:
        self._corr += 1
        if self.with_operators:
            mine.append(python("nn.Module: Linear_0", at - 2_000, 16_000))
            mine.append(op(operator, at - 1_000, 12_000, args={"Input Dims": [[64, 64], [64, 64]]}))
        mine.append(call("cudaLaunchKernel", at, 5_000, corr=self._corr))
        mine.append(kernel(name, start, length, corr=self._corr, **more))


def a_run(**changes: Any) -> Session:
    """A run of the job with changes."""
    return ARun(**changes).session()
