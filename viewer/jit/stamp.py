"""Names and hatching upon the image of the lanes, one call per frame."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Int: TypeAlias = Any

FADE_PX: Final = 10
"""A name that is cut fades out over so many pixels."""


@kernel
def stamp(
    image: U32,
    x0: F64,
    x1: F64,
    y: I64,
    height: I64,
    above: I64,
    colors: U32,
    full: I64,
    short: I64,
    masks: U8,
    offset: I64,
    wide: I64,
    tall: I64,
    pad: Int,
    least: Int,
) -> None:
    """Blend a name into each box; all in pixels of the image.

    Args:
        image: uint32[h, w] of 0xffRRGGBB, in and out.
        x0: float64[n] left border of each box, with ``x1`` the right one; cut at the image's borders.
        x1: see ``x0``.
        y: int64[n] its upper border, ``height`` int64[n] how tall it is.
        height: see ``y``.
        above: int64[n] rows of the image above this one stay as they are.
        colors: uint32[n] colour of the text.
        full: int64[n] which mask is the whole name, ``short`` int64[n] its telling part.
        short: see ``full``.
        masks: uint8[...] coverage of all masks, row by row.
        offset: int64[m] where each mask begins, ``wide`` and ``tall`` its size.
        wide: see ``offset``.
        tall: see ``offset``.
        pad: free pixels left and right of the text.
        least: a text of which fewer pixels would show is left out, unless it is shorter as a whole.
    """
    rows, columns = image.shape
    for i in range(len(x0)):
        left = max(np.int64(x0[i]), np.int64(0)) + pad
        room = min(np.int64(x1[i]), columns) - pad + 1 - left
        k = full[i] if wide[full[i]] <= room else short[i]
        shown = min(wide[k], room)
        if shown <= 0 or (shown < wide[k] and shown < least):
            continue
        top = y[i] + (height[i] - tall[k]) // 2
        c = colors[i]
        r, g, b = np.int64(c >> 16 & 255), np.int64(c >> 8 & 255), np.int64(c & 255)
        fade = shown - FADE_PX if shown < wide[k] else shown
        for v in range(max(above[i] - top, 0), min(tall[k], rows - top)):
            at = offset[k] + v * wide[k]
            row = image[top + v]
            for u in range(shown):
                a = np.int64(masks[at + u])
                if a == 0:
                    continue
                if u >= fade:
                    a = a * (shown - u) // (FADE_PX + 1)
                d = row[left + u]
                dr, dg, db = np.int64(d >> 16 & 255), np.int64(d >> 8 & 255), np.int64(d & 255)
                dr += (r - dr) * a // 255
                dg += (g - dg) * a // 255
                db += (b - db) * a // 255
                row[left + u] = np.uint32(0xFF000000 | dr << 16 | dg << 8 | db)


@kernel
def hatch(
    image: U32,
    line_of: I32,
    paint: U8,
    cover: U8,
    pattern_of: U8,
    inks: U32,
    pitch: Int,
    hair: Int,
) -> None:
    """Lay a pattern over the pixels of some paints: a second sign beside the colour.

    Args:
        image: uint32[h, w] of 0xffRRGGBB, in and out.
        line_of: int32[h] line shown at each pixel row, -1 for none.
        paint: uint8[lines, w]; ``cover`` uint8[lines, w]: as sampled.
        cover: see ``paint``.
        pattern_of: uint8[paints] 0 nothing, 1 stripes that rise, 2 stripes that fall, 3 dots.
        inks: uint32[paints] colour of each paint's pattern.
        pitch: pixels from one stripe to the next.
        hair: width of a stripe in pixels.
    """
    columns = image.shape[1]
    for y in range(len(image)):
        line = line_of[y]
        if line < 0:
            continue
        for kind in range(1, 4):
            if kind == 3 and y % pitch >= hair:
                continue
            first = -y % pitch if kind == 1 else y % pitch if kind == 2 else 0
            for x in range(first, columns, pitch):
                for u in range(x, min(x + hair, columns)):
                    if cover[line, u] >= 128 and pattern_of[paint[line, u]] == kind:
                        image[y, u] = inks[paint[line, u]]
