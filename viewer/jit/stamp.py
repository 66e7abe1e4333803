"""Names and hatching upon the image of the lanes, one call per frame."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
Word: TypeAlias = Any
"""Four bytes of a pixel: uint32."""
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Int: TypeAlias = Any

FADE_PX: Final = 10
"""A name that is cut fades out over so many pixels."""
PART: Final = np.uint32((1 << 16) // (FADE_PX + 1) + 1)
"""Factor by which n // (FADE_PX + 1) is n * PART >> 16, for every n that a fade meets (255 * FADE_PX at most)."""
PAIR: Final = np.uint32(0x00FF00FF)
"""Every second channel of a pixel. Two channels are blended at once, so that the loop fits the machine's vectors."""
ONES: Final = np.uint32(0x00010001)
BYTE: Final = np.uint32(8)
HALF: Final = np.uint32(16)
FULL: Final = np.uint32(255)


@kernel
def stamp(
    flat: U32,
    begin: Int,
    pitch: Int,
    columns: Int,
    rows: Int,
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
    """Blend a name into each box; all in pixels of a part of an image.

    Args:
        flat: uint32[...] of 0xffRRGGBB, in and out: pixel (x, y) of the part is ``flat[begin + y * pitch + x]``.
        begin: see ``flat``.
        pitch: see ``flat``.
        columns: width of the part, ``rows`` its height.
        rows: see ``columns``.
        x0: float64[n] left border of each box, with ``x1`` the right one; cut at the part's borders.
        x1: see ``x0``.
        y: int64[n] its upper border, ``height`` int64[n] how tall it is.
        height: see ``y``.
        above: int64[n] rows of the part above this one stay as they are.
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
    for i in range(len(x0)):
        left = max(np.int64(x0[i]), np.int64(0)) + pad
        room = min(np.int64(x1[i]), columns) - pad + 1 - left
        k = full[i] if wide[full[i]] <= room else short[i]
        shown = min(wide[k], room)
        if shown <= 0 or (shown < wide[k] and shown < least):
            continue
        top = y[i] + (height[i] - tall[k]) // 2
        c = np.uint32(colors[i])
        red_blue, green = c & PAIR, c >> BYTE & PAIR
        solid = max(shown - FADE_PX, 0) if shown < wide[k] else shown
        for v in range(max(above[i] - top, 0), min(tall[k], rows - top)):
            mask = masks[offset[k] + v * wide[k] :]
            row = flat[begin + (top + v) * pitch + left :]
            _blend(row[:solid], mask[:solid], red_blue, green)
            if solid < shown:
                _fade(row[solid:shown], mask[solid:shown], np.uint32(shown - solid), red_blue, green)


@kernel
def _blend(row: U32, mask: U8, red_blue: Word, green: Word) -> None:
    """Blend a colour (its channels in pairs) into a row by coverage.

    Each channel becomes (old * (255 - a) + new * a) // 255. A sum s of two products is at most 255 * 255, for which
    s // 255 = (s + 1 + (s + 1 >> 8)) >> 8.
    """
    for u in range(len(row)):
        a = np.uint32(mask[u])
        keep = FULL - a
        rb = (row[u] & PAIR) * keep + red_blue * a + ONES
        g = (row[u] >> BYTE & PAIR) * keep + green * a + ONES
        row[u] = (rb + (rb >> BYTE & PAIR)) >> BYTE & PAIR | (g + (g >> BYTE & PAIR)) & ~PAIR


@kernel
def _fade(row: U32, mask: U8, left: Word, red_blue: Word, green: Word) -> None:
    """Like :func:`_blend`, ever weaker: ``left`` pixels before the end, of FADE_PX."""
    for u in range(len(row)):
        a = np.uint32(mask[u]) * (left - np.uint32(u)) * PART >> HALF
        keep = FULL - a
        rb = (row[u] & PAIR) * keep + red_blue * a + ONES
        g = (row[u] >> BYTE & PAIR) * keep + green * a + ONES
        row[u] = (rb + (rb >> BYTE & PAIR)) >> BYTE & PAIR | (g + (g >> BYTE & PAIR)) & ~PAIR


@kernel
def hatch(
    flat: U32,
    begin: Int,
    pitch: Int,
    line_of: I32,
    paint: U8,
    cover: U8,
    pattern_of: U8,
    inks: U32,
    spacing: Int,
    hair: Int,
) -> None:
    """Lay a pattern over the pixels of some paints: a second sign beside the colour.

    Args:
        flat: uint32[...] of 0xffRRGGBB, in and out: pixel (x, y) is ``flat[begin + y * pitch + x]``.
        begin: see ``flat``.
        pitch: see ``flat``.
        line_of: int32[h] line shown at each pixel row, -1 for none.
        paint: uint8[lines, w]; ``cover`` uint8[lines, w]: as sampled.
        cover: see ``paint``.
        pattern_of: uint8[paints] 0 nothing, 1 stripes that rise, 2 stripes that fall, 3 dots.
        inks: uint32[paints] colour of each paint's pattern.
        spacing: pixels from one stripe to the next.
        hair: width of a stripe in pixels.
    """
    columns = cover.shape[1]
    present = 0  # bit k: the line has pixels of pattern k
    for y in range(len(line_of)):
        line = line_of[y]
        if line < 0:
            continue
        paints, covers = paint[line], cover[line]
        if y == 0 or line != line_of[y - 1]:
            present = 0
            for x in range(columns):
                present |= (1 << np.int64(pattern_of[paints[x]])) * (covers[x] >= 128)
        row = flat[begin + y * pitch : begin + y * pitch + columns]
        for kind in range(1, 4):
            if not present >> kind & 1 or (kind == 3 and y % spacing >= hair):
                continue
            first = -y % spacing if kind == 1 else y % spacing if kind == 2 else 0
            for x in range(first, columns, spacing):
                for u in range(x, min(x + hair, columns)):
                    if covers[u] >= 128 and pattern_of[paints[u]] == kind:
                        row[u] = inks[paints[u]]
