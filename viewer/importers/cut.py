"""JSON that ends too early, closed behind its last whole record."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{}]', re.DOTALL)
_CLOSERS: Final = {b"{": b"}", b"[": b"]"}


def close_cut(text: bytes, deepest: int = 5) -> bytes:
    """The text up to the end of its last whole object of an array, with the brackets that are open there closed.

    Args:
        text: JSON that was cut off.
        deepest: arrays with more brackets around their elements are no arrays of records.

    Returns:
        b"" when there is no such object.
    """
    opened: list[bytes] = []
    end, open_there = 0, b""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token == b'"':
            break
        if token in _CLOSERS:
            opened.append(_CLOSERS[token])
        elif token in (b"]", b"}"):
            if not opened or opened.pop() != token:
                break
            if token == b"}" and opened and opened[-1] == b"]" and len(opened) <= deepest:
                end, open_there = found.end(), b"".join(reversed(opened))
    return text[:end] + open_there
