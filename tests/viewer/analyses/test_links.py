from __future__ import annotations

import pytest

from tests.support.build import annotation, call, copy, kernel, make_trace, op, row_named, rows_named, sync
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import call_of_gpu, launched_under, links, queues_work
from viewer.store.trace import Trace


def names(trace: Trace, rows: object) -> list[str]:
    return [trace.name(int(r)) for r in rows]  # type: ignore[attr-defined]


def test_one_graph_launch_owns_many_kernels_and_is_charged_once() -> None:
    trace = make_trace(
        call("cudaGraphLaunch", 0, 30, corr=500),
        kernel("b", 55, 5, corr=500),
        kernel("a", 40, 5, corr=500),
        kernel("other", 52, 6, corr=500, stream=20),
        call("cudaMemcpyAsync", 80, 1, corr=502),
        copy("copy", 90, 2, corr=502),
    )
    found = links(trace)
    launch = row_named(trace, "cudaGraphLaunch")
    assert names(trace, found.gpu_of(launch)) == ["a", "other", "b"]
    assert [trace.name(int(r)) for r in found.first_gpu_of_call] == ["a", "copy"]
    assert (len(found.calls), found.host_call_ns, found.linked) == (2, 31, 4)
    assert (found.gpu_without_call, found.calls_without_gpu, found.started_before_call) == (0, 0, 0)
    assert call_of_gpu(trace, row_named(trace, "other")) == launch
    assert call_of_gpu(trace, launch) == -1
    assert [int(c) for c in found.call_of] == [launch] * 3 + [row_named(trace, "cudaMemcpyAsync")]


def test_correlation_zero_and_none_link_nothing() -> None:
    trace = make_trace(
        call("hipLaunchKernel", 0, 1, corr=0),
        call("hipModuleLaunchKernel", 2, 1),
        call("hipExtModuleLaunchKernel", 4, 1, corr=3),
        kernel("x", 5, 1, corr=0),
        kernel("y", 6, 1),
        kernel("z", 7, 1, corr=3),
    )
    found = links(trace)
    assert (len(found.calls), found.linked, found.gpu_without_call, found.calls_without_gpu) == (3, 1, 2, 2)


def test_any_call_that_owns_work_is_a_host_call_and_others_only_by_name() -> None:
    trace = make_trace(
        call("cuSomethingNew", 0, 1, corr=1),
        kernel("a", 5, 1, corr=1),
        call("cudaLaunchKernel", 2, 1, corr=2),
        call("cudaStreamSynchronize", 3, 1, corr=3),
        call("cudaEventRecord", 4, 1, corr=4),
    )
    found = links(trace)
    assert names(trace, found.calls) == ["cuSomethingNew", "cudaLaunchKernel"]
    assert found.calls_without_gpu == 1


def test_operators_and_waits_with_a_correlation_are_no_calls() -> None:
    trace = make_trace(
        op("aten::mm", 0, 9, corr=1),
        sync("Event Sync", 0, 9, corr=1),
        annotation("x", 0, 9, corr=1),
        kernel("a", 5, 1, corr=1),
    )
    found = links(trace)
    assert (len(found.calls), found.linked, found.gpu_without_call) == (0, 0, 1)


def test_work_before_its_call_is_linked_and_counted() -> None:
    trace = make_trace(call("cudaLaunchKernel", 10, 5, corr=1), kernel("a", 8, 5, corr=1))
    assert (links(trace).linked, links(trace).started_before_call) == (1, 1)


def test_two_processes_with_one_correlation_are_ambiguous() -> None:
    trace = make_trace(
        call("cudaLaunchKernel", 0, 5, corr=1, pid=100),
        call("cudaLaunchKernel", 0, 5, corr=1, pid=200),
        kernel("a", 8, 5, corr=1),
    )
    found = links(trace)
    assert (found.linked, found.ambiguous, found.gpu_without_call, found.calls_without_gpu) == (0, 1, 1, 2)


def test_a_runtime_call_inside_another_is_one_launch() -> None:
    trace = make_trace(
        call("cudaLaunchKernel", 0, 10, corr=1),
        call("cuLaunchKernelEx", 2, 5, corr=1, cat="cuda_driver"),
        kernel("a", 20, 5, corr=1),
    )
    assert trace.name(call_of_gpu(trace, row_named(trace, "a"))) == "cudaLaunchKernel"


def test_launched_under_a_cpu_slice_by_time_on_its_thread() -> None:
    trace = make_trace(
        op("outer", 0, 50),
        op("inner", 10, 10),
        call("cudaLaunchKernel", 12, 2, corr=1),
        call("cudaGraphLaunch", 30, 2, corr=2),
        call("cudaLaunchKernel", 15, 2, corr=3, tid=2),
        kernel("k1", 70, 5, corr=1),
        kernel("g1", 60, 5, corr=2, stream=8),
        kernel("g2", 80, 5, corr=2, stream=8),
        kernel("k3", 90, 5, corr=3),
    )
    assert names(trace, launched_under(trace, row_named(trace, "outer"))) == ["g1", "k1", "g2"]
    assert names(trace, launched_under(trace, row_named(trace, "inner"))) == ["k1"]
    assert names(trace, launched_under(trace, row_named(trace, "cudaGraphLaunch"))) == ["g1", "g2"]
    assert names(trace, launched_under(trace, row_named(trace, "k1"))) == []


def test_launched_under_a_slice_of_many_calls() -> None:
    n = 200
    trace = make_trace(
        op("outer", 0, 10 * n),
        *(call("cudaLaunchKernel", 10 * i, 2, corr=i + 1) for i in range(n)),
        *(kernel(f"k{i}", 10 * (n - i), 2, corr=i + 1, stream=i % 3) for i in range(n)),
    )
    assert names(trace, launched_under(trace, row_named(trace, "outer"))) == [f"k{i}" for i in reversed(range(n))]


def test_work_of_several_devices_is_in_order_of_start() -> None:
    trace = make_trace(
        call("cudaGraphLaunch", 0, 1, corr=1), kernel("late", 30, 5, corr=1), kernel("early", 10, 5, corr=1, device=1)
    )
    (launch,) = rows_named(trace, "cudaGraphLaunch")
    assert names(trace, links(trace).gpu_of(launch)) == ["early", "late"]
    assert names(trace, links(trace).first_gpu_of_call) == ["early"]


def test_an_empty_trace_has_no_links() -> None:
    found = links(make_trace())
    assert (len(found.calls), found.linked, found.host_call_ns) == (0, 0, 0)
    assert len(found.gpu_of(0)) == 0
    assert len(gpu_work(make_trace())) == 0


QUEUES = """
cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel cuLaunchKernel cuLaunchKernelEx
hipLaunchKernel hipModuleLaunchKernel hipExtLaunchKernel hipExtModuleLaunchKernel hipLaunchCooperativeKernel
cudaGraphLaunch hipGraphLaunch cuGraphLaunch cudaGraphLaunch_ptsz cudaMemcpy cudaMemcpyAsync cudaMemcpy2DAsync
cudaMemcpyPeerAsync cudaMemset cudaMemsetAsync hipMemcpy hipMemcpyAsync hipMemcpyWithStream hipMemsetAsync
cuMemcpyDtoHAsync_v2 cuMemsetD8Async zeCommandListAppendLaunchKernel urEnqueueKernelLaunch CUDALAUNCHKERNEL
"""


@pytest.mark.parametrize("name", QUEUES.split())
def test_calls_that_queue_work(name: str) -> None:
    assert queues_work(name)


OTHERS = """
cudaStreamSynchronize cudaDeviceSynchronize cudaEventRecord cudaEventQuery cudaStreamWaitEvent cudaMalloc
cudaFree cudaGetDevice cudaStreamIsCapturing cudaFuncGetAttributes cudaLaunchHostFunc
cudaOccupancyMaxActiveBlocksPerMultiprocessor hipGetDevice hipEventRecord cuMemGetInfo cudaMemGetInfo
cudaGraphInstantiate cudaMemPrefetchAsync cuModuleLoad MyLaunchKernel
"""


@pytest.mark.parametrize("name", OTHERS.split())
def test_calls_that_queue_nothing(name: str) -> None:
    assert not queues_work(name)
