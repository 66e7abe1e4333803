"""Sizes of the element types that traces name."""

from __future__ import annotations

from typing import Final

_ELEMENT_BYTES: Final = {
    "float": 4,
    "double": 8,
    "half": 2,
    "bfloat16": 2,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "byte": 1,
    "unsigned char": 1,
    "uint8": 1,
    "int8": 1,
    "char": 1,
    "bool": 1,
    "short": 2,
    "int": 4,
    "int32": 4,
    "int64": 8,
    "long int": 8,
    "long": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "complexfloat": 8,
    "complexdouble": 16,
}


def element_bytes(dtype: str) -> int | None:
    """Bytes of one element of a dtype as PyTorch spells it, None when it is not known."""
    return _ELEMENT_BYTES.get(dtype.strip().lower().removeprefix("c10::").removeprefix("torch."))
