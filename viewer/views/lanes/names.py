"""Which slices of a frame are named, as arrays: no object per slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from viewer.base.frames import Box, Names
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef, TimeRange
from viewer.jit.row_search import find_wide
from viewer.store.session import Session
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.looks import Look, Matched
from viewer.views.lanes.palette import DIM
from viewer.views.lanes.plan import NO_LINES, Plan, SourceRows

LABEL_MIN_PX: Final = 40
"""Slices at least this wide are named."""
LABEL_MIN_HEIGHT: Final = 11
"""Sub-rows at least this tall have names."""
MOST_BOXES: Final = 20_000
OVERHANG: Final = 4.0
"""Boxes are cut this far outside the frame, so that their outlines stay outside."""

_NO_PX: Final = np.zeros(0, np.float64)
EMPTY_NAMES: Final = Names(_NO_PX, _NO_PX, NO_LINES, NO_LINES, NO_LINES, NO_LINES, np.zeros(0, np.uint32), [])
_PAINTS: Final = tuple(Paint)


def find_names(
    session: Session,
    lods: LodStore,
    looks: Mapping[int, Look],
    matched: Mapping[int, Matched],
    current: Plan,
    window: TimeRange,
    wide: int,
    dpr: float,
    texts: NDArray[np.uint32],
    text_scale: float = 1.0,
) -> Names:
    """Names of a frame ``wide`` device pixels wide; ``texts`` uint32[inks] are their colours.

    ``text_scale`` says how much larger than usual they are written.
    """
    at_least = max(1, int(np.ceil(window.length_ns * LABEL_MIN_PX * dpr / wide)))
    scale = wide / window.length_ns
    parts: list[tuple[NDArray[Any], ...]] = []
    rows = current.named(round(LABEL_MIN_HEIGHT * text_scale))
    for source, t0, at, row in _wide_slices(session, lods, rows, window, at_least):
        trace = session.inputs[source].trace
        s, line = trace.slices, rows[source].lines[row]
        begin = (s.start_ns[at] - t0) * scale
        end = begin + s.dur_ns[at] * scale
        look = looks.get(source)
        ink = (s.paint if look is None else look.ink)[at]
        if source in matched:
            ink = np.where(matched[source].mask[at], ink, ink | DIM)
        parts.append((begin, end, line, lods.text_ids(trace, s.name[at]), texts[ink]))
    if not parts:
        return EMPTY_NAMES
    x0, x1, line, ids, color = (np.concatenate(column) for column in zip(*parts, strict=True))
    y, height, above = (px[line] for px in current.line_px)
    return Names(np.maximum(x0, 0.0), np.minimum(x1, wide), y, height, above, ids, color, lods.texts)


def find_boxes(
    session: Session,
    lods: LodStore,
    refs: dict[tuple[int, int], SliceRef],
    current: Plan,
    window: TimeRange,
    width: int,
    min_px: float,
    top: int,
    min_height: int,
) -> Iterator[Box]:
    """Slices that show for at least ``min_px`` of ``width`` logical px, as boxes; ``refs`` keeps their references."""
    at_least = max(1, int(np.ceil(window.length_ns * min_px / width)))
    scale = width / window.length_ns
    rows = current.named(min_height)
    for source, t0, at, row in _wide_slices(session, lods, rows, window, at_least):
        trace = session.inputs[source].trace
        s, lines = trace.slices, rows[source].lines
        begin = np.maximum((s.start_ns[at] - t0) * scale, -OVERHANG)
        end = np.minimum((s.start_ns[at] + s.dur_ns[at] - t0) * scale, width + OVERHANG)
        names = lods.names(trace)
        for q, i, x0, x1, name, paint in zip(
            row.tolist(),
            at.tolist(),
            begin.tolist(),
            end.tolist(),
            s.name[at].tolist(),
            s.paint[at].tolist(),
            strict=True,
        ):
            line = current.lines[lines[q]]
            ref = refs.get((source, i))
            if ref is None:
                ref = refs[source, i] = SliceRef(source, i)
            yield Box(x0, line.y - top, x1 - x0, line.height, names(name), _PAINTS[paint], ref)


def _wide_slices(
    session: Session, lods: LodStore, rows: Mapping[int, SourceRows], window: TimeRange, at_least: int
) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int64]]]:
    """Slices of at least so many ns that touch the window, MOST_BOXES in all.

    Per input: its index, the window's start on its clock (raw ns), rows of ``slices``, and for each of them the
    position of its row in ``rows``. The arrays hold until the next input, and are this call's own: pictures are made
    beside the window.
    """
    which, found = np.empty(MOST_BOXES, np.int64), np.empty(MOST_BOXES, np.int64)
    left = MOST_BOXES
    for source, where in rows.items():
        item = session.inputs[source]
        trace = item.trace
        if left <= 0:
            return
        if lods.longest(trace) < at_least:
            continue
        s = trace.slices
        t0 = item.clock.to_raw(window.start_ns)
        n = cast(
            int,
            find_wide(
                s.start_ns,
                s.dur_ns,
                trace.rows.begin,
                trace.rows.end,
                lods.get(trace).longest,
                where.rows,
                t0,
                window.length_ns,
                at_least,
                which[:left],
                found[:left],
            ),
        )
        left -= n
        if n:
            yield source, t0, found[:n], which[:n]
