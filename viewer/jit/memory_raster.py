"""Blocks of memory as pixels: layers that are stacked per column, blocks that lie at addresses, blocks by size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
F64 = NDArray[np.float64]
U32 = NDArray[np.uint32]

_STRIP = 128
"""Columns that are filled together: their part of the image stays near."""


@kernel
def fill_layers(image: U32, first: int, edges: I32, colors: U32) -> Any:
    """Fill every column of an image from layer to layer.

    Args:
        image: uint32[height, width], changed.
        first: the number in a lane's rows of the image's row 0.
        edges: int32[layers + 1, width], rows from below upward: layer k covers [edges[k + 1], edges[k]).
        colors: uint32[layers].
    """
    height, width = image.shape
    for left in range(0, width, _STRIP):
        right = min(left + _STRIP, width)
        for layer in range(len(colors)):
            for column in range(left, right):
                top = max(edges[layer + 1, column] - first, 0)
                bottom = min(edges[layer, column] - first, height)
                for row in range(top, bottom):
                    image[row, column] = colors[layer]


@kernel
def stack_edges(found: I64, order: I64, layer: I64, scale: float, height: int, start: int, edges: I32) -> Any:
    """Where layers that lie upon each other begin and end, in rows from above.

    Args:
        found: int64[n, columns], bytes of each part at each of n columns of pixels.
        order: int64[columns], the parts from below upward.
        layer: int64[columns], the layer of each part of ``order``, rising.
        scale: rows per byte.
        height: rows of the lane.
        start: the first column of pixels.
        edges: int32[layers + 1, width], written from ``start`` on: see :func:`fill_layers`.
    """
    for k in range(len(found)):
        edges[0, start + k] = height
        total = 0
        for i in range(len(order)):
            total += found[k, order[i]]
            edges[layer[i] + 1, start + k] = height - int(total * scale + 0.5)


@kernel
def line_edges(least: I64, most: I64, scale: float, lowest: int, hair: int, start: int, edges: I32) -> Any:
    """The rows of a line from the smallest to the largest value of each column of pixels, without gaps between them.

    Args:
        least: int64[n], bytes.
        most: int64[n], bytes.
        scale: rows per byte.
        lowest: the row of 0 bytes.
        hair: rows of the line.
        start: the first column of pixels.
        edges: int32[2, width], written from ``start`` on: see :func:`fill_layers`.
    """
    upper = lower = 0
    for k in range(len(least)):
        above, below = lowest - int(most[k] * scale + 0.5), lowest - int(least[k] * scale + 0.5)
        if k == 0:
            upper, lower = above, below
        edges[1, start + k], edges[0, start + k] = min(above, lower), max(below, upper) + hair
        upper, lower = above, below


@kernel
def fill_boxes(x0: I32, x1: I32, y0: I32, y1: I32, numbers: I32, out: I32) -> Any:
    """Write numbers into boxes of pixels, the last one on top.

    Args:
        x0: int32[n], first columns, inside the image.
        x1: int32[n], one past the last ones.
        y0: int32[n], first rows, inside the image.
        y1: int32[n], one past the last ones.
        numbers: int32[n], what is written.
        out: int32[height, width], changed.
    """
    for k in range(len(numbers)):
        for row in range(y0[k], y1[k]):
            for column in range(x0[k], x1[k]):
                out[row, column] = numbers[k]


@kernel
def fill_blocks(
    start: I64,
    end: I64,
    low: I64,
    size: I64,
    t0: int,
    length: int,
    y0: float,
    height: float,
    first: int,
    out: I32,
    best: NDArray[np.float32],
) -> Any:
    """Draw blocks that lie at addresses over time, each at least a pixel; of those of one pixel the largest.

    Args:
        start: int64[n], made.
        end: int64[n], gone.
        low: int64[n], place on the vertical axis, bytes; below 0: not drawn.
        size: int64[n], bytes.
        t0: begin of what is seen.
        length: how much is seen, >= 1.
        y0: place of the lower border.
        height: bytes that are seen, > 0.
        first: the number of block 0; written are first + k.
        out: int32[rows, columns], changed.
        best: float32[rows, columns], zeros; used up: how large what a pixel shows is.
    """  # fmt: skip
    tall, wide = out.shape
    t1 = t0 + length
    y1 = y0 + height
    along, up = wide / np.float64(length), tall / height
    for k in range(len(start)):
        if start[k] >= t1 or end[k] <= t0 or low[k] < 0 or low[k] >= y1 or low[k] + size[k] <= y0:
            continue
        a, b = max(start[k], t0), min(end[k], t1)
        x0 = min(int((a - t0) * along), wide - 1)
        x1 = max(min(int(np.ceil((b - t0) * along)), wide), x0 + 1)
        under = min(max(int(np.floor((low[k] - y0) * up)), 0), tall - 1)
        above = max(min(max(int(np.rint((low[k] + size[k] - y0) * up)), 0), tall), under + 1)
        area = np.float32(np.float64(b - a) * np.float64(size[k]))
        for row in range(tall - above, tall - under):
            for column in range(x0, x1):
                if out[row, column] < 0 or area > best[row, column]:
                    out[row, column] = first + k
                    best[row, column] = area


@kernel
def stack_blocks(
    made: I64, gone: I64, size: I64, events: I64, level: F64, low: float, scale: float, held: I32, rest: int, out: I32
) -> Any:
    """Stack what is held after an event of each column, in the order in which it was made, from below.

    Args:
        made: int64[n] ascending, the event that made a block; below every column's when it was there before.
        gone: int64[n], the event after which it is held no more.
        size: int64[n], bytes.
        events: int64[width] not falling.
        level: float64[width], bytes of each column; what they have beyond the blocks lies below them. NaN: not known.
        low: bytes at the lower border of the image.
        scale: rows per byte.
        held: int32[n], room for the numbers of held blocks.
        rest: what is written for bytes beyond the blocks.
        out: int32[height, width], changed: the number of a block per pixel.
    """
    height, width = out.shape
    count = 0
    upcoming = 0
    total = len(made)
    for column in range(width):
        event = events[column]
        while upcoming < total and made[upcoming] <= event:
            if gone[upcoming] > event:
                held[count] = upcoming
                count += 1
            upcoming += 1
        kept = 0
        whole = 0
        for k in range(count):
            block = held[k]
            if gone[block] > event:
                held[kept] = block
                kept += 1
                whole += size[block]
        count = kept
        at = 0.0
        if level[column] > whole:  # false for NaN
            at = level[column] - whole
        top = (at - low) * scale
        for row in range(int(min(max(np.floor(top + 0.5), 0.0), float(height)))):
            out[height - 1 - row, column] = rest
        for k in range(count):
            block = held[k]
            begin = top
            at += size[block]
            top = (at - low) * scale
            if top <= 0.0:
                continue
            if begin >= height:
                break
            first = int(max(np.floor(begin + 0.5), 0.0))
            last = int(min(np.floor(top + 0.5), float(height)))
            for row in range(first, last):
                out[height - 1 - row, column] = block
