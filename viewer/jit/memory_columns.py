"""Step lines with millions of steps as columns of pixels, and bytes by category after any of their events.

Extremes are kept of every BLOCK steps, of every FAN of those, and so on: a column looks at a few of each.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

BLOCK: Final = 16
"""Steps of which the extremes are kept together."""
FAN: Final = 4
"""Blocks of which the extremes are kept together: few, as a column looks at up to twice as many of every level."""
CHUNK: Final = 32
"""Instants whose changes by category lie between two sums."""
_BITS, _FAN_BITS = 4, 2
_MASK, _FAN_MASK = BLOCK - 1, FAN - 1
_LOWEST, _HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)


@kernel
def find_slots(time: I64, heads: I64, block: int, at: I64, slack: int, out: I64, begin: I64) -> Any:
    """How many events lie before each of some instants.

    Args:
        time: int64[n] not falling.
        heads: int64[ceil(n / block)], time[::block].
        block: events of a block.
        at: int64[q] not falling.
        slack: ns; where the block that an instant lies in begins at most so much before it, its begin is taken.
        out: int64[q], written.
        begin: int64[q], written: the event in force at the instant (the first one of that very instant); -1 for none.
    """
    n, blocks = len(time), len(heads)
    begun = last = 0  # blocks that begin before the instant, and before the one before it
    for k in range(len(at)):
        t = at[k]
        # Columns are equally wide: begin to look as far ahead as it was from the last one to this one.
        guess = min(2 * begun - last, blocks)
        last = begun
        low, high, step = begun, guess, 1
        if guess > 0 and heads[guess - 1] >= t:
            while high - step > low and heads[high - step - 1] >= t:
                high -= step
                step *= 2
            low = max(low, high - step)
        else:
            low = high = guess
            while high < blocks and heads[high] < t:
                low = high + 1
                high = min(high + step, blocks)
                step *= 2
        while low < high:
            middle = (low + high) // 2
            if heads[middle] < t:
                low = middle + 1
            else:
                high = middle
        begun = low
        place = max(begun - 1, 0) * block
        if begun > 0 and t - heads[begun - 1] <= slack:
            out[k], begin[k] = place, place
            continue
        high = min(place + block, n) if begun > 0 else 0
        while place < high:
            middle = (place + high) // 2
            if time[middle] < t:
                place = middle + 1
            else:
                high = middle
        out[k] = place
        begin[k] = place if place < n and time[place] == t else place - 1


@kernel
def settle_columns(past: I64, begin: I64, end: I64) -> Any:
    """Make stretches of steps of what :func:`find_slots` found for columns that follow each other.

    Args:
        past: int64[n] not falling, how many events lie before each column.
        begin: int64[n], the event in force when each begins, changed: an event that there is, in the stretch.
        end: int64[n] not falling, one past the last event of each.

    Returns:
        (the first column in or before which an event lies, n for none; the first column that has one before it).
    """
    n = len(end)
    known, later = n, n
    for k in range(n - 1, -1, -1):
        begin[k] = max(min(begin[k], end[k] - 1), 0)
        if end[k] > 0:
            known = k
        if past[k] > 0:
            later = k
    return known, later


@kernel
def first_level(values: I64, ends: I64) -> Any:
    """The extremes of every BLOCK steps.

    Args:
        values: int64[n].
        ends: int64[ceil(n / BLOCK), 3], written: least, most and the step of the most, the first of equals.
    """
    n = len(values)
    for block in range(len(ends)):
        best = block * BLOCK
        least = values[best]
        for k in range(best + 1, min((block + 1) * BLOCK, n)):
            if values[k] > values[best]:
                best = k
            least = min(least, values[k])
        ends[block, 0], ends[block, 1], ends[block, 2] = least, values[best], best


@kernel
def level_up(ends: I64, out: I64) -> Any:
    """The same of every FAN blocks.

    Args:
        ends: int64[n, 3].
        out: int64[ceil(n / FAN), 3], written.
    """
    n = len(ends)
    for block in range(len(out)):
        best = block * FAN
        least = ends[best, 0]
        for k in range(best + 1, min((block + 1) * FAN, n)):
            if ends[k, 1] > ends[best, 1]:
                best = k
            least = min(least, ends[k, 0])
        out[block, 0], out[block, 1], out[block, 2] = least, ends[best, 1], ends[best, 2]


@kernel
def column_extremes(values: I64, levels: I64, ends: I64, begin: I64, end: I64, least: I64, most: I64, at: I64) -> Any:
    """Extremes of stretches of steps [begin, end).

    Args:
        values: int64[n].
        levels: int64[levels + 1], where each level of blocks begins in ``ends``.
        ends: int64[blocks of all levels, 3], least, most and step of the most of each.
        begin: int64[q] >= 0.
        end: int64[q]; of a stretch that is empty all results are -1.
        least: int64[q], written.
        most: int64[q], written.
        at: int64[q], written: the step of the largest, the first of equals.
    """
    top = len(levels) - 1
    for k in range(len(begin)):
        a, b = begin[k], end[k]
        if b <= a:
            least[k] = most[k] = at[k] = -1
            continue
        smallest, largest, where = _HIGHEST, _LOWEST, a
        left, right = (a + _MASK) >> _BITS, b >> _BITS  # whole blocks
        split = right > left
        for i in range(a, left << _BITS if split else b):
            v = values[i]
            smallest = min(smallest, v)
            if v > largest:
                largest, where = v, i
        if split:
            for i in range(right << _BITS, b):
                v = values[i]
                smallest = min(smallest, v)
                if v > largest:
                    largest, where = v, i
        level = 0
        while split:
            base = levels[level]
            inner_left, inner_right = (left + _FAN_MASK) >> _FAN_BITS, right >> _FAN_BITS
            split = inner_right > inner_left and level + 1 < top
            for i in range(base + left, base + (inner_left << _FAN_BITS if split else right)):
                smallest = min(smallest, ends[i, 0])
                if ends[i, 1] > largest or (ends[i, 1] == largest and ends[i, 2] < where):
                    largest, where = ends[i, 1], ends[i, 2]
            if split:
                for i in range(base + (inner_right << _FAN_BITS), base + right):
                    smallest = min(smallest, ends[i, 0])
                    if ends[i, 1] > largest or (ends[i, 1] == largest and ends[i, 2] < where):
                        largest, where = ends[i, 1], ends[i, 2]
            left, right = inner_left, inner_right
            level += 1
        least[k], most[k], at[k] = smallest, largest, where


@kernel
def lay_changes(
    made: I64,
    gone: I64,
    size: I64,
    column: U8,
    rest_at: I64,
    rest: I64,
    rest_column: int,
    first: I64,
    of: U8,
    column_out: U8,
    delta: I64,
    sums: I64,
    place: I32,
) -> Any:
    """Bytes that come and go as changes by instant, with the sums by column before every CHUNK instants.

    Args:
        made: int64[blocks], instant; below 0: there before.
        gone: int64[blocks], instant; out of range: not gone.
        size: int64[blocks], bytes.
        column: uint8[blocks], which sum it belongs to.
        rest_at: int64[r], instants; below 0: before.
        rest: int64[r], bytes that come besides (negative: go).
        rest_column: theirs.
        first: int64[m // CHUNK + 2], written: the first change of each CHUNK of the m instants.
        of: uint8[changes], written: the instant of each change within its CHUNK.
        column_out: uint8[changes], written.
        delta: int64[changes], written.
        sums: int64[m // CHUNK + 1, columns], written.
        place: int32[m + 1], zeros; used up.
    """
    m = len(place) - 1
    for k in range(len(made)):
        if made[k] < 0:
            sums[0, column[k]] += size[k]
        elif made[k] < m:
            place[made[k] + 1] += 1
        if 0 <= gone[k] < m:
            place[gone[k] + 1] += 1
    for k in range(len(rest)):
        if rest_at[k] < 0:
            sums[0, rest_column] += rest[k]
        else:
            place[rest_at[k] + 1] += 1
    for k in range(m):
        place[k + 1] += place[k]
    for chunk in range(len(first) - 1):
        first[chunk] = place[min(chunk * CHUNK, m)]
    first[-1] = place[m]
    for k in range(len(made)):
        if 0 <= made[k] < m:
            to = place[made[k]]
            place[made[k]] += 1
            of[to], column_out[to], delta[to] = made[k] % CHUNK, column[k], size[k]
        if 0 <= gone[k] < m:
            to = place[gone[k]]
            place[gone[k]] += 1
            of[to], column_out[to], delta[to] = gone[k] % CHUNK, column[k], -size[k]
    for k in range(len(rest)):
        if rest_at[k] >= 0:
            to = place[rest_at[k]]
            place[rest_at[k]] += 1
            of[to], column_out[to], delta[to] = rest_at[k] % CHUNK, rest_column, rest[k]
    for chunk in range(1, len(sums)):
        for c in range(sums.shape[1]):
            sums[chunk, c] = sums[chunk - 1, c]
        for k in range(first[chunk - 1], first[chunk]):
            sums[chunk, column_out[k]] += delta[k]


@kernel
def sums_after(
    done: I64,
    first: I64,
    of: U8,
    column: U8,
    delta: I64,
    sums: I64,
    step: I64,
    steps: int,
    highs: I64,
    high_sums: I64,
    out: I64,
) -> Any:
    """Bytes by column after so many instants.

    Args:
        done: int64[q], 0 .. m; equal ones that follow each other are looked up once.
        first: see :func:`lay_changes`; so ``of``, ``column``, ``delta`` and ``sums``.
        of: see above.
        column: see above.
        delta: see above.
        sums: see above.
        step: int64[q], the step of a line that each of ``done`` is the end of, -1 for none.
        steps: of each block of that line.
        highs: int64[blocks], steps of which the sums are at hand.
        high_sums: int64[blocks, columns], these sums.
        out: int64[q, columns], written.
    """
    wide = sums.shape[1]
    for k in range(len(done)):
        if k > 0 and done[k] == done[k - 1]:
            for c in range(wide):
                out[k, c] = out[k - 1, c]
            continue
        block = step[k] // steps if step[k] >= 0 else -1
        if 0 <= block < len(highs) and highs[block] == step[k]:
            for c in range(wide):
                out[k, c] = high_sums[block, c]
            continue
        chunk = done[k] // CHUNK
        within = done[k] % CHUNK
        for c in range(wide):
            out[k, c] = sums[chunk, c]
        i = first[chunk]
        end = first[chunk + 1]
        while i < end and of[i] < within:
            out[k, column[i]] += delta[i]
            i += 1
