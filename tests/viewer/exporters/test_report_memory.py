"""The report's memory: the figures of the small cases, sources that cannot tell, peaks over the ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.memory import MIB, FakeAllocator
from tests.support.memory_job import Planted, fragmented, training
from tests.viewer.importers.test_profiler_memory import memory
from tests.viewer.importers.texts import open_job, write_json
from viewer.exporters.report import report
from viewer.exporters.summary import summary


def told(tmp_path: Path, *paths: Path, **options: Any) -> dict[str, Any]:
    result = open_job(tmp_path, *paths, **options)
    assert not result.failures
    return json.loads(json.dumps(report(result.session)))


def test_case_of_negative_deltas(shared: Path, tmp_path: Path) -> None:
    path = shared / "cases" / "28-memory-negative.json"
    expected = json.loads(path.with_suffix(".expect.json").read_text())["memory"]
    (rank,) = told(tmp_path, path)["ranks"]
    gpu, cpu = rank["memory"]["devices"]
    assert (rank["memory"]["source"], gpu["device"], cpu["device"]) == ("profiler", "cuda:0", "cpu")
    for key, value in expected["gpu0"].items():
        if key in gpu:
            assert gpu[key] == value, key
    assert gpu["allocated_before"] == expected["gpu0"]["before_first"]
    assert gpu["peak_at_ns"] == 150_000
    assert (gpu["peak_live"], gpu["pending_free"], gpu["inactive"], gpu["pools"]) == (None,) * 4
    assert (cpu["events"], cpu["final_allocated"], cpu["final_reserved"]) == (1, 5000, None)


def test_case_of_late_recording(shared: Path, tmp_path: Path) -> None:
    path = shared / "cases" / "29-snapshot-late.pickle"
    expected = json.loads(path.with_suffix(".expect.json").read_text())["memory"]
    (rank,) = told(tmp_path, path)["ranks"]
    (device,) = rank["memory"]["devices"]
    assert device["final_reserved"] == device["peak_reserved"] == expected["reserved"]
    assert device["final_allocated"] == expected["allocated_at_end"]
    assert device["pending_free"] == expected["pending_free_at_end"]
    assert device["inactive"] == expected["inactive_at_end"]
    assert device["allocated_before"] == expected["allocated_before_first_event"]
    assert device["peak_allocated"] == expected["peak_free_at_completed"]
    assert device["peak_live"] == expected["peak_free_at_requested"]
    assert device["min_allocated"] == min(expected["series_free_at_completed"])
    assert device["blocks_never_in_trace"] == device["frees_of_unseen_blocks"] == 1
    trace = open_job(tmp_path, path).session.inputs[0].trace
    events = trace.tables["allocator_events"]
    assert events.allocated.tolist()[:6] == expected["series_free_at_completed"]
    assert events.live.tolist()[:6] == expected["series_free_at_requested"]


def test_unused_reserve_is_told_where_most_is_in_use(tmp_path: Path) -> None:
    a = FakeAllocator()
    first = a.alloc(15 * MIB, "x")
    a.alloc(6 * MIB, "x")
    a.free(first)
    path = tmp_path / "rank_3.pickle"
    path.write_bytes(a.pickled())
    found = told(tmp_path, path)
    (rank,) = found["ranks"]
    (device,) = rank["memory"]["devices"]
    assert rank["rank"] == 3
    assert device["peak_reserved"] == 36 * MIB
    assert device["peak_allocated"] == 21 * MIB
    assert device["unused_reserve_at_peak"] == 15 * MIB
    assert device["inactive"] == 30 * MIB - 0
    assert device["pools"]["(0, 0)"] == {
        "reserved": 36 * MIB, "allocated": 6 * MIB, "pending_free": 0, "inactive": 30 * MIB
    }  # fmt: skip
    assert found["memory"]["peaks"][0]["rank"] == 3


def test_a_snapshot_joins_the_trace_of_its_rank_on_one_clock(tmp_path: Path) -> None:
    """It contradicts no trace of the rank, its times are those of the rank, and the trace leads."""
    a = FakeAllocator(start_us=1_700_000_000_000_000)
    a.alloc(5 * MIB, "x")
    snapshot = tmp_path / "a_rank0.pickle"  # before the trace in the order of names
    snapshot.write_bytes(a.pickled())
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 50}
    info = {"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": 1_700_000_000_000_000_000}
    trace = write_json(tmp_path / "trace.json", [kernel, memory(6, 8, 8)], deviceProperties=[], **info)
    session = open_job(tmp_path, snapshot, trace).session
    assert not session.findings
    (group,) = session.groups
    assert len(group.inputs) == 2
    assert session.inputs[group.inputs[0]].path == trace
    extents = {i.path.name: i.extent() for i in session.inputs}
    assert extents["a_rank0.pickle"].start_ns == extents["trace.json"].start_ns + 2_000
    rows = report(session)["ranks"]
    assert sorted(r["memory"]["source"] for r in rows) == ["profiler", "snapshot"]
    assert report(session)["memory"]["peaks"][0]["peak_allocated"] == 5 * MIB


def test_growth_churn_holes_and_theory_are_told(tmp_path: Path) -> None:
    path = tmp_path / "rank_0.pickle"
    path.write_bytes(training(Planted(leak=MIB, steps=12)).pickled())
    found = told(tmp_path, path)
    (device,) = found["ranks"][0]["memory"]["devices"]
    assert device["growth"]["bytes_per_step"] == MIB
    assert device["growth"]["makers"][0]["maker"].startswith("log_metrics")
    assert device["churn"]["segments_given_back_per_step"] == 0
    holes = device["fragmentation"]
    assert holes["free"] == holes["split"] + holes["whole"] == device["inactive"]
    assert 0 < holes["largest_free_block"] <= holes["free"]
    assert device["failed_requests"] == []
    assert {t["category"]: t["needs"] for t in device["theory"]}["weights"] == "model.parameters"
    assert sum(found["memory"]["peaks"][0]["categories_at_peak"].values()) == device["peak_allocated"]
    text = summary(report(open_job(tmp_path, path).session))
    assert "memory at its peak\n  rank 0 cuda:0: " in text
    assert "optimizer 48 MiB" in text


def test_a_failed_request_is_told(tmp_path: Path) -> None:
    a, wanted, holes = fragmented()
    path = tmp_path / "rank_0.pickle"
    path.write_bytes(a.pickled())
    (device,) = told(tmp_path, path)["ranks"][0]["memory"]["devices"]
    (failed,) = device["failed_requests"]
    assert (device["ooms"], failed["requested"], failed["split"], failed["fragmented"]) == (1, wanted, holes, True)
    assert failed["time_ns"] == a.events[-1]["time_us"] * 1000


def test_a_failed_request_of_a_profiler_trace(tmp_path: Path) -> None:
    oom = memory(7, 5000, 8, None) | {"name": "[OutOfMemory]"}
    path = write_json(tmp_path / "t.json", [memory(6, 8, 8), oom], deviceProperties=[])
    (device,) = told(tmp_path, path)["ranks"][0]["memory"]["devices"]
    (failed,) = device["failed_requests"]
    assert (device["ooms"], failed["requested"], failed["allocated"], failed["free"]) == (1, 5000, 8, None)
    assert (device["final_allocated"], device["peak_allocated"], failed["time_ns"]) == (8, 8, 7000)
    (finding,) = [f for f in told(tmp_path, path)["findings"] if f["kind"] == "out-of-memory"]
    assert "by how much cannot be told" in finding["title"]


def test_a_trace_without_memory_has_none(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 50}
    found = told(tmp_path, write_json(tmp_path / "t.json", [event], deviceProperties=[]))
    assert (found["memory"], found["ranks"][0]["memory"]) == (None, None)
