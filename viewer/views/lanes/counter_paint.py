"""Step lines of counters as pixels, and the labels of their axes."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.counters import Series, extremes, series
from viewer.base.frames import Names
from viewer.base.selection import TimeRange
from viewer.base.theme import Theme
from viewer.store.session import Session
from viewer.views.lanes.counters import ValueAxis, counter_parts, series_names, value_axis
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.palette import GROUNDS, rgb
from viewer.views.lanes.plan import Plan
from viewer.views.memory.paint import draw_memory

I64 = NDArray[np.int64]

_FILL: Final = 0.24
"""How strong the area below a line is."""
_LABEL_PX: Final = 13
_LABEL_WIDE: Final = 150
"""Room of an axis label, px."""


def columns(window_start: int, length: int, wide: int) -> tuple[I64, I64]:
    """The first and last instant (whole ns) of each of ``wide`` columns of a window; columns may share one."""
    edge = np.arange(wide + 1, dtype=np.int64)
    whole, rest = divmod(length, wide)
    floor = whole * edge + rest * edge // wide
    ceil = whole * edge + -(-rest * edge // wide)
    return window_start + floor[:-1], window_start + np.maximum(ceil[1:] - 1, floor[:-1])


def draw_counters(
    image: NDArray[np.uint32], session: Session, current: Plan, window: TimeRange, dpr: float, theme: Theme
) -> None:
    """Draw the step lines of the counters in sight into the image of a frame.

    A column of pixels goes from the smallest to the largest value that the counter has in its time, and on to where
    the column before ended. Below a single line the area is tinted.
    """
    tall, wide = image.shape
    hair = max(1, round(dpr))
    cut: dict[int, tuple[I64, I64]] = {}
    for at in current.counters:
        lane = current.lines[at].lane
        assert lane is not None
        y, height, above = (int(px[at]) for px in current.line_px)
        top, bottom = max(y, above, 0), min(y + height, tall)
        if bottom <= top or height < 2:
            continue
        if lane.memory:
            draw_memory(image[top:bottom], session, lane, window, cut, columns, top - y, height, hair, theme)
            continue
        axis = value_axis(session, lane)
        ground = np.array(rgb(theme[GROUNDS[int(current.ground_of[top])]]))
        names = series_names(session, lane)
        rows = np.arange(top - y, bottom - y, dtype=np.int32)[:, None]
        part = image[top:bottom]
        for source, track in counter_parts(session, lane):
            item = session.inputs[source]
            t0 = item.clock.to_raw(window.start_ns)
            if t0 not in cut:
                cut[t0] = columns(t0, window.length_ns, wide)
            for one in series(item.trace, track):
                ink = np.array(rgb(series_color(theme, names.index(one.name))))
                fill = _packed(ground + (ink - ground) * _FILL) if len(names) == 1 else None
                _draw(part, rows, one, cut[t0], axis, height, hair, _packed(ink), fill)


def series_color(theme: Theme, number: int) -> str:
    """The colour of a counter's series by its place."""
    return theme["accent"] if number == 0 else theme.hues[(3 * number) % len(theme.hues)]


def _draw(
    part: NDArray[np.uint32],
    rows: NDArray[np.int32],
    one: Series,
    cut: tuple[I64, I64],
    axis: ValueAxis,
    height: int,
    hair: int,
    ink: int,
    fill: int | None,
) -> None:
    low, high, last = extremes(one, *cut)
    known = np.flatnonzero(~np.isnan(low))
    if not len(known):
        return
    first = int(known[0])  # what has begun goes on
    lowest = height - hair
    # In halves: the span of a counter from -1e308 to 1e308 is no float.
    half_low, half_span = axis.low / 2, max(axis.high / 2 - axis.low / 2, sys.float_info.min)

    def row(values: NDArray[np.float64]) -> NDArray[np.int32]:
        return (lowest - np.rint((values[first:] / 2 - half_low) / half_span * lowest)).astype(np.int32)

    upper, lower, end = row(high), row(low), row(last)
    base = min(max(round(lowest + half_low / half_span * lowest), 0), lowest)  # where 0 is, or the border nearest to it
    under = np.maximum(upper, base) if fill is not None else lower
    ground_from = np.minimum(lower, base) if fill is not None else upper
    upper[1:] = np.minimum(upper[1:], end[:-1])
    lower[1:] = np.maximum(lower[1:], end[:-1])
    target = part[:, first:]
    if fill is not None:
        np.copyto(target, np.uint32(fill), where=(rows >= ground_from) & (rows <= under))
    np.copyto(target, np.uint32(ink), where=(rows >= upper) & (rows < lower + hair))


def _packed(color: Any) -> int:
    r, g, b = (round(float(c)) for c in color)
    return 0xFF000000 | r << 16 | g << 8 | b


def axis_names(session: Session, current: Plan, wide: int, dpr: float, theme: Theme, lods: LodStore) -> Names:
    """The axis labels of the counters in sight, as names at the left border."""
    columns_of: list[tuple[int, int, int, int]] = []
    size = round(_LABEL_PX * dpr)
    for at in current.counters:
        lane = current.lines[at].lane
        assert lane is not None
        y, height, above = (int(px[at]) for px in current.line_px)
        if height < 2 * size:
            continue
        axis = value_axis(session, lane)
        columns_of.append((y, size, above, lods.text_id(axis.high_text)))
        if not lane.memory:  # what is stacked from below begins at 0
            columns_of.append((y + height - size, size, above, lods.text_id(axis.low_text)))
    ys, heights, aboves, numbers = np.array(columns_of, np.int64).reshape(-1, 4).T.copy()
    ends = np.full(len(ys), min(float(wide), _LABEL_WIDE * dpr))
    color = np.full(len(ys), _packed(rgb(theme["text"])), np.uint32)
    return Names(np.zeros(len(ys)), ends, ys, heights, aboves, numbers, color, lods.texts)
