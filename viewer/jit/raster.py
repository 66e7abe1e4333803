"""From slices to lines of pixels: ``sample`` finds paint and coverage of each, ``mark`` where picked slices lie.

Rule of a pixel: a slice of two pixels or more fills the pixels between its rounded borders, so a gap of more than a
pixel leaves at least one free. Thinner slices share their pixels: the paint with the most time wins, and the coverage
says how strong it is drawn. A pixel without any slice stays free, and every slice leaves a mark of at least one pixel.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel
from viewer.jit.row_search import first_from, first_touching

U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]
Int: TypeAlias = Any
"""A whole number: int outside, int64 in compiled code."""

WIDE_PX: Final = 2.0
"""Slices of at least this width fill whole pixels."""

FAINTEST: Final = 1.0 / 64.0
"""Coverage, in pixels, that even a slice without duration counts for."""

TINY_PX: Final = 1e-9
"""Borders this close to a pixel's border lie on it: products are not exact, and 1 ns is more than this at any zoom."""


@kernel
def sample(
    starts: I64,
    durs: I64,
    paints: U8,
    begin: I64,
    end: I64,
    rows: I64,
    lines: I64,
    lod_origin: I64,
    lod_shift: I64,
    lod_levels: I64,
    lod_bins: I64,
    lod_offset: I64,
    lod_paint: U8,
    lod_cover: U8,
    t0: Int,
    length: Int,
    edge_from: float,
    paint: U8,
    cover: U8,
    edge: U8,
) -> None:
    """Find paint and coverage of each pixel of some rows of one source.

    Several rows (and several calls) may share a line: the larger coverage wins, then the smaller paint.

    Args:
        starts: int64[n], raw ns, disjoint and ascending in a row; ``durs`` int64[n], ``paints`` uint8[n] likewise.
        durs: durations, ns.
        paints: values of Paint.
        begin: int64[rows of the source], with ``end``: the slices of each row.
        end: see ``begin``.
        rows: int64[q] rows to draw, ``lines`` int64[q] the line that each goes to.
        lines: see ``rows``.
        lod_origin: with the other ``lod_`` arrays: the fields of viewer.jit.lod.Lod.
        lod_shift: see there.
        lod_levels: see there.
        lod_bins: see there.
        lod_offset: see there.
        lod_paint: see there.
        lod_cover: see there.
        t0: start of the window, raw ns.
        length: its length, ns, >= 1; spread over the whole width of the lines.
        edge_from: slices of at least this many pixels get a marked left border.
        paint: uint8[lines, width], in and out.
        cover: uint8[lines, width], in and out: 0 free, 255 full.
        edge: uint8[lines, width], in and out: 1 on the left border of a wide slice.
    """
    width = cover.shape[1]
    stop = t0 + length
    for q in range(len(rows)):
        r = rows[q]
        line = lines[q]
        a = first_touching(starts, durs, begin[r], end[r], t0)
        b = first_from(starts, a, end[r], stop)
        if a >= b:
            continue
        level = np.int64(-1)
        if b - a > 2 * width and lod_levels[r] > 0:
            while level + 1 < lod_levels[r] and (np.int64(2) << (lod_shift[r] + level + 1)) <= length // width:
                level += 1
        if level >= 0:
            _sample_bins(
                lod_origin[r] - t0,
                lod_shift[r],
                level,
                lod_bins[r],
                lod_offset[r],
                lod_paint,
                lod_cover,
                length,
                paint[line],
                cover[line],
            )
        else:
            _sample_slices(starts, durs, paints, a, b, t0, length, edge_from, paint[line], cover[line], edge[line])


@kernel
def _sample_bins(
    origin: Int,
    shift: Int,
    level: Int,
    bins: Int,
    offset: Int,
    lod_paint: U8,
    lod_cover: U8,
    length: Int,
    paint: U8,
    cover: U8,
) -> None:
    """Sample one row from a level of detail; a bin belongs to the pixel in which its centre lies."""
    width = len(cover)
    at = offset
    count = bins
    for _ in range(level):
        at += count
        count = (count + 1) // 2
    s = shift + level
    half = (np.int64(1) << s) >> 1
    whole = length // width
    rest = length % width
    # Centre of bin k: origin + k * size + half. First bin whose centre is at or after time t: ceil of the difference.
    up = (np.int64(1) << s) - 1
    # At the window's borders bins that are cut count as well: a slice just inside must not vanish.
    k = max((-origin) >> s, np.int64(0))
    right = np.int64(0)  # right border of the pixel: whole ns exactly, carried along instead of divided
    carry = np.int64(0)
    for x in range(width):
        right += whole
        carry += rest
        if carry >= width:
            carry -= width
            right += 1
        stop = min((right - origin - (half if x < width - 1 else 0) + up) >> s, count)
        total = np.int64(0)
        most = np.int64(0)
        kind = np.uint8(0)
        n = stop - k
        while k < stop:
            c = np.int64(lod_cover[at + k])
            p = lod_paint[at + k]
            k += 1
            total += c
            if p == kind:
                most += c
            elif c > most:
                most = c
                kind = p
        if total > 0:
            share: Int = max(np.int64(np.float64(total) / np.float64(n)), 1)
            if share > cover[x] or (share == cover[x] and kind < paint[x]):
                cover[x] = share
                paint[x] = kind
        if k >= count:
            break


@kernel
def _sample_slices(
    starts: I64,
    durs: I64,
    paints: U8,
    a: Int,
    b: Int,
    t0: Int,
    length: Int,
    edge_from: float,
    paint: U8,
    cover: U8,
    edge: U8,
) -> None:
    """Sample the slices [a, b) of one row. They come in order of time, so one pixel at a time is being summed up."""
    width = len(cover)
    per_ns = np.float64(width) / np.float64(length)
    pixel: Int = np.int64(-1)  # the pixel that thin slices are summed up in
    total = 0.0
    most = 0.0
    kind = np.uint8(0)
    for i in range(a, b):
        # int64 differences first: a float never holds an absolute time. Cut a window's length outside, for overflow.
        s = starts[i] - t0
        e = s + durs[i]
        s = max(s, -length)
        e = min(e, 2 * length)
        x0 = np.float64(s) * per_ns
        x1 = np.float64(e) * per_ns
        p = paints[i]
        first: Int = np.int64(0)
        stop: Int = np.int64(0)
        if x1 - x0 >= WIDE_PX:
            if s > 0:
                first = np.int64(x0 + (0.5 + TINY_PX))
            stop = min(np.int64(x1 + (0.5 + TINY_PX)), np.int64(width))
        # One of which less than half a pixel is inside the window fills no pixel: it shows by its coverage.
        if first < stop:
            for x in range(first, stop):
                if cover[x] < 255 or p < paint[x]:
                    cover[x] = 255
                    paint[x] = p
                    edge[x] = 0
            if s >= 0 and x1 - x0 >= edge_from and first < stop and paint[first] == p:
                edge[first] = 1
        else:
            first = np.int64(x0 + TINY_PX) if s > 0 else np.int64(0)
            stop = np.int64(x1 - TINY_PX) + 1
            if stop <= first:
                stop = first + 1
            if stop > width:
                stop = np.int64(width)
            for x in range(first, stop):
                if x != pixel:
                    if pixel >= 0:
                        share = 255 if total >= 1.0 else np.int64(total * 255.0 + 0.5)
                        if share > cover[pixel] or (share == cover[pixel] and kind < paint[pixel]):
                            cover[pixel] = share
                            paint[pixel] = kind
                            edge[pixel] = 0
                    pixel = x
                    total = 0.0
                    most = 0.0
                c: Any = (x1 if x1 < x + 1.0 else x + 1.0) - (x0 if x0 > x else np.float64(x))
                c = max(c, FAINTEST)
                total += c
                if kind == p:
                    most += c
                elif c > most:
                    most = c
                    kind = p
    if pixel >= 0:  # the last one, as above (a call per pixel would cost as much as all the rest)
        share = 255 if total >= 1.0 else np.int64(total * 255.0 + 0.5)
        if share > cover[pixel] or (share == cover[pixel] and kind < paint[pixel]):
            cover[pixel] = share
            paint[pixel] = kind
            edge[pixel] = 0


@kernel
def mark(
    starts: I64,
    durs: I64,
    begin: I64,
    end: I64,
    rows: I64,
    lines: I64,
    picked: I64,
    t0: Int,
    length: Int,
    marks: U8,
) -> None:
    """Mark the pixels of picked slices, at least one each.

    Args:
        starts: int64[n] raw ns; ``durs`` likewise.
        durs: durations, ns.
        begin: int64[rows of the source]; with ``end``: the slices of each row.
        end: see ``begin``.
        rows: int64[q] rows that are drawn, ``lines`` int64[q] the line of each.
        lines: see ``rows``.
        picked: int64[m] slices to mark, ascending.
        t0: start of the window, raw ns.
        length: its length, ns.
        marks: uint8[lines, width], set to 1 where a picked slice lies.
    """
    width = marks.shape[1]
    for q in range(len(rows)):
        a = first_touching(starts, durs, begin[rows[q]], end[rows[q]], t0)
        b = first_from(starts, a, end[rows[q]], t0 + length)
        low, high = np.int64(0), np.int64(len(picked))
        while low < high:  # the first of the picked ones that lies in the row
            middle = (low + high) // 2
            if picked[middle] < a:
                low = middle + 1
            else:
                high = middle
        for k in range(low, len(picked)):
            i = picked[k]
            if i >= b:
                break
            s = max(starts[i] - t0, -length)
            e = min(starts[i] + durs[i] - t0, 2 * length)
            x0 = np.float64(s) * width / np.float64(length)
            x1 = np.float64(e) * width / np.float64(length)
            first: Int = np.int64(0)
            stop: Int = np.int64(0)
            if x1 - x0 >= WIDE_PX:  # whole pixels, cut towards 0: what lies before the image is cut off anyway
                first = max(np.int64(x0 + 0.5), 0)
                stop = min(np.int64(x1 + 0.5), width)
            if first >= stop:
                first = max(np.int64(x0), 0)
                last = np.int64(x1)
                if x1 > last:
                    last += 1
                stop = min(max(last, first + 1), width)
            for x in range(first, stop):
                marks[lines[q], x] = 1
