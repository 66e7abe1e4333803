"""The args of the profiler's allocator events to numbers, while the text is in memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT
from viewer.jit.config import kernel
from viewer.jit.scan_decimal import EXACT, parse_decimal
from viewer.jit.scan_intern import same_text
from viewer.jit.scan_load import apart, backslashes, load8
from viewer.jit.scan_text import CLOSE_OBJECT, COLON, COMMA, QUOTE, skip_space, skip_string

MEMORY_COLUMNS: Final[dict[str, Any]] = {
    "row": np.int64,
    "device_type": np.int64,
    "device": np.int64,
    "address": np.int64,
    "size": np.int64,
    "allocated": np.int64,
    "reserved": np.int64,
}
"""Row of marks, and what its args say; ABSENT where they do not."""
_KEYS = (b"Device Type", b"Device Id", b"Addr", b"Bytes", b"Total Allocated", b"Total Reserved")
KEY_TEXT: Final = np.frombuffer(b"".join(k.ljust(24, b"\0") for k in _KEYS), np.uint8)
KEY_SIZE: Final = np.array([len(k) for k in _KEYS], np.int64)

_ZERO, _ONE = np.uint64(0), np.uint64(1)

_parse_decimal = apart(parse_decimal)


@kernel
def read_memory_args(p: int, end: int, texts: NDArray[np.uint8], sizes: NDArray[np.int64], out: Any, at: Any) -> Any:
    """Read the args object [p, end) into ``out[1:, at]``; False unless it is JSON of whole numbers and plain texts."""
    for k in range(len(sizes)):
        out[1 + k, at] = ABSENT
    q = p
    while q < end:
        found = backslashes(q)
        if end - q < 64:
            found &= (_ONE << np.uint64(end - q)) - _ONE
        if found != _ZERO:
            return False
        q += 64
    p = skip_space(p + 1, end)
    if load8(p) == CLOSE_OBJECT:
        return p + 1 == end
    while p < end:
        if load8(p) != QUOTE:
            return False
        key = p + 1
        q = skip_string(key, end)
        p = skip_space(q + 1, end)
        if p >= end or load8(p) != COLON:
            return False
        p = skip_space(p + 1, end)
        which = -1
        for k in range(len(sizes)):
            if sizes[k] == q - key and same_text(key, texts.ctypes.data + 24 * k, q - key):
                which = k
        if load8(p) == QUOTE:
            if which >= 0:
                return False
            p = skip_string(p + 1, end) + 1
        else:
            begin = p
            value, p, state, form = _parse_decimal(p, 0)
            digits = begin + 1 if load8(begin) == 0x2D else begin
            zeros = load8(digits) == 48 and p - digits > 1
            if state != EXACT or form != 0 or zeros or load8(p - 1) == 0x2E:  # "."
                return False
            if which >= 0:
                out[1 + which, at] = value
        p = skip_space(p, end)
        if p >= end:
            return False
        c = load8(p)
        p += 1
        if c == CLOSE_OBJECT:
            return p == end
        if c != COMMA:
            return False
        p = skip_space(p, end)
    return False


@kernel
def read_memory(
    base: int,
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int32],
    rows: NDArray[np.int64],
    texts: NDArray[np.uint8],
    key_sizes: NDArray[np.int64],
    out: NDArray[np.int64],
) -> Any:
    """Read the args objects of some rows.

    Args:
        base: address from which ``offsets`` count; 64 bytes of room follow the text.
        offsets: int64[n], where the objects begin.
        sizes: int32[n], their bytes, 0 for none.
        rows: int64[m], which of them to read.
        texts: KEY_TEXT.
        key_sizes: KEY_SIZE.
        out: int64[len(MEMORY_COLUMNS), m]; a column per object that could be read, its row first.

    Returns:
        How many could be read. The others are left out: they take a slower road.
    """
    count = np.int64(0)
    for i in range(len(rows)):
        row = rows[i]
        if sizes[row] > 0:
            p = base + offsets[row]
            if read_memory_args(p, p + sizes[row], texts, key_sizes, out, count):
                out[0, count] = row
                count += 1
    return count
