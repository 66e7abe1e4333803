"""What :mod:`viewer.jit.raster` and :mod:`viewer.jit.lod` must compute, in plain exact Python. Only tests use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Slice = tuple[int, int, int]
"""(start ns, duration ns, paint)."""

_FAINTEST = Fraction(1, 64)


def sample_row(slices: Sequence[Slice], t0: int, length: int, width: int) -> list[tuple[int, Fraction]]:
    """(paint, coverage) of each pixel; coverage 0 where it is free, 1 where it is full.

    ``slices`` are disjoint and in order of time.
    """
    pixels: list[tuple[int, Fraction]] = [(0, Fraction(0))] * width
    for x, (kind, total) in _thin(slices, t0, length, width).items():
        pixels[x] = (kind, min(total, Fraction(1)))
    for start, dur, paint in slices:
        x0, x1 = (Fraction((t - t0) * width, length) for t in (start, start + dur))
        for x in _filled(x0, x1, width):
            if pixels[x][1] < 1 or paint < pixels[x][0]:
                pixels[x] = (paint, Fraction(1))
    return pixels


def _filled(x0: Fraction, x1: Fraction, width: int) -> range:
    """The pixels that a slice of two pixels or more fills: none where less than half of one is inside the window."""
    if x1 - x0 < 2:
        return range(0)
    return range(max(math.floor(x0 + Fraction(1, 2)), 0), min(math.floor(x1 + Fraction(1, 2)), width))


def _thin(slices: Sequence[Slice], t0: int, length: int, width: int) -> dict[int, tuple[int, Fraction]]:
    """The paint with the most time, and all time, of the pixels that slices touch which fill none."""
    shares: dict[int, list[tuple[int, Fraction]]] = {}
    for start, dur, paint in slices:
        outside = start >= t0 + length or (start < t0 and start + dur <= t0)
        x0, x1 = (Fraction((t - t0) * width, length) for t in (start, start + dur))
        if outside or len(_filled(x0, x1, width)):
            continue
        first = max(math.floor(x0), 0)
        for x in range(first, min(max(math.ceil(x1), first + 1), width)):
            share = max(min(x1, Fraction(x + 1)) - max(x0, Fraction(x)), _FAINTEST)
            shares.setdefault(x, []).append((paint, share))
    return {x: (_winner(parts), sum((s for _, s in parts), Fraction(0))) for x, parts in shares.items()}


def _winner(parts: list[tuple[int, Fraction]]) -> int:
    """Runs of one paint count together while they lead; otherwise the largest single share wins."""
    kind, most = 0, Fraction(0)
    for paint, share in parts:
        if paint == kind:
            most += share
        elif share > most:
            kind, most = paint, share
    return kind


def bins(slices: Sequence[Slice], origin: int, width: int, count: int) -> list[dict[int, int]]:
    """Ns per paint in each of ``count`` bins of ``width`` ns; at least 1 ns of every slice in each bin it touches."""
    out: list[dict[int, int]] = [{} for _ in range(count)]
    for start, dur, paint in slices:
        a, b = start - origin, start - origin + max(dur, 1)
        for k in range(min(a // width, count - 1), min((b - 1) // width, count - 1) + 1):
            part = max(min(b, (k + 1) * width) - max(a, k * width), 1)
            out[k][paint] = out[k].get(paint, 0) + part
    return out
