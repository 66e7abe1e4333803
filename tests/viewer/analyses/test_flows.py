"""Arrows of the trace, and where a slice leads and comes from."""

from __future__ import annotations

from tests.support.build import call, kernel, make_trace, op, row_named
from viewer.analyses.flows import flows, onward, origins
from viewer.store.trace import Trace

P, FORWARD, BACKWARD = 100, 100, 200


def step() -> Trace:
    """A linear layer: forward on one thread, backward on another, each with a kernel."""
    return make_trace(
        op("aten::linear", 0, 100, pid=P, tid=FORWARD),
        op("aten::addmm", 10, 80, pid=P, tid=FORWARD),
        call("cudaLaunchKernel", 20, 10, 1, pid=P, tid=FORWARD),
        kernel("gemm", 50, 40, corr=1),
        op("autograd::engine", 200, 100, pid=P, tid=BACKWARD),
        op("AddmmBackward0", 210, 80, pid=P, tid=BACKWARD),
        call("cudaLaunchKernelExC", 220, 10, 2, pid=P, tid=BACKWARD),
        kernel("gemm_bwd", 260, 40, corr=2),
        op("aten::zeros", 400, 10, pid=P, tid=FORWARD),
        flows=[
            ("s", 7, "fwdbwd", 10, P, FORWARD),
            ("f", 7, "fwdbwd", 210, P, BACKWARD),
            ("s", 1, "ac2g", 20, P, FORWARD),
            ("f", 1, "ac2g", 50, 0, 7),
        ],
        rank=0,
    )


def names(trace: Trace, rows: list[int]) -> list[str]:
    return [trace.name(r) for r in rows]


def test_arrows_are_pairs_of_slices() -> None:
    trace = step()
    found = flows(trace)
    pairs = {(trace.name(int(a)), trace.name(int(b))) for a, b in zip(found.source, found.target, strict=True)}
    assert pairs == {("aten::addmm", "AddmmBackward0"), ("cudaLaunchKernel", "gemm")}
    assert names(trace, found.arriving(row_named(trace, "AddmmBackward0")).tolist()) == ["aten::addmm"]
    assert found.leaving(row_named(trace, "gemm")).tolist() == []


def test_onward_goes_from_launch_to_work_and_from_forward_to_backward() -> None:
    trace = step()
    for name, expected in (
        ("cudaLaunchKernel", ["gemm"]),
        ("aten::addmm", ["AddmmBackward0", "gemm"]),
        ("aten::linear", ["gemm", "AddmmBackward0"]),
        ("AddmmBackward0", ["gemm_bwd"]),
        ("gemm", []),
        ("aten::zeros", []),
    ):
        assert names(trace, onward(trace, row_named(trace, name))) == expected, name


def test_origins_go_the_same_ways_back() -> None:
    trace = step()
    for name, expected in (
        ("gemm", ["cudaLaunchKernel"]),
        ("gemm_bwd", ["cudaLaunchKernelExC"]),
        ("cudaLaunchKernelExC", ["aten::addmm"]),  # through the backward operator around it
        ("AddmmBackward0", ["aten::addmm"]),
        ("aten::addmm", []),
        ("autograd::engine", []),
    ):
        assert names(trace, origins(trace, row_named(trace, name))) == expected, name


def test_chains_ids_that_are_used_again_and_loose_ends() -> None:
    trace = make_trace(
        *(op(name, start, 10, pid=P, tid=FORWARD) for name, start in (("a", 0), ("b", 20), ("c", 40), ("d", 60))),
        flows=[
            ("s", 1, "x", 2, P, FORWARD),
            ("t", 1, "x", 22, P, FORWARD),
            ("f", 1, "x", 42, P, FORWARD),
            ("s", 1, "x", 43, P, FORWARD),  # the id begins anew
            ("f", 1, "x", 62, P, FORWARD),
            ("f", 2, "x", 22, P, FORWARD),  # no start
            ("s", 3, "x", 2, P, FORWARD),  # no end
            ("s", 1, "y", 5, P, FORWARD),  # another category
            ("f", 4, "x", 15, P, FORWARD),  # in no slice
        ],
        rank=0,
    )
    found = flows(trace)
    pairs = [(trace.name(int(a)), trace.name(int(b))) for a, b in zip(found.source, found.target, strict=True)]
    assert sorted(pairs) == [("a", "b"), ("b", "c"), ("c", "d")]


def test_a_trace_without_arrows() -> None:
    trace = make_trace(kernel("gemm", 0, 5), rank=0)
    assert len(flows(trace).source) == 0
    assert onward(trace, 0) == origins(trace, 0) == []
