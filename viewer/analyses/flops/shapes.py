"""What the profiler recorded of operator calls, many at once: shapes, types, scalars, modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.store.loose_json import loads
from viewer.store.recorded import numbered
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
MOST_ARGUMENTS = 64
_EMPTY = msgspec.Raw(b"")


class _Fields(msgspec.Struct):
    dims: msgspec.Raw = msgspec.field(default=_EMPTY, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=_EMPTY, name="Input type")
    values: msgspec.Raw = msgspec.field(default=_EMPTY, name="Concrete Inputs")
    modules: msgspec.Raw = msgspec.field(default=_EMPTY, name="Module Hierarchy")


@dataclass(frozen=True, slots=True)
class Recorded:
    """The arguments of a call; ``module`` as the profiler wrote it with ``with_modules``, "" without."""

    dims: tuple[Any, ...] = ()
    types: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    module: str = ""

    @property
    def text(self) -> str:
        """The shapes of the tensors in one line, "" where none were recorded."""
        parts = []
        for at, dims in enumerate(self.dims):
            if dims:
                kind = self.types[at].removeprefix("c10::") if at < len(self.types) else ""
                parts.append(f"{_sizes(dims)} {kind}".strip())
        return ", ".join(parts)


def _sizes(dims: tuple[Any, ...]) -> str:
    if all(isinstance(d, int) for d in dims):
        return "[" + "x".join(map(str, dims)) + "]"
    return "{" + " ".join(_sizes(d) for d in dims[:4] if isinstance(d, tuple)) + (" …}" if len(dims) > 4 else "}")


def recorded(trace: Trace, rows: I64) -> tuple[I64, list[Recorded]]:
    """What is recorded of calls: for each row the number of its entry, and the distinct entries.

    Args:
        trace: the file.
        rows: rows of ``slices``.
    """
    number, keys = numbered(trace, rows, _key)
    return number, [_entry(key) for key in keys]


_decode: Final = msgspec.json.Decoder(_Fields).decode


def _key(text: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    try:  # nearly every text is plain JSON
        f = _decode(text)
        return bytes(f.dims), bytes(f.types), bytes(f.values), bytes(f.modules)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _odd_key(text)


def _odd_key(text: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """The recorded fields of a text that is not quite JSON, or empty."""
    try:
        found = loads(text)
    except ValueError:
        found = {}
    if not isinstance(found, dict):
        found = {}
    names = ("Input Dims", "Input type", "Concrete Inputs", "Module Hierarchy")
    dims, types, values, modules = (msgspec.json.encode(found[n]) if n in found else b"" for n in names)
    return dims, types, values, modules


def _entry(key: tuple[bytes, ...]) -> Recorded:
    dims, types, values, module = (_value(part) for part in key)
    return Recorded(
        tuple(_dims(d) for d in dims[:MOST_ARGUMENTS]) if isinstance(dims, list) else (),
        tuple(t if isinstance(t, str) else "" for t in types[:MOST_ARGUMENTS]) if isinstance(types, list) else (),
        tuple(map(_scalar, values[:MOST_ARGUMENTS])) if isinstance(values, list) else (),
        module if isinstance(module, str) else "",
    )


def _value(text: bytes) -> Any:
    if not text:
        return None
    try:
        return loads(text)
    except ValueError:
        return None


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _dims(value: Any, level: int = 0) -> tuple[Any, ...]:
    """Sizes of a tensor, or of a list of them; () for anything else."""
    if not isinstance(value, list) or level > 1:
        return ()
    if all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1 << 48 for n in value):
        return tuple(value[:MOST_ARGUMENTS])
    return tuple(_dims(v, level + 1) for v in value[:MOST_ARGUMENTS])
