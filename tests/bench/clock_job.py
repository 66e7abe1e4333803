"""Jobs of many ranks and collectives straight as tables, on clocks that are known: no file is written or read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, NOTHING_RECORDED
from viewer.store.args import ArgsText
from viewer.store.assemble import assemble
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.raw import RawCollectives, RawSlices, RawTrace
from viewer.store.rules import shipped_rules
from viewer.store.schema import FORMAT_VERSION
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

METADATA, NUMBERS, ORDER, INPUTS = "metadata", "numbers", "order", "inputs"
WAYS: Final = (METADATA, NUMBERS, ORDER, INPUTS)
"""What a file says of a collective: all with its kernel; the number only at its ``record_param_comms``; no number;
nothing but the recorded inputs of the call, as profilers before 2024 wrote it."""
PITCH_NS: Final = 400_000
"""From one collective to the next."""
STEPS: Final = 40
TENSOR: Final = 8
"""Neighbouring ranks that reduce together most often; every eighth rank is of one data-parallel group."""
_BASE_NS: Final = 1_712_195_495_000_000_000
_TENSOR, _DATA, _WORLD = range(3)
_TEXTS: Final = (
    "kernel", "cuda_runtime", "cpu_op", "user_annotation", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "gemm", "cudaLaunchKernelExC", "record_param_comms", "allreduce",
    "reduce_scatter", "BFloat16", "cudaLaunchKernel",
)  # fmt: skip


def clocks(ranks: int) -> tuple[I64, NDArray[np.float64]]:
    """Offsets (ns) and drifts of the ranks' clocks."""
    random = np.random.default_rng(ranks)
    return random.integers(-3_000_000, 3_000_001, ranks), random.uniform(-5e-5, 5e-5, ranks)


class _Plan:
    """When the collectives of all ranks happen on the true clock, and of which group each is."""

    def __init__(self, ranks: int, collectives: int) -> None:
        random = np.random.default_rng(1)
        n = collectives
        self.group = np.where(np.arange(n) % 5 < 3, _TENSOR, _DATA)
        self.group[n // STEPS - 1 :: n // STEPS] = _WORLD
        self.begin = np.arange(n, dtype=np.int64) * PITCH_NS + np.arange(n) // (n // STEPS) * 3_000_000
        self.arrival = self.begin[None, :] + random.integers(0, 80_000, (ranks, n))
        rank = np.arange(ranks)
        self.of = np.stack((rank // TENSOR, ranks // TENSOR + rank % TENSOR, np.full(ranks, ranks)))  # [kind, rank]
        number = self.of[self.group]  # [collective, rank]
        self.end = np.zeros((ranks, n), np.int64)
        for g in range(ranks // TENSOR + TENSOR + 1):
            mine = number == g
            last = np.where(mine, self.arrival.T, 0).max(axis=1)
            self.end = np.where(mine.T, (last + 60_000)[None, :], self.end)
        self.end += random.integers(0, 400, (ranks, n))


def _members(kind: int, rank: int, ranks: int) -> list[int]:
    if kind == _TENSOR:
        first = rank // TENSOR * TENSOR
        return list(range(first, min(first + TENSOR, ranks)))
    return list(range(rank % TENSOR, ranks, TENSOR)) if kind == _DATA else list(range(ranks))


def make_rank(rank: int, ranks: int, plan: _Plan, way: str) -> Trace:
    """One rank: per collective its kernel, launch and call, and a kernel of compute with its launch."""
    offsets, drifts = clocks(ranks)
    n = len(plan.group)
    strings = list(_TEXTS)
    code = {text: i for i, text in enumerate(strings)}

    def text(value: str) -> int:
        if value not in code:
            code[value] = len(strings)
            strings.append(value)
        return code[value]

    seq = np.zeros(n, np.int64)
    for kind in range(3):
        mine = plan.group == kind
        seq[mine] = np.arange(int(mine.sum()))
    arrival, end = plan.arrival[rank], plan.end[rank]
    scattered = plan.group == _DATA
    kernel = np.where(scattered, 5, 4)
    corr = np.arange(1, n + 1)
    cpu = plan.begin - 250_000
    marks = plan.begin[:: n // STEPS]
    none = np.full(n, ABSENT)
    step_names = np.array([text(f"ProfilerStep#{i}") for i in range(len(marks))])
    step_ends = np.append(marks[1:], plan.begin[-1] + PITCH_NS) - 301_000
    parts = [  # start, end, name, category, correlation, process, thread, stream
        (arrival, end, kernel, 0, corr, 0, 20, 20),
        (cpu + 100_000, cpu + 240_000, 6, 0, corr + n, 0, 7, 7),
        (cpu + 30_000, cpu + 36_000, 7, 1, corr, 100, 1, ABSENT),
        (cpu + 2_000, cpu + 8_000, 12, 1, corr + n, 100, 1, ABSENT),
        (cpu + 20_000, cpu + 40_000, 8, 2, none, 100, 1, ABSENT),
        (marks - 300_000, step_ends, step_names, 3, none[: len(marks)], 100, 1, ABSENT),
    ]  # fmt: skip

    def column(at: int, kind: type = np.int64) -> NDArray[Any]:
        return np.concatenate([np.broadcast_to(np.asarray(p[at], kind), len(p[0])) for p in parts])

    def shown(true: I64) -> I64:
        return true + offsets[rank] + np.rint(drifts[rank] * true).astype(np.int64) + 10_000_000_000

    begin = shown(column(0))
    recorded = np.full(len(begin), NOTHING_RECORDED, np.int32)
    calls = np.arange(4 * n, 5 * n)
    described = {METADATA: np.concatenate((np.arange(n), calls)), NUMBERS: calls, ORDER: calls}.get(way, calls[:0])
    written: list[str] = []
    if way == INPUTS:
        recorded[calls] = np.arange(n)
        written = [_inputs(int(q), int(k), ranks, rank) for q, k in zip(seq, plan.group, strict=True)]
    which = np.where(described < n, described, described - 4 * n) if len(described) else described
    about = [_members(kind, rank, ranks) for kind in range(3)]
    names = [("tp", "TENSOR_MODEL_PARALLEL_GROUP"), ("dp", "DATA_PARALLEL_GROUP"), ("0", "default_pg")]
    of_kind = plan.group[which]

    def per_kind(values: list[int]) -> NDArray[Any]:
        return np.array(values)[of_kind]

    table = RawCollectives(
        slice=described,
        kind=np.where(of_kind == _DATA, 10, 9).astype(np.int32),
        in_elems=np.full(len(which), 1 << 20),
        out_elems=np.full(len(which), 1 << 20),
        dtype=np.full(len(which), 11, np.int32),
        group=per_kind([text(f"{name}{m[0] if name != '0' else ''}") for (name, _), m in zip(names, about, strict=True)]
                       ).astype(np.int32),
        group_desc=per_kind([text(described_as) for _, described_as in names]).astype(np.int32),
        group_ranks=per_kind([text(str(m)) for m in about]).astype(np.int32),
        group_size=per_kind([len(m) for m in about]),
        seq=np.full(len(which), ABSENT) if way == ORDER else seq[which],
        comms_id=np.full(len(which), ABSENT), src=np.full(len(which), ABSENT), dst=np.full(len(which), ABSENT),
        first_rank=np.full(len(which), ABSENT), rank_stride=np.full(len(which), ABSENT),
    )  # fmt: skip
    slices = RawSlices.filled(
        begin, shown(column(1)) - begin, column(2, np.int32), column(3, np.int32),
        pid=column(5), tid=column(6), corr=column(4), device=np.where(column(7) == ABSENT, ABSENT, 0),
        stream=column(7), recorded=recorded,
    )  # fmt: skip
    raw = RawTrace(strings=[], slices=slices, collectives=table)
    raw.strings.extend(strings)
    raw.recorded.extend(written)
    first, last = int(begin.min()), int((begin + slices.dur_ns).max())
    meta = TraceMeta(
        FORMAT_VERSION, "kineto", SourceStamp(f"rank{rank}.json", 0, 0, ""), shipped_rules().hash, base_ns=_BASE_NS,
        rank=rank, rank_source="distributedInfo", world_size=ranks, events=len(begin), first_ns=first, last_ns=last,
        gpu_first_ns=int(shown(arrival).min()), gpu_last_ns=last,
    )  # fmt: skip
    return Trace.in_memory(meta, assemble(raw, shipped_rules()), ArgsText.none())


def _inputs(seq: int, kind: int, ranks: int, rank: int) -> str:
    size = (TENSOR, ranks // TENSOR, ranks)[kind]
    kinds = '"Tensor","Scalar","Scalar","Scalar","Scalar","ScalarList","ScalarList","Scalar"'
    return (
        f'{{"Input Dims":[[1048576],[],[],[],[],[],[],[]],"Input type":["c10::BFloat16",{kinds.split(",", 1)[1]}],'
        f'"Concrete Inputs":["","{seq}","{94_000_000_000_000 + kind}","{rank}","x","[]","[]","{size}"]}}'
    )


def make_job(ranks: int, collectives: int, way: str) -> Session:
    """A job of ``ranks`` ranks, each with so many collectives."""
    plan = _Plan(ranks, collectives)
    return build_session([Opened(Path(f"rank{r}.json"), make_rank(r, ranks, plan, way)) for r in range(ranks)])
