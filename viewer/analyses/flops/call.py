"""One operator call as the profiler recorded it, and what it costs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

from viewer.base.dtypes import element_bytes

Dims = tuple[int, ...]
LARGEST: Final = 1 << 60
"""No single call has more FLOPs or bytes: a text that claims it is damaged."""


_WHOLE: Final = re.compile(r"\s*-?[0-9]{1,18}\s*")


class Unknown(Exception):
    """What a call costs cannot be told; the message says why, in words that fit behind "not counted:"."""


@dataclass(frozen=True, slots=True)
class Call:
    """What an operator was called with.

    ``dims`` has per argument the sizes of a tensor (() for what is none), or a tuple of such for a list of tensors;
    ``types`` the element type of each as written; ``values`` what scalars and lists were, as text. Any may be shorter
    than the list of arguments, or empty where the profiler did not record it.
    """

    name: str
    dims: tuple[Any, ...] = ()
    types: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    """Names of the kernels that the call launched, for what only they tell."""

    def tensor(self, at: int) -> Dims:
        """Sizes of an argument that must be a tensor with at least one element. Raises Unknown."""
        found = self.optional(at)
        if not found:
            raise Unknown("no shapes were recorded" if not self.dims else "its shapes are not those of this operator")
        return found

    def optional(self, at: int) -> Dims:
        """Sizes of an argument, () where it is no tensor."""
        found = self.dims[at] if at < len(self.dims) else ()
        return found if found and all(isinstance(n, int) and n >= 0 for n in found) else ()

    def value(self, at: int) -> str:
        """A scalar or list as text, "" where it was not recorded."""
        return self.values[at] if 0 <= at < len(self.values) else ""

    def flag(self, at: int) -> bool | None:
        """A yes or no; None where it was not recorded."""
        return {"true": True, "1": True, "false": False, "0": False}.get(self.value(at).strip().lower())

    def number(self, at: int) -> int | None:
        """A whole number; None where it was not recorded."""
        return _whole(self.value(at))

    def numbers(self, at: int) -> tuple[int, ...] | None:
        """A list of whole numbers, "[1, 2]"; None where it was not recorded."""
        text = self.value(at).strip()
        if not (text.startswith("[") and text.endswith("]")):
            return None
        found = [_whole(p) for p in text[1:-1].split(",") if p.strip()]
        return tuple(n for n in found if n is not None) if None not in found else None

    def flags(self, at: int) -> tuple[bool, ...] | None:
        """A list of yes and no, "[True, False]"; None where it was not recorded."""
        text = self.value(at).strip().lower()
        if not (text.startswith("[") and text.endswith("]")):
            return None
        known = {"true": True, "1": True, "false": False, "0": False}
        found = [known.get(p.strip()) for p in text[1:-1].split(",") if p.strip()]
        return None if None in found else tuple(bool(f) for f in found)

    def type(self, at: int) -> str:
        """Element type of an argument in short: "bf16", "fp16", "fp32", "fp64", "fp8", "fp4", "int8", or as written."""
        return short_type(self.types[at]) if at < len(self.types) else ""

    def size(self, at: int) -> int | None:
        """Bytes of one element of an argument; None where the type is unknown."""
        return element_bytes(self.types[at]) if at < len(self.types) else None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call costs.

    Attributes:
        flops: floating-point operations; a multiplication and an addition count as two.
        bytes: what it must at least read and write once, None where element sizes are unknown.
        family: "gemm", "convolution" or "attention".
        dtype: of the operands, as in :meth:`Call.type`.
        shape: the sizes that decide, in words ("M 888 N 640 K 2880").
        how: the formula, and what was assumed; "" for nothing beyond the family's own.
    """

    flops: int
    bytes: int | None
    family: str
    dtype: str
    shape: str
    how: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.flops < LARGEST or not 0 <= (self.bytes or 0) < LARGEST:
            raise Unknown("its shapes make no sense")


_SHORT: Final = {
    "bfloat16": "bf16",
    "half": "fp16",
    "float16": "fp16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "char": "int8",
    "signed char": "int8",
    "int8": "int8",
}


def short_type(written: str) -> str:
    """The short name of an element type as PyTorch spells it."""
    text = written.strip().lower().removeprefix("c10::").removeprefix("torch.")
    if text.startswith("float8"):
        return "fp8"
    if text.startswith("float4"):
        return "fp4"
    return _SHORT.get(text, text)


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def product(dims: Dims) -> int:
    """How many elements a tensor of these sizes has."""
    return math.prod(dims)


def traffic(*parts: tuple[int, int | None]) -> int | None:
    """Bytes of some (elements, bytes of one); None where one size is unknown."""
    total = 0
    for count, size in parts:
        if size is None:
            return None
        total += count * size
    return total
