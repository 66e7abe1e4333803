"""What the machine of ``viewer.jit.pickle_machine`` makes of a pickle: its states, tags, and kinds of rows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]

# Why the machine stopped.
MORE, DONE, ROOM, GROW, BAD = range(5)

# What is wrong, when it is BAD.
CODE, UNKNOWN, UNDERFLOW, DEEP, CLAIM, MEMO_LOST, MEMO_FAR, SHAPE, TUPLE_KEYS, PROTOCOL = range(10)

# Tags of values. A memo slot that was never set is NOTHING.
NOTHING, NONE, BOOL, INT, BIG, FLOAT, TEXT, BYTES, OBJECT, PAIR = range(10)

# Kinds of objects.
(_, EMPTY_DICT, EMPTY_LIST, EVENT_ROW, BLOCK_ROW, SEGMENT_ROW, HISTORY_ROW, FRAME, DICT, STACK, LIST, TUPLE) = range(12)

# Words of the state; the number of rows of each kind follows them.
(POSITION, DEPTH, MARKS, MEMO, OBJECTS, ENTRIES, ERROR, ERROR_AT, RESULT_TAG, RESULT, ORIGIN, CLAIMED) = range(12)
STATE_WORDS: Final = 12

MOST_MARKS: Final = 200
"""Containers that are open at once; a snapshot has six."""
LONGEST: Final = 60 << 20
"""Bytes of one text."""
MOST_FRAMES: Final = 1 << 16
"""Frames of one stack."""

KEYS: Final = (
    "action", "addr", "device_free", "size", "stream", "time_us", "frames", "pool_id", "compile_context",
    "user_metadata", "address", "requested_size", "state", "history", "total_size", "allocated_size", "active_size",
    "segment_type", "segment_pool_id", "is_expandable", "blocks", "device", "real_size", "name", "filename", "line",
    "category",
)  # fmt: skip
"""Keys that mean something, numbered: they are the first texts of the table of texts."""
# How a value gets into a column: an integer; a text's number; a stack's; an object's; a pair's, or -2 - an object's.
AS_INT, AS_TEXT, AS_STACK, AS_OBJECT, AS_PAIR = range(5)

KINDS: Final[tuple[tuple[tuple[str, int, tuple[str, ...]], ...], ...]] = (
    (
        ("address", AS_INT, ("addr", "device_free")),
        ("size", AS_INT, ("size",)),
        ("stream", AS_INT, ("stream",)),
        ("time_us", AS_INT, ("time_us",)),
        ("action", AS_TEXT, ("action",)),
        ("stack", AS_STACK, ("frames",)),
        ("pool", AS_PAIR, ("pool_id", "segment_pool_id")),
        ("context", AS_TEXT, ("compile_context",)),
        ("note", AS_TEXT, ("user_metadata",)),
        ("category", AS_TEXT, ("category",)),
        ("list", AS_OBJECT, ()),
    ),
    (
        ("address", AS_INT, ("address", "addr")),
        ("size", AS_INT, ("size",)),
        ("requested", AS_INT, ("requested_size",)),
        ("state", AS_TEXT, ("state",)),
        ("stack", AS_STACK, ("frames",)),
        ("history", AS_OBJECT, ("history",)),
        ("list", AS_OBJECT, ()),
    ),
    (
        ("address", AS_INT, ("address",)),
        ("size", AS_INT, ("total_size",)),
        ("stream", AS_INT, ("stream",)),
        ("allocated", AS_INT, ("allocated_size",)),
        ("active", AS_INT, ("active_size",)),
        ("requested", AS_INT, ("requested_size",)),
        ("device", AS_INT, ("device",)),
        ("expandable", AS_INT, ("is_expandable",)),
        ("type", AS_TEXT, ("segment_type",)),
        ("pool", AS_PAIR, ("segment_pool_id",)),
        ("stack", AS_STACK, ("frames",)),
        ("blocks", AS_OBJECT, ("blocks",)),
        ("list", AS_OBJECT, ()),
    ),
    (
        ("address", AS_INT, ("addr",)),
        ("size", AS_INT, ("real_size",)),
        ("stack", AS_STACK, ("frames",)),
        ("list", AS_OBJECT, ()),
    ),
)
"""Of each kind of row (events, blocks, segments, histories) the columns: name, how, keys of the dict."""
MOST_COLUMNS: Final = max(map(len, KINDS))


def columns_of(kind: int) -> dict[str, Any]:
    """Types of the columns of a kind of rows, by name; those of 64 bits stand first."""
    return {name: np.int64 if how == AS_INT else np.int32 for name, how, _ in KINDS[kind]}


def fields() -> I64:
    """int64[kinds, keys]: column | how << 8 of each key, -1 where it means nothing."""
    out = np.full((len(KINDS), len(KEYS)), -1, np.int64)
    for kind, columns in enumerate(KINDS):
        for number, (_, how, keys) in enumerate(columns):
            for key in keys:
                out[kind, KEYS.index(key)] = number | how << 8
    return out


def widths() -> I64:
    """int64[kinds, 2]: columns of 64 bits, and all columns."""
    return np.array([[sum(how == AS_INT for _, how, _ in columns), len(columns)] for columns in KINDS], np.int64)
