from __future__ import annotations

from fractions import Fraction

import pytest

from tests.support.build import call, copy, kernel, make_session, make_trace, row_named, rows_named
from viewer.analyses.kernels import LeftOut, kernel_rows, kernel_table, mean_half_even, rule_of, runs_of, runs_with_text
from viewer.base.ids import Paint
from viewer.store.rules import shipped_rules

NCCL = "ncclDevKernel_AllReduce"


def test_the_table_is_merged_over_inputs_and_sorted_by_sum() -> None:
    a = make_trace(kernel("gemm", 0, 10), kernel("gemm", 20, 13), kernel(NCCL, 50, 90, stream=20), path="a.json")
    b = make_trace(copy("Memcpy DtoD", 0, 1), kernel("gemm", 5, 2, stream=9), path="b.json")
    table = kernel_table(make_session(a, b))
    assert [(k.name, k.paint, k.rule, k.count, k.sum_ns, k.min_ns, k.max_ns, k.mean_ns) for k in table] == [
        (NCCL, Paint.COMM, "nccl", 1, 90, 90, 90, 90),
        ("gemm", Paint.COMPUTE, "default-compute", 3, 25, 2, 13, 8),
        ("Memcpy DtoD", Paint.MEMORY, "copy", 1, 1, 1, 1, 1),
    ]


def test_a_window_cuts_sums_but_not_least_mean_and_greatest() -> None:
    trace = make_trace(kernel("gemm", 0, 10), kernel("gemm", 20, 30), kernel("gemm", 90, 7), kernel("other", 200, 1))
    (row,) = kernel_table(make_session(trace), {0: (5, 40)})
    assert (row.count, row.sum_ns, row.min_ns, row.max_ns, row.mean_ns) == (2, 25, 10, 30, 20)
    assert kernel_table(make_session(trace), {}) == []


def test_metadata_gives_the_class_before_the_name() -> None:
    trace = make_trace(kernel("generic", 0, 10), kernel("generic", 20, 5, collective="allreduce"))
    assert [(k.paint, k.rule, k.sum_ns) for k in kernel_table(make_session(trace))] == [
        (Paint.COMPUTE, "default-compute", 10),
        (Paint.COMM, "collective-metadata", 5),
    ]
    plain, described = rows_named(trace, "generic")
    assert rule_of(trace, shipped_rules(), plain).id == "default-compute"
    assert rule_of(trace, shipped_rules(), described).id == "collective-metadata"


def test_fused_kernels_are_flagged() -> None:
    (row,) = kernel_table(make_session(make_trace(kernel("gemm_reduce_scatter", 0, 10))))
    assert (row.paint, row.fused) == (Paint.COMPUTE, True)


def test_all_runs_of_a_kernel_by_start() -> None:
    trace = make_trace(
        kernel("gemm", 30, 1),
        kernel("gemm", 10, 1, device=1),
        kernel("gemm", 20, 1, stream=9),
        kernel("other", 0, 1),
        call("gemm", 0, 1),
    )
    runs = runs_of(trace, rows_named(trace, "gemm")[1])
    assert [int(trace.slices.start_ns[r]) for r in runs] == [10, 20, 30]
    assert len(runs_of(trace, rows_named(trace, "gemm")[0])) == 0
    assert runs_with_text(trace, "gemm").tolist() == runs.tolist()
    assert len(runs_with_text(trace, "unknown")) == 0
    assert [int(r) for r in runs_of(trace, row_named(trace, "other"))] == [row_named(trace, "other")]


@pytest.mark.parametrize(
    ("total", "count"), [(0, 1), (1, 2), (3, 2), (5, 2), (7, 2), (10, 3), (11, 3), (2**62, 3), (2**62 + 1, 2)]
)
def test_means_round_half_to_even(total: int, count: int) -> None:
    assert mean_half_even(total, count) == round(Fraction(total, count))


def test_a_table_with_too_many_names_keeps_whole_rows_and_says_what_is_left_out() -> None:
    a = make_trace(*(kernel(f"k{i}", 10 * i, i) for i in range(1, 9)), path="a.json")
    b = make_trace(kernel("k1", 0, 100), kernel("k7", 200, 1), kernel("only", 300, 2), path="b.json")
    session = make_session(a, b)
    whole = kernel_table(session)
    rows, rest = kernel_rows(session, most=3)
    assert rows == whole[:3]  # k1 is large in one file only: its run in the other is in the row, too
    assert rest == LeftOut(6, sum(k.count for k in whole[3:]), sum(k.sum_ns for k in whole[3:]))
    assert kernel_rows(session, most=9)[1] is None
