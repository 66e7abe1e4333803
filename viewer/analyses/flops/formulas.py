"""Which operator costs what: a table of names. Operators that only call others (``matmul``, ``conv2d``) are in it too.

A call counts where its kernels are launched: of nested operators of this table the innermost one. So what a matmul
hands on to bmm counts as bmm, and a matmul that launches itself as matmul.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from viewer.analyses.flops import attention, convolution, gemm
from viewer.analyses.flops.attention import Layout
from viewer.analyses.flops.call import Call, Cost, Unknown
from viewer.analyses.names import remembered

Formula = Callable[[Call], Cost]


def _attention(**layout: object) -> Formula:
    return partial(attention.attention, layout=Layout(**layout))  # type: ignore[arg-type]


def _unknown(why: str) -> Formula:
    def never(_: Call) -> Cost:
        raise Unknown(why)

    return never


_REQUESTS: Final = "the lengths of the requests and of their cached keys are not recorded"
_ROUTING: Final = "the weights and how tokens are routed are not recorded with the call"
_INSIDE: Final = "the products inside are not recorded one by one"

_TABLE: Final[dict[str, Formula]] = {
    # matrix products of PyTorch
    "aten::mm": gemm.mm,
    "aten::_int_mm": gemm.mm,
    "aten::_scaled_mm": gemm.mm,
    "aten::_scaled_mm_v2": gemm.mm,
    "aten::addmm": gemm.addmm,
    "aten::addmm_": gemm.addmm,
    "aten::_addmm_activation": gemm.addmm,
    "aten::bmm": gemm.bmm,
    "aten::baddbmm": gemm.baddbmm,
    "aten::baddbmm_": gemm.baddbmm,
    "aten::addbmm": gemm.addbmm,
    "aten::addbmm_": gemm.addbmm,
    "aten::linear": gemm.linear,
    "aten::matmul": gemm.matmul,
    "aten::mv": gemm.mv,
    "aten::addmv": gemm.addmv,
    "aten::addmv_": gemm.addmv,
    "aten::_grouped_mm": gemm.grouped,
    "aten::_scaled_grouped_mm": gemm.grouped,
    "aten::_weight_int8pack_mm": gemm.nt,
    # of serving engines
    "_C::cutlass_scaled_mm": gemm.out_first,
    "_C::cutlass_scaled_mm_azp": gemm.out_first,
    "_C::cutlass_scaled_fp4_mm": gemm.out_first,
    "vllm::cutlass_scaled_mm": gemm.out_first,
    "vllm::rocm_unquantized_gemm": gemm.nt,
    "vllm::rocm_aiter_gemm_w8a8_blockscale": gemm.nt,
    "vllm::rocm_aiter_gemm_w8a8": gemm.nt,
    "sgl_kernel::fp8_scaled_mm": gemm.nt,
    "sgl_kernel::int8_scaled_mm": gemm.nt,
    "sgl_kernel::fp8_blockwise_scaled_mm": gemm.nt,
    "sgl_kernel::bmm_fp8": gemm.bmm,
    "sglang::deep_gemm_fp8_fp8_bf16_nt": gemm.scaled_nt,
    "vllm::inplace_fused_experts": gemm.fused_experts,
    "vllm::outplace_fused_experts": gemm.fused_experts,
    "sglang::inplace_fused_experts": gemm.fused_experts,
    "sglang::outplace_fused_experts": gemm.fused_experts,
    "vllm::moe_forward": _unknown(_ROUTING),
    "vllm::moe_forward_shared": _unknown(_ROUTING),
    # of Transformer Engine and Megatron
    "tex_ts::te_gemm_ts": gemm.te_gemm,
    "_Linear": gemm.te_linear,
    "_LayerNormLinear": gemm.te_layernorm_linear,
    "_GroupedLinear": _unknown(_ROUTING),
    "aten::_cudnn_rnn": _unknown(_INSIDE),
    "aten::_cudnn_rnn_backward": _unknown(_INSIDE),
    "aten::miopen_rnn": _unknown(_INSIDE),
    "aten::miopen_rnn_backward": _unknown(_INSIDE),
    "aten::_cslt_sparse_mm": _unknown("the products of a sparse matrix are not the dense ones"),
    # convolutions
    "aten::convolution": convolution.convolution,
    "aten::_convolution": convolution.convolution,
    "aten::convolution_overrideable": convolution.convolution,
    "aten::conv1d": convolution.conv,
    "aten::conv2d": convolution.conv,
    "aten::conv3d": convolution.conv,
    "aten::conv_transpose1d": convolution.conv_transpose,
    "aten::conv_transpose2d": convolution.conv_transpose,
    "aten::conv_transpose3d": convolution.conv_transpose,
    "aten::cudnn_convolution": convolution.cudnn,
    "aten::cudnn_convolution_relu": convolution.conv,
    "aten::cudnn_convolution_add_relu": convolution.cudnn_add_relu,
    "aten::cudnn_convolution_transpose": convolution.conv_transpose,
    "aten::miopen_convolution": convolution.miopen,
    "aten::miopen_depthwise_convolution": convolution.miopen,
    "aten::miopen_convolution_relu": convolution.conv,
    "aten::miopen_convolution_transpose": convolution.conv_transpose,
    "aten::mkldnn_convolution": convolution.miopen,
    "aten::_conv_depthwise2d": convolution.depthwise,
    "aten::conv_depthwise3d": convolution.depthwise,
    "aten::convolution_backward": convolution.backward,
    "aten::convolution_backward_overrideable": convolution.backward,
    # attention of PyTorch
    "aten::_flash_attention_forward": _attention(causal=8, ends=3, longest=5, window=11),
    "aten::_flash_attention_backward": _attention(query=1, causal=11, ends=6, longest=8, window=15, backward=True),
    "aten::_scaled_dot_product_flash_attention": _attention(heads_first=True, causal=4, corner="top"),
    "aten::_scaled_dot_product_flash_attention_backward": _attention(
        query=1, heads_first=True, causal=11, corner="top", backward=True
    ),
    "aten::_efficient_attention_forward": _attention(ends=4, longest=6, mask_kind=9),
    "aten::_efficient_attention_backward": _attention(query=1, ends=6, longest=8, mask_kind=14, backward=True),
    "aten::_scaled_dot_product_efficient_attention": _attention(heads_first=True, causal=6, corner="top"),
    "aten::_scaled_dot_product_efficient_attention_backward": _attention(
        query=1, heads_first=True, causal=11, corner="top", backward=True
    ),
    "aten::_scaled_dot_product_cudnn_attention": _attention(heads_first=True, causal=6, corner="top"),
    "aten::_cudnn_attention_forward": _attention(heads_first=True, causal=10, corner="top"),
    "aten::_scaled_dot_product_cudnn_attention_backward": _attention(
        query=1, heads_first=True, causal=14, corner="top", backward=True
    ),
    "aten::_cudnn_attention_backward": _attention(query=1, heads_first=True, causal=14, corner="top", backward=True),
    "aten::_scaled_dot_product_fused_attention_overrideable": _attention(heads_first=True, causal=5, corner="top"),
    # of flash-attn
    "flash_attn::_flash_attn_forward": _attention(causal=5, window=6),
    "flash_attn::_flash_attn_varlen_forward": _attention(ends=3, longest=5, causal=9, window=10),
    "flash_attn::_flash_attn_backward": _attention(query=1, causal=11, window=12, backward=True),
    "flash_attn::_flash_attn_varlen_backward": _attention(
        query=1, ends=9, longest=11, causal=15, window=16, backward=True
    ),
    "FlashAttnFunc": _attention(),
    "FlashAttnVarlenFunc": _attention(ends=3),
    # of xformers: flags by name of the kernel only, their places moved between versions
    "xformers_flash::flash_fwd": _attention(ends=3),
    "xformers_flash::flash_bwd": _attention(query=1, ends=6, backward=True),
    "xformers::efficient_attention_forward_cutlass": _attention(ends=4, longest=6, mask_kind=10),
    # of Transformer Engine and of serving engines
    "FusedAttnFunc": _unknown("whether its mask is causal, and the order of its sizes, are not recorded"),
    "vllm::unified_attention": _unknown(_REQUESTS),
    "vllm::unified_attention_with_output": _unknown(_REQUESTS),
    "vllm::unified_mla_attention": _unknown(_REQUESTS),
    "vllm::unified_mla_attention_with_output": _unknown(_REQUESTS),
    "vllm_flash_attn::varlen_fwd": _unknown(_REQUESTS),
    "_vllm_fa2_C::varlen_fwd": _unknown(_REQUESTS),
    "_vllm_fa3_C::fwd": _unknown(_REQUESTS),
    "sgl_kernel::fwd": _unknown(_REQUESTS),
    "sglang::unified_attention_with_output": _unknown(_REQUESTS),
}
_BY_PATTERN: Final[tuple[tuple[re.Pattern[str], Formula], ...]] = (
    (
        re.compile(r"^triton_(?:tem|mm|bmm)_"),
        _unknown("the compiler's template does not record which argument is which"),
    ),
)


@remembered
def formula_of(name: str) -> Formula | None:
    """The formula of an operator by its name, None where it is none of the table."""
    found = _TABLE.get(name)
    if found is not None:
        return found
    return next((formula for pattern, formula in _BY_PATTERN if pattern.search(name)), None)


def cost_of(call: Call) -> Cost | str:
    """What a call costs, or why that is unknown.

    The operator must be one of the table (:func:`formula_of`).
    """
    formula = formula_of(call.name)
    if formula is None:
        return "unknown operator"
    try:
        return formula(call)
    except Unknown as why:
        return str(why)
