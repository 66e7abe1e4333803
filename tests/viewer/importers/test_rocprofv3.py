from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import open_one, problem
from viewer.analyses.attribution import attribute
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.importers.cut import close_cut

KINDS = [
    {"kind": "NONE", "operations": []},
    {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
    {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]},
    {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_DEVICE"]},
    {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]},
    {"kind": "HSA_CORE_API", "operations": ["hsa_signal_wait"]},
]
NONE, HIP, KERNEL, COPY, MARKER, HSA = range(6)


def record(kind: int, operation: int, start: int, end: int, corr: int = 0, **more: Any) -> dict[str, Any]:
    ids = {"internal": corr, "external": 0}
    base = {"size": 1, "kind": kind, "operation": operation, "thread_id": 42, "correlation_id": ids}
    return {**base, "start_timestamp": start, "end_timestamp": end, **more}


def dispatch(start: int, end: int, corr: int, kernel: int = 8, stream: int = 0, agent: int = 77) -> dict[str, Any]:
    info = {
        "size": 72,
        "agent_id": {"handle": agent},
        "queue_id": {"handle": 16},
        "kernel_id": kernel,
        "dispatch_id": corr,
        "private_segment_size": 0,
        "group_segment_size": 512,
        "workgroup_size": {"x": 256, "y": 1, "z": 1},
        "grid_size": {"x": 1000, "y": 2, "z": 1},
    }
    return record(KERNEL, 2, start, end, corr, dispatch_info=info, stream_id={"handle": stream})


def copied(operation: int, start: int, end: int, corr: int, source: int, target: int) -> dict[str, Any]:
    agents = {"src_agent_id": {"handle": source}, "dst_agent_id": {"handle": target}}
    return record(COPY, operation, start, end, corr, **agents, bytes=4096, stream_id={"handle": 0})


def tool(**arrays: list[Any]) -> dict[str, Any]:
    return {
        "metadata": {"node": {"hostname": "node7"}, "pid": 41, "command": ["/usr/bin/python3", "train.py"]},
        "agents": [
            {"id": {"handle": 70}, "type": 1, "name": "CPU", "logical_node_type_id": 0},
            {"id": {"handle": 77}, "type": 2, "product_name": "MI300X", "logical_node_type_id": 0},
            {"id": {"handle": 78}, "type": 2, "product_name": "MI300X", "logical_node_type_id": 1},
        ],
        "strings": {"buffer_records": KINDS, "marker_api": [{"key": 9, "value": "forward"}]},
        "kernel_symbols": [
            {"kernel_id": 0, "formatted_kernel_name": "0", "kernel_name": ""},
            {
                "kernel_id": 8,
                "formatted_kernel_name": "gemm<float>",
                "kernel_name": "_Z4gemm.kd",
                "arch_vgpr_count": 32,
            },
        ],
        "callback_records": {"counter_collection": []},
        "buffer_records": arrays,
    }


def write(path: Path, *tools: dict[str, Any]) -> Path:
    text = json.dumps({"rocprofiler-sdk-tool": list(tools)}).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


ALL = tool(
    kernel_dispatch=[dispatch(2000, 5000, 1), dispatch(5000, 6000, 4, kernel=99)],
    memory_copy=[copied(1, 1000, 1500, 2, 70, 77), copied(2, 7000, 7250, 3, 77, 78)],
    hip_api=[record(HIP, 0, 100, 200, 1), record(HIP, 1, 300, 400, 2)],
    hsa_api=[record(HSA, 0, 320, 330, 5)],
    marker_api=[record(MARKER, 1, 50, 450, 9)],
    memory_allocation=[record(30, 3, 60, 70, 6, allocation_size=64)],
)


def test_records_lie_on_streams_and_threads(tmp_path: Path) -> None:
    trace = open_one(tmp_path, write(tmp_path / "41_results.json", ALL))
    thread = "THREAD 41/42 [python3]"
    assert lines(trace) == [
        "STREAM device 0 stream 16 [python3] 2000+3000 COMPUTE kernel gemm<float> #1",
        "STREAM device 0 stream 16 [python3] 5000+1000 COMPUTE kernel kernel 99 #4",
        "STREAM device 0 stream -1 [python3] 1000+500 MEMORY gpu_memcpy MEMORY_COPY_HOST_TO_DEVICE #2",
        "STREAM device 1 stream -1 [python3] 7000+250 COMM gpu_memcpy "
        "MEMORY_COPY_DEVICE_TO_DEVICE (device 0 -> device 1) #3",
        f"{thread} 50+400 ANNOTATION marker_api forward #9",
        f"{thread} .60+10 OTHER memory_allocation memory_allocation 3 #6",
        f"{thread} .100+100 RUNTIME hip_api hipLaunchKernel #1",
        f"{thread} .300+100 RUNTIME hip_api hipMemcpyAsync #2",
        f"{thread} ..320+10 RUNTIME hsa_api hsa_signal_wait #5",
    ]
    meta = trace.meta
    assert (meta.format, meta.host, meta.rank, meta.complete) == ("rocprofv3", "node7", None, True)
    assert (meta.ledger.read, meta.ledger.kept, meta.gpu_first_ns, meta.gpu_last_ns) == (9, 9, 1000, 7250)
    assert [(d.id, d.name) for d in meta.devices] == [(0, "MI300X"), (1, "MI300X")]
    assert codes(trace) == {}
    assert trace.args(0) == {
        "device": 0, "stream": 16, "queue": 16, "correlation": 1, "dispatch": 1, "grid": [4, 2, 1],
        "block": [256, 1, 1], "grid in work items": [1000, 2, 1], "registers per thread": 32, "shared memory": 512,
        "private memory": 0, "kernel": "_Z4gemm.kd",
    }  # fmt: skip
    assert trace.args(2)["bytes"] == 4096
    assert attribute(trace, 0, None).compute_ns == 4000
    found = links(trace)
    assert (found.linked, found.gpu_without_call, len(found.calls)) == (2, 2, 2)


def test_streams_are_used_where_the_build_knows_them(tmp_path: Path) -> None:
    arrays = {"kernel_dispatch": [dispatch(1, 2, 1, stream=5), dispatch(3, 4, 2, stream=0)]}
    trace = open_one(tmp_path, write(tmp_path / "r.json.gz", tool(**arrays)))
    assert [lane.stream for lane in trace.lanes] == [5, 0]


def test_several_processes_and_the_form_without_a_list(tmp_path: Path) -> None:
    first, second = tool(hip_api=[record(HIP, 0, 1, 2, 1)]), tool(hip_api=[record(HIP, 0, 3, 4, 1)])
    second["metadata"] = {"pid": 50, "node": {"hostname": "node8"}}
    trace = open_one(tmp_path, write(tmp_path / "two.json", first, second))
    assert ([lane.pid for lane in trace.lanes], trace.meta.host) == (["41", "50"], None)
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"rocprofiler-sdk-tool": ALL}))
    assert open_one(tmp_path, bare).meta.events == 9


def test_bad_records_are_rejected_one_by_one(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "kernel_dispatch": [
            7,
            dispatch(0, 0, 1),
            record(KERNEL, 2, 5, 6),
            {**dispatch(5, 6, 2), "thread_id": "x"},
            dispatch(9, 8, 3),
            dispatch(2**63, 2**63 + 5, 4),
            dispatch(10, 12, 5, agent=4040),
        ],
        "pc_sample_host_trap": [{"record": {"timestamp": 5}}],
        "no_array": {"a": 1},
    }
    given = tool(**arrays)
    given["callback_records"] = {"counter_collection": [{}, {}]}
    trace = open_one(tmp_path, write(tmp_path / "r.json", given))
    ledger = trace.meta.ledger
    assert (ledger.read, ledger.kept, ledger.rejected) == (8, 2, 6)
    assert {k: v[0] for k, v in ledger.reasons.items()} == {
        "unreadable": 3, "untimed": 1, "time-out-of-range": 1, "no-time": 1
    }  # fmt: skip
    assert codes(trace) == {
        "unreadable": 3, "untimed": 1, "time-out-of-range": 1, "no-time": 1,
        "negative-duration": 1, "agent-unknown": 1, "counters-not-read": 2,
    }  # fmt: skip
    assert gpu_work(trace).devices == (0, 4040)


def test_truncation_keeps_the_exact_prefix(tmp_path: Path) -> None:
    kernels = [dispatch(10 * i, 10 * i + 5, i) for i in range(1, 6)]
    text = write(tmp_path / "r.json", tool(kernel_dispatch=kernels)).read_bytes()
    begin = text.index(b'"kernel_dispatch": [') + len(b'"kernel_dispatch": [')
    ends = [begin]
    for item in kernels:
        ends.append(text.index(json.dumps(item).encode(), ends[-1]) + len(json.dumps(item)))
    for size in range(begin + 1, len(text) - 1, 7):
        path = tmp_path / f"cut{size}.json"
        path.write_bytes(text[:size])
        trace = open_one(tmp_path, path)
        assert len(trace) == sum(end <= size for end in ends[1:])
        assert trace.meta.ledger.read == trace.meta.ledger.kept == len(trace)
        assert not trace.meta.complete
        assert codes(trace)["truncated"] == 1


def test_a_cut_gzip_keeps_its_prefix(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json.gz", tool(kernel_dispatch=[dispatch(i, i + 1, i) for i in range(1, 3000)]))
    path.write_bytes(path.read_bytes()[:-2000])
    trace = open_one(tmp_path, path)
    assert 0 < len(trace) < 2999
    assert "cut off" in next(f.message for f in trace.meta.findings if f.code == "truncated")


def test_bare_words_and_bad_bytes_are_mended(tmp_path: Path) -> None:
    given = tool(hip_api=[record(HIP, 0, 1, 2, 1)])
    given["callback_records"] = {"counter_collection": [{"value": "VALUE", "name": "NAME"}]}
    text = write(tmp_path / "r.json", given).read_bytes().replace(b'"VALUE"', b"nan").replace(b"NAME", b"caf\xe9")
    path = tmp_path / "bad.json"
    path.write_bytes(text)
    trace = open_one(tmp_path, path)
    assert (len(trace), trace.meta.complete) == (1, True)
    assert codes(trace) == {"mended-text": 1, "counters-not-read": 1, "no-gpu-work": 1}


def test_damage_in_the_middle_keeps_what_comes_before(tmp_path: Path) -> None:
    text = write(tmp_path / "r.json", tool(hip_api=[record(HIP, 0, i, i + 1, i) for i in range(1, 5)])).read_bytes()
    at = text.index(b'"start_timestamp": 3')
    path = tmp_path / "bad.json"
    path.write_bytes(text[:at] + b"\x00\x00" + text[at + 2 :])
    trace = open_one(tmp_path, path)
    assert (len(trace), trace.meta.complete) == (2, False)
    assert codes(trace)["truncated"] == 1


def test_other_content_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"rocprofiler-sdk-tool": 5}')
    assert "is rocprofv3's JSON, but cannot be read" in problem(tmp_path, path).problem


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ('{"a": [{"b": 1}, {"b": ', '{"a": [{"b": 1}]}'),
        ('{"a": [{"b": "}]"}, {"b": "x}', '{"a": [{"b": "}]"}]}'),
        ('{"a": [{"b": 1}], "c": {"d": 5', '{"a": [{"b": 1}]}'),
        ('{"a": 5', ""),
        ('[{"a": [[[[{"b": 1}, ', ""),
        ("", ""),
    ],
)
def test_closing_what_was_cut(text: str, closed: str) -> None:
    assert close_cut(text.encode()).decode() == closed


def test_the_real_file(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/rocm/rocprofv3_908_results.json.gz"
    (given,) = json.loads(gzip.decompress(path.read_bytes()))["rocprofiler-sdk-tool"]
    kernels = given["buffer_records"]["kernel_dispatch"]
    trace = open_one(tmp_path, path)
    assert trace.meta.ledger.read == trace.meta.ledger.kept == sum(map(len, given["buffer_records"].values())) == 43915
    names = {k["kernel_id"]: k["formatted_kernel_name"] for k in given["kernel_symbols"]}
    wanted = sorted(
        (k["start_timestamp"], k["end_timestamp"], names[k["dispatch_info"]["kernel_id"]], k["stream_id"]["handle"])
        for k in kernels
    )
    s = trace.slices
    ends = s.start_ns + s.dur_ns
    got = [
        (int(s.start_ns[i]), int(ends[i]), trace.name(i), lane.stream)
        for row, lane in ((r, trace.lanes[int(trace.rows.lane[r])]) for r in range(len(trace.rows)))
        for i in range(int(trace.rows.begin[row]), int(trace.rows.end[row]))
    ]
    assert sorted(got) == wanted
    assert gpu_work(trace).devices == (0,)
    assert trace.meta.host == given["metadata"]["node"]["hostname"]
