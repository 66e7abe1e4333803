from __future__ import annotations

import json
from pathlib import Path

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import exact_ns, kernel, loads_exactly, open_one, write_json
from viewer.importers.registry import importer_of


def call(name: str, ts: float, dur: float, cat: str = "FEE", **more: object) -> dict[str, object]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 5, "tid": 6, "ts": ts, "dur": dur, **more}


NAMES = [
    {"ph": "M", "pid": 5, "tid": 5, "name": "process_name", "args": {"name": "MainProcess"}},
    {"ph": "M", "pid": 5, "tid": 6, "name": "thread_name", "args": {"name": "MainThread"}},
]


def test_calls_are_python_frames_on_named_threads(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "result.json",
        [
            *NAMES,
            call("inner (a.py:2)", 11, 0.5, args={"func_args": {"n": "1"}, "return_value": "7"}),
            call("outer (a.py:1)", 10, 4, cat="fee"),
        ],
        viztracer_metadata={"version": "1.1.1", "overflow": False, "baseTimeNanoseconds": 1_700_000_000_000_000_000},
        file_info={"files": {"a.py": ["secret source", 2]}},
    )
    trace = open_one(tmp_path, path)
    assert lines(trace) == [
        "THREAD 5/6 [MainProcess/MainThread] 10000+4000 PYTHON fee outer (a.py:1)",
        "THREAD 5/6 [MainProcess/MainThread] .11000+500 PYTHON FEE inner (a.py:2)",
    ]
    assert trace.args(1) == {"func_args": {"n": "1"}, "return_value": "7"}
    meta = trace.meta
    assert (meta.format, meta.base_ns, meta.rank) == ("viztracer", 1_700_000_000_000_000_000, None)
    assert meta.facts["viztracer version"] == "1.1.1"
    assert "secret source" not in str(meta.facts)
    assert codes(trace) == {"no-gpu-work": 1}


def test_a_full_buffer_is_said(tmp_path: Path) -> None:
    path = write_json(tmp_path / "r.json", [call("f", 1, 1)], viztracer_metadata={"overflow": True})
    assert codes(open_one(tmp_path, path))["buffer-overflow"] == 1


def test_a_base_time_that_is_no_number_is_none(tmp_path: Path) -> None:
    for base in ("now", -5, True, 2**70):
        folder = tmp_path / str(base)
        folder.mkdir()
        path = write_json(folder / "r.json", [call("f", 1, 1)], viztracer_metadata={"baseTimeNanoseconds": base})
        assert open_one(folder, path).meta.base_ns is None


def test_merged_kernels_stay_gpu_work(tmp_path: Path) -> None:
    path = write_json(tmp_path / "r.json", [call("f", 1, 9), kernel("gemm", 2, 3)], viztracer_metadata={})
    trace = open_one(tmp_path, path)
    assert (trace.meta.format, trace.meta.gpu_first_ns, trace.meta.gpu_last_ns) == ("viztracer", 2000, 5000)


def test_a_truncated_file_keeps_its_calls(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"traceEvents": [' + json.dumps(call("f", 1, 1)) + ", " + json.dumps(call("g", 3, 1))[:-20])
    trace = open_one(tmp_path, path)
    assert (trace.meta.format, trace.meta.complete, len(trace)) == ("viztracer", False, 1)


def test_real_files(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "data/viztracer").glob("*.json")):
        assert importer_of(path)[0].name == "viztracer"
        document = loads_exactly(path.read_bytes())
        trace = open_one(tmp_path, path)
        assert trace.meta.ledger.read == trace.meta.ledger.kept == len(document["traceEvents"])
        assert trace.meta.base_ns == document["viztracer_metadata"].get("baseTimeNanoseconds")
    trace = open_one(tmp_path, shared / "data/viztracer/function_args_return.json")
    starts = sorted(exact_ns(e["ts"]) for e in loads_exactly(trace_text(trace))["traceEvents"] if e["ph"] == "X")
    assert sorted(trace.slices.start_ns.tolist()) == starts
    assert all(trace.args(i)["func_args"] for i in range(len(trace)))


def trace_text(trace: object) -> bytes:
    return Path(trace.meta.source.path).read_bytes()  # type: ignore[attr-defined]
