"""FLOPs and bytes of each family of operators against values worked out by hand."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from viewer.analyses.flops.attention import causal_of_kernels, pairs
from viewer.analyses.flops.call import Call, Cost
from viewer.analyses.flops.formulas import cost_of

BF, F32, F8, U8 = "c10::BFloat16", "float", "c10::Float8_e4m3fn", "unsigned char"


def cost(name: str, *dims: Any, types: Any = BF, values: dict[int, str] | None = None, kernels: Any = ()) -> Cost | str:
    kinds = (types,) * len(dims) if isinstance(types, str) else tuple(types)
    texts = [""] * (max(values, default=-1) + 1) if values else []
    for at, text in (values or {}).items():
        texts[at] = text
    return cost_of(Call(name, tuple(tuple(d) for d in dims), kinds, tuple(texts), tuple(kernels)))


def flops(*args: Any, **more: Any) -> int:
    found = cost(*args, **more)
    assert isinstance(found, Cost), found
    return found.flops


def test_products_of_matrices() -> None:
    # 2 M N K: 2 x 8 x 3 x 5 = 240
    assert flops("aten::mm", (8, 5), (5, 3)) == 240
    assert flops("aten::addmm", (3,), (8, 5), (5, 3), (), ()) == 240
    assert flops("aten::bmm", (7, 8, 5), (7, 5, 3)) == 7 * 240
    assert flops("aten::baddbmm", (7, 8, 3), (7, 8, 5), (7, 5, 3)) == 7 * 240
    assert flops("aten::linear", (2, 4, 5), (3, 5), (3,)) == 240
    assert flops("aten::matmul", (2, 4, 5), (5, 3)) == 240
    assert flops("aten::matmul", (7, 1, 8, 5), (2, 5, 3)) == 14 * 240, "batches broadcast"
    assert flops("aten::matmul", (5,), (5,)) == 10, "a dot product"
    assert flops("aten::mv", (8, 5), (5,)) == 80
    assert flops("aten::addmv", (8,), (8, 5), (5,)) == 80


def test_bytes_are_operands_and_result_once() -> None:
    found = cost("aten::mm", (8, 5), (5, 3))
    assert isinstance(found, Cost)
    assert found.bytes == 2 * (40 + 15 + 24)
    assert found.dtype == "bf16"
    added = cost("aten::addmm", (3,), (8, 5), (5, 3), types=F32)
    assert isinstance(added, Cost)
    assert added.bytes == 4 * (40 + 15 + 24 + 3)
    assert added.dtype == "fp32"
    narrow = cost("aten::_scaled_mm", (8, 5), (5, 3), (1,), (1,), types=(F8, F8, F32, F32))
    assert isinstance(narrow, Cost)
    assert narrow.bytes == 40 + 15 + 2 * 24
    assert narrow.dtype == "fp8"
    unread = cost("aten::baddbmm", (7, 8, 3), (7, 8, 5), (7, 5, 3), (), (), values={3: "0."})
    read = cost("aten::baddbmm", (7, 8, 3), (7, 8, 5), (7, 5, 3), (), (), values={3: "1"})
    assert isinstance(unread, Cost)
    assert isinstance(read, Cost)
    assert (read.bytes or 0) - (unread.bytes or 0) == 2 * 7 * 24, "with beta 0 the added matrix is not read"


def test_scaled_and_packed_products() -> None:
    assert flops("aten::_scaled_mm", (8, 16), (16, 3), types=F8) == 2 * 8 * 3 * 16
    assert flops("_C::cutlass_scaled_mm", (8, 3), (8, 16), (16, 3), types=(BF, F8, F8)) == 768
    assert flops("_C::cutlass_scaled_fp4_mm", (8, 3), (8, 8), (3, 8), types=(BF, U8, U8)) == 768, "two in a byte"
    assert flops("sglang::deep_gemm_fp8_fp8_bf16_nt", (8, 16), (8, 1), (3, 16), (1, 1), (8, 3), types=F8) == 768
    assert flops("tex_ts::te_gemm_ts", (3, 16), (), (), (), (), (8, 16), (), (), (), (), (8, 3)) == 768
    assert flops("vllm::rocm_unquantized_gemm", (46, 2880), (201088, 2880), ()) == 2 * 46 * 2880 * 201088


def test_groups_and_experts() -> None:
    assert flops("aten::_grouped_mm", (64, 16), (4, 16, 3), (4,)) == 2 * 64 * 16 * 3, "rows of all groups"
    assert flops("aten::_grouped_mm", (16, 64), (64, 3), (4,)) == 2 * 64 * 16 * 3, "gradient by the weights"
    assert flops("aten::_grouped_mm", (4, 16, 64), (64, 12), (4,)) == 2 * 16 * 64 * 12
    # 10 tokens, 2 of 8 experts each, hidden 6, intermediate 4 (gate and up: 8): 2 x 20 x (8 x 6 + 6 x 4) = 2880
    args = ((10, 6), (8, 8, 6), (8, 6, 4), (10, 2), (10, 2))
    assert flops("vllm::inplace_fused_experts", *args) == 2880
    mapped = cost("vllm::inplace_fused_experts", *args, (8,), types=(BF,) * 5 + ("int",))
    assert isinstance(mapped, str)
    assert "tokens belong to this rank" in mapped


def test_convolutions() -> None:
    # 1 picture of 3 channels 8 x 8, 16 filters of 3 x 3, stride 2, padding 1 -> 4 x 4: 2 x 16 x 16 x 27 = 13824
    x, w = (1, 3, 8, 8), (16, 3, 3, 3)
    settings = {3: "[2, 2]", 4: "[1, 1]", 5: "[1, 1]", 6: "False", 8: "1"}
    assert flops("aten::convolution", x, w, (), (), (), (), (), (), (), values=settings) == 13824
    assert flops("aten::conv2d", x, w, (), values={3: "[2]", 4: "[1]", 5: "[1]", 6: "1"}) == 13824
    assert flops("aten::cudnn_convolution", x, w, values={2: "[1, 1]", 3: "[2, 2]", 4: "[1, 1]", 5: "1"}) == 13824
    assert flops("aten::miopen_convolution", x, w, (), values={3: "[1, 1]", 4: "[2, 2]", 5: "[1, 1]"}) == 13824
    same = flops("aten::conv2d", x, w, (), values={3: "[1, 1]", 4: "same", 5: "[1, 1]"})
    assert same == 2 * 16 * 64 * 27
    dilated = flops("aten::conv2d", x, w, (), values={3: "[1, 1]", 4: "[0, 0]", 5: "[2, 2]"})
    assert dilated == 2 * 16 * 16 * 27, "(8 - 2 x 2 - 1) + 1 = 4 a side"
    # 4 groups: each of 8 filters sees 2 of 8 channels
    grouped = flops("aten::conv1d", (5, 8, 10), (8, 2, 3), (), values={3: "[1]", 4: "[0]", 5: "[1]", 6: "4"})
    assert grouped == 2 * 5 * 8 * 8 * 6
    # transposed: each of 3 x 8 x 8 inputs meets 5 x 3 x 3 weights
    turned = {3: "[2, 2]", 4: "[0, 0]", 5: "[1, 1]", 6: "True"}
    assert flops("aten::convolution", x, (3, 5, 3, 3), (), values=turned) == 2 * 3 * 64 * 45


def test_gradients_of_a_convolution_cost_a_forward_pass_each() -> None:
    grad, x, w = (1, 16, 4, 4), (1, 3, 8, 8), (16, 3, 3, 3)
    both = {7: "False", 10: "[True, True, False]"}
    assert flops("aten::convolution_backward", grad, x, w, values=both) == 2 * 13824
    assert flops("aten::convolution_backward", grad, x, w, values={7: "False", 10: "[False, True, True]"}) == 13824
    assert flops("aten::convolution_backward", grad, x, w) == 2 * 13824, "without the mask both are taken"


def test_attention_forward() -> None:
    q = (2, 4, 16, 8)  # B H N D
    full = 4 * 2 * 4 * 16 * 16 * 8  # QK and PV: 2 x 2 B H N N D
    sdpa = "aten::_scaled_dot_product_flash_attention"
    assert flops(sdpa, q, q, q, (), (), values={3: "0.", 4: "False"}) == full
    assert flops(sdpa, q, q, q, (), (), values={3: "0.", 4: "True"}) == full // 2
    x = (2, 16, 4, 8)  # B N H D
    inner = "aten::_flash_attention_forward"
    assert flops(inner, x, x, x, values={8: "True"}) == full // 2
    assert flops("flash_attn::_flash_attn_forward", x, x, x, values={5: "False"}) == full
    assert flops("aten::_efficient_attention_forward", x, x, x, values={9: "1"}) == full // 2
    few = (2, 16, 2, 8)
    assert flops(inner, x, few, few, values={8: "False"}) == full, "shared keys save no products"
    gqa = cost(inner, x, few, few, values={8: "False"})
    assert isinstance(gqa, Cost)
    assert gqa.bytes == 2 * (2 * 16 * 4 * 16 + 2 * 16 * 2 * 16)
    other = (2, 16, 4, 6)  # values narrower than keys: 2 P H (D + Dv)
    assert flops(inner, x, x, other, values={8: "False"}) == 2 * 2 * 256 * 4 * (8 + 6)


def test_attention_backward_has_five_products() -> None:
    x, heads = (2, 16, 4, 8), (2, 4, 16, 8)
    once = 2 * 2 * 4 * 16 * 16 * 8
    assert flops("aten::_flash_attention_backward", x, x, x, x, values={11: "False"}) == 5 * once
    assert flops("aten::_flash_attention_backward", x, x, x, x, values={11: "True"}) == 5 * once // 2
    name = "aten::_scaled_dot_product_flash_attention_backward"
    assert flops(name, heads, heads, heads, heads, values={11: "False"}) == 5 * once
    name = "aten::_scaled_dot_product_efficient_attention_backward"
    assert flops(name, heads, heads, heads, heads, values={11: "True"}) == 5 * once // 2


def test_packed_sequences_count_where_their_lengths_follow() -> None:
    name = "flash_attn::_flash_attn_varlen_forward"
    x = (48, 4, 8)
    equal = {5: "16", 6: "16", 9: "False"}
    assert flops(name, x, x, x, (4,), (4,), values=equal) == 3 * 4 * 4 * 16 * 16 * 8, "3 x 16 = 48 rows"
    assert flops(name, x, x, x, (2,), (2,), values={5: "64", 6: "64", 9: "False"}) == 4 * 4 * 48 * 48 * 8
    ragged = cost(name, x, x, x, (4,), (4,), values={5: "20", 6: "20", 9: "False"})
    assert isinstance(ragged, str)
    assert "differ" in ragged


def test_the_mask_is_told_by_flags_or_by_the_kernel_or_not_at_all() -> None:
    x = (2, 16, 4, 8)
    name = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, b16>, false, true, false>(P)"
    assert causal_of_kernels((name,)) is True
    assert causal_of_kernels((name, name.replace("false, true,", "false, false,"))) is None, "they disagree"
    assert flops("FlashAttnFunc", x, x, x, kernels=[name]) == 2 * 2 * 4 * 16 * 16 * 8
    assert cost("FlashAttnFunc", x, x, x) == "whether the mask is causal was not recorded"


def test_pairs_of_masks_against_counting_them() -> None:
    for nq, nk, left, right in itertools.product((1, 3, 7), (1, 4, 9), (0, 2, 20), (-1, 0, 1)):
        for corner in ("top", "bottom"):
            shift = nk - nq if corner == "bottom" else 0
            seen = sum(
                i + shift - left <= j and (right < 0 or j <= i + shift + right)
                for i, j in itertools.product(range(nq), range(nk))
            )
            assert pairs(nq, nk, False, corner, left, right) == 2 * seen, (nq, nk, left, right, corner)
    assert pairs(8, 8, True) == 64, "half of 8 x 8, doubled"
    assert pairs(2, 8, True) == 2 * 16 - 4, "the last two queries of eight"
    assert pairs(1, 8, True) == 15, "one query sees all keys, less half of the last"


def test_odd_scalars_are_not_recorded_ones() -> None:
    odd = Call("x", (), (), ("\u00b2", "--5", "[1, \u00b2]", "[", "[1, -2]", "9" * 40, " 7 "))
    assert [odd.number(i) for i in range(7)] == [None, None, None, None, None, None, 7]
    assert [odd.numbers(i) for i in (2, 3, 4)] == [None, None, (1, -2)]
    assert odd.flags(2) is None


@pytest.mark.parametrize(
    ("name", "dims", "why"),
    [
        ("aten::mm", (), "no shapes were recorded"),
        ("aten::mm", ((8, 5), (6, 3)), "not those of this operator"),
        ("aten::mm", ((1 << 40, 1 << 40), (1 << 40, 1 << 40)), "make no sense"),
        ("aten::cudnn_convolution", ((1, 3, 8, 8), (16, 3, 3, 3)), "stride and padding"),
        ("vllm::moe_forward", ((8, 5), (8, 4)), "how tokens are routed"),
        ("vllm::unified_attention", ((8, 4, 64),), "lengths of the requests"),
        ("my::op", ((8, 5), (5, 3)), "unknown operator"),
    ],
)
def test_what_is_unknown_says_why(name: str, dims: Any, why: str) -> None:
    found = cost(name, *dims)
    assert isinstance(found, str)
    assert why in found
