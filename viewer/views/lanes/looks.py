"""What slices are drawn as: by class, by name, by rank or by communicator, and what a filter leaves bright.

A look is an ink per slice (numbers of ``viewer.views.lanes.palette``) with levels of detail made of those inks, so
that a colour that covers most of a pixel is the colour of the pixel. Looks are built off the GUI thread and kept per
trace.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.frames import Swatch
from viewer.base.ids import Paint
from viewer.base.theme import PAINT_NAMES, Theme
from viewer.base.work import CancelToken
from viewer.jit.lod import Lod, build_lod
from viewer.store.session import Input, Session
from viewer.store.trace import Trace
from viewer.views.lanes.palette import FIRST_HUE

HUES: Final = 12
"""So many hues every theme has."""
_MOST_SWATCHES: Final = 10
NO_GROUP: Final = "no communicator"


class Coloring(StrEnum):
    """What a slice's colour says."""

    CLASS = "class"
    NAME = "name"
    RANK = "rank"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Look:
    """``ink`` uint8[slices], read-only, and levels of detail of it."""

    ink: NDArray[np.uint8]
    lod: Lod


@dataclass(frozen=True, slots=True)
class Matched:
    """The slices of one input that a filter matches, as rows like those of its table.

    ``mask`` bool[slices of the input]; the other arrays hold the matching slices alone (int64 ns and uint8 inks), with
    ``begin`` and ``end`` int64[rows of the input] into them. All are read-only.
    """

    mask: NDArray[np.bool_]
    starts: NDArray[np.int64]
    durs: NDArray[np.int64]
    look: Look
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


def hue_of(text: str) -> int:
    """The ink of a name: always the same, in every trace."""
    return FIRST_HUE + zlib.crc32(text.encode("utf-8", "surrogatepass")) % HUES


def build_look(item: Input, coloring: Coloring, plain: Lod, cancel: CancelToken | None = None) -> Look:
    """The look of an input; slow, for a worker thread.

    Args:
        item: the input.
        coloring: what colours say.
        plain: the levels of its classes, of which all but the colours are the same for every look.
        cancel: stops between the steps.
    """
    trace = item.trace
    s = trace.slices
    if coloring is Coloring.CLASS:
        return Look(s.paint, plain)
    if coloring is Coloring.RANK:
        hue = FIRST_HUE + (item.rank if item.rank is not None else item.index) % HUES
        return Look(_fixed(np.full(len(s), hue, np.uint8)), replace(plain, paint=np.full_like(plain.paint, hue)))
    if coloring is Coloring.NAME:
        table = np.array([*(hue_of(text) for text in trace.strings.to_pylist()), int(Paint.OTHER)], np.uint8)
        ink = table[s.name]
    else:
        ink = np.full(len(s), int(Paint.OTHER), np.uint8)
        rows, names = groups_of(trace)
        hues = np.array([*(hue_of(trace.text(int(n))) for n in np.unique(names))], np.uint8)
        ink[rows] = hues[np.searchsorted(np.unique(names), names)] if len(names) else ink[rows]
    if cancel is not None:
        cancel.check()
    return Look(_fixed(ink), build_lod(s.start_ns, s.dur_ns, _fixed(ink), trace.rows.begin, trace.rows.end))


def groups_of(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Slices of a known communicator, and what names it (index into strings): its description, else its name."""
    c = trace.collectives
    name = np.where(c.group_desc >= 0, c.group_desc, c.group).astype(np.int32)
    known = name >= 0
    return c.slice[known], name[known]


def match(item: Input, mask: NDArray[np.bool_], look: Look) -> Matched:
    """Gather the slices of a mask into rows of their own; for a worker thread."""
    s, rows = item.trace.slices, item.trace.rows
    before = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask, out=before[1:])
    begin, end = _fixed(before[rows.begin]), _fixed(before[rows.end])
    starts, durs, ink = _fixed(s.start_ns[mask]), _fixed(s.dur_ns[mask]), _fixed(look.ink[mask])
    return Matched(mask, starts, durs, Look(ink, build_lod(starts, durs, ink, begin, end)), begin, end)


def _fixed(array: Any) -> Any:
    """Read-only, like mapped columns: anything else would be another type to the compiler."""
    array.flags.writeable = False
    return array


def swatches(session: Session, coloring: Coloring, paints: tuple[Paint, ...], theme: Theme) -> tuple[Swatch, ...]:
    """What the colours mean, for the legend; names and groups by their time on the GPU. For a worker thread."""
    if coloring is Coloring.CLASS:
        return tuple(Swatch(PAINT_NAMES[p], theme.paints[p], int(p)) for p in paints)
    if coloring is Coloring.RANK:
        ranks = [(g.label, g.rank if g.rank is not None else g.inputs[0]) for g in session.groups]
        return tuple(Swatch(label, theme.hues[number % HUES]) for label, number in ranks[: 2 * _MOST_SWATCHES])
    times: dict[str, int] = {}
    for item in session.inputs:
        trace = item.trace
        s = trace.slices
        if coloring is Coloring.GROUP:
            rows, names = groups_of(trace)
        else:
            rows = np.flatnonzero((s.paint >= Paint.COMPUTE) & (s.paint <= Paint.MEMORY))
            rows = rows if len(rows) else np.arange(len(s))
            names = s.name[rows]
        named = names >= 0
        totals = np.bincount(names[named], s.dur_ns[rows][named], minlength=len(trace.strings))
        for string in np.argsort(-totals)[:_MOST_SWATCHES].tolist():
            if totals[string] > 0:
                text = trace.text(string)
                times[text] = times.get(text, 0) + int(totals[string])
    first = sorted(times, key=lambda text: -times[text])[:_MOST_SWATCHES]
    found = tuple(Swatch(text, theme.hues[hue_of(text) - FIRST_HUE]) for text in first)
    if coloring is Coloring.GROUP:
        found += (Swatch(NO_GROUP, theme.paints[Paint.OTHER]),)
    return found
