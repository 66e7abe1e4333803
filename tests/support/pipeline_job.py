"""Pipeline-parallel jobs in memory whose passes are worked out by simulation: any order, any times per stage.

    job = PipelineJob(order=one_f_one_b(4, 8), forward=[100_000] * 4, backward=[200_000] * 4)
    session = job.session()

Rank = stage x replicas + replica. Each pass is two kernels with a gap of ``inside`` ns between them, launched by the
main thread (forward) or by autograd's (backward). A result takes ``sent`` ns to the next stage. ``passes`` holds what
is true: (rank, step) -> list of (letter, micro-batch, chunk, start, end).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.support.build import THREAD, Event, annotation, call, kernel, make_session, make_trace, op, python
from viewer.base.job_card import JobCard, PlanCard
from viewer.store.session import Session

BASE = 1_700_000_000_000_000_000
AUTOGRAD = 9
Item = tuple[str, int, int]
"""(letter, micro-batch, chunk)."""


def one_f_one_b(stages: int, micro: int) -> list[list[Item]]:
    """1F1B: per stage its passes in order."""
    out = []
    for stage in range(stages):
        warm = min(stages - stage - 1, micro)
        rows = [("F", m, 0) for m in range(warm)]
        for m in range(micro - warm):
            rows += [("F", warm + m, 0), ("B", m, 0)]
        out.append(rows + [("B", m, 0) for m in range(micro - warm, micro)])
    return out


def gpipe(stages: int, micro: int) -> list[list[Item]]:
    """All forward passes, then all backward passes."""
    rows = [("F", m, 0) for m in range(micro)] + [("B", m, 0) for m in range(micro)]
    return [list(rows) for _ in range(stages)]


def interleaved(stages: int, micro: int, chunks: int) -> list[list[Item]]:
    """Interleaved 1F1B: rounds of ``stages`` micro-batches go through all chunks."""
    out = []
    total = micro * chunks
    for stage in range(stages):
        forward, backward = [], []
        for k in range(total):
            part, place = divmod(k, stages * chunks)
            chunk, at = divmod(place, stages)
            forward.append(("F", part * stages + at, chunk))
            backward.append(("B", part * stages + at, chunks - 1 - chunk))
        warm = min((chunks - 1) * stages + 2 * (stages - stage - 1), total)
        rows = forward[:warm]
        for k in range(total - warm):
            rows += [forward[warm + k], backward[k]]
        out.append(rows + backward[total - warm :])
    return out


@dataclass
class PipelineJob:
    """What to make; lists of times are per stage, of one chunk each."""

    order: list[list[Item]]
    forward: list[int]
    backward: list[int]
    weight: list[int] = field(default_factory=list)
    chunks: int = 1
    replicas: int = 1
    steps: int = 2
    sent: int = 10_000
    inside: int = 0
    posted: int = 300_000
    """A receive begins this long before its result comes, where its stage is free."""
    slow: dict[int, float] = field(default_factory=dict)
    """Factors of ranks."""
    marks: bool = False
    """Ranges "PP:0F1" around the launches."""
    frames: bool = False
    """Python frames as Megatron's around the launches."""
    batched: bool = False
    """Sends and receives are of no kind and peer, and the thread of the forward passes launches them."""
    there_and_back: bool = False
    """Chunk 1 of a stage comes after that of the next stage: micro-batches turn at the last one."""
    groups: bool = True
    """Sends and receives state their group."""
    peers: bool = True
    without_file: tuple[int, ...] = ()
    offsets: dict[int, int] = field(default_factory=dict)
    optimizer: bool = True
    helpers: bool = False
    """A short kernel of the main thread before each backward pass."""
    lost: Callable[[int, Event], bool] = lambda _rank, _event: False
    """Which events of a rank its file lacks."""
    card: JobCard = field(default_factory=JobCard)

    def __post_init__(self) -> None:
        self.stages = len(self.order)
        self.passes: dict[tuple[int, int], list[tuple[str, int, int, int, int]]] = {}

    def session(self) -> Session:
        """The job as it is opened, clocks aligned by its all-reduces."""
        self._events: dict[int, list[Event]] = {r: [] for r in range(self.stages * self.replicas)}
        self._corr = 0
        at = BASE
        for step in range(self.steps):
            at = self._step(step, at + 1_000_000)
        traces = [
            make_trace(
                *[replace(e, start=e.start - BASE + self.offsets.get(r, 0)) for e in events if not self.lost(r, e)],
                path=f"rank-{r}.json",
                rank=r,
                rank_source="distributedInfo",
                world_size=len(self._events),
                base_ns=BASE,
            )
            for r, events in self._events.items()
            if r not in self.without_file
        ]
        return make_session(*traces).with_card(self.card)

    def _step(self, step: int, begin: int) -> int:
        reduce = max(self._line(step, replica, begin) for replica in range(self.replicas)) + 50_000
        last = reduce + 80_000
        for rank in self._events:
            mine = self.passes[rank, step][-1][4] + 50_000  # who is done waits for the others in the reduction
            self._gpu(rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", mine + 100 * rank, last, stream=20,
                      collective="allreduce", about=self._world(step))  # fmt: skip
            if self.optimizer:
                self._gpu(rank, "adam", last + 5_000, last + 105_000)
                self._events[rank].append(annotation("Optimizer.step#Adam.step", last - 30_000, 60_000))
            self._events[rank].append(annotation(f"ProfilerStep#{step}", begin - 200_000, last + 300_000 - begin))
        return last + 400_000

    def _world(self, step: int) -> dict[str, object]:
        members = list(self._events)
        return {
            "group": "0", "group_desc": "default_pg", "group_ranks": str(members), "group_size": len(members),
            "seq": step, "comms_id": 77 + step, "in_elems": 4, "dtype": "Float",
        }  # fmt: skip

    def _line(self, step: int, replica: int, begin: int) -> int:
        ranks = [s * self.replicas + replica for s in range(self.stages)]
        at = [0] * self.stages
        free = [begin] * self.stages
        done: dict[tuple[str, int, int], int] = {}
        for rank in ranks:
            self.passes[rank, step] = []
        last = self.stages * self.chunks - 1
        moved = True
        while moved:
            moved = False
            for stage, rank in enumerate(ranks):
                while at[stage] < len(self.order[stage]):
                    letter, micro, chunk = self.order[stage][at[stage]]
                    virtual = self._virtual(stage, chunk)
                    wanted = self._wanted(letter, micro, virtual, last)
                    if wanted is not None and wanted not in done:
                        break
                    start, source = free[stage] + 1_000, None
                    if wanted is not None and self._stage(wanted[2]) != stage:
                        source = ranks[self._stage(wanted[2])]
                        came = done[wanted] + self.sent
                        start = max(start, came + 500)
                        asked = max(free[stage] + 200, came - self.posted)
                        self._p2p(rank, "recv", source, asked, max(came, asked + 100), ranks)
                    end = self._pass(rank, stage, letter, micro, virtual, start)
                    self.passes[rank, step].append((letter, micro, chunk, start, end))
                    done[letter, micro, virtual] = end
                    free[stage] = end
                    target = virtual + (1 if letter == "F" else -1)
                    if 0 <= target <= last and target % self.stages != stage:
                        self._p2p(
                            rank, "send", ranks[target % self.stages], end + 300, end + max(400, self.sent), ranks
                        )
                    at[stage] += 1
                    moved = True
        assert all(a == len(o) for a, o in zip(at, self.order, strict=True)), "the order waits for itself"
        return max(free)

    def _virtual(self, stage: int, chunk: int) -> int:
        back = self.there_and_back and chunk % 2
        return chunk * self.stages + (self.stages - 1 - stage if back else stage)

    def _stage(self, virtual: int) -> int:
        chunk, at = divmod(virtual, self.stages)
        return self.stages - 1 - at if self.there_and_back and chunk % 2 else at

    @staticmethod
    def _wanted(letter: str, micro: int, virtual: int, last: int) -> tuple[str, int, int] | None:
        if letter == "W":
            return ("B", micro, virtual)
        if letter == "F":
            return ("F", micro, virtual - 1) if virtual else None
        return ("B", micro, virtual + 1) if virtual < last else ("F", micro, virtual)

    def _pass(self, rank: int, stage: int, letter: str, micro: int, virtual: int, start: int) -> int:
        length = round(
            {"F": self.forward, "B": self.backward, "W": self.weight}[letter][stage] * self.slow.get(rank, 1.0)
        )
        half = length // 2
        thread = THREAD if letter == "F" else AUTOGRAD
        if self.helpers and letter == "B":
            self._gpu(rank, "scale_loss", start - 450, start - 300)
        first = self._gpu(rank, f"gemm_{letter}", start, start + half, thread)
        end = start + length + self.inside
        self._gpu(rank, f"gemm_{letter}2", start + half + self.inside, end, thread)
        if self.frames:
            name = "schedules.py(275): forward_step" if letter == "F" else "schedules.py(391): backward_step"
            self._events[rank].append(python(name, first - 200, 40 + length + self.inside))
        if self.marks:
            self._events[rank].append(
                annotation(f"PP:{virtual}{letter}{micro}", first - 200, 40 + length + self.inside)
            )
        return end

    def _gpu(self, rank: int, name: str, start: int, end: int, thread: int = THREAD, **more: object) -> int:
        """A kernel with its launch just before it; when the launch began."""
        self._corr += 1
        began = start - 250
        if thread == AUTOGRAD:
            self._events[rank].append(
                op("autograd::engine::evaluate_function: MmBackward0", began - 20, 100, tid=AUTOGRAD)
            )
        self._events[rank] += [
            call("cudaLaunchKernel", began, 50, corr=self._corr, tid=thread),
            kernel(name, start, end - start, corr=self._corr, **more),  # type: ignore[arg-type]
        ]
        return began

    def _p2p(self, rank: int, what: str, peer: int, start: int, end: int, ranks: list[int]) -> None:
        about: dict[str, object] = {"in_elems": 1024, "dtype": "BFloat16"}
        if self.peers:
            about["src" if what == "recv" else "dst"] = peer
        if self.groups:
            about |= {"group": f"pp{ranks[0]}", "group_desc": "PIPELINE_MODEL_PARALLEL_GROUP",
                      "group_ranks": str(ranks), "group_size": len(ranks)}  # fmt: skip
        if self.batched:
            about.pop("src", None)
            about.pop("dst", None)
        kind, thread = ("coalesced", THREAD) if self.batched else (what, 5)
        self._gpu(rank, "ncclDevKernel_SendRecv", start, end, thread, stream=24 if what == "recv" else 28,
                  collective=kind, about=about)  # fmt: skip

    def phase(self, replica: int, step: int) -> tuple[int, int]:
        """True begin and end of the pipelined phase of a replica."""
        mine = [p for (r, s), rows in self.passes.items() if s == step and r % self.replicas == replica for p in rows]
        return min(p[3] for p in mine), max(p[4] for p in mine)


def plan(**sizes: int) -> JobCard:
    """A job card with a parallel plan."""
    return JobCard(plan=PlanCard(**sizes))
