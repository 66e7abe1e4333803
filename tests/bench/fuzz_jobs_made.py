"""Whole jobs for the deep fuzzer: a small training run whose fields are changed by kind, and jobs that are extreme.

A job is file names with bytes. All of it follows from a number.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tests.bench.fuzz_inputs import flip

Job = dict[str, bytes]
Json = dict[str, Any]

LEAST_LIMIT: Final = (1 << 62) - 1
"""Near what times may reach, in ns."""
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1 << 31, 1 << 32, 1 << 53, 1 << 60, LEAST_LIMIT, (1 << 63) - 1),
    *(1 << 63, -(1 << 63), 1 << 64, 1 << 90, 1e300, float("nan"), float("inf"), float("-inf"), "", "0", "7", "-1"),
    *("1e5", "0x10", "NaN", " ", "a" * 3_000, "\ud800", "\u202e<b>&\x1b[31m\0", "=1+1", "[0, 1, ...]", "[[1,2],[3]]"),
    *([], [[]], [None], [0] * 300, [1, "x", None], [-1], [1 << 62, 1 << 62], {}, {"a": {"b": {}}}, [[[[[[]]]]]]),
)
_FIELDS: Final = ("ts", "dur", "pid", "tid", "cat", "name", "ph", "id", "args", "bp")
_NAMES: Final = (
    *("ProfilerStep#0", "ProfilerStep#", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "Memcpy HtoD", "[memory]"),
    *("nn.Module: Linear_0", "<b>x</b>", "=cmd|'/c'!A1", "[CPU OOM]", "void gemm<>", "aten::mm", "cudaGraphLaunch"),
)
_CATEGORIES: Final = (
    *("kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", "python_function", "user_annotation", "cpu_instant_event"),
    *("gpu_user_annotation", "cuda_sync", "overhead", "fwdbwd", "ac2g"),
)


@lru_cache(maxsize=1)
def _training() -> dict[str, Json]:
    from viewer.app.demo.job import write_demo_job

    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        write_demo_job(Path(name), ranks=2, steps=3, layers=1)
        files = sorted(Path(name).glob("rank-*.json"))
        return {f"rank_{k}.json": json.loads(f.read_bytes()) for k, f in enumerate(files)}


def _some(events: list[Json], chance: random.Random) -> list[Json]:
    """One event, a few, those of a category, or all."""
    match chance.randrange(5):
        case 0:
            return [chance.choice(events)]
        case 1:
            return chance.sample(events, min(len(events), 30))
        case 2 | 3:
            category = chance.choice(events).get("cat")
            return [e for e in events if e.get("cat") == category]
        case _:
            return events


def _odd_field(file: Json, chance: random.Random) -> None:
    some = _some(file["traceEvents"], chance)
    key, same = chance.choice(_FIELDS), chance.choice(_ODD)
    pool = {"name": _NAMES, "cat": _CATEGORIES, "ph": ("X", "B", "E", "b", "e", "i", "C", "M", "s", "f")}.get(key)
    for event in some:
        event[key] = chance.choice(pool) if pool and chance.random() < 0.7 else same
    if chance.random() < 0.2:
        for event in some:
            event.pop(key, None)


def _odd_arg(file: Json, chance: random.Random) -> None:
    some = [e for e in _some(file["traceEvents"], chance) if isinstance(e.get("args"), dict) and e["args"]]
    if not some:
        return
    key, same = chance.choice(list(chance.choice(some)["args"])), chance.choice(_ODD)
    each = chance.random() < 0.3
    for event in some:
        if key in event["args"]:
            event["args"][key] = chance.choice(_ODD) if each else same


def _odd_head(file: Json, chance: random.Random) -> None:
    def places(value: Any) -> list[tuple[Any, Any]]:
        if isinstance(value, dict):
            pairs = [(k, v) for k, v in value.items() if k != "traceEvents"]
        else:
            pairs = list(enumerate(value)) if isinstance(value, list) else []
        return [(value, k) for k, _ in pairs] + [place for _, v in pairs for place in places(v)]

    for holder, key in chance.sample(places(file), 2):
        holder[key] = chance.choice(_ODD)


def _times(file: Json, chance: random.Random) -> None:
    some = [e for e in file["traceEvents"] if isinstance(e.get("ts"), int | float)]
    number = chance.choice((0, 1e-3, 1e3, 1e6))
    shift = chance.choice((0, -1e9, 4.6e15, -4.6e15, 1.7e15))
    match chance.randrange(4):
        case 0:
            for event in some:
                event["ts"] = number
        case 1:
            for event in some:
                event["dur"] = 0
        case 2:
            for event in some:
                event["ts"] = event["ts"] * number + shift
        case _:
            for event in _some(some, chance) if some else ():
                event["dur"] = chance.choice((0, 1e3, 1e9, 4e15, -5))


def _renamed(file: Json, chance: random.Random) -> None:
    event = chance.choice(file["traceEvents"])
    holder_of: Callable[[Json], Any] = chance.choice((lambda e: e, lambda e: e.get("args")))
    found = holder_of(event)
    if not isinstance(found, dict) or not found:
        return
    key = chance.choice(list(found))
    for other in file["traceEvents"]:
        holder = holder_of(other)
        if isinstance(holder, dict) and key in holder:
            holder[chance.choice((key.upper(), key + "_", "x"))] = holder.pop(key)


def _less(file: Json, chance: random.Random) -> None:
    events = file["traceEvents"]
    category = chance.choice(events).get("cat")
    match chance.randrange(5):
        case 0:
            file["traceEvents"] = [e for e in events if e.get("cat") == category]
        case 1:
            file["traceEvents"] = [e for e in events if e.get("cat") != category]
        case 2:
            file["traceEvents"] = chance.sample(events, chance.randrange(len(events)))
        case 3:
            file["traceEvents"] = [chance.choice(events)]
        case _:
            file["traceEvents"] = [e for e in events if e.get("ph") == "M"]


def _more(file: Json, chance: random.Random) -> None:
    events = file["traceEvents"]
    twice = copy.deepcopy(_some(events, chance))
    key = chance.choice(("tid", "pid", "ts", "id"))
    for event in twice:
        if chance.random() < 0.5 and isinstance(event.get(key), int | float):
            event[key] += chance.choice((0, 1, 0.001))
    file["traceEvents"] = events + twice


_CHANGES: Final = (
    *(_odd_field, _odd_field, _odd_arg, _odd_arg, _odd_arg, _odd_head, _odd_head),
    *(_times, _times, _renamed, _less, _more),
)


def _text(file: Json, chance: random.Random) -> bytes:
    text = json.dumps(file, ensure_ascii=True).encode()
    match chance.randrange(12):
        case 0:
            return text[: chance.randrange(len(text))]
        case 1:
            return flip(text, chance)
        case _:
            return text


def changed(number: int) -> Job:
    """The training run with that number's changes: on one rank or alike on both, one to four kinds at once."""
    seed = random.Random(f"job {number}")
    kinds = [seed.choice(_CHANGES) for _ in range(seed.choice((1, 1, 2, 4)))]
    alike = seed.random() < 0.5
    out: Job = {}
    for k, (name, whole) in enumerate(_training().items()):
        chance = random.Random(f"job {number} {0 if alike else k}")
        file = copy.deepcopy(whole)
        for kind in kinds if alike or k == number % 2 else ():
            if file["traceEvents"]:
                kind(file, chance)
        out[name] = _text(file, chance)
    return out


# Jobs that are extreme as a whole ----------------------------------------------------------------------------------


def _slice(category: str, name: str, ts: float, dur: float, tid: int = 7, **args: Any) -> Json:
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur, "args": args}


def _rank(rank: Any, world: Any, events: list[Json], groups: Any = None) -> bytes:
    head = {"backend": "nccl", "rank": rank, "world_size": world, "pg_config": groups or []}
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_045_477_376}
    whole = {"schemaVersion": 1, "deviceProperties": [device], "distributedInfo": head, "traceEvents": events}
    return json.dumps(whole).encode()


def _reduce(ts: float, dur: float, size: Any, ranks: Any, elements: Any, seq: int = 0) -> Json:
    args = {"Collective name": "allreduce", "Group size": size, "Process Group Ranks": ranks, "dtype": "BFloat16"}
    args |= {"In msg nelems": elements, "Out msg nelems": elements, "Process Group Name": "0", "Seq": seq}
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    return _slice("kernel", name, ts, dur, 20, device=0, stream=20, correlation=900 + seq, **args)


def _step(number: int, ts: float, dur: float) -> Json:
    return _slice("user_annotation", f"ProfilerStep#{number}", ts, dur, 1)


def _gemm(ts: float, dur: float, device: Any = 0, stream: Any = 7, corr: Any = 1) -> Json:
    return _slice("kernel", "ampere_bf16_s16816gemm", ts, dur, 7, device=device, stream=stream, correlation=corr)


def _collective_job(size: Any, ranks: Any, elements: Any) -> Job:
    out: Job = {}
    for rank in range(2):
        events = [_step(k, 100 * k, 100) for k in range(4)]
        for k in range(4):
            events += [_gemm(100 * k, 50 + rank), _reduce(100 * k + 60, 30 - rank, size, ranks, elements, k)]
        out[f"rank_{rank}.json"] = _rank(rank, 2, events, [{"pg_name": "0", "pg_size": size, "ranks": ranks}])
    return out


def _plain(events: list[Json], rank: Any = 0, world: Any = 1) -> Job:
    return {"rank_0.json": _rank(rank, world, events)}


EXTREMES: Final[dict[str, Callable[[], Job]]] = {
    "nothing": lambda: _plain([]),
    "one event": lambda: _plain([_gemm(1, 1)]),
    "one event without length": lambda: _plain([_gemm(1, 0)]),
    "only metadata": lambda: _plain([{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "x"}}]),
    "all at one instant": lambda: _plain([_gemm(5, 0, corr=k) for k in range(300)] + [_step(0, 5, 0), _step(1, 5, 0)]),
    "steps without length": lambda: _plain([_step(k, 10, 0) for k in range(9)] + [_gemm(10, 3)]),
    "steps in each other": lambda: _plain([_step(k, 10, 50) for k in range(9)] + [_gemm(10, 30)]),
    "10,000 devices": lambda: _plain([_gemm(k, 1, device=k) for k in range(10_000)]),
    "5,000 streams": lambda: _plain([_gemm(k % 50, 1, stream=k) | {"tid": k} for k in range(5_000)]),
    "5,000 threads": lambda: _plain([_slice("cpu_op", "aten::mm", k, 1, k) for k in range(5_000)] + [_gemm(1, 1)]),
    "near the limits": lambda: _plain([_gemm(-4.6e15, 1), _gemm(4.6e15, 1)]),
    "one correlation": lambda: _plain(
        [_gemm(10 * k, 5) for k in range(200)]
        + [_slice("cuda_runtime", "cudaLaunchKernel", 10 * k, 1, 1, correlation=1) for k in range(200)]
    ),
    "deep calls": lambda: _plain(
        [_slice("python_function", f"a.py({k}): f", k, 9_000 - 2 * k, 1) for k in range(3_000)] + [_gemm(3_000, 1)]
    ),
    "a huge rank": lambda: _plain([_gemm(0, 1)], 1 << 40, 1 << 41),
    "a world that lies": lambda: {f"rank_{r}.json": _rank(r, 1, [_gemm(0, 1)]) for r in range(3)},
    "ranks alike": lambda: {f"f{r}.json": _rank(0, 4, [_gemm(r, 1), _step(0, 0, 9)]) for r in range(3)},
    "a negative rank": lambda: _plain([_gemm(0, 1)], -5, -5),
    "a group of none": lambda: _collective_job(0, [], 1 << 20),
    "a group of one": lambda: _collective_job(1, "[0]", 1 << 20),
    "a group of absent ranks": lambda: _collective_job(4, "[0, 1, 98, 1099511627776]", 1 << 20),
    "a group that repeats ranks": lambda: _collective_job(2, "[0, 0, 1, 1]", 1 << 20),
    "a group of a million": lambda: _collective_job(1_000_000, "[0, 1, ...]", 1 << 20),
    "empty messages": lambda: _collective_job(2, "[0, 1]", 0),
    "messages of 2^60": lambda: _collective_job(2, "[0, 1]", 1 << 60),
    "negative messages": lambda: _collective_job(2, "[0, 1]", -8),
    "messages in words": lambda: _collective_job("two", "nobody", "many"),
    "a kernel of a century": lambda: _plain([_gemm(0, 3e15), _gemm(1, 1), _step(0, 0, 1), _step(1, 1, 3e15)]),
    "thousands of names": lambda: _plain([_slice("kernel", f"k{k}", k, 1, stream=7, device=0) for k in range(12_000)]),
    "hundreds of ranks": lambda: {f"rank_{r}.json": _rank(r, 256, [_gemm(r, 9)]) for r in range(256)},
}
