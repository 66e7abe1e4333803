"""Lists and dicts of the machine that reads pickles: what they become when items are put into them.

A list of frames is a stack; a dict with the keys of an allocator event, a block, a segment or a history is a row of
columns; one with a name and a file is a frame. Everything else is kept as entries: owner, key and value.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT
from viewer.jit.config import kernel
from viewer.jit.pickle_layout import (
    AS_INT,
    AS_OBJECT,
    AS_STACK,
    AS_TEXT,
    BLOCK_ROW,
    BOOL,
    DEEP,
    DICT,
    EMPTY_DICT,
    EMPTY_LIST,
    ENTRIES,
    EVENT_ROW,
    FRAME,
    HISTORY_ROW,
    INT,
    KEYS,
    LIST,
    MOST_FRAMES,
    NOTHING,
    OBJECT,
    PAIR,
    SEGMENT_ROW,
    SHAPE,
    STACK,
    STATE_WORDS,
    TEXT,
)
from viewer.jit.scan_intern import intern_text, overflowed
from viewer.jit.scan_load import apart, load8, load_id, load_int, store8, store_id, store_int

I64 = NDArray[np.int64]

FINE: Final = -1
NO_ROOM: Final = -2
NO_TABLE: Final = -3
"""What became of items; otherwise what is wrong. With NO_ROOM or NO_TABLE nothing was changed."""

_ACTION, _SIZE, _STATE, _TOTAL, _BLOCKS, _REAL, _NAME, _FILE, _LINE = (
    KEYS.index(k) for k in ("action", "size", "state", "total_size", "blocks", "real_size", "name", "filename", "line")
)
_KNOWN = len(KEYS)

_intern_text = apart(intern_text)


@kernel
def append_items(
    owner: int,
    first: int,
    depth: int,
    state: I64,
    stack: I64,
    objects: I64,
    entries: I64,
    tables: I64,
    width: I64,
    stacks: int,
    scratch: I64,
) -> Any:
    """Put the values [first, depth) of the stack into the list ``owner``. Arguments as of ``pickle_machine.run``.

    Returns:
        FINE, NO_TABLE, or what is wrong.
    """
    s_value, s_tag = stack[0], stack[1]
    o_ref, o_kind = objects[0], objects[1]
    kind = load8(o_kind + owner)
    if kind != EMPTY_LIST and kind != STACK and kind != LIST:  # noqa: PLR1714
        return SHAPE
    count = depth - first
    all_frames = count > 0 and kind != LIST
    if all_frames:
        for k in range(first, depth):
            if load8(s_tag + k) != OBJECT or load8(o_kind + load_int(s_value + 8 * k)) != FRAME:
                all_frames = False
                break
    if all_frames:
        used = np.int64(0)
        if kind == STACK:  # the rest of a stack that came in parts
            entry = load_int(stacks + 16) + 24 * load_id(o_ref + 4 * owner)
            used = load_int(entry + 16) // 8
            if used + count > MOST_FRAMES:
                return DEEP
            for k in range(used):
                scratch[k] = load_int(load_int(stacks + 40) + load_int(entry + 8) + 8 * k)
        if used + count > MOST_FRAMES:
            return DEEP
        for k in range(first, depth):
            scratch[used] = load_id(o_ref + 4 * load_int(s_value + 8 * k))
            used += 1
        number = np.int64(_intern_text(np.int64(scratch.ctypes.data), 8 * used, stacks))
        if overflowed(stacks):
            return NO_TABLE
        store8(o_kind + owner, STACK)
        store_id(o_ref + 4 * owner, number)
        return FINE
    if kind == STACK:
        return SHAPE
    e_key, e_value, e_owner, e_key_tag, e_tag = entries[0], entries[1], entries[2], entries[3], entries[4]
    n_entries = state[ENTRIES]
    store8(o_kind + owner, LIST)
    for k in range(first, depth):
        item_tag = load8(s_tag + k)
        item = load_int(s_value + 8 * k)
        if item_tag == OBJECT:
            what = load8(o_kind + item)
            if what >= EVENT_ROW and what <= HISTORY_ROW:
                row_kind = what - EVENT_ROW
                at = tables[row_kind, width[row_kind, 1] - 1] + 4 * load_id(o_ref + 4 * item)
                if load_id(at) == 0xFFFFFFFF:  # of the first list that holds it
                    store_id(at, owner)
                continue
        store_id(e_owner + 4 * n_entries, owner)
        store8(e_key_tag + n_entries, NOTHING)
        store_int(e_key + 8 * n_entries, np.int64(0))
        store8(e_tag + n_entries, item_tag)
        store_int(e_value + 8 * n_entries, item)
        n_entries += 1
    state[ENTRIES] = n_entries
    return FINE


@kernel
def kind_of_dict(first: int, depth: int, stack: I64) -> Any:
    """What a new dict of the pairs [first, depth) of the stack is, by its keys."""
    s_value, s_tag = stack[0], stack[1]
    known = np.int64(0)
    for k in range(first, depth, 2):
        key = load_int(s_value + 8 * k)
        if load8(s_tag + k) == TEXT and key < _KNOWN:
            known |= np.int64(1) << key
    kind = DICT
    if (known >> _ACTION) & 1:
        kind = EVENT_ROW
    elif (known >> _BLOCKS) & 1 and (known >> _TOTAL) & 1:
        kind = SEGMENT_ROW
    elif (known >> _STATE) & 1 and (known >> _SIZE) & 1:
        kind = BLOCK_ROW
    elif (known >> _FILE) & 1 and (known >> _NAME) & 1:
        kind = FRAME
    elif (known >> _REAL) & 1:
        kind = HISTORY_ROW
    return kind


@kernel
def set_items(
    owner: int,
    first: int,
    depth: int,
    state: I64,
    room: I64,
    stack: I64,
    objects: I64,
    entries: I64,
    tables: I64,
    field: I64,
    width: I64,
    frames: int,
    scratch: I64,
) -> Any:
    """Put the pairs [first, depth) of the stack into the dict ``owner``. Arguments as of ``pickle_machine.run``.

    Returns:
        FINE, NO_ROOM, NO_TABLE, or what is wrong.
    """
    s_value, s_tag = stack[0], stack[1]
    o_ref, o_kind = objects[0], objects[1]
    kind = load8(o_kind + owner)
    count = depth - first
    if count % 2 != 0:
        return SHAPE
    if kind == EMPTY_DICT and count > 0:
        kind = kind_of_dict(first, depth, stack)
        if kind >= EVENT_ROW and kind <= HISTORY_ROW:
            row_kind = kind - EVENT_ROW
            row = state[STATE_WORDS + row_kind]
            if row + 1 >= room[4 + row_kind]:
                return NO_ROOM
            for c in range(width[row_kind, 0]):
                store_int(tables[row_kind, c] + 8 * row, ABSENT)
            for c in range(width[row_kind, 0], width[row_kind, 1]):
                store_id(tables[row_kind, c] + 4 * row, np.int64(-1))
            store_id(o_ref + 4 * owner, row)
            state[STATE_WORDS + row_kind] = row + 1
        elif kind == FRAME:
            scratch[0] = np.int64(-1)
            scratch[1] = np.int64(-1)
            scratch[2] = np.int64(0)
            for k in range(first, depth, 2):
                key = load_int(s_value + 8 * k)
                item_tag = load8(s_tag + k + 1)
                if load8(s_tag + k) == TEXT:
                    if key == _NAME and item_tag == TEXT:
                        scratch[0] = load_int(s_value + 8 * (k + 1))
                    elif key == _FILE and item_tag == TEXT:
                        scratch[1] = load_int(s_value + 8 * (k + 1))
                    elif key == _LINE and item_tag == INT:
                        scratch[2] = load_int(s_value + 8 * (k + 1))
            number = np.int64(_intern_text(np.int64(scratch.ctypes.data), np.int64(24), frames))
            if overflowed(frames):
                return NO_TABLE
            store_id(o_ref + 4 * owner, number)
        store8(o_kind + owner, kind)
    if kind == DICT:
        e_key, e_value, e_owner, e_key_tag, e_tag = entries[0], entries[1], entries[2], entries[3], entries[4]
        n_entries = state[ENTRIES]
        for k in range(first, depth, 2):
            if load8(s_tag + k) == OBJECT:
                return SHAPE
            store_id(e_owner + 4 * n_entries, owner)
            store8(e_key_tag + n_entries, load8(s_tag + k))
            store_int(e_key + 8 * n_entries, load_int(s_value + 8 * k))
            store8(e_tag + n_entries, load8(s_tag + k + 1))
            store_int(e_value + 8 * n_entries, load_int(s_value + 8 * (k + 1)))
            n_entries += 1
        state[ENTRIES] = n_entries
    elif kind >= EVENT_ROW and kind <= HISTORY_ROW:
        row_kind = kind - EVENT_ROW
        row = load_id(o_ref + 4 * owner)
        for k in range(first, depth, 2):
            key = load_int(s_value + 8 * k)
            if load8(s_tag + k) != TEXT or key >= _KNOWN:
                continue
            how = field[row_kind, key]
            if how < 0:
                continue
            at = tables[row_kind, how & 0xFF]
            how >>= 8
            item_tag = load8(s_tag + k + 1)
            item = load_int(s_value + 8 * (k + 1))
            if how == AS_INT:
                if item_tag == INT or item_tag == BOOL:  # noqa: PLR1714
                    store_int(at + 8 * row, item)
            elif how == AS_TEXT:
                if item_tag == TEXT:
                    store_id(at + 4 * row, item)
            elif how == AS_STACK:
                if item_tag == OBJECT and load8(o_kind + item) == STACK:
                    store_id(at + 4 * row, load_id(o_ref + 4 * item))
            elif how == AS_OBJECT:
                if item_tag == OBJECT:
                    store_id(at + 4 * row, item)
            elif item_tag == PAIR:
                store_id(at + 4 * row, item)
            elif item_tag == OBJECT:
                store_id(at + 4 * row, np.int64(-2) - item)
    elif kind != FRAME and kind != EMPTY_DICT:  # noqa: PLR1714
        return SHAPE
    return FINE
