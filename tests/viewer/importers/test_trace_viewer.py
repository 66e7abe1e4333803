from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import open_one
from viewer.analyses.attribution import attribute
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links


def process(pid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def thread(pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}


def slice_(pid: int, tid: int, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, **({"args": args} if args else {})}


HOST = [process(701, "/host:CPU"), thread(701, 9, "python")]
GPU = [
    process(1, "/device:GPU:0"),
    thread(1, 14, "Stream #14(Compute)"),
    thread(1, 15, "Stream #15(MemcpyH2D,Memset)"),
    thread(1, 900, "XLA Ops"),
]


def write(path: Path, events: list[Any]) -> Path:
    document = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*events, {}]}
    text = json.dumps(document).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


EVENTS = [
    *HOST,
    *GPU,
    slice_(701, 9, "$train.py:10 step", 0, 40),
    slice_(701, 9, "cuLaunchKernel", 1, 2, correlation_id="77"),
    slice_(701, 9, "TfrtCpuExecutable::Execute", 5, 2),
    slice_(1, 14, "loop_fusion_kernel", 10, 5, correlation_id="77", hlo_op="fusion.1"),
    slice_(1, 14, "ncclDevKernel_AllReduce_Sum_f32", 15, 10, correlation_id=78),
    slice_(1, 15, "MemcpyH2D", 12.5, 1, kind_src="pinned"),
    slice_(1, 15, "Memset", 14, 1),
    slice_(1, 900, "fusion.1", 10, 5),
]


def test_streams_are_gpu_work_by_the_names_of_lanes(tmp_path: Path) -> None:
    for name in ("host.trace.json", "host.trace.json.gz"):
        trace = open_one(tmp_path, write(tmp_path / name, EVENTS))
        assert lines(trace) == [
            "STREAM device 0 stream 14 [/device:GPU:0/Stream #14(Compute)] 10000+5000 COMPUTE kernel "
            "loop_fusion_kernel #77",
            "STREAM device 0 stream 14 [/device:GPU:0/Stream #14(Compute)] 15000+10000 COMM kernel "
            "ncclDevKernel_AllReduce_Sum_f32 #78",
            "STREAM device 0 stream 15 [/device:GPU:0/Stream #15(MemcpyH2D,Memset)] 12500+1000 MEMORY gpu_memcpy "
            "MemcpyH2D",
            "STREAM device 0 stream 15 [/device:GPU:0/Stream #15(MemcpyH2D,Memset)] 14000+1000 MEMORY gpu_memset "
            "Memset",
            "STREAM_MARKS device 0 stream 900 [/device:GPU:0/XLA Ops] 10000+5000 ANNOTATION xla_lane fusion.1",
            "THREAD 701/9 [/host:CPU/python] 0+40000 PYTHON python_function $train.py:10 step",
            "THREAD 701/9 [/host:CPU/python] .1000+2000 RUNTIME cuda_driver cuLaunchKernel #77",
            "THREAD 701/9 [/host:CPU/python] .5000+2000 OTHER - TfrtCpuExecutable::Execute",
        ]
        assert trace.meta.format == "trace-viewer"
        assert trace.meta.ledger.reasons.keys() == {"empty"}  # the writer ends its list with {}
        assert (trace.meta.ledger.read, trace.meta.ledger.kept) == (15, 14)
        assert codes(trace) == {"empty": 1, "work-by-lane-name": 4}
        figures = attribute(trace, 0, None)
        assert (figures.gpu_events, figures.compute_ns, figures.comm_ns, figures.span_ns) == (4, 5000, 10000, 15000)
        found = links(trace)
        assert (found.linked, found.gpu_without_call) == (1, 3)
        assert trace.args(0) == {"correlation_id": "77", "hlo_op": "fusion.1"}


def test_a_tpu_has_no_device_figures(tmp_path: Path) -> None:
    events = [
        process(3, "/device:TPU:0"),
        thread(3, 1, "XLA Ops"),
        slice_(3, 1, "while", 0, 10),
        slice_(3, 1, "all-reduce", 2, 3),
    ]
    trace = open_one(tmp_path, write(tmp_path / "t.json", events))
    assert lines(trace) == [
        "THREAD 3/1 [/device:TPU:0/XLA Ops] 0+10000 OTHER xla_device_lane while",
        "THREAD 3/1 [/device:TPU:0/XLA Ops] .2000+3000 OTHER xla_device_lane all-reduce",
    ]
    assert len(gpu_work(trace)) == 0
    assert codes(trace) == {"empty": 1, "device-without-streams": 2, "no-gpu-work": 1}


def test_a_gpu_without_stream_lanes_has_no_device_figures(tmp_path: Path) -> None:
    events = [process(1, "/device:GPU:0"), thread(1, 5, "XLA Modules"), slice_(1, 5, "jit_step", 0, 10)]
    trace = open_one(tmp_path, write(tmp_path / "t.json", events))
    assert (len(gpu_work(trace)), codes(trace)) == (0, {"empty": 1, "no-gpu-work": 1})


def test_gpus_of_two_hosts_stay_apart(tmp_path: Path) -> None:
    events = []
    for pid, host in ((4, "worker-a"), (5, "worker-b")):
        events += [process(pid, f"{host} /device:GPU:0"), thread(pid, 7, "Stream #7"), slice_(pid, 7, "k", pid, 1)]
    trace = open_one(tmp_path, write(tmp_path / "t.json", events))
    assert gpu_work(trace).devices == (4, 5)
    assert codes(trace)["devices-renumbered"] == 1


def test_categories_that_the_file_states_stay(tmp_path: Path) -> None:
    event = {**slice_(1, 14, "label", 0, 10), "cat": "gpu_user_annotation"}
    trace = open_one(tmp_path, write(tmp_path / "t.json", [*GPU, event]))
    assert lines(trace) == [
        "STREAM_MARKS device 0 stream 14 [/device:GPU:0/Stream #14(Compute)] 0+10000 ANNOTATION gpu_user_annotation "
        "label"
    ]


def test_a_truncated_file_keeps_its_slices(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", EVENTS)
    path.write_bytes(path.read_bytes()[:-60])
    trace = open_one(tmp_path, path)
    assert (trace.meta.format, trace.meta.complete, len(gpu_work(trace))) == ("trace-viewer", False, 4)


def test_the_viewers_own_sample_is_a_plain_chrome_trace(shared: Path, tmp_path: Path) -> None:
    """It names no device and no writer: nothing in it is TensorFlow's."""
    trace = open_one(tmp_path, shared / "data/jax-xla/tf_trace_viewer_trace.json")
    assert (trace.meta.format, trace.meta.ledger.read, trace.meta.ledger.kept) == ("chrome", 37, 37)
