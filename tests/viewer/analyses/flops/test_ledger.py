"""Which calls count, once each, and what is said of the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.build import Event, call, copy, kernel, make_trace, op
from viewer.analyses.flops.ledger import IN_GRAPH, NO_LAUNCH, UNKNOWN_OPERATOR, Ledger, ledger
from viewer.analyses.flops.main_kernels import ATTENTION, CONVOLUTION, GEMM, NONE, family_of, full_fp32
from viewer.analyses.flops.shapes import recorded
from viewer.analyses.gpu_work import gpu_work

BF = "c10::BFloat16"
GEMM_NAME = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn"


def shaped(name: str, start: int, dur: int, *dims: Any, kind: str = BF, values: Any = (), **more: Any) -> Event:
    args = {"Input Dims": [list(d) for d in dims], "Input type": [kind] * len(dims), "Concrete Inputs": list(values)}
    return op(name, start, dur, args=args, **more)


def test_nested_operators_count_once_where_the_kernel_is_launched() -> None:
    trace = make_trace(
        shaped("aten::linear", 0, 100, (2, 4, 5), (3, 5)),
        shaped("aten::matmul", 5, 90, (2, 4, 5), (5, 3)),
        call("cudaLaunchKernel", 10, 2, corr=1),  # matmul copies an operand
        shaped("aten::mm", 20, 60, (8, 5), (5, 3)),
        call("cudaLaunchKernel", 30, 5, corr=2),
        kernel("void at::native::elementwise_kernel<copy>", 200, 7, corr=1),
        kernel(GEMM_NAME, 210, 40, corr=2),
    )
    found = ledger(trace)
    assert found.total == 240
    assert found.calls.tolist() == [1]
    assert found.coverage == 1.0
    assert found.known_ns == 40
    at = gpu_work(trace).position(int(gpu_work(trace).index[1]))
    assert found.flops[at] == 240
    assert math.isnan(found.flops[1 - at])
    assert found.by_family() == {"gemm": 240}
    assert found.by_dtype() == {"bf16": 240}


def test_a_call_with_several_kernels_splits_its_flops_by_time() -> None:
    trace = make_trace(
        shaped("aten::mm", 0, 50, (8, 5), (5, 3)),
        call("cudaLaunchKernel", 5, 2, corr=1),
        call("cudaLaunchKernel", 10, 2, corr=2),
        kernel(GEMM_NAME, 100, 30, corr=1),
        kernel("splitKreduce_kernel", 130, 10, corr=2),
    )
    found = ledger(trace)
    assert found.flops.tolist() == [180.0, 60.0]
    assert found.total == 240


def test_a_kernel_whose_name_tells_nothing_counts_by_its_operator() -> None:
    trace = make_trace(
        shaped("aten::mm", 0, 50, (8, 5), (5, 3)),
        call("cudaLaunchKernel", 5, 2, corr=1),
        kernel("secret_v3", 100, 30, corr=1),
    )
    found = ledger(trace)
    assert found.total == 240
    assert found.family.tolist() == [GEMM]


def test_what_is_not_covered_has_its_reason() -> None:
    trace = make_trace(
        op("aten::mm", 0, 50),
        call("cudaLaunchKernel", 5, 2, corr=1),
        op("my::op", 60, 20),
        call("cudaLaunchKernel", 65, 2, corr=2),
        op("aten::relay", 90, 20),
        call("cudaGraphLaunch", 95, 2, corr=3),
        kernel(GEMM_NAME, 100, 40, corr=1),
        kernel(GEMM_NAME, 150, 30, corr=2),
        kernel(GEMM_NAME, 200, 20, corr=3, ext=9),
        kernel("flash_fwd_kernel", 300, 10),
        shaped("aten::mm", 400, 50, (8, 5), (5, 3)),
        call("cudaLaunchKernel", 405, 2, corr=5),
        kernel(GEMM_NAME, 500, 100, corr=5),
        copy("Memcpy DtoD", 700, 500),
    )
    found = ledger(trace)
    assert [(g.why, g.operator, g.family, g.kernels, g.sum_ns) for g in found.gaps] == [
        ("no shapes were recorded", "aten::mm", "gemm", 1, 40),
        (UNKNOWN_OPERATOR, "my::op", "gemm", 1, 30),
        (IN_GRAPH, "", "gemm", 1, 20),
        (NO_LAUNCH, "", "attention", 1, 10),
    ]
    assert found.gap.tolist() == [0, 1, 2, 3, -1, -1]
    assert found.coverage == 0.5
    assert found.known_ns == found.unknown_ns == 100


def test_an_operator_is_found_by_external_id_where_no_launch_is_in_it() -> None:
    trace = make_trace(shaped("aten::mm", 0, 50, (8, 5), (5, 3), ext=77), kernel(GEMM_NAME, 100, 40, ext=77))
    assert ledger(trace).total == 240


def test_a_file_without_gpu_work_has_no_coverage() -> None:
    found = ledger(make_trace(op("aten::mm", 0, 50)))
    assert isinstance(found, Ledger)
    assert found.coverage is None
    assert found.total == 0


def test_damaged_arguments_are_no_arguments() -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    trace = make_trace(
        op("aten::mm", 0, 50, args={"Input Dims": "x", "Input type": 3, "Concrete Inputs": [1, None, True]}),
        op("aten::mm", 60, 5),
        op("aten::mm", 70, 5, args={"Input Dims": deep}),
    )
    number, entries = recorded(trace, gpu_work(trace).index)
    assert not len(number)
    assert entries == []

    number, entries = recorded(trace, np.arange(3))
    assert len(set(number.tolist())) == 3
    assert len(entries[int(number[2])].text) < 20, "lists in lists are cut"
    assert [entries[n].dims for n in number[:2].tolist()] == [(), ()]
    assert entries[int(number[0])].values == ("1", "", "true")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", GEMM),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs", GEMM),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm>", GEMM),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4", GEMM),
        ("fused_moe_kernel", GEMM),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits>", ATTENTION),
        ("fmhaSm100aKernel_QkvE4m3", ATTENTION),
        ("attn_fwd", ATTENTION),
        ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32", CONVOLUTION),
        ("cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", CONVOLUTION),
        ("triton_poi_fused_addmm_gelu_view_15", NONE),
        ("void fbgemm_gpu::permute_2D_data_kernel<false>", NONE),
        ("void at::native::vectorized_elementwise_kernel<4, convert>", NONE),
        ("void cudnn::bn_bw_1C11_kernel_new", NONE),
    ],
)
def test_families_by_name(name: str, family: int) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("ampere_sgemm_128x64_tn", True),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>", True),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_kernel", True),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn", False),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64>", False),
        ("nvjet_sss_128x64", None),
        ("cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", True),
    ],
)
def test_full_precision_by_name(name: str, full: bool | None) -> None:
    assert full_fp32(name) is full
