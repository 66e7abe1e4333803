"""Bytes of operators that move more than they compute: what they must at least read and write, each tensor once.

Elementwise operators, copies, norms, softmax and reductions of PyTorch: their inputs are recorded, their results follow
from them. What runs at the memory's rate shows by it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.flops.call import LARGEST, Dims, product
from viewer.analyses.flops.launchers import recorded_launchers
from viewer.analyses.flops.shapes import Recorded
from viewer.analyses.gpu_work import gpu_work
from viewer.base.dtypes import element_bytes
from viewer.base.ids import Paint
from viewer.store.trace import Trace

_SAME: Final = frozenset(
    [
        "abs",
        "add",
        "sub",
        "rsub",
        "mul",
        "div",
        "neg",
        "exp",
        "log",
        "log1p",
        "sqrt",
        "rsqrt",
        "pow",
        "square",
        "reciprocal",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "relu",
        "silu",
        "gelu",
        "leaky_relu",
        "elu",
        "softplus",
        "clamp",
        "clamp_min",
        "clamp_max",
        "maximum",
        "minimum",
        "addcmul",
        "addcdiv",
        "lerp",
        "masked_fill",
        "floor",
        "ceil",
        "round",
        "sign",
        "erf",
        "silu_backward",
        "gelu_backward",
        "sigmoid_backward",
        "tanh_backward",
        "threshold_backward",
        "_softmax",
        "_log_softmax",
        "_softmax_backward_data",
        "_log_softmax_backward_data",
        "native_layer_norm",
        "layer_norm",
        "rms_norm",
        "_fused_rms_norm",
        "native_dropout",
        "bitwise_and",
        "bitwise_or",
        "bitwise_not",
        "logical_and",
        "logical_or",
        "logical_not",
    ]
)
"""The result is as large as the inputs broadcast, of the widest of their types."""
_BOOLEAN: Final = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"])
_REDUCED: Final = frozenset(
    [
        "sum",
        "mean",
        "amax",
        "amin",
        "max",
        "min",
        "norm",
        "linalg_vector_norm",
        "prod",
        "var",
        "std",
        "all",
        "any",
        "argmax",
        "argmin",
    ]
)
"""The result is small beside what is read."""
_FILLS: Final = frozenset(("fill_", "zero_"))


def moved_bytes(trace: Trace) -> NDArray[np.float64]:
    """Per position of ``gpu_work`` the bytes of such an operator's kernel, nan for all others. Built once.

    A call that launched several kernels has its bytes split over them by their time.
    """
    return trace.memo("moved_bytes", lambda: _build(trace))


def bytes_of(name: str, recorded: Recorded) -> int | None:
    """The bytes of a call; None where the operator is none of these or its inputs were not recorded."""
    short = name.removeprefix("aten::")
    if short == name or not any(recorded.dims):
        return None
    in_place = short.endswith("_")
    base = short.removesuffix("_")
    tensors = [_sized(recorded, i) for i in range(len(recorded.dims))]
    given = [t for t in tensors if t is not None]
    if not given or len(given) < sum(1 for d in recorded.dims if d):
        return None  # a size or a type is unknown
    if short == "copy_":
        return _bytes(given[0]) + _bytes(given[1]) if len(given) == 2 else None
    if short in _FILLS:
        return _bytes(given[0])
    read = sum(map(_bytes, given))
    if base in _REDUCED:
        return read
    if base not in _SAME and base not in _BOOLEAN:
        return None
    if in_place:
        return read + _bytes(given[0])
    out = _broadcast([d for d, _ in given])
    if out is None:
        return None
    width = 1 if base in _BOOLEAN else max(size for _, size in given)
    return read + product(out) * width


def _sized(recorded: Recorded, at: int) -> tuple[Dims, int] | None:
    dims = recorded.dims[at]
    if not dims or not all(isinstance(n, int) for n in dims) or at >= len(recorded.types):
        return None
    size = element_bytes(recorded.types[at])
    return None if size is None else (dims, size)


def _bytes(tensor: tuple[Dims, int]) -> int:
    return product(tensor[0]) * tensor[1]


def _broadcast(shapes: list[Dims]) -> Dims | None:
    width = max(map(len, shapes))
    out = [1] * width
    for dims in shapes:
        for k, n in enumerate(dims, width - len(dims)):
            if n != 1 and out[k] not in (1, n):
                return None
            out[k] = max(out[k], n)
    return tuple(out)


def _build(trace: Trace) -> NDArray[np.float64]:
    s, work, found = trace.slices, gpu_work(trace), recorded_launchers(trace)
    out = np.full(len(work), np.nan)
    names = s.name[found.rows]
    keys, inverse = np.unique(names.astype(np.int64) * (len(found.entries) + 1) + found.number, return_inverse=True)
    amounts = np.full(len(keys), np.nan)
    for i, key in enumerate(keys.tolist()):
        name, entry = divmod(key, len(found.entries) + 1)
        amount = bytes_of(trace.text(name), found.entries[entry])
        if amount is not None and 0 < amount < LARGEST:
            amounts[i] = amount
    at = np.flatnonzero((found.place >= 0) & (work.paint == Paint.COMPUTE))
    place = found.place[at]
    length = (work.end_ns - work.start_ns)[at]
    spent = np.bincount(place, length, len(found.rows))
    known = spent[place] > 0
    out[at[known]] = (amounts[inverse[place]] * length / np.maximum(spent[place], 1))[known]
    return out
