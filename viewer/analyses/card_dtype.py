"""In what numbers a job multiplies matrices: from the types of its operators' inputs, else from its kernels' names."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.names import distinct, rows_named
from viewer.base.ids import Paint
from viewer.store.loose_json import loads
from viewer.store.recorded import numbered
from viewer.store.session import Session
from viewer.store.trace import Trace

SAMPLES: Final = 256
"""Operators that are looked at per file, evenly over it: their args are parsed one by one."""
MOST_FILES: Final = 4
_PRODUCT: Final = re.compile(r"aten::(mm|addmm|bmm|baddbmm|_scaled_mm)$")
"""Operators that multiply matrices themselves: what calls them may still hold other types (autocast)."""
_TYPES: Final = (
    ("c10::Float8", "fp8"),
    ("c10::BFloat16", "bf16"),
    ("c10::Half", "fp16"),
    ("double", "fp64"),
    ("float", "fp32"),
)
_MATRIX_KERNEL: Final = re.compile(r"gemm|nvjet|xmma|cutlass.*mma|\bCijk_|matmul", re.IGNORECASE)
_TF32: Final = re.compile(r"tf32", re.IGNORECASE)
_KERNELS: Final = (
    (re.compile(r"e4m3|e5m2|fp8|float8|_f8|nvjet_qq", re.IGNORECASE), "fp8"),
    (_TF32, "tf32"),
    (re.compile(r"bf16|bfloat16|nvjet_t|_BBS_|_BSS_", re.IGNORECASE), "bf16"),
    (
        re.compile(r"(?<!b)f16|fp16|half|hgemm|h884|h1688|h16816|s884|s1688|s16816|nvjet_h|_HHS_|_HSS_", re.IGNORECASE),
        "fp16",
    ),
    (re.compile(r"dgemm|d884|_DB_", re.IGNORECASE), "fp64"),
    (re.compile(r"sgemm|_SB_|f32f32_f32f32", re.IGNORECASE), "fp32"),
)


def product_dtype(session: Session) -> tuple[str, str] | None:
    """The dtype of most of the work of matrix products, and where it was found; None where nothing tells."""
    traces = [item.trace for item in session.inputs[:MOST_FILES]]
    work: dict[str, float] = {}
    for trace in traces:
        for dtype, flops in _of_operators(trace).items():
            work[dtype] = work.get(dtype, 0.0) + flops
    found = _largest(work)
    if found == "fp32" and any(_uses_tf32(trace) for trace in traces):
        return "tf32", "32-bit inputs of matrix products, and kernels named tf32"
    if found is not None:
        return found, "types of the inputs of matrix products"
    time: dict[str, float] = {}
    for trace in traces:
        for dtype, ns in _of_kernels(trace).items():
            time[dtype] = time.get(dtype, 0.0) + ns
    found = _largest(time)
    return None if found is None else (found, "names of the kernels of matrix products (no operator's types)")


def _largest(parts: dict[str, float]) -> str | None:
    best = max(parts, key=lambda k: (parts[k], k), default=None)
    return best if best is not None and parts[best] > sum(parts.values()) / 2 else None


def _of_operators(trace: Trace) -> dict[str, float]:
    rows = rows_named(trace, (Paint.OPERATOR,), _PRODUCT.match)
    if len(rows) > SAMPLES:
        rows = rows[np.linspace(0, len(rows) - 1, SAMPLES).astype(np.int64)]
    if not len(rows):
        return {}
    out: dict[str, float] = {}
    number, found = numbered(trace, rows, _operator)
    for told in (found[k] for k in number.tolist()):
        if told is not None:
            out[told[0]] = out.get(told[0], 0.0) + told[1]
    return out


def _operator(text: bytes) -> tuple[str, float] | None:
    try:
        args: Any = loads(text)
    except ValueError:
        return None
    if not isinstance(args, dict):
        return None
    types, dims = args.get("Input type"), args.get("Input Dims")
    if not isinstance(types, list) or not isinstance(dims, list):
        return None
    matrices = [
        (str(t), [float(n) for n in d])
        for t, d in zip(types, dims, strict=False)
        if isinstance(d, list) and len(d) in (2, 3) and all(isinstance(n, int) and 0 <= n < 2**40 for n in d)
    ]
    if len(matrices) < 2:
        return None
    (kind, left), (_, right) = matrices[-2], matrices[-1]
    dtype = next((name for sign, name in _TYPES if kind.startswith(sign)), None)
    return None if dtype is None else (dtype, float(np.prod(left)) * right[-1])


def _gpu_names(trace: Trace) -> list[tuple[int, str]]:
    names = trace.slices.name[gpu_work(trace).index]
    return [(code, text) for code in distinct(names) if _MATRIX_KERNEL.search(text := trace.text(code))]


def _uses_tf32(trace: Trace) -> bool:
    return any(_TF32.search(text) for _, text in _gpu_names(trace))


def _of_kernels(trace: Trace) -> dict[str, float]:
    work = gpu_work(trace)
    if not len(work):
        return {}
    names = trace.slices.name[work.index]
    sums = np.bincount(names + 1, weights=work.end_ns - work.start_ns)[1:]  # without those that have no name
    out: dict[str, float] = {}
    for code, text in _gpu_names(trace):
        dtype = next((name for pattern, name in _KERNELS if pattern.search(text)), None)
        if dtype is not None:
            out[dtype] = out.get(dtype, 0.0) + float(sums[code])
    return out
