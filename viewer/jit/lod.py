"""Level of detail of a row: time bins with their dominant paint and coverage, halved level by level.

A frame reads the level whose bins are at most half a pixel wide, so its cost depends on pixels, not on slices. Rows
with few slices get no levels: drawing them slice by slice is as fast and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]

FEW: Final = 2048
"""Rows with fewer slices than this are drawn slice by slice at any zoom."""

SLICES_PER_BIN: Final = 2
"""Mean number of slices per bin of the finest level: two bytes per bin, so about two bytes per slice in all."""


@dataclass(frozen=True, slots=True)
class Lod:
    """The levels of all rows of one source.

    Row r has ``levels[r]`` levels (0: draw slices). Level k has ceil(bins[r] / 2**k) bins of 2**(shift[r] + k) ns,
    the first of which begins at ``origin[r]`` (raw ns). All levels of a row follow each other from ``offset[r]`` on in
    ``paint`` and ``cover``. ``cover`` is 0 exactly where a bin is empty and 255 exactly where it is full. No slice of
    row r lasts longer than ``longest[r]`` ns.
    """

    origin: I64
    shift: I64
    levels: I64
    bins: I64
    offset: I64
    longest: I64
    paint: U8
    cover: U8


def no_lod(rows: int) -> Lod:
    """No levels for any of ``rows`` rows: everything is drawn slice by slice."""
    zero = np.zeros(rows, np.int64)
    empty = np.zeros(0, np.uint8)
    return Lod(zero, zero, zero, zero, zero, np.full(rows, np.iinfo(np.int64).max), empty, empty)


def build_lod(starts: I64, durs: I64, paints: U8, begin: I64, end: I64, few: int = FEW) -> Lod:
    """Build the levels of every row.

    Args:
        starts: int64[n] start of each slice, raw ns; disjoint and ascending within a row.
        durs: int64[n] durations, ns.
        paints: uint8[n] values of viewer.base.ids.Paint.
        begin: int64[rows] first slice of each row.
        end: int64[rows] one past the last slice of each row.
        few: rows with fewer slices get no levels.
    """
    rows = len(begin)
    origin, shift, levels, bins, offset, longest = (np.zeros(rows, np.int64) for _ in range(6))
    total = _plan(starts, durs, begin, end, few, origin, shift, levels, bins, offset)
    paint = np.zeros(total, np.uint8)
    cover = np.zeros(total, np.uint8)
    scratch = np.zeros(256, np.int64), np.zeros(256, np.int64)
    _fill(starts, durs, paints, begin, end, origin, shift, levels, bins, offset, paint, cover, *scratch)
    _longest(durs, begin, end, longest)
    return Lod(origin, shift, levels, bins, offset, longest, paint, cover)


@kernel
def _plan(
    starts: I64,
    durs: I64,
    begin: I64,
    end: I64,
    few: Any,
    origin: I64,
    shift: I64,
    levels: I64,
    bins: I64,
    offset: I64,
) -> Any:
    """Choose bin widths and places; returns the number of bins of all rows and levels."""
    total = np.int64(0)
    for r in range(len(begin)):
        offset[r] = total
        n = end[r] - begin[r]
        if n < max(few, 1):
            continue
        origin[r] = starts[begin[r]]
        span = max(starts[end[r] - 1] + durs[end[r] - 1] - origin[r], np.int64(1))
        want = max(n // SLICES_PER_BIN, np.int64(1))
        s = np.int64(0)
        while ((span - 1) >> s) + 1 > want:
            s += 1
        shift[r] = s
        count = ((span - 1) >> s) + 1
        bins[r] = count
        while True:
            total += count
            levels[r] += 1
            if count == 1:
                break
            count = (count + 1) // 2
    return total


@kernel
def _longest(durs: I64, begin: I64, end: I64, longest: I64) -> None:
    for r in range(len(begin)):
        most = np.int64(0)
        for i in range(begin[r], end[r]):
            most = max(most, durs[i])
        longest[r] = most


@kernel
def _fill(
    starts: I64,
    durs: I64,
    paints: U8,
    begin: I64,
    end: I64,
    origin: I64,
    shift: I64,
    levels: I64,
    bins: I64,
    offset: I64,
    paint: U8,
    cover: U8,
    busy: I64,
    touched: I64,
) -> None:
    """Fill the finest level from slices, then each level from the one below.

    ``busy`` int64[256], zeros, holds ns per paint within the current bin; ``touched`` int64[256] which those are.
    """
    for r in range(len(begin)):
        if levels[r] == 0:
            continue
        s = shift[r]
        width = np.int64(1) << s
        at = offset[r]
        kinds = 0
        current: Any = np.int64(-1)
        for i in range(begin[r], end[r] + 1):
            if i < end[r]:
                a = starts[i] - origin[r]
                # A slice without duration still marks its bin; one at the very end belongs to the last bin.
                b = max(a + durs[i], a + 1)
                first = min(a >> s, bins[r] - 1)
                last = min((b - 1) >> s, bins[r] - 1)
                p = np.int64(paints[i])
            else:
                a = np.int64(0)
                b = np.int64(0)
                first = bins[r]  # flushes the last bin
                last = bins[r]
                p = np.int64(0)
            for k in range(first, last + 1):
                if k != current:
                    if current >= 0:
                        total = np.int64(0)
                        best = np.int64(-1)
                        for t in range(kinds):
                            x = busy[touched[t]]
                            busy[touched[t]] = 0
                            total += x
                            if x > best:
                                best = x
                                paint[at + current] = touched[t]
                        kinds = 0
                        share = max(total * 255 // width, np.int64(1))
                        cover[at + current] = 255 if total >= width else min(share, np.int64(254))
                    current = k
                if k == bins[r]:
                    break
                part: Any = max(min(b, (k + 1) << s) - max(a, k << s), np.int64(1))
                if busy[p] == 0:
                    touched[kinds] = p
                    kinds += 1
                busy[p] += part
        _halve(at, bins[r], levels[r], paint, cover)


@kernel
def _halve(at: Any, count: Any, levels: Any, paint: U8, cover: U8) -> None:
    """Fill the coarser levels of one row."""
    below: Any = at
    n: Any = count
    for _ in range(levels - 1):
        here: Any = below + n
        m: Any = (n + 1) // 2
        for i in range(m):
            a = below + 2 * i
            left = np.int64(cover[a])
            right = np.int64(cover[a + 1]) if 2 * i + 1 < n else np.int64(0)
            paint[here + i] = paint[a] if left >= right else paint[a + 1]
            both = (left + right + 1) // 2
            cover[here + i] = 255 if left + right == 510 else min(both, np.int64(254))
        below = here
        n = m
