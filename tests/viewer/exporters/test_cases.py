"""Small cases with figures worked out by hand, as traces written here; and from sample files where they exist."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.build import (
    Event,
    annotation,
    call,
    copy,
    kernel,
    make_session,
    make_trace,
    mark,
    op,
    row_named,
    rows_named,
    sync,
)
from viewer.analyses.host import launch_of
from viewer.analyses.links import links
from viewer.exporters.report import encode_report, report

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE_SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
DTOH = "Memcpy DtoH (Device -> Pinned)"


@dataclass
class Case:
    events: list[Event]
    gpu: dict[str, int]
    links: dict[str, int] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)


def graph(at: int, first: int, corr: int, length: int) -> list[Event]:
    return [
        call("cudaGraphLaunch", at, length, corr=corr),
        kernel(GEMM, first, 5_000, corr=corr),
        kernel(FILL, first + 5_500, 4_500, corr=corr),
        kernel(GEMM, first + 10_500, 9_500, corr=corr),
        kernel(ALL_REDUCE, first + 12_000, 6_000, stream=20, corr=corr),
    ]


CASES = {
    "communication by name": Case(
        [
            op("record_param_comms", 3_900, 700),
            annotation("nccl:all_reduce", 4_000, 600),
            mark("nccl:all_reduce", 5_000, 10_000, stream=20),
            kernel(GEMM, 0, 10_000),
            kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", 5_000, 10_000, stream=20),
            kernel(REDUCE_SCATTER, 20_000, 10_000, stream=20),
            kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float)", 22_000, 2_000),
            kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 30_000, 6_000, stream=20),
            kernel("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", 40_000, 5_000, stream=20),
            kernel("nccldevkernel_allgather_ring_ll", 45_000, 2_000, stream=20),
            kernel("triton_red_fused_native_layer_norm_2", 46_000, 6_000),
        ],
        {
            "gpu_events": 8,
            "comm_ns": 33_000,
            "compute_ns": 18_000,
            "overlap_ns": 8_000,
            "comm_exposed_ns": 25_000,
            "busy_ns": 43_000,
            "span_ns": 52_000,
            "idle_ns": 9_000,
        },
        classes={
            "nccldevkernel_allgather_ring_ll": "comm",
            "triton_red_fused_native_layer_norm_2": "compute",
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float)": "compute",
        },
    ),
    "two streams of communication": Case(
        [
            kernel(ALL_REDUCE, 0, 20_000, stream=20),
            kernel(REDUCE_SCATTER, 10_000, 20_000, stream=21),
            kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 12_000, 6_000, stream=22),
            kernel(GEMM, 5_000, 10_000),
            kernel(FILL, 8_000, 17_000, stream=9),
            copy(DTOH, 28_000, 5_000, stream=11),
            kernel(GEMM, 40_000, 1_000),
        ],
        {
            "gpu_events": 7,
            "comm_ns": 30_000,
            "compute_ns": 21_000,
            "memory_ns": 5_000,
            "overlap_ns": 20_000,
            "comm_exposed_ns": 10_000,
            "memory_exposed_ns": 3_000,
            "busy_ns": 34_000,
            "span_ns": 41_000,
            "idle_ns": 7_000,
        },
        classes={DTOH: "memory"},
    ),
    "waits and labels are no work": Case(
        [
            kernel(GEMM, 0, 10_000),
            kernel(ALL_REDUCE, 20_000, 30_000, stream=20),
            kernel(GEMM, 60_000, 10_000),
            sync("Stream Wait Event", 10_000, 40_000, corr=4),
            sync("Context Sync", 15_000, 55_000, stream=-1, corr=5),
            sync("Event Sync", 20_000, 30_000, stream=20, corr=6),
            mark("ProfilerStep#3", 0, 70_000),
            mark("nccl:all_reduce", 20_000, 30_000, stream=20),
            Event("Activity Buffer Request", 30_000, 25_000, "overhead", pid=-1, tid=0),
        ],
        {
            "gpu_events": 3,
            "comm_ns": 30_000,
            "compute_ns": 20_000,
            "overlap_ns": 0,
            "comm_exposed_ns": 30_000,
            "busy_ns": 50_000,
            "span_ns": 70_000,
            "idle_ns": 20_000,
        },
    ),
    "shorter than a microsecond": Case(
        [
            kernel(FILL, 2_263_391_484_527_317 + at, dur)
            for at, dur in ((0, 192), (383, 300), (683, 1), (1_583, 200), (3_182, 502))
        ],
        {
            "gpu_events": 5,
            "comm_ns": 0,
            "compute_ns": 1_195,
            "overlap_ns": 0,
            "comm_exposed_ns": 0,
            "busy_ns": 1_195,
            "span_ns": 3_684,
            "idle_ns": 2_489,
        },
    ),
    "a kernel starts before the one before it ends": Case(
        [
            kernel(GEMM, 0, 10_000),
            kernel("nvjet_hsh_128x256_64x4_2x1_v_bz_TNT", 8_000, 12_000),
            kernel(FILL, 19_500, 5_500),
            kernel(ALL_REDUCE, 9_000, 500, stream=20),
        ],
        {
            "gpu_events": 4,
            "comm_ns": 500,
            "compute_ns": 25_000,
            "overlap_ns": 500,
            "comm_exposed_ns": 0,
            "busy_ns": 25_000,
            "span_ns": 25_000,
            "idle_ns": 0,
        },
    ),
    "graph launches": Case(
        [
            *graph(0, 40_000, 500, 30_000),
            *graph(31_000, 62_000, 501, 29_000),
            call("cudaMemcpyAsync", 85_000, 1_000, corr=502),
            copy(DTOH, 88_000, 2_000, corr=502),
        ],
        {
            "gpu_events": 9,
            "comm_ns": 12_000,
            "compute_ns": 38_000,
            "overlap_ns": 12_000,
            "comm_exposed_ns": 0,
            "busy_ns": 40_000,
            "span_ns": 50_000,
            "idle_ns": 10_000,
        },
        {"host_calls": 3, "host_call_ns": 60_000, "linked": 9, "gpu_without_call": 0, "calls_without_gpu": 0},
    ),
    "correlation zero on the default stream": Case(
        [
            call("hipLaunchKernel", 0, 3_000, corr=11),
            call("hipModuleLaunchKernel", 4_000, 2_000, corr=12),
            call("hipExtLaunchKernel", 7_000, 2_000, corr=13),
            call("hipExtLaunchKernel", 9_500, 400, corr=14),
            kernel("Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_MI32x32x8x1_SN", 10_000, 20_000, stream=0, corr=11),
            kernel("MIOpenBatchNormFwdTrainSpatial", 30_000, 10_000, stream=0, corr=12),
            kernel("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", 15_000, 10_000, stream=1, corr=0),
            kernel("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", 35_000, 15_000, stream=1, corr=0),
        ],
        {
            "gpu_events": 4,
            "comm_ns": 25_000,
            "compute_ns": 30_000,
            "overlap_ns": 15_000,
            "comm_exposed_ns": 10_000,
            "busy_ns": 40_000,
            "span_ns": 40_000,
            "idle_ns": 0,
        },
        {"host_calls": 4, "linked": 2, "gpu_without_call": 2, "calls_without_gpu": 2},
    ),
    "a copy without a duration": Case(
        [
            copy("Memcpy HtoD (Pageable -> Device)", 100_000, 0),
            kernel("elementwise_a", 101_000, 4_000),
            kernel("elementwise_b", 107_500, 2_500),
        ],
        {
            "gpu_events": 3,
            "comm_ns": 0,
            "compute_ns": 6_500,
            "overlap_ns": 0,
            "comm_exposed_ns": 0,
            "busy_ns": 6_500,
            "span_ns": 10_000,
            "idle_ns": 3_500,
        },
    ),
    "a small mix": Case(
        [
            kernel(GEMM, 0, 2_000),
            kernel(ALL_REDUCE, 1_000, 4_000, stream=20),
            kernel(FILL, 6_000, 1_000),
            kernel(GEMM, 8_000, 1_500),
            kernel(REDUCE_SCATTER, 9_000, 3_000, stream=20),
            kernel(FILL, 13_000, 500),
        ],
        {
            "gpu_events": 6,
            "comm_ns": 7_000,
            "compute_ns": 5_000,
            "overlap_ns": 1_500,
            "comm_exposed_ns": 5_500,
            "busy_ns": 10_500,
            "span_ns": 13_500,
            "idle_ns": 3_000,
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shift", [0, 1_700_000_000_000_000_000])
def test_the_report_of_a_case(name: str, shift: int) -> None:
    case = CASES[name]
    moved = [Event(**{**e.__dict__, "start": e.start + shift}) for e in case.events]
    found = report(make_session(make_trace(*moved, rank=0, rank_source="distributedInfo")))
    (rank,) = found["ranks"]
    assert rank["rank"] == 0
    assert {key: rank["device"][key] for key in case.gpu} == case.gpu
    assert {key: rank["links"][key] for key in case.links} == case.links
    classes = {k["name"]: k["class"] for k in found["kernels"]}
    assert {key: classes[key] for key in case.classes} == case.classes
    assert json.loads(encode_report(found)) == found


def test_means_below_a_microsecond() -> None:
    (row,) = report(make_session(make_trace(*CASES["shorter than a microsecond"].events)))["kernels"]
    assert (row["count"], row["sum_ns"], row["min_ns"], row["max_ns"], row["mean_ns"]) == (5, 1_195, 1, 502, 239)


def test_a_graph_launch_fans_out_and_delays_once() -> None:
    trace = make_trace(*CASES["graph launches"].events)
    calls = [*rows_named(trace, "cudaGraphLaunch"), row_named(trace, "cudaMemcpyAsync")]
    assert [len(links(trace).gpu_of(c)) for c in calls] == [4, 4, 1]
    first = [launch_of(trace, int(links(trace).gpu_of(c)[0])) for c in calls]
    assert [x and x.delay_ns for x in first] == [40_000, 31_000, 3_000]


def open_case(path: Path, home: Path) -> dict[str, Any]:
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    result = JobOpener([path], cache=Cache(home)).open()
    assert result.failures == []
    return report(result.session, result.failures, result.skipped)


FILES = ["01", "03", "04", "05", "09", "12", "13", "18", "21", "26"]


@pytest.mark.parametrize("number", FILES)
def test_a_case_file_gives_its_expected_values(number: str, shared: Path, tmp_path: Path) -> None:
    (expected,) = (shared / "cases").glob(f"{number}-*.expect.json")
    want = json.loads(expected.read_text())
    found = open_case(shared / "cases" / want["file"], tmp_path)
    (rank,) = found["ranks"]
    assert rank["rank"] == want["rank"]
    assert {key: rank["device"][key] for key in want["gpu"]} == want["gpu"]
    classes = {k["name"]: k["class"] for k in found["kernels"]}
    assert {key: classes[key] for key in want["class"]} == want["class"]
    for key, value in want.get("links", {}).items():
        if key not in ("fan_out", "first_start_delay_ns"):
            assert rank["links"][key] == value
    steps = {str(s["index"]): s for s in rank["steps"]}
    assert set(steps) == set(want.get("steps", {}))
    for index, figures in want.get("steps", {}).items():
        assert {k: steps[index][k] if k == "kernels" else steps[index]["device"][k] for k in figures} == figures
    if "outside_any_step" in want:
        assert rank["outside_steps"] == want["outside_any_step"]
    if "by_name" in want:
        (row,) = found["kernels"]
        assert {k: row[k] for k in want["by_name"]} == want["by_name"]


def test_ranks_of_a_folder(shared: Path, tmp_path: Path) -> None:
    found = open_case(shared / "cases" / "15-ranks", tmp_path)
    ranks = {Path(i["path"]).name: (i["rank"], i["rank_source"]) for i in found["inputs"]}
    assert ranks == {
        "node-a_77.1690000000001.pt.trace.json": (3, "distributedInfo"),
        "rank_2.json": (2, "file name"),
        "node-b_4242.1690000000003.pt.trace.json": (None, "unknown"),
        "second-copy.json": (3, "distributedInfo"),
    }
    said = [f["message"] for i in found["inputs"] for f in i["findings"] if f["code"] == "rank-conflict"]
    assert len(said) == 2
    assert all("node-a_77.1690000000001.pt.trace.json" in m and "second-copy.json" in m for m in said)


def test_base_times_put_ranks_on_one_axis(shared: Path, tmp_path: Path) -> None:
    from viewer.analyses.gpu_work import gpu_work
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    want = json.loads((shared / "cases" / "32-base-time.expect.json").read_text())
    session = JobOpener([shared / "cases" / "32-base-time"], cache=Cache(tmp_path)).open().session
    for item in session.inputs:
        work = gpu_work(item.trace)
        assert [item.clock.to_session(int(t)) for t in work.start_ns] == want["absolute_start_ns"][str(item.rank)]
        assert [item.clock.to_session(int(t)) for t in work.end_ns] == want["absolute_end_ns"][str(item.rank)]
    found = report(session)
    assert found["clock"]["method"] == "base"
    assert [(c["rank"], c["offset_ns"], c["connected"]) for c in found["clock"]["ranks"]] == [
        (0, 0, True),
        (1, 0, True),
    ]
    assert [i["base_ns"] is not None for i in found["inputs"]] == [True, True]
