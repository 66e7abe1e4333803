from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.build import annotation, call, copy, kernel, make_session, make_trace
from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.exporters.report import encode_report, report, write_report
from viewer.store.meta import DeviceInfo, ProcessGroup
from viewer.store.session import Session
from viewer.store.trace import Trace

DEVICE_KEYS = {
    "id",
    "name",
    "gpu_events",
    "comm_ns",
    "compute_ns",
    "memory_ns",
    "overlap_ns",
    "comm_exposed_ns",
    "memory_exposed_ns",
    "busy_ns",
    "span_ns",
    "idle_ns",
}


def a_trace(rank: int | None = 0, base: int = 0, path: str = "rank0.json", **meta: Any) -> Trace:
    return make_trace(
        annotation("ProfilerStep#1", 0, 50),
        annotation("ProfilerStep#2", 50, 50),
        call("cudaLaunchKernel", 10, 2, corr=1),
        kernel("gemm", 20, 30, corr=1),
        call("cudaLaunchKernel", 60, 2, corr=2),
        kernel("ncclDevKernel_AllReduce", 70, 30, stream=20, corr=2),
        rank=rank,
        rank_source="distributedInfo" if rank is not None else "unknown",
        base_ns=base,
        path=path,
        **meta,
    )


def test_every_key_of_the_schema_is_there() -> None:
    found = report(make_session(a_trace()))
    assert found["schema"] == "rankscope.report/1"
    assert {
        "inputs",
        "job",
        "clock",
        "ranks",
        "kernels",
        "collectives",
        "communication",
        "fingerprint",
        "findings",
        "saving",
    } <= set(found)
    (item,), (rank,), clock = found["inputs"], found["ranks"], found["clock"]
    assert {"path", "format", "bytes", "rank", "rank_source", "complete", "base_ns", "ledger", "findings"} <= set(item)
    assert {"read", "kept", "repaired", "rejected"} <= set(item["ledger"])
    assert {"world_size", "ranks", "missing_ranks", "groups"} <= set(found["job"])
    assert {"method", "reference", "t0_ns", "match_rate", "ranks"} <= set(clock)
    clock_keys = {"input", "rank", "offset_ns", "drift_ppb", "matches", "spread_ns", "low_ns", "high_ns", "connected"}
    assert clock_keys <= set(clock["ranks"][0])
    rank_keys = {"input", "rank", "host", "devices", "device", "idle", "links", "steps", "outside_steps"}
    assert rank_keys | {"communication", "memory", "straggler"} <= set(rank)
    assert set(rank["device"]) == DEVICE_KEYS
    assert set(rank["devices"][0]) >= DEVICE_KEYS
    assert {"host_ns", "launch_ns", "dependency_ns", "unknown_ns", "host_causes", "dependency_causes"} <= set(
        rank["idle"]
    )
    link_keys = {"host_calls", "linked", "gpu_without_call", "calls_without_gpu", "started_before_call"}
    assert link_keys <= set(rank["links"])
    step_keys = {"index", "name", "source", "kernels", "cpu_ns", "gap_before_ns", "device"}
    assert step_keys <= set(rank["steps"][0])
    assert set(rank["steps"][0]["device"]) == DEVICE_KEYS
    assert rank["outside_steps"] == {"kernels": 0, "sum_ns": 0}
    assert {"name", "class", "rule", "count", "sum_ns", "min_ns", "max_ns", "mean_ns"} <= set(found["kernels"][0])


def test_figures_that_do_not_exist_are_null() -> None:
    (rank,) = report(make_session(make_trace(call("cudaLaunchKernel", 0, 1))))["ranks"]
    assert (rank["device"], rank["devices"], rank["idle"], rank["rank"], rank["host"]) == (None, [], None, None, None)
    assert (rank["steps"], rank["outside_steps"]) == ([], None)
    assert (rank["communication"], rank["memory"], rank["straggler"]) == (None, None, None)
    two = report(make_session(make_trace(kernel("a", 0, 5), kernel("b", 0, 5, device=1))))["ranks"][0]
    assert (two["device"], two["idle"], [d["id"] for d in two["devices"]]) == (None, None, [0, 1])
    assert two["devices"][1]["idle"] is not None


def test_a_window_counts_from_the_first_gpu_start_and_keeps_raw_durations() -> None:
    base = 1_700_000_000_000_000_000
    # The second file's clock began 1,000 ns later, so its events lie 1,000 ns earlier on its own clock's zero.
    session = make_session(a_trace(0, base), a_trace(1, base + 5, path="rank1.json"))
    assert session.origin_ns() == base + 20
    found = report(session, window=(10, 60))
    assert found["window"] == {"start_ns": 10, "end_ns": 60, "origin_ns": base + 20}
    figures = [r["device"] for r in found["ranks"]]
    # Window on the raw clocks: [30, 80) and [25, 75).
    assert [(d["compute_ns"], d["comm_ns"], d["span_ns"], d["gpu_events"]) for d in figures] == [
        (20, 10, 50, 2),
        (25, 5, 50, 2),
    ]
    assert [(k["name"], k["count"], k["sum_ns"], k["mean_ns"]) for k in found["kernels"]] == [
        ("gemm", 2, 45, 30),
        ("ncclDevKernel_AllReduce", 2, 15, 30),
    ]
    early = report(session, window=(-20, 20))
    assert [[s["index"] for s in r["steps"]] for r in early["ranks"]] == [[1], [1]]
    step = early["ranks"][0]["steps"][0]
    assert step["device"]["compute_ns"] == 30
    assert report(session)["window"] is None


def test_the_job_knows_its_missing_ranks_and_groups() -> None:
    group = ProcessGroup("0", "default_pg", 4, [0, 1, 2, 3], True)
    found = report(
        make_session(
            a_trace(2, world_size=4, groups=[group], path="b.json"),
            a_trace(0, world_size=4, groups=[group], path="a.json"),
        )
    )["job"]
    assert (found["world_size"], found["ranks"], found["missing_ranks"]) == (4, [0, 2], [1, 3])
    assert found["groups"] == [
        {
            "name": "0",
            "description": "default_pg",
            "size": 4,
            "ranks": [0, 1, 2, 3],
            "ranks_complete": True,
            "kind": None,
        }
    ]
    unknown = report(make_session(a_trace(None)))["job"]
    assert (unknown["world_size"], unknown["ranks"], unknown["missing_ranks"]) == (None, [], None)
    huge = report(make_session(a_trace(0, world_size=2**40)))["job"]
    assert huge["missing_ranks"] is None
    differing = report(make_session(a_trace(0, world_size=4), a_trace(1, world_size=8, path="b.json")))["job"]
    assert differing["world_size"] is None


def test_the_clock_says_what_it_rests_on() -> None:
    base = 1_700_000_000_000_000_000
    session = make_session(a_trace(1, base, path="b.json"), a_trace(0, base + 100))
    clock = report(session)["clock"]
    assert (clock["method"], clock["reference"], clock["t0_ns"], clock["match_rate"]) == ("base", 0, base + 120, None)
    assert [(c["offset_ns"], c["connected"]) for c in clock["ranks"]] == [(0, True), (0, True)]
    apart = report(make_session(a_trace(0, base), a_trace(1, 0, path="b.json")))["clock"]
    assert [(c["offset_ns"], c["connected"]) for c in apart["ranks"]] == [(0, True), (None, False)]
    assert report(make_session(a_trace(0)))["clock"]["method"] == "none"
    assert report(make_session(a_trace(0, base), align="none"))["clock"]["method"] == "none"


def test_inputs_carry_ledger_and_findings() -> None:
    ledger = Ledger(10, 7, 1, 2, {"empty": (2, 55), "bad escape": (1, 90)})
    trace = a_trace(
        3, ledger=ledger, findings=[Finding("cut-off", "warning", 1, "ends early", "byte 90")], complete=False
    )
    twin = a_trace(3, path="twin.json")
    found = report(make_session(trace, twin))
    first, second = found["inputs"]
    assert first["ledger"] == {
        "read": 10,
        "kept": 7,
        "repaired": 1,
        "rejected": 2,
        "reasons": {"empty": {"count": 2, "first_byte": 55}, "bad escape": {"count": 1, "first_byte": 90}},
    }
    assert first["complete"] is False
    assert [f["code"] for f in first["findings"]] == ["cut-off", "rank-conflict"]
    assert [f["code"] for f in second["findings"]] == ["rank-conflict"]
    assert [f["id"] for f in found["findings"] if f["kind"] == "input"] == ["rank-conflict"]


def test_analyses_report_what_they_found_in_a_file() -> None:
    late = 10**15
    trace = make_trace(
        kernel("untimed", 0, 0),
        call("cudaLaunchKernel", late, 1, corr=1, pid=1),
        call("cudaLaunchKernel", late, 1, corr=1, pid=2),
        kernel("a", late + 5, 5, corr=1),
        call("cudaLaunchKernel", late + 10, 1, corr=2),
        kernel("b", late + 9, 5, corr=2),
    )
    (item,) = report(make_session(trace))["inputs"]
    assert {f["code"]: f["count"] for f in item["findings"]} == {
        "ambiguous-correlation": 1,
        "started-before-call": 1,
        "untimed-gpu-work": 1,
    }


def test_failures_and_skipped_files_are_listed() -> None:
    error = InputError("bad\udcff.json", "is empty", "byte 0", "Name a trace.")
    found = report(Session(), [error], [Finding("skipped", "info", 1, "no trace", "notes.json")])
    assert found["failures"][0]["problem"] == "is empty"
    assert found["failures"][0]["next_step"] == "Name a trace."
    assert found["inputs"] == []
    assert found["findings"][0]["evidence"] == [{"text": "notes.json"}]
    assert json.loads(encode_report(found))["failures"][0]["path"] == "bad\ufffd.json"


def test_devices_are_named_by_the_file() -> None:
    trace = make_trace(kernel("a", 0, 5, device=1), devices=[DeviceInfo(0, "Wrong"), DeviceInfo(1, "NVIDIA H100")])
    assert report(make_session(trace))["ranks"][0]["device"]["name"] == "NVIDIA H100"


def test_the_file_is_readable_json(tmp_path: Path) -> None:
    found = report(make_session(make_trace(copy("Memcpy HtoD \u20ac\n", 0, 5))))
    write_report(tmp_path / "report.json", found)
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert json.loads(text) == found
