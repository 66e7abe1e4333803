"""What args record of operators and GPU work, many slices at once: distinct texts are decoded once.

The table ``recorded`` holds what the import numbered; the args text is read for what nobody looked at then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import NOTHING_RECORDED, UNREAD
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
K = TypeVar("K", bound=Hashable)


def numbered(trace: Trace, rows: I64, decode: Callable[[bytes], K]) -> tuple[I64, list[K]]:
    """What is recorded of slices: for each row the number of its entry, and the distinct entries.

    Args:
        trace: the file.
        rows: rows of ``slices``.
        decode: gets the text of a JSON object with the fields of the table ``recorded`` at least; args that are out of
            reach are b"". It must not raise.
    """
    s, texts = trace.slices, trace.tables["recorded"].text
    codes = s.recorded[rows]
    numbers: dict[K, int] = {}
    there = np.zeros(len(texts) + 2, np.bool_)
    there[codes - UNREAD] = True
    place = np.full(len(there), -1, np.int64)
    for at in np.flatnonzero(there).tolist():
        code = at + UNREAD
        if code != UNREAD:
            text = b"{}" if code == NOTHING_RECORDED else texts[code].as_py().encode()
            place[at] = numbers.setdefault(decode(text), len(numbers))
    out = place[codes - UNREAD]
    if there[0]:
        unread = np.flatnonzero(codes == UNREAD)
        unread = unread[np.argsort(s.args_off[rows[unread]], kind="stable")]  # text is read from front to back
        at_rows = rows[unread]
        read = trace.args_text.read_many(s.args_off[at_rows].tolist(), s.args_len[at_rows].tolist())
        for row, text in zip(unread.tolist(), read, strict=True):
            out[row] = numbers.setdefault(decode(text), len(numbers))
    return out, list(numbers)
