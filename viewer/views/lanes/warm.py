"""Calls of the compiled painting loops, and their warm-up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.frames import Names, Pixels
from viewer.base.work import CancelToken
from viewer.jit.compose import compose
from viewer.jit.lod import Lod, build_lod, no_lod
from viewer.jit.memory_raster import fill_layers, line_edges, stack_edges
from viewer.jit.raster import mark, sample
from viewer.jit.row_search import find_wide, first_from, first_touching
from viewer.jit.stamp import hatch, stamp
from viewer.views.lanes.palette import INKS

_warm: Final = threading.Event()
_warming: Final = threading.Lock()


def draw_rows(
    starts: NDArray[np.int64],
    durs: NDArray[np.int64],
    paints: NDArray[np.uint8],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    rows: NDArray[np.int64],
    lines: NDArray[np.int64],
    lod: Lod,
    t0: int,
    length: int,
    edge_from: float,
    into: NDArray[np.uint8],
) -> None:
    """Call :func:`viewer.jit.raster.sample` with the fields of a Lod; ``into`` is (paint, cover, edge, ...)."""
    sample(
        starts,
        durs,
        paints,
        begin,
        end,
        rows,
        lines,
        lod.origin,
        lod.shift,
        lod.levels,
        lod.bins,
        lod.offset,
        lod.paint,
        lod.cover,
        t0,
        length,
        float(edge_from),
        into[0],
        into[1],
        into[2],
    )


def stamp_names(
    pixels: Pixels,
    names: Names,
    full: NDArray[np.int64],
    short: NDArray[np.int64],
    masks: NDArray[np.uint8],
    places: NDArray[np.int64],
    pad: int,
    least: int,
) -> None:
    """Call :func:`viewer.jit.stamp.stamp` with the fields of Names; ``places`` is (offset, width, height) of masks."""
    stamp(
        *pixels,
        names.x0,
        names.x1,
        names.y,
        names.height,
        names.above,
        names.color,
        full,
        short,
        masks,
        places[0],
        places[1],
        places[2],
        pad,
        least,
    )


def warm_up() -> None:
    """Compile (or load) every loop that painting uses, for the types of mapped tables. Slow; for a worker thread."""
    times = np.arange(4, dtype=np.int64) * 10
    durs = np.full(4, 5, np.int64)
    paints = np.zeros(4, np.uint8)
    begin, end = np.zeros(1, np.int64), np.full(1, 4, np.int64)
    for array in (times, durs, paints, begin, end):
        array.flags.writeable = False  # like mapped columns: another type to the compiler
    which = np.zeros(1, np.int64)
    lines = np.zeros((4, 1, 8), np.uint8)
    for lod in (no_lod(1), build_lod(times, durs, paints, begin, end, few=1)):
        draw_rows(times, durs, paints, begin, end, which, which, lod, 0, 40, 5.0, lines)
    mark(times, durs, begin, end, which, which, which, 0, 40, lines[3])
    ground = np.zeros((1, 8), np.uint32)
    fills = np.zeros((1, INKS, 256), np.uint32)
    rows = np.zeros(2, np.uint8)
    image = np.zeros((2, 8), np.uint32)
    pixels = Pixels.of(image)
    compose(*pixels[:3], rows.astype(np.int32), rows, rows, ground, fills, fills[0, :, 0].copy(), 1, 0, *lines)
    inks = fills[0, :, 0].copy()
    hatch(*pixels[:3], rows.astype(np.int32), lines[0], lines[1], np.zeros(INKS, np.uint8), inks, 6, 1)
    one, edges = np.zeros(1, np.int64), np.zeros((2, 8), np.int32)
    stack_edges(np.zeros((1, 1), np.int64), one, one, 1.0, 2, 0, edges)
    line_edges(one, one, 1.0, 1, 1, 0, edges)
    fill_layers(image, 0, edges, np.zeros(1, np.uint32))
    box = np.zeros(1), np.full(1, 8.0), one, one + 2, one, one, np.zeros(1, np.uint32)
    stamp_names(pixels, Names(*box, []), one, one, np.zeros(4, np.uint8), np.ones((3, 1), np.int64), 0, 1)
    found = np.zeros(4, np.int64)
    find_wide(times, durs, begin, end, which + 99, which, 0, 40, 1, found, found.copy())
    first_from(times, 0, 4, 0)
    first_touching(times, durs, 0, 4, 0)
    _warm.set()


@contextmanager
def warming() -> Iterator[None]:
    """While helper processes compile what :func:`warm_up` loads: :func:`wait_until_warm` waits for the end of it."""
    with _warming:
        yield


def wait_until_warm(cancel: CancelToken) -> None:
    """Wait for who warms up, or do it. For worker threads. Raises Cancelled."""
    while not _warming.acquire(timeout=0.05):
        cancel.check()
    try:
        cancel.check()
        if not is_warm():
            warm_up()
    finally:
        _warming.release()


def is_warm() -> bool:
    """Whether painting need not wait for any loop: :func:`warm_up` has run."""
    return _warm.is_set()
