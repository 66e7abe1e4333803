"""Large jobs with known counts, made in little time: the text of one event after another, in pieces."""

from __future__ import annotations

import gzip
from pathlib import Path

_NAMES = ("aten::linear", "aten::layer_norm", "aten::scaled_dot_product_attention", "aten::add_", "aten::copy_")


TS_BASES = {"kineto": 4458685467931, "zero": 0, "epoch": 1712195495519000}
"""Microseconds at which a job begins: since a base time that the file states, since its begin, since 1970."""
_STEP = 21
"""Microseconds from one group to the next."""


def write_job(
    folder: Path, ranks: int, events: int, *, packed: bool = False, name: str = "rank", ts_base: str = "epoch"
) -> list[Path]:
    """Write ``ranks`` files of about ``events`` events each; per group of five: operator, call, flow ends, kernel."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank in range(ranks):
        path = folder / f"{name}-{rank}.pt.trace.json{'.gz' if packed else ''}"
        with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
            file.write(b'{"schemaVersion": 1, "distributedInfo": {"rank": %d, "world_size": %d},\n' % (rank, ranks))
            if ts_base == "kineto":
                file.write(b'"baseTimeNanoseconds": 1711964646000000000,\n')
            file.write(b'"traceEvents": [\n')
            for begin in range(0, events // 5, 20_000):
                end = min(begin + 20_000, events // 5)
                file.write("".join(_group(rank, i, TS_BASES[ts_base]) for i in range(begin, end)).encode())
            file.write(
                b'  {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "GPU"}}\n]}\n'
            )
        paths.append(path)
    return paths


def _group(rank: int, i: int, begin: int) -> str:
    at = begin + i * _STEP
    name = _NAMES[i % len(_NAMES)]
    ext = f'"External id": {i + 1}'
    return f"""  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": {rank + 100}, "tid": {rank + 100},
    "ts": {at}.{i % 1000:03}, "dur": 19.{i % 997:03},
    "args": {{
      {ext}, "Record function id": 0, "Sequence number": {i}, "Fwd thread id": 0, "Ev Idx": {i}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {rank + 100}, "tid": {rank + 100},
    "ts": {at + 3}.{i % 1000:03}, "dur": 4.011,
    "args": {{
      {ext}, "cbid": 211, "correlation": {i + 7}
    }}
  }},
  {{
    "ph": "s", "id": {i + 7}, "pid": {rank + 100}, "tid": {rank + 100}, "ts": {at + 3}.{i % 1000:03},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void gemm_{i % 40}<float, {i % 7}>(float const*, float*)", "pid": 0, "tid": 7,
    "ts": {at + 9}.{i % 1000:03}, "dur": 15.5,
    "args": {{
      {ext}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {i + 7},
      "registers per thread": 32, "shared memory": 16, "blocks per SM": 3.51, "warps per SM": 28.1,
      "grid": [432, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 44
    }}
  }},
  {{
    "ph": "f", "id": {i + 7}, "pid": 0, "tid": 7, "ts": {at + 9}.{i % 1000:03}, "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},
"""


def slices_of(events: int, ts_base: str = "epoch") -> list[tuple[int, int]]:
    """(start, duration) in ns of every slice of one file of :func:`write_job`, by start."""
    found = []
    for i in range(events // 5):
        at = (TS_BASES[ts_base] + i * _STEP) * 1000 + i % 1000
        found += [(at, 19_000 + i % 997), (at + 3_000, 4_011), (at + 9_000, 15_500)]
    return found
