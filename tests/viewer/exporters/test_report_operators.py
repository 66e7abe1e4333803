"""Operators and FLOPs in the report."""

from __future__ import annotations

from tests.support.build import call, kernel, make_session, make_trace, op
from viewer.exporters.report import encode_report, report


def test_operators_and_flops_of_a_job() -> None:
    args = {"Input Dims": [[8, 5], [5, 3]], "Input type": ["float", "float"]}
    trace = make_trace(
        op("aten::linear", 0, 100),
        op("aten::mm", 10, 50, args=args),
        call("cudaLaunchKernel", 20, 5, corr=1),
        op("my::op", 200, 50),
        call("cudaLaunchKernel", 210, 5, corr=2),
        kernel("gemm_x", 300, 60, corr=1),
        kernel("gemm_y", 400, 40, corr=2),
        kernel("lonely", 500, 10),
        rank=3,
        path="a.json",
    )
    session = make_session(trace)
    found = report(session)
    rows = {r["name"]: r for r in found["operators"]}
    assert [r["name"] for r in found["operators"]] == ["aten::mm", "my::op", "", "aten::linear"]
    assert rows["aten::linear"]["gpu_total_ns"] == 60
    assert rows["aten::linear"]["gpu_self_ns"] == 0
    assert rows["aten::mm"]["tflops_per_second"] == 240 / 60 * 1e-3
    assert rows["my::op"]["tflops_per_second"] is None
    assert found["operators_left_out"] == 0
    (flops,) = found["flops"]
    assert (flops["rank"], flops["flops"], flops["by_dtype"]) == (3, 240, {"fp32": 240})
    assert (flops["coverage"], flops["known_ns"], flops["unknown_ns"]) == (0.6, 60, 40)
    assert flops["not_counted"][0]["operator"] == "my::op"
    assert flops["hfu"] is None
    assert "60.0 %" in flops["hfu_how"]
    assert flops["contention"]["slowdown_ns"] is None
    assert encode_report(found)
    cut = report(session, window=(0, 30))
    assert cut["flops"] is None
    assert [r["name"] for r in cut["operators"] if r["gpu_self_ns"]] == ["aten::mm"]


def test_a_file_without_gpu_work() -> None:
    (flops,) = report(make_session(make_trace(op("aten::mm", 0, 5))))["flops"]
    assert (flops["flops"], flops["coverage"], flops["recomputed_ns"]) == (None, None, None)
