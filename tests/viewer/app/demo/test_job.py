"""The demo job against what its files say: parsed as exact decimals, counted by coverage, no shared code."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DemoJob
from viewer.app.demo.job import write_demo_job

KINDS = {"gpu_memcpy": "memory", "gpu_memset": "memory"}
Event = dict[str, Any]


def ns(value: Decimal) -> int:
    exact = value * 1000
    assert exact == int(exact)
    return int(exact)


def load(path: Path) -> dict[str, Any]:
    trace: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    return trace


def gpu_work(events: Iterable[Event]) -> list[tuple[int, int, str, Event]]:
    work = []
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            kind = "comm" if e["name"].startswith("nccl") else KINDS.get(e["cat"], "compute")
            start = ns(e["ts"])
            work.append((start, start + ns(e["dur"]), kind, e))
    return work


def coverage(work: list[tuple[int, int, str, Event]]) -> dict[str, int]:
    """Device figures by one sweep over all borders, counting what is open between two of them."""
    borders = sorted([(s, 1, k) for s, _, k, _ in work] + [(e, -1, k) for _, e, k, _ in work])
    count = {"comm": 0, "compute": 0, "memory": 0}
    out: dict[str, int] = defaultdict(int)
    at = borders[0][0]
    for time, change, kind in borders:
        length, at = time - at, time
        comm, compute, memory = (count[k] > 0 for k in ("comm", "compute", "memory"))
        out["comm_ns"] += length * comm
        out["compute_ns"] += length * compute
        out["memory_ns"] += length * memory
        out["overlap_ns"] += length * (comm and compute)
        out["comm_exposed_ns"] += length * (comm and not compute)
        out["memory_exposed_ns"] += length * (memory and not comm and not compute)
        out["busy_ns"] += length * (comm or compute or memory)
        out["idle_ns"] += length * (not (comm or compute or memory))
        count[kind] += change
    return {**out, "gpu_events": len(work), "span_ns": borders[-1][0] - borders[0][0]}


def launches(events: Iterable[Event]) -> dict[int, Event]:
    calls = [e for e in events if e.get("cat") == "cuda_runtime"]
    by = {e["args"]["correlation"]: e for e in calls}
    assert len(by) == len(calls)
    return by


@pytest.mark.parametrize("number", range(8))
def test_truth_equals_a_sweep_over_the_file(demo_job: DemoJob, number: int) -> None:
    truth = demo_job.truth["ranks"][number]
    trace = load(demo_job.folder / truth["file"])
    events = trace["traceEvents"]
    assert trace["baseTimeNanoseconds"] == truth["base_ns"]
    assert trace["distributedInfo"]["rank"] == truth["rank"] == number
    work = gpu_work(events)
    assert {e["args"]["device"] for *_, e in work} == {truth["device_id"]}
    assert coverage(work) == truth["device"]

    calls = launches(events)
    marks = sorted(
        (e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")),
        key=lambda e: e["ts"],
    )
    assert [m["name"] for m in marks] == [s["name"] for s in truth["steps"]]
    left = list(work)
    previous: int | None = None
    for mark, step in zip(marks, truth["steps"], strict=True):
        begin, end = mark["ts"], mark["ts"] + mark["dur"]
        inside = [begin <= calls[w[3]["args"]["correlation"]]["ts"] < end for w in left]
        mine = [w for w, here in zip(left, inside, strict=True) if here]
        left = [w for w, here in zip(left, inside, strict=True) if not here]
        assert step["cpu_ns"] == ns(mark["dur"])
        assert step["index"] == int(mark["name"].split("#")[1])
        assert step["kernels"] == sum(e["cat"] == "kernel" for *_, e in mine)
        assert coverage(mine) == step["device"]
        compute = [(s, e) for s, e, kind, _ in mine if kind == "compute"]
        first = min(s for s, _ in compute)
        assert step["gap_before_ns"] == (None if previous is None else max(0, first - previous))
        previous = max(e for _, e in compute)
    kernels = [(start, end) for start, end, _, e in left if e["cat"] == "kernel"]
    assert truth["outside_steps"] == {"kernels": len(kernels), "sum_ns": sum(e - s for s, e in kernels)}
    assert 0 < len(kernels) < len(left)


def test_files_could_have_been_measured(demo_job: DemoJob) -> None:
    """Ranges on a thread nest, a stream does one thing at a time, and nothing starts before its launch."""
    events = load(demo_job.folder / "rank-3.pt.trace.json")["traceEvents"]
    assert 15_000 < len(events) < 25_000
    calls = launches(events)
    threads: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    streams: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for e in events:
        if e["ph"] == "X" and e.get("cat") in ("cpu_op", "user_annotation", "python_function", "cuda_runtime"):
            threads[e["tid"]].append((ns(e["ts"]), -ns(e["dur"])))
    assert len(threads) == 2
    for ranges in threads.values():
        stack: list[int] = []
        for start, minus in sorted(ranges):
            end = start - minus
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)
    for start, end, _, e in gpu_work(events):
        call = calls[e["args"]["correlation"]]
        assert ns(call["ts"]) < start < end
        streams[e["args"]["stream"]].append((start, end))
    assert set(streams) == {7, 16, 20, 24}
    for busy in streams.values():
        busy.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(busy))
    flows = {p: sorted(e["id"] for e in events if e["ph"] == p and e["cat"] == "ac2g") for p in "sf"}
    assert flows["s"] == flows["f"] == sorted(e["args"]["correlation"] for *_, e in gpu_work(events))
    arrows = {p: sorted(e["id"] for e in events if e["ph"] == p and e["cat"] == "fwdbwd") for p in "sf"}
    assert arrows["s"] == arrows["f"]
    assert len(arrows["s"]) == len(set(arrows["s"])) > 500


def test_collectives_end_together_on_one_clock(demo_job: DemoJob) -> None:
    found: dict[tuple[str, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in demo_job.truth["ranks"]:
        trace = load(demo_job.folder / row["file"])
        for start, end, kind, e in gpu_work(trace["traceEvents"]):
            if kind == "comm":
                args = e["args"]
                assert row["rank"] in json.loads(args["Process Group Ranks"])
                assert len(json.loads(args["Process Group Ranks"])) == args["Group size"]
                base = trace["baseTimeNanoseconds"]
                found[args["Process Group Name"], args["Seq"]][row["rank"]] = (base + start, base + end)
    assert len({row["base_ns"] for row in demo_job.truth["ranks"]}) == 2
    assert len(found) == len(demo_job.truth["collectives"])
    for c in demo_job.truth["collectives"]:
        members = found[c["group"], c["seq"]]
        assert list(members) == c["ranks"]
        assert [start for start, _ in members.values()] == c["start_ns"]
        assert {end for _, end in members.values()} == {c["end_ns"]}
        last = max(c["start_ns"])
        assert c["transfer_ns"] == c["end_ns"] - last > 0
        assert c["wait_ns"] == [last - start for start in c["start_ns"]]


def test_the_two_faults_show(demo_job: DemoJob) -> None:
    ranks = demo_job.truth["ranks"]
    slow = demo_job.truth["faults"]["slow_rank"]["rank"]
    late = demo_job.truth["faults"]["late_data"]
    compute = [row["device"]["compute_ns"] for row in ranks]
    assert compute.index(max(compute)) == slow
    assert max(compute) > 1.08 * sorted(compute)[-2]
    gaps = {row["rank"]: row["steps"][late["step"]]["gap_before_ns"] for row in ranks}
    assert max(gaps, key=lambda r: gaps[r]) == late["rank"]
    assert late["end_ns"] - late["start_ns"] < gaps[late["rank"]] < late["end_ns"] - late["start_ns"] + 2_000_000
    events = load(demo_job.folder / f"rank-{late['rank']}.pt.trace.json")["traceEvents"]
    loads = [e for e in events if e["name"].startswith("enumerate(DataLoader)")]
    loads = [e for e in loads if e["cat"] == "user_annotation"]
    assert max(range(len(loads)), key=lambda i: loads[i]["dur"]) == late["step"]


def test_same_arguments_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_demo_job(tmp_path / name, ranks=2, seed=seed, steps=1, layers=1)
    read = {n: (tmp_path / n / "rank-1.pt.trace.json").read_bytes() for n in "abc"}
    assert read["a"] == read["b"] != read["c"]
    assert json.loads((tmp_path / "a" / "truth.json").read_text()) == write_demo_job(
        tmp_path / "a", ranks=2, seed=3, steps=1, layers=1
    )


@pytest.mark.parametrize("ranks", [1, 3, 12])
def test_other_sizes(tmp_path: Path, ranks: int) -> None:
    truth = write_demo_job(tmp_path, ranks=ranks, steps=1, layers=2)
    assert len(list(tmp_path.glob("rank-*.pt.trace.json"))) == ranks
    for row in truth["ranks"]:
        assert coverage(gpu_work(load(tmp_path / row["file"])["traceEvents"])) == row["device"]
    assert (truth["faults"]["slow_rank"] is None) == (ranks == 1)


def test_refuses_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        write_demo_job(tmp_path, ranks=0)


def test_the_report_equals_the_truth(demo_job: DemoJob, tmp_path: Path) -> None:
    """The whole engine on the demo job, to the nanosecond."""
    from viewer.exporters.report import report
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    result = JobOpener([demo_job.folder], cache=Cache(tmp_path)).open()
    assert not result.failures
    said = report(result.session)
    assert said["job"]["world_size"] == 8
    assert said["job"]["missing_ranks"] == []
    assert len(said["job"]["groups"]) == 7  # the world, two shards, four pairs of replicas
    for row, truth in zip(said["ranks"], demo_job.truth["ranks"], strict=True):
        assert row["rank"] == truth["rank"]
        assert {k: row["device"][k] for k in truth["device"]} == truth["device"]
        assert row["device"]["id"] == truth["device_id"]
        assert row["links"]["linked"] == truth["device"]["gpu_events"]
        assert row["links"]["gpu_without_call"] == row["links"]["started_before_call"] == 0
        for step, true in zip(row["steps"], truth["steps"], strict=True):
            device = step["device"]
            assert {k: device[k] for k in true["device"]} == true["device"]
            for key in ("index", "name", "kernels", "cpu_ns", "gap_before_ns"):
                assert step[key] == true[key]
        assert row["outside_steps"] == truth["outside_steps"]
    for number, item in enumerate(said["inputs"]):
        ledger = item["ledger"]
        assert ledger["read"] == ledger["kept"] > 15_000
        assert item["rank"] == number
        assert item["rank_source"] == "distributedInfo"
        assert item["complete"]
