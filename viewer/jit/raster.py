"""From slices to pixels: ``sample`` finds paint and coverage of each pixel, ``compose`` makes an image of the lines.

Rule of a pixel: a slice of two pixels or more fills the pixels between its rounded borders, so a gap of more than a
pixel leaves at least one free. Thinner slices share their pixels: the paint with the most time wins, and the coverage
says how strong it is drawn. A pixel without any slice stays free, and every slice leaves a mark of at least one pixel.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F32 = NDArray[np.float32]
Int: TypeAlias = Any
"""A whole number: int outside, int64 in compiled code."""

WIDE_PX: Final = 2.0
"""Slices of at least this width fill whole pixels."""

FAINTEST: Final = 1.0 / 64.0
"""Coverage, in pixels, that even a slice without duration counts for."""


@kernel
def first_touching(starts: I64, durs: I64, lo: Int, hi: Int, time: Int) -> Any:
    """First slice of the row [lo, hi) that ends after ``time`` or starts at or after it (binary search)."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if starts[mid] < time and starts[mid] + durs[mid] <= time:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def first_from(starts: I64, lo: Int, hi: Int, time: Int) -> Any:
    """First slice of the row [lo, hi) that starts at or after ``time`` (binary search)."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if starts[mid] < time:
            lo = mid + 1
        else:
            hi = mid
    return lo


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
    part: F32,
    best: F32,
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
        part: float32[width], zeros; scratch that is zero again afterwards, as ``best``.
        best: see ``part``.
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
            _sample_slices(
                starts, durs, paints, a, b, t0, length, edge_from, paint[line], cover[line], edge[line], part, best
            )


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
    k = max((-origin - half + up) >> s, np.int64(0))
    for x in range(width):
        right = (x + 1) * whole + (x + 1) * rest // width
        stop = min((right - origin - half + up) >> s, count)
        total = np.int64(0)
        most = np.int64(0)
        kind = np.uint8(0)
        n = stop - k
        while k < stop:
            c = np.int64(lod_cover[at + k])
            if c > 0:
                total += c
                if lod_paint[at + k] == kind:
                    most += c
                elif c > most:
                    most = c
                    kind = lod_paint[at + k]
            k += 1
        if total > 0:
            c = max(total // n, np.int64(1))
            if c > cover[x] or (c == cover[x] and kind < paint[x]):
                cover[x] = c
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
    part: F32,
    best: F32,
) -> None:
    """Sample the slices [a, b) of one row. ``part`` and ``best`` are per pixel: all time, and that of its paint."""
    width = len(cover)
    w = np.float64(width)
    span = np.float64(length)
    kind = np.zeros(width, np.uint8)
    border = np.zeros(width, np.uint8)
    left: Int = width
    right: Int = 0
    for i in range(a, b):
        # int64 differences first: a float never holds an absolute time.
        s = max(starts[i] - t0, -length)
        e = min(starts[i] + durs[i] - t0, 2 * length)
        x0 = np.float64(s) * w / span
        x1 = np.float64(e) * w / span
        p = paints[i]
        if x1 - x0 >= WIDE_PX:
            first: Int = max(np.int64(np.floor(x0 + 0.5)), 0)
            stop: Int = min(np.int64(np.floor(x1 + 0.5)), width)
            for x in range(first, stop):
                part[x] = 1.0
                best[x] = 1.0
                kind[x] = p
                border[x] = 0
            if x0 >= 0 and x1 - x0 >= edge_from and first < stop:
                border[first] = 1
        else:
            first = max(np.int64(np.floor(x0)), 0)
            stop = min(max(np.int64(np.ceil(x1)), first + 1), width)
            for x in range(first, stop):
                c: Any = max(min(x1, x + 1.0) - max(x0, np.float64(x)), FAINTEST)
                part[x] += c
                if kind[x] == p:
                    best[x] += c
                elif c > best[x]:
                    best[x] = c
                    kind[x] = p
        left = min(left, first)
        right = max(right, stop)
    for x in range(left, right):
        if part[x] > 0:
            c = max(min(np.int64(part[x] * 255.0 + 0.5), 255), 1)
            if c > cover[x] or (c == cover[x] and kind[x] < paint[x]):
                cover[x] = c
                paint[x] = kind[x]
                edge[x] = border[x]
            part[x] = 0.0
            best[x] = 0.0


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
        for k in range(np.searchsorted(picked, a), np.searchsorted(picked, b)):
            i = picked[k]
            s = max(starts[i] - t0, -length)
            e = min(starts[i] + durs[i] - t0, 2 * length)
            x0 = np.float64(s) * width / np.float64(length)
            x1 = np.float64(e) * width / np.float64(length)
            if x1 - x0 >= WIDE_PX:
                first: Int = max(np.int64(np.floor(x0 + 0.5)), 0)
                stop: Int = min(np.int64(np.floor(x1 + 0.5)), width)
            else:
                first = max(np.int64(np.floor(x0)), 0)
                stop = min(max(np.int64(np.ceil(x1)), first + 1), width)
            for x in range(first, stop):
                marks[lines[q], x] = 1


@kernel
def compose(
    image: U32,
    line_of: I32,
    ground_of: U8,
    under_of: U8,
    grounds: U32,
    palette: U32,
    edges: U32,
    edge_px: Int,
    mark_color: Int,
    paint: U8,
    cover: U8,
    edge: U8,
    marks: U8,
) -> None:
    """Fill the image from sampled lines; every pixel is written once.

    Args:
        image: uint32[height, width] of 0xffRRGGBB.
        line_of: int32[height] line shown at each pixel row, -1 for plain background.
        ground_of: uint8[height] which background lies there.
        under_of: uint8[height] 1 on the pixel rows that underline marked slices.
        grounds: uint32[backgrounds, width] a background line (with its grid) each.
        palette: uint32[backgrounds, paints, 256] colour by coverage.
        edges: uint32[paints] colour of left borders.
        edge_px: width of left borders in pixels.
        mark_color: colour of underlines.
        paint: uint8[lines, width]; ``cover``, ``edge``, ``marks`` likewise, from :func:`sample` and :func:`mark`.
        cover: see ``paint``.
        edge: see ``paint``.
        marks: see ``paint``.
    """
    height, width = image.shape
    for y in range(height):
        line = line_of[y]
        ground = ground_of[y]
        if y > 0 and line == line_of[y - 1] and ground == ground_of[y - 1] and under_of[y] == under_of[y - 1]:
            image[y, :] = image[y - 1, :]
        elif line < 0:
            image[y, :] = grounds[ground, :]
        else:
            run = 0
            for x in range(width):
                c = cover[line, x]
                if c == 0:
                    image[y, x] = grounds[ground, x]
                    run = 0
                    continue
                if edge[line, x] == 1:
                    run = edge_px
                if under_of[y] == 1 and marks[line, x] == 1:
                    image[y, x] = mark_color
                    run = max(run - 1, 0)
                elif run > 0:
                    image[y, x] = edges[paint[line, x]]
                    run -= 1
                else:
                    image[y, x] = palette[ground, paint[line, x], c]


@kernel
def find_wide(
    starts: I64,
    durs: I64,
    begin: I64,
    end: I64,
    rows: I64,
    t0: Int,
    length: Int,
    at_least: Int,
    which: I64,
    found: I64,
) -> Any:
    """Slices that show for at least ``at_least`` ns inside the window, row by row, in time order.

    Rows with many slices are probed by binary searches (a wide slice cannot hide between two probes), so the cost
    depends on the number of places for wide slices.

    Args:
        starts: int64[n] raw ns; ``durs`` likewise.
        durs: durations, ns.
        begin: int64[rows of the source]; with ``end``: the slices of each row.
        end: see ``begin``.
        rows: int64[q] rows to search.
        t0: start of the window, raw ns.
        length: its length, ns.
        at_least: visible ns, >= 1.
        which: int64[capacity] out: index into ``rows``.
        found: int64[capacity] out: the slice.

    Returns:
        How many were found, at most the capacity.
    """
    n = 0
    stop = t0 + length
    for q in range(len(rows)):
        r = rows[q]
        a = first_touching(starts, durs, begin[r], end[r], t0)
        b = first_from(starts, a, end[r], stop)
        probing = b - a > 4 * (length // at_least)
        probe = t0 + at_least - 1
        i = a
        while i < b:
            if probing:
                if probe >= stop:
                    break
                i = first_touching(starts, durs, i, b, probe)
                probe += at_least
                if i >= b:
                    break
                probe = max(probe, starts[i] + at_least - 1)
            s = max(starts[i], t0)
            e = min(starts[i] + durs[i], stop)
            if e - s >= at_least:
                if n == len(found):
                    return n
                which[n] = q
                found[n] = i
                n += 1
                if probing:
                    probe = max(probe, e + at_least - 1)
            i += 1
    return n
