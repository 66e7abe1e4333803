"""What the recorded inputs of ``record_param_comms`` calls say, where nothing else tells of a collective.

Of the calls of a file nothing but the sequence number differs, so what surrounds it is read once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.base.dtypes import element_bytes
from viewer.base.ids import ABSENT, NOTHING_RECORDED
from viewer.jit.lanes import number_keys
from viewer.store.loose_json import loads
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

_TYPE_IN_NAME: Final = re.compile(r"_(?:bf|f|i|u)(8|16|32|64)_")
"""NCCL names its kernels AllReduce_Sum_f16_RING_LL."""
_BEFORE: Final = b'"Concrete Inputs":["",'
"""What stands before the sequence number, in all likelihood: what is read of the text around it must say so too."""
_SPACE, _QUOTE, _ZERO = b' "0'
_DIGITS: Final = 18
MOST_PARSED: Final = 100_000
"""Calls whose args are read one by one, where the import did not look at them."""


@dataclass(frozen=True, slots=True)
class CallEntry:
    """What calls say beside their numbers: members of the group, its mark in this process, bytes of the input."""

    members: int
    mark: str
    size_bytes: int | None


@dataclass(frozen=True, eq=False)
class Calls:
    """Per call its sequence number and its place in ``entries``, -1 for calls of another form."""

    number: I64
    entry: I64
    entries: tuple[CallEntry, ...]


def read_calls(trace: Trace, calls: I64, names: I32) -> Calls:
    """Read the inputs of calls.

    Args:
        trace: the file.
        calls: rows of ``slices``.
        names: of the kernel of each: its name tells a type where the inputs do not.
    """
    number, entry = np.full(len(calls), ABSENT, np.int64), np.full(len(calls), -1, np.int64)
    entries: dict[CallEntry, int] = {}
    codes = trace.slices.recorded[calls]
    listed = np.flatnonzero(codes >= 0)
    texts = trace.tables["recorded"].text.take(pa.array(codes[listed].astype(np.int64))).cast(pa.large_binary())
    parts, number[listed] = _apart(texts)
    around = parts.dictionary_encode()
    which, words = np.asarray(around.indices).reshape(-1, 3), around.dictionary
    keys = np.stack((which[:, 0], which[:, 2], names[listed]), axis=1).astype(np.int64)
    place = np.empty(len(keys), np.int32)
    distinct = keys[number_keys(keys, place)] if len(keys) else keys
    told = np.full(len(distinct), -1, np.int64)
    for k, (before, after, name) in enumerate(distinct.tolist()):
        one, other = (_read(words[before].as_py() + n + words[after].as_py(), trace.text(name)) for n in (b"1", b"2"))
        if one is not None and other is not None and (one[0], other[0]) == (1, 2):
            told[k] = entries.setdefault(CallEntry(*one[1:]), len(entries))
    entry[listed] = told[place]
    plain = np.flatnonzero((entry < 0) & (codes != NOTHING_RECORDED))[:MOST_PARSED]
    for i, text in zip(plain.tolist(), _texts(trace, calls[plain]), strict=True):
        whole = _read(text, trace.text(names[i]))
        if whole is not None:
            number[i], entry[i] = whole[0], entries.setdefault(CallEntry(*whole[1:]), len(entries))
    return Calls(number, entry, tuple(entries))


def _apart(texts: pa.LargeBinaryArray) -> tuple[pa.LargeBinaryArray, I64]:
    """Each text as three: up to its sequence number, that, what follows; and the numbers, ABSENT where none is seen.

    No byte is copied: the three lie one after another, as they do in the text.
    """
    count = len(texts)
    _, ends, data = texts.buffers()
    if not count or data is None:
        return pa.array([b""] * 3 * count, pa.large_binary()), np.full(count, ABSENT, np.int64)
    offset = np.frombuffer(ends, np.int64, count + 1, texts.offset * 8)
    import pyarrow.compute as pc  # takes long to load, and what paints lanes imports this file

    found = np.asarray(pc.find_substring(texts, _BEFORE)).astype(np.int64)
    first = np.where(found >= 0, offset[:-1] + found + len(_BEFORE), offset[1:])
    letters = np.append(np.frombuffer(data, np.uint8), np.uint8(0))
    for skipped in (_SPACE, _QUOTE):
        first += (first < offset[1:]) & (letters[first] == skipped)
    last, value = first.copy(), np.zeros(count, np.int64)
    going = np.arange(count)
    for _ in range(_DIGITS):
        going = going[last[going] < offset[going + 1]]
        now = letters[last[going]].astype(np.int64) - _ZERO
        more = (now >= 0) & (now <= 9)
        going, now = going[more], now[more]
        if not len(going):
            break
        value[going] = 10 * value[going] + now
        last[going] += 1
    number = np.where(last > first, value, ABSENT)
    borders = np.append(np.stack((offset[:-1], first, last), axis=1).reshape(-1), offset[-1])
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), 3 * count, [None, pa.py_buffer(borders), data]), number


def _texts(trace: Trace, rows: I64) -> list[bytes]:
    """The args of slices, read from the front to the back of the file."""
    order = np.argsort(trace.slices.args_off[rows], kind="stable")
    read = trace.args_text.read_many(
        trace.slices.args_off[rows[order]].tolist(), trace.slices.args_len[rows[order]].tolist()
    )
    out = [b""] * len(rows)
    for i, text in zip(order.tolist(), read, strict=True):
        out[i] = text
    return out


def _read(text: bytes, kernel: str) -> tuple[int, int, str, int | None] | None:
    return read_call(_object(text), kernel)


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_call(args: dict[str, Any], kernel: str) -> tuple[int, int, str, int | None] | None:
    """What the recorded inputs of a record_param_comms call say: (sequence number, group size, group's mark, bytes).

    The inputs are (tensors, sequence number, group, rank, name, split sizes, split sizes, .., group size), see
    ``RECORD_PARAM_COMMS_DATA`` in PyTorch's ParamCommsUtils.hpp; the group is written as its address in the process.
    Bytes are those of the first input, None where its shape or type is not recorded; a list of tensors has no type of
    its own, so that of the kernel's name is taken. None for calls of another form.
    """
    inputs = args.get("Concrete Inputs")
    if not isinstance(inputs, list) or not 8 <= len(inputs) <= 16 or inputs[0] not in ("", None):
        return None
    number, mark, members = (_whole(inputs[i]) for i in (1, 2, -1))
    if number is None or mark is None or members is None or not 1 <= members <= 1 << 24:
        return None
    return number, members, str(mark), _input_bytes(args, kernel)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    text = str(value)
    return int(text) if text.isdecimal() and len(text) <= 20 and int(text) < 2**62 else None


def _input_bytes(args: dict[str, Any], kernel: str) -> int | None:
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not shapes:
        return None
    each = element_bytes(types[0]) if isinstance(types, list) and types and isinstance(types[0], str) else None
    if each is None:
        named = _TYPE_IN_NAME.search(kernel[:200])
        each = int(named[1]) // 8 if named else None
    count = _elements(shapes[0], 0)
    return None if each is None or not count else each * count


def _elements(shape: Any, depth: int) -> int | None:
    """Elements of a shape, or of all shapes of a list of tensors."""
    if not isinstance(shape, list) or depth > 2 or not shape:
        return None
    if isinstance(shape[0], list):
        parts = [_elements(part, depth + 1) for part in shape]
        return sum(p for p in parts if p is not None) if all(p is not None for p in parts) else None
    product = 1
    for length in shape:
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < 1 << 48:
            return None
        product *= length
        if product >= 1 << 55:
            return None
    return product
