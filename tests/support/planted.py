"""One job per kind of finding, with the fault planted in it and what it truly costs; and jobs with nothing wrong.

What a fault costs is how much longer a step of the job is than that of the same job without it, as both were made; or
the amount that was planted (bytes of memory, time of kernels).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op
from tests.support.gradients import GradientJob
from tests.support.host_job import HostJob, launch_bound_job
from tests.support.memory import MIB, FakeAllocator, OutOfMemory, profiler_events
from tests.support.memory_job import LAYERS, Planted, fragmented, longer_and_longer, training
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from tests.support.ranks import RankJob
from viewer.app.clocks import settle_clocks
from viewer.base.job_card import (
    EMPTY_CARD,
    BaselineCard,
    HardwareCard,
    JobCard,
    ModelCard,
    PlanCard,
    RunCard,
)
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.meta import DeviceInfo
from viewer.store.session import Session

Made = tuple[Session, float | None]
"""A job, and what its fault costs: ns per step, or bytes; None where a finding of this kind names no size."""
US, MS = 1_000, 1_000_000
FORWARD_NS, BACKWARD_NS = 1_000_000, 2_000_000
H100: Final = [DeviceInfo(0, "NVIDIA H100 80GB HBM3", {"computeMajor": 9, "numSms": 132})]
WIDE: Final = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_kernel"
NARROW: Final = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn"


# -- hosts -------------------------------------------------------------------------------------------------------------


def host(fault: str) -> Callable[[Path], Made]:
    """One rank whose host has a fault in every step."""

    def make(_: Path) -> Made:
        job = HostJob(faults=(fault,))
        return make_session(job.trace()), job.cost_ns

    return make


def launch_bound(_: Path) -> Made:
    """Kernels of 3 us with a launch every 26 us."""
    job = launch_bound_job()
    return make_session(job.trace()), job.step_ns - job.kernels * job.kernel_ns


def graph_gaps(_: Path) -> Made:
    """100 kernels of 6 us in a graph, 2 us apart."""
    events = []
    for step in range(4):
        at = step * 850 * US
        events += [annotation(f"ProfilerStep#{step}", at, 850 * US)]
        events += [call("cudaGraphLaunch", at + 10 * US, 20 * US, corr=step + 1)]
        events += [kernel("k", at + (40 + 8 * i) * US, 6 * US, corr=step + 1) for i in range(100)]
    return make_session(make_trace(*events)), 99 * 2 * US


def slowed_host(_: Path) -> Made:
    """A slow host that stacks slow down further."""
    return make_session(HostJob(faults=("host-bound",), facts={"with_stack": 1}).trace()), None


# -- ranks and stages --------------------------------------------------------------------------------------------------


@dataclass
class Worked(RankJob):
    """Each rank's ``gemm`` lasts ``extra[rank]`` ns more; with ``turns`` rank ``step % ranks`` works more instead.

    ``idle`` is what a rank does nothing for before it joins the step's reductions.
    """

    extra: dict[int, int] = field(default_factory=dict)
    idle: dict[int, int] = field(default_factory=dict)
    turns: int = 0
    _at: int = 0

    def _step(self, step: int) -> None:
        self._at = step
        super()._step(step)

    def _compute(self, rank: int, start: int, length: int, name: str = "gemm") -> None:
        if name == "gemm":
            length += self.extra.get(rank, 0) + (self.turns if self._at % self.ranks == rank else 0)
            length -= self.idle.get(rank, 0)
        super()._compute(rank, start, length, name)


def aligned(job: RankJob) -> Session:
    """The job on the clocks of its collectives."""
    return settle_clocks(job.session(), "auto")


def late_rank(_: Path) -> Made:
    """One rank of six computes 4 ms longer."""
    return aligned(RankJob(ranks=6, late_ns={3: 4 * MS}, offsets={1: 2 * MS})), 4 * MS


def uneven_ranks(_: Path) -> Made:
    """Of two ranks one in turn computes 4 ms longer: 2 ms beyond their mean."""
    return aligned(Worked(ranks=2, sends=False, turns=4 * MS)), 2 * MS


def uneven_stages(_: Path) -> Made:
    """The middle one of three stages computes 3 ms longer: 2 ms beyond their mean."""
    return aligned(Worked(ranks=6, steps=8, extra={2: 3 * MS, 3: 3 * MS})), 2 * MS


def late_stage(_: Path) -> Made:
    """Both ranks of one stage do nothing for 4 ms before they reduce: their kernels are as the others'."""
    late = {2: 4 * MS, 3: 4 * MS}
    return aligned(Worked(ranks=6, late_ns=late, idle=late)), 4 * MS


# -- communication -----------------------------------------------------------------------------------------------------


def against(job: GradientJob, without: GradientJob, card: JobCard = EMPTY_CARD) -> Made:
    """A job, and how much longer its steps are than those of the other."""
    session = job.session()
    without.session()
    return session.with_card(card), job.step_ns() - without.step_ns()


def misplaced(_: Path) -> Made:
    """Tensor-parallel pairs over two hosts; inside one their link would take a sixth of the time."""
    job = GradientJob(purpose="TENSOR_MODEL_PARALLEL_GROUP")
    rate = 400 * 10**9
    inside = replace(job, transfer_ns=job.elements * 2 * 10**9 // rate, own_ns=0)
    hosts = (("a", (0, 2)), ("b", (1, 3)))
    return against(job, inside, JobCard(hardware=HardwareCard(hosts=hosts, link_bytes_per_second=rate)))


def twice_the_bytes(_: Path) -> Made:
    """A model of half the elements that are reduced."""
    job = GradientJob(layer_ns=300 * US)
    card = JobCard(
        model=ModelCard(parameters=2 * job.elements),
        plan=PlanCard(dp=2, tp=1, pp=1, zero_stage=0),
        run=RunCard(grad_dtype="bf16"),
    )
    return against(job, replace(job, transfer_ns=400 * US, own_ns=15 * US), card)


def below_baseline(folder: Path) -> Made:
    """Reductions that take 3.6 times what nccl-tests measured."""
    job = GradientJob(transfer_ns=3 * MS)
    head = "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2 minBytes 8\n"
    row = f"  {2 * job.elements}  1  float  sum  -1  830.0  1 1 0  830.0  1 1 0\n"
    (folder / "base.log").write_text(head + row)
    card = JobCard(baseline=BaselineCard(str(folder / "base.log")))
    return against(job, GradientJob(), card)


def exposed(_: Path) -> Made:
    """Reductions four times as long as the compute beside them; hidden, they would cost the last one's tail alone."""
    job = GradientJob(transfer_ns=3 * MS)
    return against(job, replace(job, transfer_ns=0, own_ns=0))


def barriers(_: Path) -> Made:
    """A barrier in every step, in which even the last rank spends 0.6 ms."""

    def rank(number: int) -> Any:
        about = {"group": "0", "group_desc": "default_pg", "group_size": 2}
        events: list[Event] = []
        for step in range(4):
            at = step * 10 * MS
            events += [
                annotation(f"ProfilerStep#{step}", at, 9 * MS),
                call("cudaLaunchKernel", at + 10, 5, corr=2 * step + 1),
                call("cudaLaunchKernel", at + 20, 5, corr=2 * step + 2),
                kernel("gemm", at + MS, 5 * MS, corr=2 * step + 1),
                kernel("ncclBarrier", at + 7 * MS - number * 100 * US, 600 * US + number * 100 * US, stream=20,
                       corr=2 * step + 2, collective="barrier", about=about | {"seq": step}),
            ]  # fmt: skip
        return make_trace(*events, rank=number, path=f"{number}.json", world_size=2)

    return make_session(rank(0), rank(1)), 600 * US


# -- pipelines ---------------------------------------------------------------------------------------------------------


@dataclass
class FaultyPipeline(PipelineJob):
    """A pipeline whose micro-batches differ (``uneven``: factors by micro-batch), or whose stages do nothing for
    ``rests[stage]`` ns before each pass."""

    uneven: tuple[float, ...] = (1.0,)
    rests: dict[int, int] = field(default_factory=dict)

    def _pass(self, rank: int, stage: int, letter: str, micro: int, virtual: int, start: int) -> int:
        factor = self.uneven[micro % len(self.uneven)]
        kept = self.slow.get(rank, 1.0)
        self.slow = {**self.slow, rank: kept * factor}
        end = super()._pass(rank, stage, letter, micro, virtual, start + self.rests.get(stage, 0))
        self.slow = {**self.slow, rank: kept}
        return end


def pipe(**more: Any) -> FaultyPipeline:
    """Four stages, eight micro-batches, 1F1B, two replicas."""
    every: dict[str, Any] = {"order": one_f_one_b(4, 8), "forward": [FORWARD_NS] * 4, "backward": [BACKWARD_NS] * 4}
    return FaultyPipeline(**{**every, "steps": 3, "replicas": 2, **more})


def pipeline(card: JobCard = EMPTY_CARD, **more: Any) -> Callable[[Path], Made]:
    """A pipeline with a fault; it costs what its phase is longer than without, a mean over its replicas."""

    def make(_: Path) -> Made:
        job, without = pipe(**more), pipe(**{"replicas": more["replicas"]} if "replicas" in more else {})
        session = settle_clocks(job.session(), "auto").with_card(card)
        without.session()
        longer = [b - a for r in range(job.replicas) for a, b in (job.phase(r, 1),)]
        usual = [b - a for r in range(job.replicas) for a, b in (without.phase(r, 1),)]
        return session, sum(longer) / len(longer) - sum(usual) / len(usual)

    return make


def unaligned_pipeline(_: Path) -> Made:
    """Slow sends between ranks whose clocks nothing has joined."""
    return pipe(sent=400 * US, offsets={1: 9 * MS}).session(), None


def late_worker(folder: Path) -> Made:
    """A file of spans: one of three workers of a stage takes twice as long for its two micro-batches."""
    from tests.viewer.analyses.pipeline.test_spans import spans

    events = []
    for step, replica in itertools.product(range(3), range(3)):
        for stage, order in enumerate(one_f_one_b(2, 2)):
            at = 40 * step
            for letter, micro, _ in order:
                (*names, event) = spans(stage, replica, [(letter, micro, at)])
                event["args"]["step"] = step
                event["dur"] *= 2 if replica == 1 and stage == 1 else 1
                at += 5
                events += [*names, event]
    (folder / "t.json").write_text(json.dumps(events))
    return JobOpener([folder / "t.json"], cache=Cache(folder / "c")).open().session, 2 * 3 * US


# -- kernels -----------------------------------------------------------------------------------------------------------

STEP = 10 * MS


class Steps:
    """Events of steps: each call of :meth:`run` is an operator with one kernel; the host runs ahead."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.corr = self.host = 0

    def run(self, at: int, name: str, dur: int, kind: str = "c10::BFloat16") -> None:
        self.corr += 1
        args = {"Input Dims": [[1024, 512], [512, 256]], "Input type": [kind, kind]}
        grid = {"grid": [8, 1, 1], "block": [128, 1, 1]}
        self.events.append(op("aten::mm", self.host, 1000, args=args))
        self.events.append(call("cudaLaunchKernel", self.host + 100, 100, corr=self.corr))
        self.host += 1_100
        self.events.append(kernel(name, at + 2000, dur, corr=self.corr, args=grid))

    @classmethod
    def job(cls, fill: Callable[[Steps, int], None]) -> Session:
        made = cls()
        for number in range(4):
            made.events.append(annotation(f"ProfilerStep#{number}", number * STEP, STEP))
            made.host = number * STEP + 100
            fill(made, number * STEP + 50 * US)
        return make_session(make_trace(*made.events, devices=H100))


def fp32(_: Path) -> Made:
    """Three of ten products in fp32, 0.8 ms instead of 0.2."""

    def fill(made: Steps, at: int) -> None:
        for n in range(10):
            wide = n < 3
            made.run(at + n * 900 * US, WIDE if wide else NARROW, 800 * US if wide else 200 * US,
                     "float" if wide else "c10::BFloat16")  # fmt: skip

    return Steps.job(fill), 3 * 600 * US


def contention(_: Path) -> Made:
    """Five of fifteen kernels run beside communication, 40 us longer each."""

    def fill(made: Steps, at: int) -> None:
        for n in range(15):
            made.run(at + n * 600 * US, "gemm_x", 500 * US + (40 * US if n >= 10 else 0))
        made.events.append(kernel("ncclDevKernel_AllReduce", at + 10 * 600 * US, 3 * MS, stream=20))

    return Steps.job(fill), 5 * 40 * US


def uneven_runs(_: Path) -> Made:
    """One of twenty runs of a kernel takes 0.3 ms instead of 0.1."""

    def fill(made: Steps, at: int) -> None:
        for n in range(20):
            made.run(at + n * 400 * US, "gemm_x", 300 * US if n == 7 else 100 * US + 500 * (n % 3))

    return Steps.job(fill), 200 * US


def recompute(_: Path) -> Made:
    """A checkpointed function runs 2 ms of its forward pass again in every step."""
    events: list[Event] = []
    for step in range(4):
        at, corr = step * STEP, 10 * step
        events += [
            annotation(f"ProfilerStep#{step}", at, STEP),
            op("aten::mm", at + 10, 50), call("cudaLaunchKernel", at + 20, 5, corr=corr + 1),
            op("autograd::engine::evaluate_function: CheckpointFunctionBackward", at + 1_000, 500, tid=2),
            op("CheckpointFunctionBackward", at + 1_010, 480, tid=2),
            op("aten::mm", at + 1_020, 50, tid=2), call("cudaLaunchKernel", at + 1_030, 5, corr=corr + 2, tid=2),
            op("autograd::engine::evaluate_function: MmBackward0", at + 1_200, 200, tid=2),
            op("MmBackward0", at + 1_210, 180, tid=2), call("cudaLaunchKernel", at + 1_220, 5, corr=corr + 3, tid=2),
            kernel("forward", at + 2_000, 2 * MS, corr=corr + 1),
            kernel("again", at + 2 * MS + 3_000, 2 * MS, corr=corr + 2),
            kernel("backward", at + 4 * MS + 4_000, 5 * MS, corr=corr + 3),
        ]  # fmt: skip
    return make_session(make_trace(*events)), 2 * MS


# -- memory ------------------------------------------------------------------------------------------------------------


def snapshots(folder: Path, *ranks: FakeAllocator) -> Session:
    """A job of ranks whose snapshots are opened."""
    for rank, one in enumerate(ranks):
        (folder / f"rank_{rank}.pickle").write_bytes(one.pickled())
    paths = [folder / f"rank_{rank}.pickle" for rank in range(len(ranks))]
    return JobOpener(paths, cache=Cache(folder / "cache")).open().session


def memory(planted: Planted, size: float) -> Callable[[Path], Made]:
    """One rank with a problem of ``size`` bytes."""
    return lambda folder: (snapshots(folder, training(planted)), size)


def churn(folder: Path) -> Made:
    """What every steady step gives back to the driver, of the median step."""
    a = training(Planted(churn=True))
    freed = [e for e in a.events if e["action"] == "segment_free"]
    edges = [x["time_us"] for x in a.annotations if x["stage"] == "START"][4:]
    per_step = [sum(e["size"] for e in freed if a <= e["time_us"] < b) for a, b in itertools.pairwise(edges)]
    return snapshots(folder, a), median(per_step)


def uneven_memory(folder: Path) -> Made:
    """One of four ranks keeps activations half as large again."""
    ranks = [training(Planted(steps=6, seed=k, scale=1.5 if k == 2 else 1.0)) for k in range(4)]
    return snapshots(folder, *ranks), LAYERS * 3 * MIB


def out_of_memory(folder: Path) -> Made:
    """Four blocks of 20 MiB on a device of 100; a request of 50 fails, 30 short."""
    a = FakeAllocator(capacity=100 * MIB)
    for _ in range(4):
        a.alloc(20 * MIB, "forward:model.py")
    try:
        a.alloc(50 * MIB, "forward:model.py")
    except OutOfMemory:
        return snapshots(folder, a), 30 * MIB
    raise AssertionError("the request fitted")


def fragmentation(folder: Path) -> Made:
    """A request that is smaller than the holes together and larger than each."""
    a, wanted, _ = fragmented()
    return snapshots(folder, a), wanted


def reserve_growth(folder: Path) -> Made:
    """What the steps after warm-up get from the device, of the median step."""
    return snapshots(folder, longer_and_longer()), (40 + 2 * 12) * MIB


def nearly_full(allocated: int, reserved: int) -> Callable[[Path], Made]:
    """Records of a device of 1,000 MiB."""

    def make(folder: Path) -> Made:
        args = {"Addr": 1, "Bytes": 1, "Device Type": 1, "Device Id": 0}
        args |= {"Total Allocated": allocated * MIB, "Total Reserved": reserved * MIB}
        memory = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 5, "tid": 5, "ts": 10,
                  "args": args}  # fmt: skip
        work = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 90, "args": {"device": 0}}
        (folder / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [work, memory]}))
        session = JobOpener([folder / "t.json"], cache=Cache(folder / "c")).open().session
        return session.with_card(JobCard(hardware=HardwareCard(memory_bytes=1_000 * MIB))), None

    return make


# -- nothing wrong -----------------------------------------------------------------------------------------------------


def clean_memory(folder: Path) -> Session:
    """A training job whose memory is as it should be, as the profiler records it."""
    path = folder / "rank0.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": profiler_events(training(Planted()))}))
    return JobOpener([path], cache=Cache(folder / "c")).open().session


def served(_: Path) -> Session:
    """Iterations of a serving engine that launches graphs."""
    events: list[Event] = []
    for k in range(12):
        at = k * 5 * MS
        events += [
            annotation(f"execute_context_0(0)_generation_{k}(8)", at, 400 * US),
            call("cudaGraphLaunch", at + 50 * US, 200 * US, corr=k + 1),
            *(kernel("gemm", at + (100 + 245 * i) * US, 244 * US, corr=k + 1) for i in range(20)),
        ]
    return make_session(make_trace(*events, rank=0, world_size=1))


CLEAN: Final[dict[str, Callable[[Path], Session]]] = {
    "one rank": lambda _: make_session(HostJob().trace()),
    "one rank with stacks and shapes": lambda _: make_session(
        HostJob(facts={"with_stack": 1, "record_shapes": 1}).trace()
    ),
    "one rank without steps": lambda _: make_session(
        make_trace(*(e for e in HostJob().events() if not e.name.startswith("ProfilerStep")))
    ),
    "ranks": lambda _: aligned(RankJob(ranks=6, offsets={2: 2_500 * US})),
    "two ranks of six": lambda _: aligned(RankJob(ranks=6, without_file=(2, 3, 4, 5))),
    "ranks on clocks that nothing joins": lambda _: RankJob(ranks=4).session(),
    "gradients": lambda _: GradientJob().session(),
    "one rank of eight": lambda _: GradientJob(ranks=1, groups=1, world=8).session(),
    "pipeline": lambda _: settle_clocks(pipe().session(), "auto"),
    "pipeline without replicas": lambda _: settle_clocks(pipe(replicas=1, posted=10**9).session(), "auto"),
    "two ranks of a pipeline": lambda _: settle_clocks(pipe(without_file=(2, 3, 4, 5, 6, 7)).session(), "auto"),
    "memory": clean_memory,
    "even memory of ranks": lambda folder: snapshots(folder, *(training(Planted(steps=6, seed=k)) for k in range(3))),
    "serving engine": served,
    "kernels": lambda _: Steps.job(lambda made, at: [made.run(at + n * 900 * US, NARROW, 880 * US) for n in range(10)]),
}
