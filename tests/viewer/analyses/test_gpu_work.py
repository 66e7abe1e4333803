from __future__ import annotations

from tests.support.build import annotation, call, copy, fill, kernel, make_trace, mark, sync
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import Paint


def test_work_is_sorted_by_device_and_time() -> None:
    trace = make_trace(
        kernel("b", 20, 5, device=1),
        kernel("c", 30, 5, stream=20),
        kernel("a", 0, 50),
        kernel("longer", 30, 9),
        copy("copy", 5, 1),
        fill("fill", 6, 1),
    )
    work = gpu_work(trace)
    assert [trace.name(int(r)) for r in work.index] == ["a", "copy", "fill", "c", "longer", "b"]
    assert work.start_ns.tolist() == [0, 5, 6, 30, 30, 20]
    assert work.end_ns.tolist() == [50, 6, 7, 35, 39, 25]
    assert work.paint.tolist() == [Paint.COMPUTE, Paint.MEMORY, Paint.MEMORY, *[Paint.COMPUTE] * 3]
    assert work.devices == (0, 1)
    assert work.of_device(1) == slice(5, 6)
    assert work.of_device(7) == slice(0, 0)
    assert work.latest.tolist() == [0, 0, 0, 0, 0, 5]
    assert [trace.lanes[lane].stream for lane in work.lane] == [7, 7, 7, 20, 7, 7]
    assert [work.position(int(r)) for r in work.index] == list(range(6))


def test_marks_waits_and_calls_are_no_work() -> None:
    trace = make_trace(
        mark("step", 0, 90), sync("Stream Wait Event", 0, 50), call("cudaLaunchKernel", 0, 5), annotation("epoch", 0, 9)
    )
    assert len(gpu_work(trace)) == 0
    assert gpu_work(trace).devices == ()
    assert gpu_work(trace).position(0) == -1


def test_untimed_work_is_counted_apart() -> None:
    late = 10**15
    trace = make_trace(kernel("untimed", 0, 0), kernel("a", late, 10), kernel("empty", late + 5, 0))
    assert len(gpu_work(trace)) == 2
    assert gpu_work(trace).untimed == 1
    near = make_trace(kernel("first", 0, 0), kernel("a", 10, 10))
    assert len(gpu_work(near)) == 2
    assert gpu_work(near).untimed == 0
    assert len(gpu_work(make_trace(kernel("only", 0, 0)))) == 1


def test_it_is_built_once() -> None:
    trace = make_trace(kernel("a", 0, 10))
    assert gpu_work(trace) is gpu_work(trace)
