"""A machine for the opcodes of pickles that hold plain containers only, straight into columns.

It knows no opcode that imports, calls or builds anything: those end the run. Dicts that look like what an allocator
snapshot holds (by their keys) become rows of KINDS, frames and stacks are numbered (``pickle_containers``), everything
else is kept as entries from which small plain objects can be made again (``viewer.importers.pickle_columns``). Depth
and sizes are bounded by the room that the caller gives; a claim of a size is believed only when that many bytes are
there.

Opcodes as documented in Python's Lib/pickletools.py, protocols 2 to 5.
"""

# ruff: noqa: PLR1714 (a chain of compares compiles to less than a test against a tuple)

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel
from viewer.jit.pickle_containers import NO_ROOM, NO_TABLE, append_items, set_items
from viewer.jit.pickle_layout import (
    BAD,
    BIG,
    BOOL,
    BYTES,
    CLAIM,
    CLAIMED,
    CODE,
    DEEP,
    DEPTH,
    DONE,
    EMPTY_DICT,
    EMPTY_LIST,
    ENTRIES,
    ERROR,
    ERROR_AT,
    FLOAT,
    GROW,
    INT,
    LONGEST,
    MARKS,
    MEMO,
    MEMO_FAR,
    MEMO_LOST,
    MORE,
    MOST_MARKS,
    NONE,
    NOTHING,
    OBJECT,
    OBJECTS,
    ORIGIN,
    PAIR,
    POSITION,
    PROTOCOL,
    RESULT,
    RESULT_TAG,
    ROOM,
    SHAPE,
    TEXT,
    TUPLE,
    UNDERFLOW,
    UNKNOWN,
)
from viewer.jit.scan_intern import intern_text, overflowed
from viewer.jit.scan_load import apart, load8, load_int, store8, store_id, store_int

I64 = NDArray[np.int64]

_intern_text = apart(intern_text)


@kernel
def _big_end(p: int, count: int) -> Any:
    """``count`` bytes, little end first, as an unsigned number of at most 64 bits (in an int64)."""
    value = np.int64(0)
    for k in range(count):
        value |= load8(p + k) << np.int64(8 * k)
    return value


_little = apart(_big_end)


@kernel
def run(
    base: int,
    limit: int,
    state: I64,
    room: I64,
    stack: I64,
    marks: I64,
    memo: I64,
    objects: I64,
    entries: I64,
    tables: I64,
    field: I64,
    width: I64,
    texts: int,
    frames: int,
    stacks: int,
    pairs: int,
    scratch: I64,
) -> Any:
    """Execute opcodes from the state's POSITION on.

    Args:
        base: address of the bytes; ``limit`` of them have arrived, zeroed room follows.
        limit: see above.
        state: STATE_WORDS words, then the number of rows of each kind.
        room: int64[4 + kinds]: room of the stack, the memo, the objects, the entries, and of each kind of rows.
        stack: addresses of its columns value (int64) and tag (uint8); so for ``memo``.
        marks: int64[MOST_MARKS].
        memo: see above.
        objects: addresses of the columns ref (int32) and kind (uint8).
        entries: addresses of the columns key and value (int64), owner (int32), key_tag and tag (uint8).
        tables: int64[kinds, MOST_COLUMNS], addresses of the columns of rows.
        field: see fields().
        width: see widths().
        texts: address of the state of the StringTable of texts, which begins with KEYS.
        frames: of the one of frames: 3 int64, name, file and line.
        stacks: of the one of stacks: int64 per frame.
        pairs: of the one of pairs of integers.
        scratch: int64[MOST_FRAMES].

    Returns:
        MORE when an opcode has not arrived whole, DONE at the end, ROOM when something is full (then twice as much
        is needed), GROW when a table of numbers is, BAD with ERROR and ERROR_AT. POSITION is where to go on.
    """
    end = base + limit
    p = base + state[POSITION]
    depth = state[DEPTH]
    n_marks = state[MARKS]
    n_memo = state[MEMO]
    n_objects = state[OBJECTS]
    n_entries = state[ENTRIES]
    s_value, s_tag = stack[0], stack[1]
    m_value, m_tag = memo[0], memo[1]
    o_ref, o_kind = objects[0], objects[1]
    e_key, e_value, e_owner, e_key_tag, e_tag = entries[0], entries[1], entries[2], entries[3], entries[4]
    status = MORE
    error = -1
    while True:
        start = p
        if p >= end:
            break
        if depth + 4 >= room[0] or n_memo + 2 >= room[1] or n_objects + 2 >= room[2]:
            status = ROOM
            break
        op = load8(p)
        left = end - p - 1
        # What is pushed, or done with the last items: decided first, done once below.
        tag = NOTHING
        value = np.int64(0)
        collect = 0  # 1: items of a list, 2: pairs of a dict, 3: a tuple
        first = depth
        if op == 0x68 or op == 0x6A or op == 0x67:  # BINGET, LONG_BINGET, (GET)
            if op == 0x67:
                error = UNKNOWN
                break
            size = 1 if op == 0x68 else 4
            if left < size:
                break
            slot = _little(p + 1, size)
            p += 1 + size
            if slot >= n_memo:
                error = MEMO_LOST
                break
            tag = load8(m_tag + slot)
            value = load_int(m_value + 8 * slot)
            if tag == NOTHING:
                error = MEMO_LOST
                break
        elif op == 0x94 or op == 0x71 or op == 0x72:  # MEMOIZE, BINPUT, LONG_BINPUT
            size = 0 if op == 0x94 else (1 if op == 0x71 else 4)
            if left < size:
                break
            slot = _little(p + 1, size) if size else n_memo
            # A pickler numbers what it keeps one by one: a number beyond the bytes so far is a trap.
            if slot > state[ORIGIN] + (p - base):
                error = MEMO_FAR
                break
            if slot + 2 >= room[1]:
                state[CLAIMED] = slot + 4
                status = ROOM
                break
            if depth == 0:
                error = UNDERFLOW
                break
            p += 1 + size
            store8(m_tag + slot, load8(s_tag + depth - 1))
            store_int(m_value + 8 * slot, load_int(s_value + 8 * (depth - 1)))
            n_memo = max(n_memo, slot + 1)
            continue
        elif op == 0x28:  # MARK
            if n_marks >= MOST_MARKS:
                error = DEEP
                break
            marks[n_marks] = depth
            n_marks += 1
            p += 1
            continue
        elif op == 0x4B or op == 0x4D or op == 0x4A:  # BININT1, BININT2, BININT
            size = 1 if op == 0x4B else (2 if op == 0x4D else 4)
            if left < size:
                break
            value = _little(p + 1, size)
            if size == 4 and value >= 0x80000000:
                value -= 0x100000000
            tag = INT
            p += 1 + size
        elif op == 0x8A or op == 0x8B:  # LONG1, LONG4
            size = 1 if op == 0x8A else 4
            if left < size:
                break
            count = _little(p + 1, size)
            if count > LONGEST:
                state[CLAIMED] = count
                error = CLAIM
                break
            if left < size + count:
                state[CLAIMED] = count
                break
            q = p + 1 + size
            tag = INT
            if count == 9 and load8(q + 8) == 0:
                value = _little(q, 8)  # an address in the upper half: its bits
            elif count > 8:
                tag = BIG
            elif count > 0:
                value = _little(q, count)
                if count < 8 and load8(q + count - 1) >= 0x80:
                    value -= np.int64(1) << np.int64(8 * count)
            p = q + count
        elif (
            op == 0x8C or op == 0x58 or op == 0x8D  # SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
            or op == 0x55 or op == 0x54  # SHORT_BINSTRING, BINSTRING
            or op == 0x43 or op == 0x42 or op == 0x8E or op == 0x96  # bytes of three sizes, BYTEARRAY8
        ):  # fmt: skip
            size = 1 if op == 0x8C or op == 0x55 or op == 0x43 else (8 if op == 0x8D or op == 0x8E or op == 0x96 else 4)
            if left < size:
                break
            count = _little(p + 1, size)
            if count < 0 or count > LONGEST:
                state[CLAIMED] = count
                error = CLAIM
                break
            if left < size + count:
                state[CLAIMED] = count
                break
            if op == 0x43 or op == 0x42 or op == 0x8E or op == 0x96:
                tag = BYTES
                value = count
            else:
                value = np.int64(_intern_text(p + 1 + size, count, texts))
                if overflowed(texts):
                    status = GROW
                    break
                tag = TEXT
            p += 1 + size + count
        elif op == 0x75 or op == 0x73:  # SETITEMS, SETITEM
            collect = 2
        elif op == 0x65 or op == 0x61:  # APPENDS, APPEND
            collect = 1
        elif op == 0x7D or op == 0x5D:  # EMPTY_DICT, EMPTY_LIST
            tag = OBJECT
            value = n_objects
            store8(o_kind + n_objects, EMPTY_DICT if op == 0x7D else EMPTY_LIST)
            store_id(o_ref + 4 * n_objects, np.int64(-1))
            n_objects += 1
            p += 1
        elif op == 0x86 or op == 0x85 or op == 0x87 or op == 0x74 or op == 0x29:  # TUPLE2, TUPLE1, TUPLE3, TUPLE, ()
            collect = 3
        elif op == 0x4E:  # NONE
            tag = NONE
            p += 1
        elif op == 0x88 or op == 0x89:  # NEWTRUE, NEWFALSE
            tag = BOOL
            value = np.int64(op == 0x88)
            p += 1
        elif op == 0x47:  # BINFLOAT: big end first
            if left < 8:
                break
            for k in range(8):
                value = (value << np.int64(8)) | load8(p + 1 + k)
            tag = FLOAT
            p += 9
        elif op == 0x95:  # FRAME: how much could be read at once, nobody has to
            if left < 8:
                break
            p += 9
            continue
        elif op == 0x80:  # PROTO
            if left < 1:
                break
            if load8(p + 1) < 2 or load8(p + 1) > 5:
                state[CLAIMED] = load8(p + 1)
                error = PROTOCOL
                break
            p += 2
            continue
        elif op == 0x2E:  # STOP
            if depth != 1 or n_marks != 0:
                error = UNDERFLOW
                break
            state[RESULT_TAG] = load8(s_tag)
            state[RESULT] = load_int(s_value)
            p += 1
            status = DONE
            break
        elif op == 0x30 or op == 0x32 or op == 0x31:  # POP, DUP, POP_MARK
            floor = marks[n_marks - 1] if n_marks > 0 else np.int64(0)
            p += 1
            if op == 0x31:
                if n_marks == 0:
                    error = UNDERFLOW
                    break
                n_marks -= 1
                depth = floor
                continue
            if depth <= floor:
                error = UNDERFLOW
                break
            if op == 0x30:
                depth -= 1
                continue
            tag = load8(s_tag + depth - 1)
            value = load_int(s_value + 8 * (depth - 1))
        elif (
            op == 0x63 or op == 0x93 or op == 0x52 or op == 0x62 or op == 0x69 or op == 0x6F  # GLOBAL .. OBJ
            or op == 0x81 or op == 0x92 or (op >= 0x82 and op <= 0x84) or op == 0x50 or op == 0x51  # NEWOBJ .. PERSID
        ):  # fmt: skip
            error = CODE
            break
        else:
            error = UNKNOWN
            break

        if collect != 0:
            # Items are stack[first:depth].
            floor = marks[n_marks - 1] if n_marks > 0 else np.int64(0)
            marked = op == 0x75 or op == 0x65 or op == 0x74
            if marked:
                if n_marks == 0:
                    error = UNDERFLOW
                    break
                first = floor
            elif op == 0x29:
                first = depth
            else:
                first = depth - (1 if op == 0x61 or op == 0x85 else (3 if op == 0x87 else 2))
            target = first - 1
            if (not marked and first < floor) or (collect != 3 and target < 0):
                error = UNDERFLOW
                break
            if marked and collect != 3 and n_marks > 1 and target < marks[n_marks - 2]:
                error = UNDERFLOW
                break
            if not marked and collect != 3 and target < floor:
                error = UNDERFLOW
                break
            count = depth - first
            if n_entries + count + 1 >= room[3]:
                state[CLAIMED] = count
                status = ROOM
                break
            if collect == 3:
                number = np.int64(-1)
                if count == 2 and load8(s_tag + first) == INT and load8(s_tag + first + 1) == INT:
                    number = np.int64(_intern_text(s_value + 8 * first, np.int64(16), pairs))
                    if overflowed(pairs):
                        status = GROW
                        break
                    tag = PAIR
                    value = number
                else:
                    tag = OBJECT
                    value = n_objects
                    store8(o_kind + n_objects, TUPLE)
                    store_id(o_ref + 4 * n_objects, np.int64(-1))
                    n_objects += 1
                    for k in range(first, depth):
                        store_id(e_owner + 4 * n_entries, value)
                        store8(e_key_tag + n_entries, NOTHING)
                        store_int(e_key + 8 * n_entries, np.int64(0))
                        store8(e_tag + n_entries, load8(s_tag + k))
                        store_int(e_value + 8 * n_entries, load_int(s_value + 8 * k))
                        n_entries += 1
            else:
                if load8(s_tag + target) != OBJECT:
                    error = SHAPE
                    break
                owner = load_int(s_value + 8 * target)
                state[ENTRIES] = n_entries
                if collect == 1:
                    outcome = append_items(
                        owner, first, depth, state, stack, objects, entries, tables, width, stacks, scratch
                    )
                else:
                    outcome = set_items(
                        owner, first, depth, state, room, stack, objects, entries, tables, field, width, frames, scratch
                    )
                n_entries = state[ENTRIES]
                if outcome == NO_ROOM:
                    status = ROOM
                    break
                if outcome == NO_TABLE:
                    status = GROW
                    break
                if outcome >= 0:
                    error = outcome
                    break
            if marked:
                n_marks -= 1
            depth = first
            p += 1
            if collect != 3:
                continue
        store8(s_tag + depth, tag)
        store_int(s_value + 8 * depth, value)
        depth += 1
    if error >= 0:
        status = BAD
        state[ERROR] = error
        state[ERROR_AT] = start - base
        p = start
    elif status != DONE:
        p = start
    state[POSITION] = p - base
    state[DEPTH] = depth
    state[MARKS] = n_marks
    state[MEMO] = n_memo
    state[OBJECTS] = n_objects
    state[ENTRIES] = n_entries
    return status
