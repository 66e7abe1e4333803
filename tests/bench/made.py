"""A job of many slices straight as tables: no file is written or read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, NOTHING_RECORDED, LaneKind, Paint
from viewer.store.args import ArgsText
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.rules import shipped_rules
from viewer.store.schema import FORMAT_VERSION
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace

SPAN_NS = 60_000_000_000
"""How long the job lasts."""
_BASE_NS = 1_712_195_495_000_000_000
_KERNELS, _CALLS, _OPS, _FRAMES, _COLLECTIVES = 400, 6, 300, 200, 12
_CATS = ("kernel", "cuda_runtime", "cpu_op", "python_function")
_ROWS = (
    # kind, lane, depth, share of the slices, paint, category, first name, names, part of the time that is busy
    (LaneKind.STREAM, 0, 0, 0.20, Paint.COMPUTE, 0, "kernels", 0.85),
    (LaneKind.STREAM, 1, 0, 0.02, Paint.COMM, 0, "collectives", 0.40),
    (LaneKind.STREAM, 2, 0, 0.02, Paint.MEMORY, 0, "kernels", 0.05),
    (LaneKind.THREAD, 3, 0, 0.02, Paint.OPERATOR, 2, "ops", 0.99),
    (LaneKind.THREAD, 3, 1, 0.12, Paint.OPERATOR, 2, "ops", 0.90),
    (LaneKind.THREAD, 3, 2, 0.20, Paint.RUNTIME, 1, "calls", 0.40),
    (LaneKind.THREAD, 4, 0, 0.02, Paint.OPERATOR, 2, "ops", 0.60),
    (LaneKind.THREAD, 4, 1, 0.12, Paint.OPERATOR, 2, "ops", 0.50),
    *((LaneKind.THREAD, 5, depth, 0.028, Paint.PYTHON, 3, "frames", 0.95) for depth in range(10)),
)


def _strings() -> tuple[list[str], dict[str, tuple[int, int]]]:
    """All texts, and where the names of each sort lie among them."""
    sorts = {
        "kernels": [f"void cutlass::Kernel<gemm_{i}_128x{i % 7}_tn_align8>(Params, float*)" for i in range(_KERNELS)],
        "collectives": [f"ncclDevKernel_AllReduce_Sum_bf16_RING_LL({i})" for i in range(_COLLECTIVES)],
        "ops": [f"aten::operator_{i}" for i in range(_OPS)],
        "calls": [f"cudaLaunchKernel{'' if i == 0 else i}" for i in range(_CALLS)],
        "frames": [f"megatron/core/file_{i}.py({i}): forward" for i in range(_FRAMES)],
    }
    texts, where = list(_CATS), {}
    for sort, names in sorts.items():
        where[sort] = (len(texts), len(names))
        texts += names
    return texts, where


def _row(random: np.random.Generator, count: int, busy: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and durations of disjoint slices: lengths spread over three orders of magnitude, in busy stretches."""
    pitch = random.exponential(1.0, count).astype(np.float32)
    pitch[:: max(count // 500, 1)] *= 40  # the pauses between steps
    ends = np.cumsum(pitch, dtype=np.float64)
    ends = (ends * (SPAN_NS / ends[-1])).astype(np.int64)
    starts = np.append(0, ends[:-1])
    durs = ((ends - starts) * (busy * (0.6 + 0.4 * random.random(count, np.float32)))).astype(np.int64)
    return starts, np.maximum(durs, 1)


def make_rank(rank: int, slices: int, shared: dict[str, Any]) -> Trace:
    """One rank of about so many slices; columns that say the same everywhere are kept once in ``shared``."""
    random = np.random.default_rng(rank)
    texts, where = _strings()
    counts = [max(int(slices * row[3]), 4) for row in _ROWS]
    counts[5] = counts[0]  # a launch per kernel
    total = sum(counts)
    start, dur = np.empty(total, np.int64), np.empty(total, np.int64)
    begin = np.append(0, np.cumsum(counts))
    for r, (count, row) in enumerate(zip(counts, _ROWS, strict=True)):
        start[begin[r] : begin[r + 1]], dur[begin[r] : begin[r + 1]] = _row(random, count, row[7])
    # Launches come before their kernels.
    calls, kernels = slice(begin[5], begin[6]), slice(begin[0], begin[1])
    start[calls] = np.maximum.accumulate(np.maximum(start[kernels] - 20_000, np.arange(counts[0])))
    dur[calls] = np.minimum(4_000, np.append(np.diff(start[calls]), 4_000))
    if "name" not in shared:
        name, cat, paint = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.uint8)
        corr = np.full(total, ABSENT, np.int64)
        for r, (count, row) in enumerate(zip(counts, _ROWS, strict=True)):
            a, b = begin[r], begin[r + 1]
            first, many = where[row[6]]
            name[a:b] = first + random.integers(0, many, count, np.int32)
            cat[a:b], paint[a:b] = row[5], int(row[4])
        corr[kernels] = corr[calls] = np.arange(1, counts[0] + 1)
        shared |= {"name": name, "cat": cat, "paint": paint, "corr": corr}
        shared |= {"parent": np.full(total, -1, np.int32), "ext": np.full(total, ABSENT, np.int64)}
        shared |= {"args_off": shared["ext"], "args_len": np.zeros(total, np.int32)}
        shared |= {"recorded": np.full(total, NOTHING_RECORDED, np.int32)}
    lanes = [row[1] for row in _ROWS]
    first_rows = [lanes.index(k) for k in range(6)]
    tables = {
        "slices": {**shared, "start_ns": start, "dur_ns": dur},
        "rows": {
            "lane": np.array(lanes, np.int32),
            "depth": np.array([row[2] for row in _ROWS], np.int32),
            "begin": begin[:-1],
            "end": begin[1:],
        },
        "lanes": {
            "kind": np.array([_ROWS[r][0] for r in first_rows], np.uint8),
            "pid": ["0", "0", "0", *[str(rank + 100)] * 3],
            "tid": ["7", "20", "9", "100", "101", "102"],
            "device": np.array([0, 0, 0, ABSENT, ABSENT, ABSENT], np.int64),
            "stream": np.array([7, 20, 9, ABSENT, ABSENT, ABSENT], np.int64),
            "process_name": [""] * 6,
            "thread_name": ["", "", "", "main", "backward", "python"],
            "sort": np.full(6, ABSENT, np.int64),
            "row_begin": np.array(first_rows, np.int64),
            "row_end": np.array([*first_rows[1:], len(_ROWS)], np.int64),
        },
        "strings": {"text": texts},
    }
    last = int((start + dur).max())
    meta = TraceMeta(
        FORMAT_VERSION,
        "kineto",
        SourceStamp(f"rank{rank}.json", 0, 0, ""),
        shipped_rules().hash,
        base_ns=_BASE_NS,
        rank=rank,
        rank_source="distributedInfo",
        events=total,
        first_ns=0,
        last_ns=last,
        gpu_first_ns=0,
        gpu_last_ns=last,
    )
    return Trace.in_memory(meta, tables, ArgsText.none())


def make_job(ranks: int, slices: int) -> Session:
    """A job of ``ranks`` ranks with about ``slices`` slices in all."""
    shared: dict[str, Any] = {}
    return build_session([Opened(Path(f"rank{r}.json"), make_rank(r, slices // ranks, shared)) for r in range(ranks)])
