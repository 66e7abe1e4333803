"""Memory lanes as pixels: layers by category, and the lines above them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.counters import Series, extremes
from viewer.base.allocator import Category
from viewer.base.frames import LaneRow
from viewer.base.selection import TimeRange
from viewer.base.theme import Theme
from viewer.jit.memory_raster import fill_layers
from viewer.store.session import Session
from viewer.views.memory_lanes import HUES, ORDER, lane_capacity, lane_levels, memory_axis
from viewer.views.memory_levels import MemoryLevels
from viewer.views.palette import rgb

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
F64 = NDArray[np.float64]

_STRENGTH: Final = 0.78
"""How strong the layers are: the lines upon them must be seen."""
_GREY: Final = 0.45
"""How much of the muted colour what is not known has."""
_DASH: Final = 6
SLACK: Final = 0.01
"""Blocks may sum to so much more than the total: sizes are rounded, and events of one instant come one by one."""


def packed(color: Any) -> int:
    """0xffRRGGBB of three parts."""
    r, g, b = (round(float(c)) for c in color)
    return 0xFF000000 | r << 16 | g << 8 | b


def category_colors(theme: Theme, strength: float = 1.0) -> dict[Category, int]:
    """The colour of each category, mixed with the lanes' background."""
    base = np.array(rgb(theme["base"]))
    out = {}
    for category in Category:
        hue = HUES.get(category)
        if hue is None:
            ink, share = np.array(rgb(theme["muted"])), _GREY * strength
        else:
            ink, share = np.array(rgb(theme.hues[hue])), strength
        out[category] = packed(base + (ink - base) * share)
    return out


def draw_memory(
    part: NDArray[np.uint32],
    session: Session,
    lane: LaneRow,
    window: TimeRange,
    cut: dict[int, tuple[I64, I64]],
    columns: Any,
    first: int,
    height: int,
    hair: int,
    theme: Theme,
) -> None:
    """Draw a memory lane into its part of the image.

    A column's layers are those of the instant at which most is allocated in it, so that no peak is lost; the lines go
    from the smallest to the largest value of the column.

    Args:
        part: uint32[rows, width], changed; its row 0 is row ``first`` of the lane's ``height`` rows.
        session: the job.
        lane: with ``memory``.
        window: session time.
        cut: instants of the columns by raw start, shared by the lanes of a frame.
        columns: makes them: (raw start, length, width) -> (first, last) instants.
        first: see ``part``.
        height: rows of the lane.
        hair: device px of a line.
        theme: colours.
    """
    top = memory_axis(session, lane)
    lowest = height - hair
    scale = lowest / top
    colors = category_colors(theme, _STRENGTH)
    for item, _, levels in lane_levels(session, lane, wait=False):
        t0 = item.clock.to_raw(window.start_ns)
        if t0 not in cut:
            cut[t0] = columns(t0, window.length_ns, part.shape[1])
        _layers(part, levels, cut[t0], first, height, scale, colors)
        for name, token in (("reserved", "muted"), ("allocated", "text")):
            if name in levels.lines:
                _line(part, levels.lines[name], cut[t0], first, lowest, scale, hair, packed(rgb(theme[token])))
    room = lane_capacity(session, lane)
    if room is not None and room <= top:
        y = round(lowest - room * scale) - first
        if 0 <= y < part.shape[0]:
            on = np.arange(part.shape[1]) // (_DASH * hair) % 2 == 0
            part[y : y + hair, on] = packed(rgb(theme["warning"]))


def peak_instants(levels: MemoryLevels, cut: tuple[I64, I64]) -> tuple[I64, I64]:
    """(columns that have a value, place in "allocated" of the largest value of each)."""
    times = levels.lines["allocated"].time_ns
    a = np.searchsorted(times, cut[0], "left")
    # What was in force when the column began counts, unless something happened at that very instant.
    a = np.where((a < len(times)) & (times[np.minimum(a, len(times) - 1)] == cut[0]), a, a - 1)
    b = np.searchsorted(times, cut[1], "right")
    known = np.flatnonzero(b > 0)
    assert levels.peaks is not None
    return known, levels.peaks.largest(np.maximum(a[known], 0), b[known])


def trusted(levels: MemoryLevels, times: I64) -> I64:
    """int64[categories, n]: bytes by category at instants.

    Where blocks sum to more than the source's own total (their frees are not in its events), the total alone is true:
    it counts as unknown.
    """
    assert levels.categories is not None
    found = levels.categories.at(times)
    total = found.sum(axis=0)
    wrong = np.flatnonzero(found.min(axis=0) < -SLACK * np.abs(total))
    found = np.maximum(found, 0)
    found[:, wrong] = 0
    found[Category.UNKNOWN, wrong] = np.maximum(total[wrong], 0)
    return found


def _layers(
    part: NDArray[np.uint32],
    levels: MemoryLevels,
    cut: tuple[I64, I64],
    first: int,
    height: int,
    scale: float,
    colors: dict[Category, int],
) -> None:
    if levels.peaks is None:
        return
    known, at = peak_instants(levels, cut)
    if not len(known):
        return
    held = levels.lines["allocated"]
    if levels.categories is None:
        sums = held.value[at][None, :]
        inks = [colors[Category.UNKNOWN]]
    else:
        found = trusted(levels, held.time_ns[at])
        sums = np.cumsum([found[c] for c in ORDER], axis=0).astype(np.float64)
        inks = [colors[c] for c in ORDER]
    edges = np.full((len(sums) + 1, part.shape[1]), height, np.int32)
    edges[1:, known] = height - np.rint(sums * scale).astype(np.int32)
    fill_layers(part, first, edges, np.array(inks, np.uint32))


def _line(
    part: NDArray[np.uint32],
    one: Series,
    cut: tuple[I64, I64],
    first: int,
    lowest: int,
    scale: float,
    hair: int,
    ink: int,
) -> None:
    low, high, last = extremes(one, *cut)
    known = np.flatnonzero(~np.isnan(low))
    if not len(known):
        return
    start = int(known[0])

    def row(values: F64) -> I32:
        return (lowest - np.rint(values[start:] * scale)).astype(np.int32)

    upper, lower, end = row(high), row(low), row(last)
    upper[1:], lower[1:] = np.minimum(upper[1:], end[:-1]), np.maximum(lower[1:], end[:-1])
    edges = np.full((2, part.shape[1]), lowest + hair, np.int32)
    edges[0, start:], edges[1, start:] = lower + hair, upper
    fill_layers(part, first, edges, np.array([ink], np.uint32))
