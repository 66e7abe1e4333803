"""Which args objects hold bytes that are no UTF-8: they are read on demand, but counted while the file is read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def is_more_than_ascii(text: NDArray[np.uint8]) -> bool:
    """Whether a text may hold bytes that are no UTF-8 at all; it rarely does, and this is quick."""
    return len(text) > 0 and int(text.max()) >= 0x80


def rows_with_bad_bytes(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], sizes: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Rows whose bytes [offset, offset + size) of ``text`` are no UTF-8, ascending.

    Args:
        text: uint8[n]; what lies between the rows is not looked at closely.
        offsets: int64[rows], ascending; rows of size 0 are left out.
        sizes: int32[rows], bytes.
    """
    rows = np.flatnonzero(sizes > 0)
    none = np.empty(0, np.int64)
    if not len(rows):
        return none
    begin, end = int(offsets[rows[0]]), int(offsets[rows[-1]]) + int(sizes[rows[-1]])
    region = text[begin:end]
    if not is_more_than_ascii(region) or _is_utf8(region):
        return none
    high = np.flatnonzero(region >= 0x80) + begin
    suspects = np.unique(np.searchsorted(offsets[rows], high, "right") - 1)
    found = [r for r in rows[suspects].tolist() if not _is_utf8(text[offsets[r] : offsets[r] + sizes[r]])]
    return np.array(found, np.int64)


def _is_utf8(text: NDArray[np.uint8]) -> bool:
    ends = pa.py_buffer(np.array([0, len(text)], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(np.ascontiguousarray(text))).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
