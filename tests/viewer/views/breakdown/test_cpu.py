from __future__ import annotations

import pytest

from tests.support.build import call, kernel, make_session, make_trace, python, row_named, sync
from tests.support.panel_frames import figure, section, table, values
from tests.support.panel_job import job, of
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from viewer.store.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    return job()


def test_an_operator_has_self_time_children_and_gpu_work(session: Session) -> None:
    frame = of(session, "aten::mm")
    assert values(frame, "Slice")["self time"] == "90 ns · 90.0 %"
    assert table(frame, "Inside it").rows == [("cudaLaunchKernel", "10 ns", "1", "10.0 %")]
    under = values(frame, "GPU work launched under it")
    assert (under["GPU work"], under["total (a sum)"], under["busy"]) == ("1 piece", "300 ns", "300 ns")
    assert [r[0] for r in table(frame, "Stack").rows] == ["train.py(1): step", "ProfilerStep#3"]


def test_sum_and_busy_differ_when_work_overlaps() -> None:
    session = make_session(
        make_trace(
            python("f", 0, 100),
            call("cudaLaunchKernel", 10, 5, corr=1),
            call("cudaLaunchKernel", 20, 5, corr=2),
            kernel("a", 100, 100, corr=1),
            kernel("b", 150, 100, corr=2, stream=9),
        )
    )
    under = values(of(session, "f"), "GPU work launched under it")
    assert (under["total (a sum)"], under["busy"]) == ("200 ns", "150 ns")


def test_a_step_has_its_figures(session: Session) -> None:
    frame = of(session, "ProfilerStep#3")
    assert values(frame, "Step")["kernels"] == "2"
    on = values(frame, "Step on GPU 0 (H100)")
    assert (on["compute"], on["idle"], on["sum = span"]) == ("350 ns · 41.2 %", "500 ns · 58.8 %", "850 ns")
    assert values(frame, "GPU work of this step")["GPU work"] == "2 pieces"


def test_a_blocking_call_says_what_it_waited_for(session: Session) -> None:
    frame = of(session, "cudaStreamSynchronize")
    waited = values(frame, "What it waited for")
    assert (waited["last work before return"], waited["returned after it"]) == ("gemm", "220 ns")
    assert "inferred" in section(frame, "What it waited for").note


def test_a_recorded_wait_and_its_call_point_at_each_other() -> None:
    args = {"cuda_sync_kind": "Stream Sync", "stream": 9, "wait_on_stream": 9}
    session = make_session(
        make_trace(
            call("cudaStreamSynchronize", 0, 100, corr=5),
            sync("Stream Sync", 10, 80, corr=5, stream=9, args=args),
            kernel("on 9", 20, 30, stream=9),
            kernel("on 7", 20, 60),
        )
    )
    trace = session.inputs[0].trace
    waiting = of(session, "cudaStreamSynchronize")
    assert values(waiting, "What it waited for")["last work before return"] == "on 9"
    assert values(waiting, "What it waited for")["waits for"] == "stream 9"
    event = row_named(trace, "Stream Sync")
    assert figure(waiting, "What it waited for", "recorded wait").jump == SliceRef(0, event)
    recorded = of(session, "Stream Sync")
    assert recorded.paint is Paint.SYNC
    assert figure(recorded, "Slice", "host call").jump == SliceRef(0, row_named(trace, "cudaStreamSynchronize"))


def test_a_mark_on_the_stream_lists_the_work_inside_it(session: Session) -> None:
    frame = of(session, "gpu range")
    assert values(frame, "GPU work inside it")["total (a sum)"] == "400 ns"
    assert "no work of its own" in figure(frame, "Slice", "kind").how


def test_a_launch_without_work_and_a_query_say_so() -> None:
    session = make_session(
        make_trace(call("cudaLaunchKernel", 0, 5, corr=3), call("cudaEventQuery", 10, 5, corr=4), kernel("k", 0, 1))
    )
    assert "outside the profiled time" in section(of(session, "cudaLaunchKernel"), "GPU work it launched").note
    assert "queues no work" in section(of(session, "cudaEventQuery"), "GPU work it launched").note
