"""Bytes of operators that move more than they compute, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.support.build import call, kernel, make_trace, op
from viewer.analyses.flops.shapes import Recorded
from viewer.analyses.flops.traffic import bytes_of, moved_bytes

BF, F32 = "c10::BFloat16", "float"


@pytest.mark.parametrize(
    ("name", "dims", "types", "expected"),
    [
        ("aten::add", ((4, 8), (8,), ()), (BF, BF, "Scalar"), 2 * (32 + 8 + 32)),
        ("aten::mul", ((4, 1), (1, 8)), (BF, F32), 2 * 4 + 4 * 8 + 4 * 32),
        ("aten::add_", ((4, 8), (4, 8)), (BF, BF), 2 * (32 + 32 + 32)),
        ("aten::copy_", ((4, 8), (4, 8), ()), (F32, BF, "Scalar"), 4 * 32 + 2 * 32),
        ("aten::gt", ((4, 8), ()), (F32, "Scalar"), 4 * 32 + 32),
        ("aten::sum", ((4, 8), ()), (BF, "ScalarList"), 64),
        ("aten::fill_", ((4, 8), ()), (BF, "Scalar"), 64),
        ("aten::native_layer_norm", ((4, 8), (), (8,), (8,)), (BF, "ScalarList", BF, BF), 2 * (32 + 16 + 32)),
        ("aten::add", ((4, 8), (3,)), (BF, BF), None),
        ("aten::add", ((4, 8), (8,)), (BF, "unheard of"), None),
        ("aten::mm", ((4, 8), (8, 4)), (BF, BF), None),
        ("aten::add", (), (), None),
        ("my::add", ((4, 8), (8,)), (BF, BF), None),
    ],
)
def test_inputs_and_result_once(name: str, dims: Any, types: Any, expected: int | None) -> None:
    assert bytes_of(name, Recorded(dims, types)) == expected


def test_kernels_of_one_call_share_its_bytes_by_time() -> None:
    args = {"Input Dims": [[4, 8], [4, 8]], "Input type": [BF, BF]}
    trace = make_trace(
        op("aten::add", 0, 50, args=args),
        call("cudaLaunchKernel", 5, 2, corr=1),
        call("cudaLaunchKernel", 10, 2, corr=2),
        op("aten::mystery", 60, 20),
        call("cudaLaunchKernel", 65, 2, corr=3),
        kernel("elementwise", 100, 30, corr=1),
        kernel("elementwise", 140, 10, corr=2),
        kernel("other", 200, 10, corr=3),
    )
    found = moved_bytes(trace).tolist()
    assert found[:2] == [144.0, 48.0]
    assert math.isnan(found[2])
