"""Which kernels do matrix products, convolutions or attention, by their names."""

from __future__ import annotations

import re
from typing import Final

from viewer.analyses.names import remembered

NONE, GEMM, CONVOLUTION, ATTENTION = 0, 1, 2, 3
FAMILY_NAMES: Final = ("", "gemm", "convolution", "attention")

_NO_PRODUCT = re.compile(
    r"elementwise_kernel|elementwise|multi_tensor_apply|triton_(?:poi|per|red)_|softmax|layer_?norm|rms_?norm|batch_?norm"
    r"|rotary|rope_|reshape_and_cache|catarray|index_\w*kernel|topk|moe_align|moe_sum|_quant(?:ize)?_|quantiz|cudnn_bn"
    r"|masked_fill|arange|kv_indices|finalize|transpose_kernel|im2col|col2im|nchwToNhwc|nhwcToNchw|^memcpy|^memset",
    re.IGNORECASE,
)
_ATTENTION = re.compile(
    r"flash_?(?:fwd|bwd|attn|attention|infer|mla)|fmha|attention|(?<![a-z])attn_(?:fwd|bwd)|_attn_(?:fwd|bwd|kernel)"
    r"|(?:batch|single)(?:prefill|decode)with|sdpa|mha_(?:fwd|bwd|varlen)|mla_\w*kernel|(?<![a-z])_?bwd_kernel_(?:fuse|dk_?dv|dq)",
    re.IGNORECASE,
)
_CONVOLUTION = re.compile(
    r"(?<!de)conv(?:olv|olution|[123]d|_|\d|Grad|Fprop|Bprop)|winograd|fprop|dgrad|wgrad|implicit_?(?:con|gemm)|igemm|[a-z]cudnn_\d",
    re.IGNORECASE,
)
_GEMM = re.compile(
    r"(?<!fb)gemm|gemv|gemk|nvjet|^_?_?cijk_|cublas|cutlass|splitk|matmul|(?<![a-z])b?mm_(?:kernel|fp8|E\d|Bfloat|Mx)|fused_moe_kernel"
    r"|marlin|machete|triton_(?:tem|mm|bmm)_|wvsplitk|xmma|mfma\w*_gemm|addmm|grouped_mm",
    re.IGNORECASE,
)


@remembered
def family_of(name: str) -> int:
    """NONE, GEMM, CONVOLUTION or ATTENTION."""
    if _NO_PRODUCT.search(name) and not re.search(r"gemm|attention_kernel|fmha", name, re.IGNORECASE):
        return NONE
    if _ATTENTION.search(name):
        return ATTENTION
    if _CONVOLUTION.search(name):
        return CONVOLUTION
    return GEMM if _GEMM.search(name) else NONE


_SCALAR_FP32 = re.compile(
    r"ffma|simt|scudnn|[dw]grad\w*_engine<float|(?<![a-z])(?:volta|maxwell|ampere|turing|pascal|kepler)_sgemm|(?<![a-z0-9])sgemm|cijk_\w+_(?:SB|S_B)_",
    re.IGNORECASE,
)
_MATRIX_UNIT = re.compile(r"tf32|xf32|tensorop|s1688|s16816|s884|h16816|bf16bf16|f16f16|_mx_|MX_", re.IGNORECASE)


@remembered
def full_fp32(name: str) -> bool | None:
    """Whether a matrix product runs in full 32-bit precision by its kernel's name; None where the name does not tell.

    TF32 (and AMD's XF32) read 32-bit operands but use the matrix units: False.
    """
    if _MATRIX_UNIT.search(name):
        return False
    return True if _SCALAR_FP32.search(name) else None
