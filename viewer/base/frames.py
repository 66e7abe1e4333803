"""Plain data that view models hand to widgets and exporters. Arrays and texts only; no table, no Qt.

Widgets draw times relative to the window's start as float64; absolute times stay int64 in these frames.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import LaneKind, Paint
from viewer.base.selection import GapRef, GroupRef, Selection, SliceRef, TimeRange

if TYPE_CHECKING:
    from viewer.base.rank_bars import RankBarsFrame
    from viewer.base.residuals import ResidualFrame


class SourcePlace(NamedTuple):
    """A byte of the text of an input."""

    input: int
    offset: int


Jump = SliceRef | GapRef | TimeRange | GroupRef | SourcePlace | Selection | None
"""Where a click on a row leads; a whole Selection replaces the one that is."""


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One lane of the timeline: the same stream or thread over all segments of a rank.

    ``key`` is stable across openings ("rank 3/stream 0:7"). ``parts`` are (input index, lane id). ``sub_rows`` is the
    largest number of levels over the parts.
    """

    key: str
    label: str
    detail: str
    kind: LaneKind
    sub_rows: int
    parts: tuple[tuple[int, int], ...]
    section: str = ""
    """What it belongs to inside its rank ("GPU 0", "process 100"); "" for nothing."""
    counters: tuple[tuple[int, int], ...] = ()
    """(input index, number of the counter) of a lane of kind COUNTER, which has no parts."""
    memory: tuple[tuple[int, int], ...] = ()
    """(input index, row of memory_devices) of a lane of kind COUNTER that shows memory, which has no counters."""

    @property
    def sampled(self) -> bool:
        """Whether it shows values over time instead of slices."""
        return bool(self.counters or self.memory)


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """One rank: title ("rank 3"), subtitle ("host · GPU"), its lanes in order. ``id`` is the RankGroup's id.

    ``rare`` are the keys of threads that hardly do anything.
    """

    id: int
    title: str
    subtitle: str
    lanes: tuple[LaneRow, ...]
    warning: str = ""
    rare: frozenset[str] = frozenset()
    key: str = ""
    """Stable across openings; keys of its lanes and sections begin with it."""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A header or a lane at its place: logical pixels from the top of the scrolled content."""

    y: int
    height: int
    group: LaneGroup
    lane: LaneRow | None
    """None for a group header."""
    row_height: int
    """Height of one sub-row."""
    section: str = ""
    """Label of the folded section that the row stands for (``lane`` is None then)."""
    folded: bool | None = None
    """Whether a header shows a summary because its lanes do not; None where that follows from the next row."""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """All rows of the timeline from top to bottom."""

    rows: tuple[PlacedRow, ...]
    height: int
    pinned_height: int = 0
    """So many px at the top stay in sight while the rest scrolls below them."""

    def content_y(self, y: float, top: int) -> float:
        """A height on the screen -> its place in the content, scrolled by ``top``."""
        return y if y < self.pinned_height else y + top

    def screen_y(self, y: float, top: int) -> float:
        """A place in the content -> its height on the screen (which may lie behind the pinned rows)."""
        return y if y < self.pinned_height else y - top

    def at(self, y: float) -> PlacedRow | None:
        """The row at a height, None below the last."""
        i = bisect_right(self.rows, y, key=_row_y) - 1
        return self.rows[i] if i >= 0 and y < self.rows[i].y + self.rows[i].height else None

    def in_sight(self, top: int, height: int) -> Iterator[int]:
        """Indices of rows that may show in so many px, scrolled by ``top``: the pinned ones, then those of the rest.

        They are found by their places, without a look at the others.
        """
        rows, behind = self.rows, self.pinned_height
        pinned = bisect_left(rows, behind, key=_row_y)
        first = max(bisect_right(rows, top + behind, key=_row_y) - 1, pinned)
        yield from range(pinned)
        yield from range(first, bisect_left(rows, top + height, lo=first, key=_row_y))

    def find(self, key: str) -> PlacedRow | None:
        """The placed lane of that key."""
        return next((r for r in self.rows if r.lane is not None and r.lane.key == key), None)


def _row_y(row: PlacedRow) -> int:
    return row.y


class Box(NamedTuple):
    """One slice that is wide enough to be outlined or named. Logical pixels inside the frame.

    A tuple because frames make thousands: a frozen dataclass takes five times as long to build.
    """

    x: float
    y: float
    width: float
    height: float
    text: str
    paint: Paint
    ref: SliceRef


class Swatch(NamedTuple):
    """One entry of the legend: what a colour stands for, the colour, and the Paint whose pattern lies on it (or -1)."""

    text: str
    color: str
    paint: int = -1


@dataclass(frozen=True, slots=True)
class Names:
    """Slices that are named, in *device* pixels of a frame, n of them.

    ``x0``, ``x1`` float64[n] cut at the frame's borders; ``y``, ``height`` int64[n], and nothing is written above the
    pixel row ``above`` int64[n]; ``text`` int64[n] index into ``texts`` (which grows and never changes otherwise);
    ``color`` uint32[n] of 0xffRRGGBB.
    """

    x0: NDArray[np.float64]
    x1: NDArray[np.float64]
    y: NDArray[np.int64]
    height: NDArray[np.int64]
    above: NDArray[np.int64]
    text: NDArray[np.int64]
    color: NDArray[np.uint32]
    texts: list[str]

    def joined(self, other: Names) -> Names:
        """These and others of the same texts."""

        def both(column: str) -> Any:
            return np.concatenate((getattr(self, column), getattr(other, column)))

        x0, x1, y, height = both("x0"), both("x1"), both("y"), both("height")
        return Names(x0, x1, y, height, both("above"), both("text"), both("color"), other.texts)

    def where(self, chosen: NDArray[np.bool_]) -> Names:
        """Some of them."""
        x0, x1, y, height = self.x0[chosen], self.x1[chosen], self.y[chosen], self.height[chosen]
        return Names(x0, x1, y, height, self.above[chosen], self.text[chosen], self.color[chosen], self.texts)


class Pixels(NamedTuple):
    """A part of an image in memory: pixel (x, y) is ``flat[begin + y * pitch + x]``, uint32 of 0xffRRGGBB."""

    flat: NDArray[np.uint32]
    begin: int
    pitch: int
    columns: int
    rows: int

    @classmethod
    def of(cls, image: NDArray[np.uint32]) -> Pixels:
        """All of an image, uint32[height, width] without holes."""
        rows, columns = image.shape
        return cls(image.reshape(-1), 0, columns, columns, rows)

    @property
    def array(self) -> NDArray[np.uint32]:
        """The part as uint32[rows, columns] of the same memory."""
        shape, strides = (self.rows, self.columns), (4 * self.pitch, 4)
        return np.lib.stride_tricks.as_strided(self.flat[self.begin :], shape, strides)


@dataclass(slots=True)
class LaneFrame:
    """What the lanes canvas shows: pixels, and the texts upon them.

    ``shape`` is (rows, columns) in *device* pixels (logical size x ``dpr``). ``draw`` writes all pixels into memory of
    that shape, ``room`` gives memory for it. Both may read and give buffers that the next frame reuses: a frame is
    good until another one is asked for.
    """

    shape: tuple[int, int]
    dpr: float
    window: TimeRange
    top: int
    names: Names
    draw: Callable[[Pixels], None]
    room: Callable[[tuple[int, int]], NDArray[np.uint32]]
    _image: NDArray[np.uint32] | None = None

    @property
    def image(self) -> NDArray[np.uint32]:
        """uint32[rows, columns] of 0xffRRGGBB: an image of the frame's own, drawn when it is first asked for."""
        if self._image is None:
            self._image = self.room(self.shape)
            self.draw(Pixels.of(self._image))
        return self._image


@dataclass(frozen=True, slots=True)
class Hit:
    """What lies under a point of the canvas."""

    row: PlacedRow
    slice: SliceRef | None = None
    gap: GapRef | None = None
    box: Box | None = None
    time_ns: int | None = None
    """The instant (session ns) on a counter."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a panel: what it is, its value as text, and how it was computed (one sentence)."""

    label: str
    value: str
    how: str = ""
    jump: Jump = None
    tone: str = ""
    """"" | "warning" | "muted"."""


@dataclass(frozen=True, slots=True)
class TableFrame:
    """A table: texts to show, keys to sort by (numbers or texts, same shape), a jump per row.

    ``how`` explains each column (same length as headers, "" for none).
    """

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]
    keys: list[tuple[Any, ...]]
    jumps: list[Jump] = field(default_factory=list)
    how: tuple[str, ...] = ()
    paints: list[Paint | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class HistogramFrame:
    """Counts between edges (len(edges) = len(counts) + 1) in ``unit``; ``marker`` is where the selected one lies."""

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    unit: str
    marker: float | None = None


@dataclass(frozen=True, slots=True)
class BarFrame:
    """A stacked bar: (label, ns, paint or None for idle) per part; the parts add up to ``total_ns``."""

    parts: tuple[tuple[str, int, Paint | None], ...]
    total_ns: int
    hues: tuple[int, ...] = ()
    """Per part a colour that means no class (an index into the theme's hues; below 0 for idle); paints are not used."""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a panel."""

    title: str
    figures: tuple[Figure, ...] = ()
    table: TableFrame | None = None
    histogram: HistogramFrame | None = None
    bar: BarFrame | None = None
    note: str = ""
    actions: tuple[tuple[str, Jump], ...] = ()
    """Buttons: (text, where it leads)."""
    bars: RankBarsFrame | None = None
    residuals: ResidualFrame | None = None


@dataclass(frozen=True, slots=True)
class PanelFrame:
    """Everything a side panel shows."""

    title: str
    subtitle: str = ""
    paint: Paint | None = None
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """A flow arrow between two slices, in session time: from (t0, lane key, depth) to (t1, lane key, depth)."""

    start_ns: int
    start_lane: str
    start_depth: int
    end_ns: int
    end_lane: str
    end_depth: int
