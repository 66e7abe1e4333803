"""Around the events: the keys and values of the top level, and the text of args objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel
from viewer.jit.scan_events import ARRAY_END, FULL, MORE, STUCK
from viewer.jit.scan_load import apart, load8, load_int, store_int
from viewer.jit.scan_text import CLOSE_OBJECT, COLON, COMMA, QUOTE, skip_space, skip_string, skip_value

_skip_value = apart(skip_value)


@kernel
def next_key(base: int, position: int, limit: int, out: NDArray[np.int64]) -> Any:
    """The next key of a top-level object.

    Writes the key's position, its size and the position of its value to ``out``. Returns MORE when they have not all
    arrived, ARRAY_END at the closing brace, FULL when a key was found, STUCK at a byte that begins no key.
    """
    end = base + limit
    p = skip_space(base + position, end)
    while p < end and load8(p) == COMMA:
        p = skip_space(p + 1, end)
    out[2] = p - base
    if p >= end:
        return MORE
    if load8(p) == CLOSE_OBJECT:
        return ARRAY_END
    if load8(p) != QUOTE:
        return STUCK
    q = skip_string(p + 1, end)
    if q >= end:
        return MORE
    v = skip_space(q + 1, end)
    if v >= end:
        return MORE
    if load8(v) != COLON:
        return STUCK
    v = skip_space(v + 1, end)
    if v >= end:
        return MORE
    out[0] = p + 1 - base
    out[1] = q - p - 1
    out[2] = v - base
    return FULL


@kernel
def value_end(base: int, position: int, limit: int) -> Any:
    """Position behind the value at ``position``; more than ``limit`` when it has not all arrived."""
    return _skip_value(base + position, base + limit) - base


@kernel
def gather_args(
    base: int, origin: int, offsets: NDArray[np.int64], sizes: NDArray[np.int32], out: NDArray[np.uint8], used: int
) -> Any:
    """Copy args objects out of a text and renumber them.

    ``offsets[n]`` count from the source's first byte and become positions in ``out``, where the objects are appended
    behind ``used``. Returns the new ``used``, or the size that ``out`` needs, negated, when it is too small.
    """
    total = 0
    for i in range(len(offsets)):
        total += sizes[i]
    if used + total + 8 > len(out):
        return -(used + total + 8)
    for i in range(len(offsets)):
        size = sizes[i]
        if size == 0:
            continue
        p = base + (offsets[i] - origin)
        to = out.ctypes.data + used
        k = 0
        while k < size:  # writes up to seven bytes too many: there is room
            store_int(to + k, load_int(p + k))
            k += 8
        offsets[i] = used
        used += size
    return used
