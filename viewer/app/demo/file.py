"""One rank of the demo job while it is played, and its trace file as PyTorch's profiler lays it out."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from viewer.app.demo.model import AUTOGRAD, DEVICE, GROUPS, MAIN, PID, Open, us

_DESCRIPTIONS: Final = {"world": "default_pg", "shard": "mesh_shard", "replica": "mesh_replicate"}


@dataclass(slots=True)
class Done:
    """GPU work as it ran, in ns since 1970."""

    start: int
    end: int
    kind: str
    stream: int
    step: int


@dataclass(slots=True)
class Rank:
    """One rank: its clock, its queues, and the text of its trace so far. ``block``: ranks per shard."""

    number: int
    world: int
    block: int
    random: random.Random
    groups: dict[str, list[int]]
    base_ns: int
    permille: int
    first_ns: int
    now: int
    ready: dict[int, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    open: list[tuple[Open, int, int]] = field(default_factory=list)
    work: list[Done] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    step: int = -1
    loads: list[tuple[int, int]] = field(default_factory=list)

    def ts(self, time: int) -> str:
        """A time as this rank's file writes it."""
        return us(time - self.base_ns)

    def slice(self, head: str, start: int, end: int, tail: str) -> None:
        """Write an event with a duration."""
        self.text.append(f'{head}{self.ts(start)}, "dur": {us(end - start)}{tail}')

    @property
    def file_name(self) -> str:
        """Name of the trace file."""
        return f"rank-{self.number}.pt.trace.json"

    @property
    def device(self) -> int:
        """Ordinal of the GPU on its host; a host has one per rank of a shard."""
        return self.number % self.block

    def group_name(self, group: str) -> str:
        """The process group's name, unique in the job."""
        if group == "world":
            return "0"
        first = self.groups[group][0]
        return str(1 + first // self.block) if group == "shard" else str(1 + self.world // self.block + first)

    def tokens(self) -> dict[str, str]:
        """What the tokens of the programme stand for on this rank."""
        pid = 48_112 + 61 * self.number
        out = {PID: str(pid), MAIN: str(pid), AUTOGRAD: str(pid + 40), DEVICE: str(self.device)}
        for group in GROUPS:
            out[f"@{group}_NAME@"] = self.group_name(group)
            out[f"@{group}_DESC@"] = _DESCRIPTIONS[group]
            out[f"@{group}_RANKS@"] = json.dumps(self.groups[group])
            out[f"@{group}_SIZE@"] = str(len(self.groups[group]))
        return out


def trace_text(rank: Rank) -> str:
    """The text of one rank's trace."""
    ids = rank.tokens()
    properties = [
        {
            "id": device,
            "name": "NVIDIA H100 80GB HBM3",
            "totalGlobalMem": 85_045_477_376,
            "computeMajor": 9,
            "computeMinor": 0,
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 2048,
            "regsPerBlock": 65_536,
            "warpSize": 32,
            "sharedMemPerBlock": 49_152,
            "numSms": 132,
            "regsPerMultiprocessor": 65_536,
            "sharedMemPerBlockOptin": 232_448,
            "sharedMemPerMultiprocessor": 233_472,
        }
        for device in range(rank.block)
    ]
    groups = [
        {
            "pg_name": rank.group_name(group),
            "pg_desc": _DESCRIPTIONS[group],
            "backend_config": "cuda:nccl",
            "pg_size": len(rank.groups[group]),
            "ranks": rank.groups[group],
        }
        for group in GROUPS
    ]
    distributed = {
        "backend": "nccl",
        "rank": rank.number,
        "world_size": rank.world,
        "pg_count": len(groups),
        "pg_config": groups,
        "nccl_version": "2.26.2",
    }
    first, last = rank.first_ns - 200_000, rank.now + 900_000
    head = (
        '{\n  "schemaVersion": 1,\n  "deviceProperties": '
        + json.dumps(properties)
        + f',\n  "cuda_runtime_version": 12080,\n  "distributedInfo": {json.dumps(distributed)},\n  "with_stack": 1,\n'
        f'  "record_shapes": 1,\n  "profile_memory": 1,\n  "displayTimeUnit": "ms",\n'
        f'  "baseTimeNanoseconds": {rank.base_ns},\n  "traceEvents": [\n'
    )
    names = "".join(_names(ids, rank.ts(first), sorted(rank.ready)))
    end = (
        f'  {{\n    "ph": "X", "cat": "Trace", "ts": {rank.ts(first)}, "dur": {us(last - first)},\n'
        '    "pid": "Spans", "tid": "PyTorch Profiler",\n    "name": "PyTorch Profiler (0)",\n'
        '    "args": {\n      "Op count": 0\n    }\n  },\n'
        '  {\n    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",\n'
        f'    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": {rank.ts(first)}\n  }},\n'
        '  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n'
        f'    "pid": "", "tid": "", "ts": {rank.ts(last)}\n  }}\n  ],\n'
        f'  "traceName": "{rank.file_name}"\n}}\n'
    )
    pieces = "".join(rank.text).split("@")  # every second piece is a token
    pieces[1::2] = [ids[f"@{token}@"] for token in pieces[1::2]]
    body = "".join(pieces)
    return head + names + body + end


def _names(ids: dict[str, str], ts: str, streams: list[int]) -> Iterable[str]:
    """Metadata events: what processes and threads are called, and their order."""
    pid, device = ids[PID], ids[DEVICE]

    def meta(kind: str, pid: str, tid: str, key: str, value: str | int) -> str:
        return (
            f'  {{\n    "name": "{kind}", "ph": "M", "ts": {ts}, "pid": {pid}, "tid": {tid},\n'
            f'    "args": {{\n      "{key}": {json.dumps(value)}\n    }}\n  }},\n'
        )

    yield meta("process_name", pid, "0", "name", "python")
    yield meta("process_labels", pid, "0", "labels", "CPU")
    yield meta("process_sort_index", pid, "0", "sort_index", int(pid))
    yield meta("process_name", device, "0", "name", "python")
    yield meta("process_labels", device, "0", "labels", f"GPU {device}")
    yield meta("process_sort_index", device, "0", "sort_index", 5_000_000 + int(device))
    for tid, name in ((ids[MAIN], "python"), (ids[AUTOGRAD], f"pt_autograd_{device}")):
        yield meta("thread_name", pid, tid, "name", f"thread {tid} ({name})")
        yield meta("thread_sort_index", pid, tid, "sort_index", int(tid))
    for stream in streams:
        yield meta("thread_name", device, str(stream), "name", f"stream {stream}")
        yield meta("thread_sort_index", device, str(stream), "sort_index", stream)
