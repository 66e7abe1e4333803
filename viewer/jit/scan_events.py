"""The event loop: objects of a trace's event array to raw columns.

Events with phase X become rows of the slice block, all others rows of the mark block; see the row constants. The loop
stops at event borders only, so a text may arrive in pieces of any size.
"""

# ruff: noqa: PLR1714 (a chain of compares compiles to less than a test against a tuple)

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT
from viewer.jit.config import kernel
from viewer.jit.scan_args import next_member, read_collective, read_id, read_label, read_links
from viewer.jit.scan_decimal import NO_NUMBER, ROUNDED, TOO_LARGE, parse_decimal
from viewer.jit.scan_intern import intern_text, overflowed
from viewer.jit.scan_load import apart, load8, load64
from viewer.jit.scan_text import (
    BACKSLASH,
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    skip_container,
    skip_space,
    skip_string,
    skip_value,
)

# Why the loop stopped.
MORE, ARRAY_END, FULL, GROW, STUCK = range(5)

# Rows of the 64-bit columns of a block.
TS, DUR, PID, TID, AT, ARGS, CORR, EXT, DEVICE, STREAM = range(10)
ID, VALUE = 6, 7
"""In the mark block the id of a flow or async event, and the label of a metadata event."""
WIDE_SLICE: Final = 10
WIDE_MARK: Final = 8
# Rows of the 32-bit columns.
NAME, CAT, ARGS_SIZE = range(3)
# Rows of the 8-bit columns.
PHASE, TS_FORM, DUR_FORM = range(3)

# Words of the counters.
SLICES, MARKS, COLLECTIVES, POSITION, COUNTS = range(5)
"""Rows used in the three blocks, where the scan stands, and the first pair (count, first offset) of a reason."""
# Typed, or the counting loop is compiled once for each of them.
_REASONS: Any = [np.int64(k) for k in range(8)]
EMPTY, NO_OBJECT, NO_PHASE, NO_TIME, ROUNDED_TIME, NEGATIVE, FAR_TIME, READ = _REASONS
COUNTER_WORDS: Final = COUNTS + 16

_FAR: Final = 1 << 62
_16, _24, _32 = np.uint64(0xFFFF), np.uint64(0xFFFFFF), np.uint64(0xFFFFFFFF)
_40, _48 = np.uint64(0xFFFFFFFFFF), np.uint64(0xFFFFFFFFFFFF)


_parse_decimal, _intern_text, _skip_value = apart(parse_decimal), apart(intern_text), apart(skip_value)
_skip_container, _read_id, _read_links = apart(skip_container), apart(read_id), apart(read_links)
_read_label, _read_collective = apart(read_label), apart(read_collective)


def _key(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(text.encode(), "little"))


_PH, _TS, _ID = _key('ph":'), _key('ts":'), _key('id":')
_DUR, _CAT, _PID, _TID, _ID2 = _key('dur":'), _key('cat":'), _key('pid":'), _key('tid":'), _key('id2":')
_NAME, _ARGS = _key('name":'), _key('args":')
(
    _OTHER,
    _ESCAPED,
    _CHAR_PHASE,
    _NUMBER_TIME,
    _NUMBER_DUR,
    _TEXT_NAME,
    _TEXT_CAT,
    _ID_PID,
    _ID_TID,
    _ID_ID,
    _OBJECT_ID2,
    _OBJECT_ARGS,
) = range(12)
_KEY_SIZE = (0, 0, 4, 4, 5, 6, 5, 5, 5, 4, 5, 6)
"""Bytes of each known key with its closing quote and colon."""
_PHASE_X, _PHASE_M = ord("X"), ord("M")


@kernel
def _count(counters: NDArray[np.int64], reason: int, offset: int) -> None:
    if counters[COUNTS + 2 * reason] == 0:
        counters[COUNTS + 2 * reason + 1] = offset
    counters[COUNTS + 2 * reason] += 1


@kernel
def _which(key: int) -> Any:
    """Which of the known keys begins at ``key``, closing quote and colon included; _OTHER for anything else."""
    text = load64(key)
    four = text & _32
    if four == _TS:
        return _NUMBER_TIME
    if four == _PH:
        return _CHAR_PHASE
    five = text & _40
    if five == _PID:
        return _ID_PID
    if five == _TID:
        return _ID_TID
    if five == _CAT:
        return _TEXT_CAT
    if five == _DUR:
        return _NUMBER_DUR
    six = text & _48
    if six == _NAME:
        return _TEXT_NAME
    if six == _ARGS:
        return _OBJECT_ARGS
    if four == _ID:
        return _ID_ID
    if five == _ID2:
        return _OBJECT_ID2
    return _OTHER


@kernel
def _unusual(key: int, size: int) -> Any:
    """Which known key stands at ``key`` where space parts it from its colon; _ESCAPED where escapes may hide one."""
    text = load64(key)
    if size == 2:
        text &= _16
        if text == _TS & _16:
            return _NUMBER_TIME
        if text == _PH & _16:
            return _CHAR_PHASE
        if text == _ID & _16:
            return _ID_ID
    elif size == 3:
        text &= _24
        if text == _PID & _24:
            return _ID_PID
        if text == _TID & _24:
            return _ID_TID
        if text == _CAT & _24:
            return _TEXT_CAT
        if text == _DUR & _24:
            return _NUMBER_DUR
        if text == _ID2 & _24:
            return _OBJECT_ID2
    elif size == 4:
        text &= _32
        if text == _NAME & _32:
            return _TEXT_NAME
        if text == _ARGS & _32:
            return _OBJECT_ARGS
    elif size >= 6:
        for k in range(min(size, 30)):
            if load8(key + k) == BACKSLASH:
                return _ESCAPED
    return _OTHER


@kernel
def _read_second_id(p: int, end: int, strings: int) -> Any:
    """The id in {"local": ID} or {"global": ID}."""
    _, size, v = next_member(p + 1, end)
    if size < 0:
        return ABSENT
    ident, v = _read_id(v, end, strings)
    return ident


@kernel
def _read_time(p: int, end: int) -> Any:
    """Microseconds, also as text, to ns: (value, address behind it, state, form)."""
    if load8(p) == QUOTE:
        q = skip_string(p + 1, end)
        value, r, state, form = _parse_decimal(p + 1, 3)
        if r != q:
            return ABSENT, q + 1, NO_NUMBER, 0
        return value, q + 1, state, form
    value, q, state, form = _parse_decimal(p, 3)
    if state == NO_NUMBER:
        q = _skip_value(p, end)
    return value, q, state, form


@kernel
def _read_text(p: int, end: int, strings: int) -> Any:
    """A name or category: (its number in ``strings`` or -1, address behind it)."""
    c = load8(p)
    if c == QUOTE:
        q = skip_string(p + 1, end)
        if q >= end:
            return -1, q + 1
        return _intern_text(p + 1, q - p - 1, strings), q + 1
    q = _skip_value(p, end)
    if c == 0x6E or c == OPEN_OBJECT or c == OPEN_ARRAY or q > end:  # 0x6E: null
        return -1, q
    return _intern_text(p, q - p, strings), q


@kernel
def scan_events(
    base: int,
    position: int,
    limit: int,
    origin: int,
    strings: int,
    key_texts: NDArray[np.uint8],
    key_sizes: NDArray[np.int64],
    slices64: NDArray[np.int64],
    slices32: NDArray[np.int32],
    slices8: NDArray[np.uint8],
    marks64: NDArray[np.int64],
    marks32: NDArray[np.int32],
    marks8: NDArray[np.uint8],
    collectives: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> Any:
    """Scan events from ``position`` (inside the array, between two events) on.

    Args:
        base: address of the text; ``limit`` bytes of it have arrived, zeroed room follows.
        position: where to begin.
        limit: how much has arrived.
        origin: offset of the text's first byte in the whole source; columns AT and ARGS count from there.
        strings: address of a StringTable's state.
        key_texts: KEY_TEXT of scan_args.
        key_sizes: KEY_SIZE of scan_args.
        slices64: int64[WIDE_SLICE, n]; slices32: int32[3, n]; slices8: uint8[3, n].
        slices32: see above.
        slices8: see above.
        marks64: int64[WIDE_MARK, n]; marks32: int32[3, n]; marks8: uint8[3, n].
        marks32: see above.
        marks8: see above.
        collectives: int64[1 + len(COLLECTIVE_COLUMNS), n]; row 0 is the slice's row in this block.
        counters: COUNTER_WORDS words; rows used and POSITION are updated.

    Returns:
        MORE at the end of what has arrived, ARRAY_END at the closing bracket, FULL when a block is, GROW when the
        string table is, STUCK at an event (or a byte between two) that this loop cannot read. POSITION is the border
        at which to go on.
    """
    end = base + limit
    p = base + position
    n_slices = counters[SLICES]
    n_marks = counters[MARKS]
    n_collectives = counters[COLLECTIVES]
    status = MORE
    while True:
        p = skip_space(p, end)
        while p < end and load8(p) == COMMA:
            p = skip_space(p + 1, end)
        start = p
        if p >= end:
            break
        c = load8(p)
        if c == CLOSE_ARRAY:
            status = ARRAY_END
            break
        if n_slices == slices64.shape[1] or n_marks == marks64.shape[1] or n_collectives == collectives.shape[1]:
            status = FULL
            break
        offset = origin + (p - base)
        if c != OPEN_OBJECT:
            q = _skip_container(p, end) if c == OPEN_ARRAY else _skip_value(p, end)
            if q == p:
                status = STUCK
                break
            if q > end:
                break
            _count(counters, NO_OBJECT, offset)
            p = q
            continue
        phase = 0
        name = -1
        cat = -1
        ts = ABSENT
        dur = ABSENT
        ts_state = NO_NUMBER
        dur_state = NO_NUMBER
        ts_form = 0
        dur_form = 0
        pid = ABSENT
        tid = ABSENT
        ident = ABSENT
        correlation = ABSENT
        external = ABSENT
        device = ABSENT
        stream = ABSENT
        collective = False
        args = 0
        args_size = 0
        second = 0
        members = 0
        closed = False
        stuck = False
        p = skip_space(p + 1, end)
        while p < end:
            c = load8(p)
            if c == CLOSE_OBJECT:
                p += 1
                closed = True
                break
            if c == COMMA:
                p = skip_space(p + 1, end)
                continue
            if c != QUOTE:
                stuck = True
                break
            key = p + 1
            which = _which(key)
            if which == _OTHER:
                q = skip_string(key, end)
                if q >= end:
                    p = end
                    break
                p = q + 1
                if load8(p) != COLON:
                    p = skip_space(p, end)
                    if p >= end:
                        break
                    if load8(p) != COLON:
                        stuck = True
                        break
                which = _unusual(key, q - key)
                p = skip_space(p + 1, end)
            else:
                p = skip_space(key + _KEY_SIZE[which], end)
            if p >= end:
                break
            members += 1
            v0 = p
            # One call of each reader below: every further call site costs seconds of compilation.
            if which == _NUMBER_TIME or which == _NUMBER_DUR:
                value, p, state, form = _read_time(p, end)
                if which == _NUMBER_TIME:
                    ts, ts_state, ts_form = value, state, form
                else:
                    dur, dur_state, dur_form = value, state, form
            elif which == _TEXT_NAME or which == _TEXT_CAT:
                number, p = _read_text(p, end, strings)
                if which == _TEXT_NAME:
                    name = number
                else:
                    cat = number
            elif which == _ID_PID or which == _ID_TID or which == _ID_ID:
                number, p = _read_id(p, end, strings)
                if which == _ID_PID:
                    pid = number
                elif which == _ID_TID:
                    tid = number
                else:
                    ident = number
            elif which == _OBJECT_ARGS and load8(p) == OPEN_OBJECT:
                args = p
                p, correlation, external, device, stream, collective = _read_links(p, end, strings)
                args_size = p - args
            elif which == _ESCAPED:
                # An escaped letter may hide one of the keys above: leave such an event to the slow road.
                stuck = True
                break
            else:
                if which == _OBJECT_ARGS:
                    args_size = 0
                    correlation = ABSENT
                    external = ABSENT
                    device = ABSENT
                    stream = ABSENT
                    collective = False
                elif which == _CHAR_PHASE:
                    phase = load8(p + 1) if load8(p) == QUOTE and load8(p + 2) == QUOTE else 0
                elif which == _OBJECT_ID2 and load8(p) == OPEN_OBJECT:
                    second = p
                p = _skip_value(p, end)
            if p == v0:
                stuck = True
                break
            p = skip_space(p, end)
        if second != 0 and closed and p <= end:
            ident = _read_second_id(second, end, strings)
        if overflowed(strings):
            status = GROW
            break
        if stuck and p < end:
            status = STUCK
            break
        if not closed or p > end:
            break
        _count(counters, READ, offset)
        if members == 0:
            _count(counters, EMPTY, offset)
            continue
        if phase == 0:
            _count(counters, NO_PHASE, offset)
            continue
        # Half of int64 on each side, so that an end (start + duration) or a difference never overflows.
        if (
            ts_state == TOO_LARGE
            or dur_state == TOO_LARGE
            or (ts != ABSENT and (ts >= _FAR or ts <= -_FAR))
            or (dur != ABSENT and (dur >= _FAR or dur <= -_FAR))
        ):
            _count(counters, FAR_TIME, offset)
            continue
        if ts == ABSENT and phase != _PHASE_M:
            _count(counters, NO_TIME, offset)
            continue
        if args_size > 0x7FFFFFFF:
            args_size = 0
        if phase == _PHASE_X and dur != ABSENT:
            if collective:
                collectives[0, n_collectives] = n_slices
                _read_collective(args, end, strings, key_texts, key_sizes, collectives[1:], n_collectives)
                if overflowed(strings):
                    counters[COUNTS + 2 * READ] -= 1
                    status = GROW
                    break
                n_collectives += 1
            if dur < 0:
                _count(counters, NEGATIVE, offset)
                dur = 0
            slices64[TS, n_slices] = ts
            slices64[DUR, n_slices] = dur
            slices64[PID, n_slices] = pid
            slices64[TID, n_slices] = tid
            slices64[AT, n_slices] = offset
            slices64[ARGS, n_slices] = origin + (args - base) if args_size else ABSENT
            slices64[CORR, n_slices] = correlation
            slices64[EXT, n_slices] = external
            slices64[DEVICE, n_slices] = device
            slices64[STREAM, n_slices] = stream
            slices32[NAME, n_slices] = name
            slices32[CAT, n_slices] = cat
            slices32[ARGS_SIZE, n_slices] = args_size
            slices8[PHASE, n_slices] = phase
            slices8[TS_FORM, n_slices] = ts_form
            slices8[DUR_FORM, n_slices] = dur_form
            n_slices += 1
        else:
            value = ABSENT
            if phase == _PHASE_M and args_size > 0:
                value = _read_label(args, end, strings)
                if overflowed(strings):
                    counters[COUNTS + 2 * READ] -= 1
                    status = GROW
                    break
            marks64[TS, n_marks] = ts
            marks64[DUR, n_marks] = dur
            marks64[PID, n_marks] = pid
            marks64[TID, n_marks] = tid
            marks64[AT, n_marks] = offset
            marks64[ARGS, n_marks] = origin + (args - base) if args_size else ABSENT
            marks64[ID, n_marks] = ident
            marks64[VALUE, n_marks] = value
            marks32[NAME, n_marks] = name
            marks32[CAT, n_marks] = cat
            marks32[ARGS_SIZE, n_marks] = args_size
            marks8[PHASE, n_marks] = phase
            marks8[TS_FORM, n_marks] = ts_form
            marks8[DUR_FORM, n_marks] = dur_form
            n_marks += 1
        if ts_state == ROUNDED or dur_state == ROUNDED:
            _count(counters, ROUNDED_TIME, offset)
    counters[SLICES] = n_slices
    counters[MARKS] = n_marks
    counters[COLLECTIVES] = n_collectives
    counters[POSITION] = start - base
    return status


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
        for k in range(size):
            out[used + k] = np.uint8(load8(p + k))
        offsets[i] = used
        used += size
    return used
