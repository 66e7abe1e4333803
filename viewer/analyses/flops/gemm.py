"""Matrix products: FLOPs = 2 M N K (and batch), the bias of linear and addmm is not counted.

Bytes are those of both operands and the result, each once, and of the matrix that is added.
"""

from __future__ import annotations

import math
import re

from viewer.analyses.flops.call import Call, Cost, Dims, Unknown, product, traffic

_ZERO = re.compile(r"-?0(?:\.0*)?")
_MISMATCH = "its shapes are not those of this operator"


def _cost(call: Call, batch: int, m: int, n: int, k: int, a: int, b: int, added: int = 0, how: str = "") -> Cost:
    """``a`` and ``b`` are the arguments that are multiplied; ``added`` elements are read as well."""
    size_a, size_b = call.size(a), call.size(b)
    dtype = call.type(a)
    # The result of a product of narrow types has 16 bits in every library; that of others is as the operands.
    out = 2 if dtype in ("fp8", "fp4", "int8", "unsigned char") else size_a
    moved = traffic((batch * m * k, size_a), (batch * k * n, size_b), (batch * m * n + added, out))
    many = f"{batch:,} x " if batch != 1 else ""
    return Cost(2 * batch * m * n * k, moved, "gemm", dtype, f"{many}M {m:,} N {n:,} K {k:,}", how)


def _matrices(call: Call, a: int, b: int) -> tuple[int, int, int]:
    x, y = call.tensor(a), call.tensor(b)
    if len(x) != 2 or len(y) != 2 or x[1] != y[0]:
        raise Unknown(_MISMATCH)
    return x[0], y[1], x[1]


def mm(call: Call) -> Cost:
    """``mm(a[M, K], b[K, N])``; int8 and scaled products alike."""
    return _cost(call, 1, *_matrices(call, 0, 1), 0, 1)


def addmm(call: Call) -> Cost:
    """``addmm(bias, a[M, K], b[K, N])``; the bias is read, not counted as FLOPs."""
    return _cost(call, 1, *_matrices(call, 1, 2), 1, 2, product(call.optional(0)))


def _batched(call: Call, a: int, b: int, added: int = 0) -> Cost:
    x, y = call.tensor(a), call.tensor(b)
    if len(x) != 3 or len(y) != 3 or x[2] != y[1] or x[0] != y[0]:
        raise Unknown(_MISMATCH)
    return _cost(call, x[0], x[1], y[2], x[2], a, b, added)


def bmm(call: Call) -> Cost:
    """``bmm(a[B, M, K], b[B, K, N])``."""
    return _batched(call, 0, 1)


def baddbmm(call: Call) -> Cost:
    """``baddbmm(c, a[B, M, K], b[B, K, N])``; c is read unless beta is 0."""
    unread = _ZERO.fullmatch(call.value(3).strip()) is not None
    return _batched(call, 1, 2, 0 if unread else product(call.optional(0)))


def addbmm(call: Call) -> Cost:
    """``addbmm(c[M, N], a[B, M, K], b[B, K, N])``: the products are summed, the same count."""
    return _batched(call, 1, 2, product(call.optional(0)))


def linear(call: Call) -> Cost:
    """``linear(x[..., K], w[N, K])``."""
    return _linear(call, 0, 1)


def _linear(call: Call, x_at: int, w_at: int, how: str = "") -> Cost:
    x, w = call.tensor(x_at), call.tensor(w_at)
    if len(w) != 2 or x[-1] != w[1]:
        raise Unknown(_MISMATCH)
    return _cost(call, 1, product(x[:-1]), w[0], w[1], x_at, w_at, 0, how)


def te_linear(call: Call) -> Cost:
    """Transformer Engine's ``_Linear(w[N, K], x[..., K])``."""
    return _linear(call, 1, 0)


def te_layernorm_linear(call: Call) -> Cost:
    """Transformer Engine's ``_LayerNormLinear(x, gamma, beta, w[N, K])``; beta is missing for RMS norms."""
    for at in (3, 2):
        if len(call.optional(at)) == 2:
            return _linear(call, 0, at, "the normalisation inside is not counted")
    raise Unknown(_MISMATCH)


def matmul(call: Call) -> Cost:
    """``matmul`` of any ranks: vectors, matrices, batches that broadcast."""
    x, y = call.tensor(0), call.tensor(1)
    left = x if len(x) > 1 else (1, *x)
    right = y if len(y) > 1 else (*y, 1)
    if left[-1] != right[-2]:
        raise Unknown(_MISMATCH)
    batch = product(_broadcast(left[:-2], right[:-2]))
    m, n, k = left[-2], right[-1], left[-1]
    if len(right) == 2:  # one matrix for the whole batch: one product of all rows
        m, batch = m * batch, 1
    return _cost(call, batch, m, n, k, 0, 1)


def _broadcast(a: Dims, b: Dims) -> Dims:
    width = max(len(a), len(b))
    pairs = zip((1,) * (width - len(a)) + a, (1,) * (width - len(b)) + b, strict=True)
    out = []
    for x, y in pairs:
        if x != y and 1 not in (x, y):
            raise Unknown(_MISMATCH)
        out.append(max(x, y))
    return tuple(out)


def mv(call: Call) -> Cost:
    """``mv(a[M, K], x[K])``."""
    return _vector(call, 0, 1)


def addmv(call: Call) -> Cost:
    """``addmv(y[M], a[M, K], x[K])``."""
    return _vector(call, 1, 2)


def _vector(call: Call, a: int, x: int) -> Cost:
    m, v = call.tensor(a), call.tensor(x)
    if len(m) != 2 or v != m[1:]:
        raise Unknown(_MISMATCH)
    return _cost(call, 1, m[0], 1, m[1], a, x)


def grouped(call: Call) -> Cost:
    """``_grouped_mm`` and ``_scaled_grouped_mm``: groups of rows of a[M, K] with b[G, K, N], or of both along K or N.

    The ends of the groups are values that no profiler records: rows behind the last one, if any, are counted too.
    """
    x, y = call.tensor(0), call.tensor(1)
    how = "all rows are taken to belong to a group"
    if len(x) == 2 and len(y) == 3 and x[1] == y[1]:
        return _cost(call, 1, x[0], y[2], x[1], 0, 1, product(y) - y[1] * y[2], how)
    if len(x) == 3 and len(y) == 2 and x[2] == y[0]:
        return _cost(call, 1, x[1], y[1], x[2], 0, 1, 0, how)
    if len(x) == 2 and len(y) == 2 and x[1] == y[0]:
        return _cost(call, 1, x[0], y[1], x[1], 0, 1, 0, how)
    return _batched(call, 0, 1)


def out_first(call: Call) -> Cost:
    """``op(out[M, N], a[M, K], b[K, N] or b[N, K], ...)``, as vLLM's scaled products have it."""
    out, x = call.tensor(0), call.tensor(1)
    y = call.tensor(2)
    if len(out) != 2 or len(x) != 2 or len(y) != 2 or x[0] != out[0]:
        raise Unknown(_MISMATCH)
    k = x[1]
    if product(y) != k * out[1]:
        raise Unknown(_MISMATCH)
    if call.type(1) == "unsigned char" and call.type(2) == "unsigned char":
        return _cost(call, 1, out[0], out[1], 2 * k, 1, 2, 0, "two 4-bit values are taken to lie in each byte")
    return _cost(call, 1, out[0], out[1], k, 1, 2)


def nt(call: Call) -> Cost:
    """``op(a[M, K], b[N, K] or b[K, N], ...)``: scaled products of serving engines, the weight either way round."""
    x, y = call.tensor(0), call.tensor(1)
    if len(y) != 2:
        raise Unknown(_MISMATCH)
    k = x[-1]
    n = y[0] if y[1] == k else y[1] if y[0] == k else None
    if n is None:
        raise Unknown(_MISMATCH)
    return _cost(call, 1, product(x[:-1]), n, k, 0, 1)


def scaled_nt(call: Call) -> Cost:
    """``op(a[M, K], scale of a, b[N, K], scale of b, out[M, N])``, as DeepGEMM is wrapped."""
    x, y = call.tensor(0), call.tensor(2)
    if len(x) != 2 or len(y) != 2 or x[1] != y[1]:
        raise Unknown(_MISMATCH)
    return _cost(call, 1, x[0], y[0], x[1], 0, 2)


def te_gemm(call: Call) -> Cost:
    """Transformer Engine's ``te_gemm_ts(A, ., ., ., transa, B, ., ., ., transb, D[M, N], ...)``.

    K follows from the sizes, whichever operand is transposed: A has K M elements, B has K N, D has M N.
    """
    a, b, d = product(call.tensor(0)), product(call.tensor(5)), call.tensor(10)
    out = product(d)
    square, rest = divmod(a * b, out) if out else (0, 1)
    k = math.isqrt(square)
    if rest or k * k != square or not k or a % k or b % k:
        raise Unknown(_MISMATCH)
    return _cost(call, 1, b // k, a // k, k, 0, 5)


def fused_experts(call: Call) -> Cost:
    """``fused_experts(x[T, H], w1[E, 2I, H], w2[E, H, I], weights[T, k], ids[T, k], ...)``: two products per token.

    2 T k (elements of an expert in w1 + in w2). With a map of experts, some tokens belong to other ranks: unknown.
    """
    x, w1, w2, ids = call.tensor(0), call.tensor(1), call.tensor(2), call.tensor(4)
    if len(x) != 2 or len(w1) != 3 or len(w2) != 3 or len(ids) != 2 or ids[0] != x[0] or w1[0] != w2[0]:
        raise Unknown(_MISMATCH)
    if any(len(call.optional(i)) == 1 and "int" in call.type(i) for i in range(5, len(call.dims))):
        raise Unknown("which tokens belong to this rank's experts is not recorded")
    if w1[2] not in (x[1], x[1] // 2):
        raise Unknown(_MISMATCH)
    packed = 2 if w1[2] != x[1] else 1
    each = product(w1[1:]) + product(w2[1:])
    size = call.size(1)
    used = min(w1[0], ids[0] * ids[1])
    moved = traffic((2 * product(x), call.size(0)), (used * each, size))
    how = "every token is taken to meet its experts on this rank" + (", two weights in a byte" if packed == 2 else "")
    shape = f"tokens {x[0]:,} x {ids[1]} of {w1[0]} experts, {w1[1]:,} x {w1[2] * packed:,}"
    return Cost(2 * ids[0] * ids[1] * each * packed, moved, "gemm", call.type(1) or call.type(0), shape, how)
