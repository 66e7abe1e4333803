from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import open_one
from viewer.analyses.attribution import attribute
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.importers.ascend import covered
from viewer.importers.registry import importer_of
from viewer.store.trace import Trace

PYTHON, CANN, HARDWARE, COMM, OVERLAP = (1234 << 10 | layer << 5 | 3 for layer in (0, 2, 6, 8, 10))
"""Ids as the profiler packs them: process, layer, device 3."""


def named(pid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def lane(pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def x(pid: int, tid: int, name: str, at: float, long: float, **more: Any) -> dict[str, Any]:
    """A slice with the time as text, ``at`` microseconds after the beginning."""
    args = more.pop("args", {})
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": f"{1704161511420000 + at:.3f}", "dur": long} | (
        {"args": args, **more}
    )


def task(stream: int, name: str, kind: str, at: float, long: float, connection: int = 0) -> dict[str, Any]:
    told = {"Model Id": 4294967295, "Task Type": kind, "Physic Stream Id": stream, "Task Id": 7, "Batch Id": 0}
    return x(HARDWARE, stream, name, at, long, args=told | {"Subtask Id": 0, "connection_id": connection})


FRAMEWORK = [
    x(437675, 437675, "aten::mm", 0, 20, cat="cpu_op", args={"Sequence number": 4, "Fwd thread id": 0}),
    x(437675, 437675, "Enqueue@aclnnMatmul", 4, 2, cat="enqueue", args={"correlation_id": 1}),
    x(437675, 439228, "Dequeue@aclnnMatmul", 7, 8, cat="dequeue", args={"correlation_id": 1}),
]
NAMES = [
    named(437675, "Python"),
    named(CANN, "CANN"),
    named(HARDWARE, "Ascend Hardware"),
    named(COMM, "Communication"),
    named(OVERLAP, "Overlap Analysis"),
    lane(HARDWARE, 2, "Stream 2"),
    lane(HARDWARE, 5, "Stream 5"),
    lane(COMM, 2, "Group 0 Communication"),
    lane(COMM, 3, "Plane 0"),
    lane(OVERLAP, 1, "Computing"),
    lane(OVERLAP, 2, "Communication"),
]
DEVICE = [
    x(CANN, 439228, "AscendCL@aclnnMatmul", 8, 6, args={"Mode": "launch", "level": "acl", "connection_id": 900}),
    x(CANN, 439228, "Node@launch", 10, 2, args={"Mode": "launch", "level": "node", "connection_id": 31}),
    task(2, "aclnnMatmul_MatMulV3_MatMulV3", "AI_CORE", 30, 50, 31),
    task(2, "aclnnAdd_Add_Add", "AI_VECTOR_CORE", 80, 10, 32),
    task(2, "EVENT_RECORD", "EVENT_RECORD", 90, 1),
    task(2, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 92, 3),
    task(5, "EVENT_WAIT", "EVENT_WAIT", 40, 45),
    task(5, "NOTIFY_WAIT", "NOTIFY_WAIT", 86, 4),
    task(5, "SDMA", "SDMA", 90, 20),
    x(COMM, 2, "hcom_allReduce__428_0_1", 85, 30, args={"connection_id": 33, "model id": 4294967295}),
    x(COMM, 3, "Memcpy", 90, 20, args={"stream id": 5, "task type": "SDMA"}),
    x(OVERLAP, 1, "Computing", 30, 60),
    x(OVERLAP, 2, "Communication", 85, 30),
    {"ph": "s", "bp": "e", "name": "torch_to_npu", "id": "8", "pid": 437675, "tid": 437675, "cat": "async_npu"}
    | {"ts": "1704161511420000.000"},
    {"ph": "f", "bp": "e", "name": "torch_to_npu", "id": "8", "pid": HARDWARE, "tid": 2, "cat": "async_npu"}
    | {"ts": "1704161511420030.000"},
]
EVENTS = [*FRAMEWORK, *NAMES, *DEVICE]


def written(path: Path, events: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(events))
    return path


def opened(tmp_path: Path, events: list[Any]) -> Trace:
    return open_one(tmp_path, written(tmp_path / "trace_view.json", events))


def test_streams_and_collectives_are_work_of_the_device(tmp_path: Path) -> None:
    trace = opened(tmp_path, EVENTS)
    assert (trace.meta.format, trace.meta.rank) == ("ascend", None)
    assert [(d.id, d.name) for d in trace.meta.devices] == [(3, "Ascend NPU")]
    stream, second = "device 3 stream 2 [Ascend Hardware/Stream 2]", "device 3 stream 5 [Ascend Hardware/Stream 5]"
    assert [line.replace(" 1704161511420", " ").replace(" .1704161511420", " .") for line in lines(trace)] == [
        f"STREAM {stream} 030000+50000 COMPUTE kernel aclnnMatmul_MatMulV3_MatMulV3 #31",
        f"STREAM {stream} 080000+10000 COMPUTE kernel aclnnAdd_Add_Add #32",
        f"STREAM {stream} 092000+3000 MEMORY gpu_memcpy MEMCPY_ASYNC",
        "STREAM device 3 stream 6 [Communication/Group 0 Communication] 085000+30000 COMM kernel "
        "hcom_allReduce__428_0_1 #33",
        f"STREAM_MARKS {stream} 090000+1000 SYNC npu_sync EVENT_RECORD",
        f"STREAM_MARKS {second} 040000+45000 SYNC npu_sync EVENT_WAIT",
        f"STREAM_MARKS {second} 086000+4000 SYNC npu_sync NOTIFY_WAIT",
        f"STREAM_MARKS {second} 090000+20000 ANNOTATION npu_comm_task SDMA",
        "STREAM_MARKS device 3 stream 7 [Communication/Plane 0] 090000+20000 ANNOTATION npu_comm_task Memcpy",
        "THREAD 437675/437675 [Python] 000000+20000 OPERATOR cpu_op aten::mm",
        "THREAD 437675/437675 [Python] .004000+2000 RUNTIME enqueue Enqueue@aclnnMatmul",
        "THREAD 437675/439228 [Python] 007000+8000 RUNTIME dequeue Dequeue@aclnnMatmul",
        f"THREAD {CANN}/439228 [CANN] 008000+6000 RUNTIME cann_api AscendCL@aclnnMatmul",
        f"THREAD {CANN}/439228 [CANN] .010000+2000 RUNTIME cann_api Node@launch #31",
        f"THREAD {OVERLAP}/1 [Overlap Analysis/Computing] 030000+60000 OTHER npu_overlap Computing",
        f"THREAD {OVERLAP}/2 [Overlap Analysis/Communication] 085000+30000 OTHER npu_overlap Communication",
    ]


def test_figures_are_those_of_the_streams(tmp_path: Path) -> None:
    trace = opened(tmp_path, EVENTS)
    assert gpu_work(trace).devices == (3,)
    figures = attribute(trace, 3, None)
    assert (figures.gpu_events, figures.compute_ns, figures.comm_ns, figures.span_ns) == (4, 60_000, 30_000, 85_000)
    assert codes(trace) == {"work-by-lane-name": 4}
    found = links(trace)
    assert (found.linked, found.gpu_without_call) == (1, 3)


def test_the_profilers_own_figure_is_compared(tmp_path: Path) -> None:
    other = [e for e in EVENTS if e["name"] != "Computing"]
    trace = opened(tmp_path, [*other, x(OVERLAP, 1, "Computing", 30, 75)])
    assert codes(trace) == {"work-by-lane-name": 4, "overlap-analysis-differs": 1}
    (told,) = [f for f in trace.meta.findings if f.code == "overlap-analysis-differs"]
    assert "0.075 ms" in told.message
    assert "0.060 ms" in told.message


def test_a_copy_beside_a_collective_is_a_copy(tmp_path: Path) -> None:
    """Only on a stream on which ranks wait for each other is it a task of the collective that runs then."""
    trace = opened(tmp_path, [*EVENTS, task(2, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 100, 4)])
    copies = [line for line in lines(trace) if "gpu_memcpy" in line]
    assert len(copies) == 2
    assert all("stream 2" in line for line in copies)


def test_a_task_of_an_unknown_type_is_shown_and_not_counted(tmp_path: Path) -> None:
    trace = opened(tmp_path, [*EVENTS, task(2, "odd", "NEVER_SEEN", 200, 50)])
    assert codes(trace)["unknown-task-types"] == 1
    assert attribute(trace, 3, None).gpu_events == 4
    assert any("npu_task odd" in line for line in lines(trace))


def test_tasks_without_a_type_are_work_and_ids_need_not_be_packed(tmp_path: Path) -> None:
    events = [
        named(1, "Python"),
        named(4, "Ascend Hardware"),
        named(5, "Ascend Hardware"),
        x(4, 3, "Slice1", 0, 100),
        x(5, 3, "Slice2", 50, 80),
    ]
    trace = opened(tmp_path, events)
    assert gpu_work(trace).devices == (0, 1)
    events += [{"ph": "M", "name": "process_labels", "pid": 5, "tid": 0, "args": {"labels": "NPU 7"}}]
    trace = open_one(tmp_path, written(tmp_path / "labelled.json", events))
    assert gpu_work(trace).devices == (0, 7)


@pytest.mark.parametrize(
    ("folder", "beside", "rank"),
    [
        ("dp0_pp0_tp0_rank5_20260305161834123_ascend_pt", "", 5),
        ("host_4711_20260305161834123_ascend_pt", "profiler_info_12.json", 12),
        ("host_4711_20260305161834123_ascend_pt", "profiler_info.json", None),
        ("somewhere", "", None),
    ],
)
def test_the_rank_is_that_of_the_profilers_folder(tmp_path: Path, folder: str, beside: str, rank: int | None) -> None:
    path = written(tmp_path / folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", EVENTS)
    if beside:
        (tmp_path / folder / beside).write_text("{}")
    assert open_one(tmp_path, path).meta.rank == rank


def test_it_is_known_by_its_operators_where_the_device_comes_late(tmp_path: Path) -> None:
    """The framework's events come first, hundreds of megabytes of them."""
    path = written(tmp_path / "unknown", [*FRAMEWORK * 2000, *NAMES, *DEVICE])
    assert path.read_bytes().find(b"Ascend") > 64 << 10
    importer, sure = importer_of(path)
    assert (importer.name, sure) == ("ascend", 3)


def test_kineto_is_none_of_it(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1704161511420000.5, "dur": 1}
    for document in ([event | {"args": {"Fwd thread id": 0}}], {"traceEvents": [event], "schemaVersion": 1}):
        path = tmp_path / "t.json"
        path.write_text(json.dumps(document))
        assert importer_of(path)[0].name == "kineto"


def test_a_list_that_was_not_ended_opens_as_far_as_it_goes(tmp_path: Path) -> None:
    """So the file stands while the profiler's analysis has not come to its end."""
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(EVENTS)[:-1])
    trace = open_one(tmp_path, path)
    assert attribute(trace, 3, None).gpu_events == 4
    assert not trace.meta.complete


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_what_intervals_cover_is_counted_once(spans: list[tuple[int, int]]) -> None:
    start = np.array([a for a, _ in spans], np.int64)
    end = start + np.array([long for _, long in spans], np.int64)
    assert covered(start, end) == len({t for a, long in spans for t in range(a, a + long)})
