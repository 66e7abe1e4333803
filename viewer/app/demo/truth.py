"""What is true of the demo job: exact figures from the simulated intervals, by sorting and merging.

As in a report, ``kernels`` counts neither copies nor fills.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from viewer.app.demo.file import Done, Rank
from viewer.app.demo.steps import FIRST_STEP

_Interval = tuple[int, int]


def job_truth(ranks: list[Rank], faults: dict[str, Any], collectives: list[dict[str, Any]]) -> dict[str, Any]:
    """Exact figures of the job, from the simulated intervals."""
    rows = []
    for rank in ranks:
        steps: list[dict[str, Any]] = []
        previous: int | None = None
        for index, mark in enumerate(rank.steps):
            mine = [w for w in rank.work if w.step == index]
            compute = [w for w in mine if w.kind == "compute"]
            first = min(w.start for w in compute)
            steps.append(
                {
                    "index": FIRST_STEP + index,
                    "name": mark["name"],
                    "kernels": sum(w.kind != "memory" for w in mine),
                    "cpu_ns": mark["cpu_ns"],
                    "gap_before_ns": None if previous is None else max(0, first - previous),
                    "device": _figures(mine),
                }
            )
            previous = max(w.end for w in compute)
        outside = [w for w in rank.work if w.step < 0 and w.kind != "memory"]
        rows.append(
            {
                "rank": rank.number,
                "file": rank.file_name,
                "base_ns": rank.base_ns,
                "device_id": rank.device,
                "device": _figures(rank.work),
                "steps": steps,
                "outside_steps": {"kernels": len(outside), "sum_ns": sum(w.end - w.start for w in outside)},
            }
        )
    return {"schema": "rankscope.demo/1", "ranks": rows, "faults": faults, "collectives": collectives}


def _union(intervals: Iterable[_Interval]) -> list[_Interval]:
    out: list[_Interval] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def _length(intervals: list[_Interval]) -> int:
    return sum(end - start for start, end in intervals)


def _figures(work: list[Done]) -> dict[str, int]:
    """The device figures of a report; the window is from the first start to the last end."""
    by = {k: _union((w.start, w.end) for w in work if w.kind == k) for k in ("comm", "compute", "memory")}
    comm, compute, memory = (_length(by[k]) for k in ("comm", "compute", "memory"))
    not_memory = _union([*by["comm"], *by["compute"]])
    busy = _length(_union([*not_memory, *by["memory"]]))
    overlap = comm + compute - _length(not_memory)
    span = max(w.end for w in work) - min(w.start for w in work)
    return {
        "gpu_events": len(work),
        "comm_ns": comm,
        "compute_ns": compute,
        "memory_ns": memory,
        "overlap_ns": overlap,
        "comm_exposed_ns": comm - overlap,
        "memory_exposed_ns": busy - _length(not_memory),
        "busy_ns": busy,
        "span_ns": span,
        "idle_ns": span - busy,
    }
