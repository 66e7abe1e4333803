"""Memory lanes as pixels: layers by category, and the lines above them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import Category
from viewer.base.frames import LaneRow
from viewer.base.selection import TimeRange
from viewer.base.theme import Theme
from viewer.jit.memory_raster import fill_layers, line_edges, stack_edges
from viewer.store.session import Session
from viewer.views.lanes.palette import rgb
from viewer.views.memory.lanes import HUES, ORDER, lane_capacity, lane_levels, memory_axis
from viewer.views.memory.levels import MemoryLevels

I64 = NDArray[np.int64]

_STRENGTH: Final = 0.78
"""How strong the layers are: the lines upon them must be seen."""
_GREY: Final = 0.45
"""How much of the muted colour what is not known has."""
_DASH: Final = 6
_HEIGHT: Final = {int(c): k for k, c in enumerate(ORDER)}


def packed(color: Any) -> int:
    """0xffRRGGBB of three parts."""
    r, g, b = (round(float(c)) for c in color)
    return 0xFF000000 | r << 16 | g << 8 | b


def category_colors(theme: Theme, strength: float = 1.0) -> dict[Category, int]:
    """The colour of each category, mixed with the lanes' background."""
    return dict(_colors(theme["base"], theme["muted"], theme.hues, strength))


@lru_cache(maxsize=16)
def _colors(base: str, muted: str, hues: tuple[str, ...], strength: float) -> tuple[tuple[Category, int], ...]:
    ground = np.array(rgb(base))
    out = []
    for category in Category:
        hue = HUES.get(category)
        ink, share = (muted, _GREY * strength) if hue is None else (hues[hue], strength)
        out.append((category, packed(ground + (np.array(rgb(ink)) - ground) * share)))
    return tuple(out)


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
        inks = {name: packed(rgb(theme[token])) for name, token in (("reserved", "muted"), ("allocated", "text"))}
        _draw(part, levels, cut[t0], first, height, hair, scale, colors, inks)
    room = lane_capacity(session, lane)
    if room is not None and room <= top:
        y = round(lowest - room * scale) - first
        if 0 <= y < part.shape[0]:
            on = np.arange(part.shape[1]) // (_DASH * hair) % 2 == 0
            part[y : y + hair, on] = packed(rgb(theme["warning"]))


def peak_steps(levels: MemoryLevels, cut: tuple[I64, I64]) -> tuple[int, I64, I64]:
    """(first column with a value; of it and all after it the largest bytes allocated, and their steps; -1: before)."""
    start, _, most, at = levels.drawn["allocated"].spans(cut)
    return start, most, at


def _draw(
    part: NDArray[np.uint32],
    levels: MemoryLevels,
    cut: tuple[I64, I64],
    first: int,
    height: int,
    hair: int,
    scale: float,
    colors: dict[Category, int],
    inks: dict[str, int],
) -> None:
    """Layers, then lines upon them."""
    spans = {name: one.spans(cut) for name, one in levels.drawn.items()}
    if "allocated" in spans:
        start, _, most, at = spans["allocated"]
        if len(at):
            _layers(part, levels, at, most, start, first, height, scale, colors)
    for name, ink in inks.items():
        if name in spans and len(spans[name][1]):
            start, least, most, _ = spans[name]
            _line(part, least, most, start, first, height - hair, scale, hair, ink)


def _layers(
    part: NDArray[np.uint32],
    levels: MemoryLevels,
    at: I64,
    most: I64,
    start: int,
    first: int,
    height: int,
    scale: float,
    colors: dict[Category, int],
) -> None:
    """Stack what is held after steps ``at`` in the columns from ``start`` on."""
    series = levels.categories
    kinds: tuple[int, ...] = (Category.UNKNOWN,)
    if series is None:
        sums = most[:, None]
    else:
        sums, kinds = levels.sums_at(at), series.category_of
        if series.unsettled(sums):
            sums, kinds = np.ascontiguousarray(series.parts(sums)[0].T), tuple(map(int, Category))
    order, layer, categories = _stacking(kinds)
    edges = np.full((len(categories) + 1, part.shape[1]), height, np.int32)
    stack_edges(sums, order, layer, scale, height, start, edges)
    fill_layers(part, first, edges, np.array([colors[c] for c in categories], np.uint32))


@lru_cache(maxsize=64)
def _stacking(kinds: tuple[int, ...]) -> tuple[I64, I64, tuple[Category, ...]]:
    """(parts from below upward, their layers, the layers' categories) of parts of such categories."""
    order = sorted(range(len(kinds)), key=lambda k: _HEIGHT[kinds[k]])
    categories = tuple(c for c in ORDER if c in kinds)
    layer = [categories.index(Category(kinds[k])) for k in order]
    return np.array(order, np.int64), np.array(layer, np.int64), categories


def _line(
    part: NDArray[np.uint32],
    least: I64,
    most: I64,
    start: int,
    first: int,
    lowest: int,
    scale: float,
    hair: int,
    ink: int,
) -> None:
    edges = np.full((2, part.shape[1]), lowest + hair, np.int32)
    line_edges(least, most, scale, lowest, hair, start, edges)
    fill_layers(part, first, edges, np.array([ink], np.uint32))
