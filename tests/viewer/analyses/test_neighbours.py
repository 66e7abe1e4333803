from __future__ import annotations

from tests.support.build import call, copy, kernel, make_trace, op, row_named, rows_named
from viewer.analyses.neighbours import before_after, concurrent
from viewer.base.ids import Paint

NCCL = "ncclDevKernel_AllReduce"


def test_neighbours_on_the_stream_with_gaps() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel("b", 15, 10), kernel("c", 40, 10), kernel("else", 26, 1, stream=8))
    found = before_after(trace, row_named(trace, "b"))
    assert found.before is not None
    assert found.after is not None
    assert (found.before.name, found.before.gap_ns, found.before.end_ns) == ("a", 5, 10)
    assert (found.after.name, found.after.gap_ns, found.after.start_ns) == ("c", 15, 40)
    assert before_after(trace, row_named(trace, "a")).before is None
    assert before_after(trace, row_named(trace, "c")).after is None


def test_overlap_on_a_stream_is_a_negative_gap() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel("b", 8, 10), kernel("c", 17, 5))
    found = before_after(trace, row_named(trace, "b"))
    assert found.before is not None
    assert found.after is not None
    assert (found.before.name, found.before.gap_ns) == ("a", -2)
    assert (found.after.name, found.after.gap_ns) == ("c", -1)
    last = before_after(trace, row_named(trace, "c"))
    assert last.before is not None
    assert (last.before.name, last.before.gap_ns) == ("b", -1)


def test_the_one_before_is_the_one_that_ended_last() -> None:
    trace = make_trace(kernel("long", 0, 100), kernel("short", 10, 5), kernel("x", 50, 5))
    found = before_after(trace, row_named(trace, "x"))
    assert found.before is not None
    assert (found.before.name, found.before.gap_ns) == ("long", -50)


def test_work_that_starts_together_is_before_or_after_never_both() -> None:
    trace = make_trace(kernel("a", 0, 10), kernel("b", 0, 10), kernel("c", 0, 10))
    chain = [before_after(trace, row_named(trace, n)) for n in "abc"]
    assert [(x.before and x.before.name, x.after and x.after.name) for x in chain] == [
        (None, "b"),
        ("a", "c"),
        ("b", None),
    ]


def test_neighbours_of_a_cpu_slice_are_on_its_level() -> None:
    trace = make_trace(op("a", 0, 30), op("inside", 5, 5), op("b", 40, 10), op("deep", 42, 2))
    found = before_after(trace, row_named(trace, "b"))
    assert found.before is not None
    assert (found.before.name, found.after) == ("a", None)


def test_what_ran_at_the_same_time() -> None:
    trace = make_trace(
        kernel(NCCL, 10, 30, stream=20),
        kernel("gemm", 0, 15),
        kernel("gemm", 20, 5),
        kernel("gemm", 22, 5, stream=8),
        copy("Memcpy DtoD", 33, 4, stream=9),
        kernel("touches", 40, 5),
        kernel("elsewhere", 10, 30, device=1),
        kernel("empty", 20, 0, stream=11),
    )
    found = concurrent(trace, row_named(trace, NCCL))
    assert found is not None
    assert [(c.name, c.paint, c.count, c.overlap_ns) for c in found.others] == [
        ("gemm", Paint.COMPUTE, 3, 12),
        ("Memcpy DtoD", Paint.MEMORY, 1, 4),
    ]
    assert found.others[0].row in rows_named(trace, "gemm")
    assert (found.exposed_ns, found.alone_ns) == (18, 14)


def test_exposed_follows_the_class() -> None:
    trace = make_trace(kernel(NCCL, 0, 10, stream=20), kernel("gemm", 5, 10), copy("Memcpy DtoD", 0, 20, stream=9))
    exposed = [concurrent(trace, row_named(trace, n)) for n in (NCCL, "gemm", "Memcpy DtoD")]
    assert [e and e.exposed_ns for e in exposed] == [5, None, 5]
    assert [e and e.alone_ns for e in exposed] == [0, 0, 5]


def test_slices_of_the_host_have_no_company() -> None:
    trace = make_trace(call("cudaLaunchKernel", 0, 1), kernel("a", 0, 0))
    assert concurrent(trace, row_named(trace, "cudaLaunchKernel")) is None
    empty = concurrent(trace, row_named(trace, "a"))
    assert empty is not None
    assert (empty.others, empty.exposed_ns, empty.alone_ns) == ((), None, 0)
