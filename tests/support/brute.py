"""The figures of a Kineto file computed again, with nothing of the engine: JSON by the standard library with decimal
numbers, and a sweep that counts how many intervals of each class cover every instant.

Returns the report's shape per file: devices, links, kernels. The class of each GPU event is the caller's to say.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
CALLS = {"cuda_runtime", "cuda_driver", "runtime", "privateuse1_runtime", "privateuse1_driver"}
_CALL_NAME = re.compile(
    r"^(cuda|cu|hip)(launch|graphlaunch|memcpy|memset|modulelaunch|extlaunch|extmodulelaunch)", re.I
)

Json = dict[str, Any]


def load(path: Path) -> list[Json]:
    """The events of a file; numbers with a point stay Decimal."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    text = re.sub(r'(":\s*)[+-]?(?:inf|nan)(?=\s*[,}\]])', r"\1null", text)  # bare words of old writers
    document = json.loads(text, strict=False, parse_float=Decimal, parse_constant=lambda _: None)
    events: list[Json] = document["traceEvents"] if isinstance(document, dict) else document
    return events


def ns(value: Any) -> int:
    """Microseconds of the JSON as whole ns."""
    scaled = Decimal(value) * 1000
    assert scaled == int(scaled), value
    return int(scaled)


def gpu_events(events: list[Json], class_of: Callable[[str, str, Json], str]) -> list[Json]:
    """GPU work as dicts of name, class, device, start, end, corr."""
    out = []
    for e in events:
        if e.get("ph") != "X" or str(e.get("cat", "")).lower() not in GPU:
            continue
        args = e.get("args") or {}
        start = ns(e["ts"])
        out.append(
            {
                "name": e["name"],
                "class": class_of(e["cat"], e["name"], args),
                "kernel": e["cat"].lower() == "kernel",
                "device": int(args.get("device", e["pid"])),
                "start": start,
                "end": start + max(0, ns(e.get("dur", 0))),
                "corr": args.get("correlation"),
            }
        )
    return out


def figures(work: list[Json], window: tuple[int, int] | None = None) -> Json | None:
    """The identity's figures by counting coverage at every border."""
    if not work:
        return None
    lo, hi = window or (min(w["start"] for w in work), max(w["end"] for w in work))
    change: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    place = {"comm": 0, "compute": 1, "memory": 2}
    count = 0
    for w in work:
        if window is None or (w["start"] < hi and (w["end"] > lo or w["start"] == w["end"] == lo)):
            count += 1
        start, end = max(w["start"], lo), min(w["end"], hi)
        if start < end:
            change[start][place[w["class"]]] += 1
            change[end][place[w["class"]]] -= 1
    names = ("comm_ns", "compute_ns", "memory_ns", "overlap_ns", "comm_exposed_ns", "memory_exposed_ns", "busy_ns")
    out = dict.fromkeys(names, 0)
    open_ = [0, 0, 0]
    before = lo
    for t in [*sorted(change), hi]:
        length, (comm, compute, memory) = t - before, (n > 0 for n in open_)
        out["comm_ns"] += length * comm
        out["compute_ns"] += length * compute
        out["memory_ns"] += length * memory
        out["overlap_ns"] += length * (comm and compute)
        out["comm_exposed_ns"] += length * (comm and not compute)
        out["memory_exposed_ns"] += length * (memory and not comm and not compute)
        out["busy_ns"] += length * (comm or compute or memory)
        for i, n in enumerate(change.get(t, (0, 0, 0))):
            open_[i] += n
        before = t
    return out | {"gpu_events": count, "span_ns": hi - lo, "idle_ns": hi - lo - out["busy_ns"]}


def links(events: list[Json], work: list[Json]) -> Json:
    """The counts of links."""
    calls: dict[int, Json] = {}
    named = 0
    for e in events:
        if e.get("ph") != "X" or str(e.get("cat", "")).lower() not in CALLS:
            continue
        corr = (e.get("args") or {}).get("correlation")
        if corr:
            calls[int(corr)] = e
        elif _CALL_NAME.match(e["name"]):
            named += 1
    owned = {int(w["corr"]) for w in work if w["corr"] and int(w["corr"]) in calls}
    linked = [w for w in work if w["corr"] and int(w["corr"]) in calls]
    host = {c for c, e in calls.items() if c in owned or _CALL_NAME.match(e["name"])}
    return {
        "host_calls": len(host) + named,
        "linked": len(linked),
        "gpu_without_call": len(work) - len(linked),
        "calls_without_gpu": len(host - owned) + named,
        "started_before_call": sum(w["start"] < ns(calls[int(w["corr"])]["ts"]) for w in linked),
    }


def kernels(work: list[Json]) -> dict[tuple[str, str], Json]:
    """(name, class) -> count, sum, min, max, mean (half to even)."""
    lengths: dict[tuple[str, str], list[int]] = defaultdict(list)
    for w in work:
        lengths[w["name"], w["class"]].append(w["end"] - w["start"])
    return {
        key: {
            "count": len(x),
            "sum_ns": sum(x),
            "min_ns": min(x),
            "max_ns": max(x),
            "mean_ns": round(Decimal(sum(x)) / len(x)),
        }
        for key, x in lengths.items()
    }


def steps(events: list[Json], work: list[Json]) -> dict[int, Json] | None:
    """ProfilerStep marks: figures of what was launched inside each; None without marks."""
    marks = {}
    starts = {}
    for e in events:
        if e.get("ph") != "X":
            continue
        cat = str(e.get("cat", "")).lower()
        match = re.fullmatch(r"ProfilerStep#(\d+)", e["name"])
        if match and cat in ("user_annotation", "cpu_op", "operator"):
            marks[int(match[1])] = (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
        corr = (e.get("args") or {}).get("correlation")
        if corr and cat in CALLS:
            starts[int(corr)] = ns(e["ts"])
    if not marks:
        return None
    out = {}
    for number, (lo, hi) in marks.items():
        mine = [w for w in work if w["corr"] and lo <= starts.get(int(w["corr"]), lo - 1) < hi]
        out[number] = {"kernels": sum(w["kernel"] for w in mine), "cpu_ns": hi - lo, "device": figures(mine)}
    return out
