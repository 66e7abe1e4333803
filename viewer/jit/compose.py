"""From sampled lines (:mod:`viewer.jit.raster`) to the pixels of an image."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
I32 = NDArray[np.int32]
Int: TypeAlias = Any
"""A whole number: int outside, int64 in compiled code."""


@kernel
def compose(
    flat: U32,
    begin: Int,
    pitch: Int,
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
    """Write the pixels of sampled lines into a part of an image; every pixel is written once.

    Args:
        flat: uint32[...] of 0xffRRGGBB: pixel (x, y) of the part is ``flat[begin + y * pitch + x]``.
        begin: see ``flat``.
        pitch: see ``flat``.
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
    width = grounds.shape[1]
    for y in range(len(line_of)):
        line = line_of[y]
        ground = ground_of[y]
        at = begin + y * pitch
        row = flat[at : at + width]
        if y > 0 and line == line_of[y - 1] and ground == ground_of[y - 1] and under_of[y] == under_of[y - 1]:
            _copy(flat[at - pitch : at - pitch + width], row)
        elif line < 0:
            _copy(grounds[ground], row)
        else:
            _color(
                row,
                grounds[ground],
                palette[ground],
                edges,
                edge_px,
                mark_color,
                under_of[y] == 1,
                paint[line],
                cover[line],
                edge[line],
                marks[line],
            )


@kernel
def _copy(source: U32, target: U32) -> None:
    for x in range(len(target)):
        target[x] = source[x]


@kernel
def _color(
    row: U32,
    ground: U32,
    palette: U32,
    edges: U32,
    edge_px: Int,
    mark_color: Int,
    under: bool,
    paint: U8,
    cover: U8,
    edge: U8,
    marks: U8,
) -> None:
    """Colour one row of pixels."""
    run = 0
    for x in range(len(row)):
        c = cover[x]
        if c == 0:
            row[x] = ground[x]
            run = 0
            continue
        if edge[x] == 1:
            run = edge_px
        if under and marks[x] == 1:
            row[x] = mark_color
            run = max(run - 1, 0)
        elif run > 0:
            row[x] = edges[paint[x]]
            run -= 1
        else:
            row[x] = palette[paint[x], c]
