"""A small job of known slices for the tests of pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from viewer.base.ids import ABSENT
from viewer.store.assemble import assemble
from viewer.store.meta import DeviceInfo, SourceStamp, TraceMeta
from viewer.store.raw import RawSlices, RawTrace
from viewer.store.rules import shipped_rules
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace

US = 1_000
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8>(Params)"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
HOSTILE = '</text><script>alert("x")</script>&amp;\x07'

Event = tuple[str, str, int, int, int]
"""(category, name, start us, duration us, stream or thread)."""

PLAIN: tuple[Event, ...] = (
    ("kernel", GEMM, 100, 400, 7),
    ("kernel", NCCL, 300, 500, 20),
    ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 850, 60, 7),
    ("kernel", HOSTILE, 920, 75, 7),
    ("cpu_op", "aten::linear", 0, 300, 4001),
    ("cuda_runtime", "cudaLaunchKernel", 20, 10, 4001),
)


def trace_of(events: tuple[Event, ...], rank: int | None, base_ns: int | None = None, digest: str = "ab" * 32) -> Trace:
    """A trace in memory; GPU events lie on device 0."""
    strings = sorted({text for e in events for text in e[:2]})
    gpu = np.array([e[0] in {"kernel", "gpu_memcpy", "gpu_memset"} for e in events])
    start = np.array([e[2] * US for e in events], np.int64)
    dur = np.array([e[3] * US for e in events], np.int64)
    lane = np.array([e[4] for e in events], np.int64)
    raw = RawTrace(
        strings,
        RawSlices.filled(
            start,
            dur,
            np.array([strings.index(e[1]) for e in events], np.int32),
            np.array([strings.index(e[0]) for e in events], np.int32),
            pid=np.where(gpu, 0, 900),
            tid=lane,
            device=np.where(gpu, 0, ABSENT),
            stream=np.where(gpu, lane, ABSENT),
        ),
    )
    meta = TraceMeta(
        version=1,
        format="test",
        source=SourceStamp("x", 1, 1, digest),
        rules_hash="",
        base_ns=base_ns,
        rank=rank,
        rank_source="unknown" if rank is None else "distributedInfo",
        host="node-7",
        first_ns=int(start.min()),
        last_ns=int((start + dur).max()),
        gpu_first_ns=int(start[gpu].min()) if gpu.any() else None,
        devices=[DeviceInfo(0, "NVIDIA A100-SXM4-80GB")],
    )
    return Trace.in_memory(meta, assemble(raw, shipped_rules()))


def job(ranks: int = 2, events: tuple[Event, ...] = PLAIN, base_ns: int | None = 10**18) -> Session:
    """A job whose ranks all hold the same events."""
    return build_session(
        [Opened(Path(f"/runs/job 1/rank{r}.json"), trace_of(events, r, base_ns, f"{r:02x}" * 32)) for r in range(ranks)]
    )
