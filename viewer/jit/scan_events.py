"""The event loop: objects of a trace's event array to raw columns.

Events with phase X become rows of SLICE_COLUMNS, all others of MARK_COLUMNS. The loop
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
from viewer.jit.scan_decimal import EXACT, NO_NUMBER, ROUNDED, TOO_LARGE, parse_decimal
from viewer.jit.scan_intern import intern_text, known_text, overflowed
from viewer.jit.scan_keys import (
    CHAR_PHASE,
    ESCAPED,
    ID_ID,
    ID_PID,
    ID_TID,
    KNOWN_SIZE,
    NUMBER_DUR,
    NUMBER_TIME,
    OBJECT_ARGS,
    OBJECT_ID2,
    OTHER,
    TEXT_CAT,
    TEXT_NAME,
    unusual_key,
    which_key,
)
from viewer.jit.scan_load import apart, load8, store8, store_id, store_int
from viewer.jit.scan_quick import plain_time, small_integer
from viewer.jit.scan_text import (
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

SLICE_COLUMNS: Final[dict[str, Any]] = {
    "start_ns": np.int64,
    "dur_ns": np.int64,
    "at": np.int64,
    "args_off": np.int64,
    "corr": np.int64,
    "ext": np.int64,
    "name": np.int32,
    "track": np.int32,
    "args_len": np.int32,
    "ts_form": np.uint8,
    "dur_form": np.uint8,
    "recorded": np.int32,
}
"""What is written of an event with a duration; ``at`` is where it begins, ``track`` a row of TRACK_KEY. ``recorded`` is
written afterwards, by scan_recorded."""
MARK_COLUMNS: Final[dict[str, Any]] = {
    "time_ns": np.int64,
    "at": np.int64,
    "args_off": np.int64,
    "id": np.int64,
    "name": np.int32,
    "track": np.int32,
    "args_len": np.int32,
    "phase": np.uint8,
    "ts_form": np.uint8,
}
"""What is written of all other events; ``id`` is the label of a metadata event."""
TRACK_KEY: Final = ("pid", "tid", "device", "stream", "cat")
"""A track is a distinct combination of these: int64 each, numbered in a StringTable. Marks have no device or stream."""

# Words of the counters.
SLICES, MARKS, COLLECTIVES, POSITION, COUNTS = range(5)
"""Rows used of the three groups of columns, where the scan stands, the first pair (count, first offset) of a reason."""
# Typed, or the counting loop is compiled once for each of them.
_REASONS: Any = [np.int64(k) for k in range(8)]
EMPTY, NO_OBJECT, NO_PHASE, NO_TIME, ROUNDED_TIME, NEGATIVE, FAR_TIME, READ = _REASONS
_SCRATCH: Final = COUNTS + 16
_TRACKS: Final = _SCRATCH + len(TRACK_KEY)
_RECENT: Final = 64
"""Tracks that are found without their table; each is a key and its number plus one."""
_WORDS: Final = len(TRACK_KEY) + 1
COUNTER_WORDS: Final = _TRACKS + _RECENT * _WORDS

_FAR: Final = 1 << 62


_parse_decimal, _intern_text, _skip_value = apart(parse_decimal), apart(intern_text), apart(skip_value)
_skip_container, _read_id, _read_links = apart(skip_container), apart(read_id), apart(read_links)
_read_label, _read_collective = apart(read_label), apart(read_collective)

_PHASE_X, _PHASE_M = ord("X"), ord("M")


@kernel
def _count(counters: NDArray[np.int64], reason: int, offset: int) -> None:
    if counters[COUNTS + 2 * reason] == 0:
        counters[COUNTS + 2 * reason + 1] = offset
    counters[COUNTS + 2 * reason] += 1


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
    value, size, form = plain_time(p)
    if size > 0:
        return value, p + size, EXACT, form
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
        number = known_text(p + 1, q - p - 1, strings)
        if number < 0:
            number = _intern_text(p + 1, q - p - 1, strings)
        return number, q + 1
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
    tracks: int,
    key_texts: NDArray[np.uint8],
    key_sizes: NDArray[np.int64],
    slices: NDArray[np.int64],
    slice_room: int,
    marks: NDArray[np.int64],
    mark_room: int,
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
        tracks: address of the state of the one that numbers tracks.
        key_texts: KEY_TEXT of scan_args.
        key_sizes: KEY_SIZE of scan_args.
        slices: address of each of SLICE_COLUMNS, which have room for ``slice_room`` rows.
        slice_room: see above.
        marks: address of each of MARK_COLUMNS, which have room for ``mark_room`` rows.
        mark_room: see above.
        collectives: int64[1 + len(COLLECTIVE_COLUMNS), n]; row 0 is the slice's row.
        counters: COUNTER_WORDS words; rows used and POSITION are updated.

    Returns:
        MORE at the end of what has arrived, ARRAY_END at the closing bracket, FULL when columns are, GROW when a
        string table is, STUCK at an event (or a byte between two) that this loop cannot read. POSITION is the border
        at which to go on.
    """
    end = base + limit
    p = base + position
    n_slices = counters[SLICES]
    n_marks = counters[MARKS]
    n_collectives = counters[COLLECTIVES]
    s_start, s_dur, s_at, s_args = slices[0], slices[1], slices[2], slices[3]
    s_corr, s_ext, s_name, s_track = slices[4], slices[5], slices[6], slices[7]
    s_size, s_ts_form, s_dur_form = slices[8], slices[9], slices[10]
    m_time, m_at, m_args, m_id = marks[0], marks[1], marks[2], marks[3]
    m_name, m_track, m_size, m_phase, m_ts_form = marks[4], marks[5], marks[6], marks[7], marks[8]
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
        if n_slices == slice_room or n_marks == mark_room or n_collectives == collectives.shape[1]:
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
            which = which_key(key)
            if which == OTHER:
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
                which = unusual_key(key, q - key)
                p = skip_space(p + 1, end)
            else:
                p = skip_space(key + KNOWN_SIZE[which], end)
            if p >= end:
                break
            members += 1
            v0 = p
            # One call of each reader below: every further call site costs seconds of compilation.
            if which == NUMBER_TIME or which == NUMBER_DUR:
                value, p, state, form = _read_time(p, end)
                if which == NUMBER_TIME:
                    ts, ts_state, ts_form = value, state, form
                else:
                    dur, dur_state, dur_form = value, state, form
            elif which == TEXT_NAME or which == TEXT_CAT:
                number, p = _read_text(p, end, strings)
                if which == TEXT_NAME:
                    name = number
                else:
                    cat = number
            elif which == ID_PID or which == ID_TID or which == ID_ID:
                number, size = small_integer(p)
                if size > 0:
                    p += size
                else:
                    number, p = _read_id(p, end, strings)
                if which == ID_PID:
                    pid = number
                elif which == ID_TID:
                    tid = number
                else:
                    ident = number
            elif which == OBJECT_ARGS and load8(p) == OPEN_OBJECT:
                args = p
                p, correlation, external, device, stream, collective = _read_links(p, end, strings)
                args_size = p - args
            elif which == ESCAPED:
                # An escaped letter may hide one of the keys above: leave such an event to the slow road.
                stuck = True
                break
            else:
                if which == OBJECT_ARGS:
                    args_size = 0
                    correlation = ABSENT
                    external = ABSENT
                    device = ABSENT
                    stream = ABSENT
                    collective = False
                elif which == CHAR_PHASE:
                    phase = load8(p + 1) if load8(p) == QUOTE and load8(p + 2) == QUOTE else 0
                elif which == OBJECT_ID2 and load8(p) == OPEN_OBJECT:
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
        args_at = origin + (args - base) if args_size else ABSENT
        is_slice = phase == _PHASE_X and dur != ABSENT
        if not is_slice:
            device = ABSENT
            stream = ABSENT
        recent = _TRACKS + _WORDS * ((cat + 5 * tid + 11 * stream + 29 * pid) & (_RECENT - 1))
        track = counters[recent + 5] - 1
        if (
            counters[recent] != pid
            or counters[recent + 1] != tid
            or counters[recent + 2] != device
            or counters[recent + 3] != stream
            or counters[recent + 4] != cat
            or track < 0
        ):
            counters[recent] = counters[_SCRATCH] = pid
            counters[recent + 1] = counters[_SCRATCH + 1] = tid
            counters[recent + 2] = counters[_SCRATCH + 2] = device
            counters[recent + 3] = counters[_SCRATCH + 3] = stream
            counters[recent + 4] = counters[_SCRATCH + 4] = cat
            track = _intern_text(counters.ctypes.data + 8 * _SCRATCH, 8 * len(TRACK_KEY), tracks)
            counters[recent + 5] = track + 1
        label = ident
        if is_slice:
            if collective:
                collectives[0, n_collectives] = n_slices
                _read_collective(args, end, strings, key_texts, key_sizes, collectives[1:], n_collectives)
        elif phase == _PHASE_M:
            label = _read_label(args, end, strings) if args_size > 0 else ABSENT
        if overflowed(strings) or overflowed(tracks):
            counters[COUNTS + 2 * READ] -= 1
            status = GROW
            break
        if is_slice:
            if collective:
                n_collectives += 1
            if dur < 0:
                _count(counters, NEGATIVE, offset)
                dur = 0
            store_int(s_start + 8 * n_slices, ts)
            store_int(s_dur + 8 * n_slices, dur)
            store_int(s_at + 8 * n_slices, offset)
            store_int(s_args + 8 * n_slices, args_at)
            store_int(s_corr + 8 * n_slices, correlation)
            store_int(s_ext + 8 * n_slices, external)
            store_id(s_name + 4 * n_slices, name)
            store_id(s_track + 4 * n_slices, track)
            store_id(s_size + 4 * n_slices, args_size)
            store8(s_ts_form + n_slices, ts_form)
            store8(s_dur_form + n_slices, dur_form)
            n_slices += 1
        else:
            store_int(m_time + 8 * n_marks, ts)
            store_int(m_at + 8 * n_marks, offset)
            store_int(m_args + 8 * n_marks, args_at)
            store_int(m_id + 8 * n_marks, label)
            store_id(m_name + 4 * n_marks, name)
            store_id(m_track + 4 * n_marks, track)
            store_id(m_size + 4 * n_marks, args_size)
            store8(m_phase + n_marks, phase)
            store8(m_ts_form + n_marks, ts_form)
            n_marks += 1
        if ts_state == ROUNDED or dur_state == ROUNDED:
            _count(counters, ROUNDED_TIME, offset)
    counters[SLICES] = n_slices
    counters[MARKS] = n_marks
    counters[COLLECTIVES] = n_collectives
    counters[POSITION] = start - base
    return status
