"""The content of a session file: what a person made of a job, and where its traces lie. Never an event.

All times are ns after ``clock.origin_ns``, which is session time; a slice's own start is raw time of its file. Bounds
are part of the types: a file that breaks them is refused with the place.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, field

from viewer.base.clock import FAR_PPB

MAJOR: Final = 1
MINOR: Final = 0
SUFFIX: Final = ".rankscope"
FORMAT: Final = "rankscope.session"

Time = Annotated[int, Meta(ge=-(2**62), le=2**62)]
Text = Annotated[str, Meta(max_length=500)]
Key = Annotated[str, Meta(max_length=1_000)]
Name = Annotated[str, Meta(max_length=65_536)]
PathText = Annotated[str, Meta(min_length=1, max_length=4_096)]
Identity = Annotated[int, Meta(ge=1, le=2**31)]
Pixels = Annotated[float, Meta(ge=-100_000, le=100_000)]


class SavedSource(msgspec.Struct, frozen=True):
    """A file of the job. ``rank`` and the clock only where the user gave them; the rest tells whether it changed.

    ``drift_ppb`` and ``t0_ns`` (session time) belong to a given offset; without them those of the alignment stay.

    ``path`` is relative to the session file when it lies below that file's folder or beside that, else absolute.
    """

    path: PathText
    size: Annotated[int, Meta(ge=0)] | None = None
    mtime_ns: int | None = None
    digest: Annotated[str, Meta(max_length=128)] | None = None
    rank: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    offset_ns: Time | None = None
    drift_ppb: Annotated[int, Meta(ge=-FAR_PPB, le=FAR_PPB)] | None = None
    t0_ns: Time | None = None


class SavedClock(msgspec.Struct, frozen=True):
    """How the clocks were aligned, and the instant that all times count from."""

    align: Annotated[str, Meta(max_length=4_096)] = "auto"
    origin_ns: Time = 0


class SavedSlice(msgspec.Struct, frozen=True):
    """A slice by what it is: see :class:`viewer.base.kept.SliceAnchor`."""

    lane: Key
    name: Name
    start_ns: Time
    dur_ns: Annotated[int, Meta(ge=0, le=2**62)]


class SavedView(msgspec.Struct, frozen=True):
    """A window in time, and the row at its upper border."""

    start_ns: Time
    end_ns: Time
    lane: Key = ""
    offset: Annotated[int, Meta(ge=-100_000, le=1_000_000)] = 0


class SavedGap(msgspec.Struct, frozen=True):
    """A gap on a lane."""

    lane: Key
    start_ns: Time
    end_ns: Time


class SavedRange(msgspec.Struct, frozen=True):
    """A range of time."""

    start_ns: Time
    end_ns: Time


class SavedSelection(msgspec.Struct, frozen=True):
    """What is selected; ``group`` is a group's title."""

    slice: SavedSlice | None = None
    gap: SavedGap | None = None
    range: SavedRange | None = None
    group: Key | None = None


class SavedMark(msgspec.Struct, frozen=True):
    """A mark; ``end_ns`` None is an instant."""

    id: Identity
    start_ns: Time
    end_ns: Time | None = None
    text: Text = ""
    color: Annotated[str, Meta(max_length=40)] = "blue"
    lane: Key = ""


class SavedNote(msgspec.Struct, frozen=True):
    """A note: its instant, and the slice that it belongs to if any."""

    id: Identity
    time_ns: Time
    text: Annotated[str, Meta(min_length=1, max_length=500)]
    lane: Key = ""
    dx: Pixels = 24.0
    dy: Pixels = -44.0
    slice: SavedSlice | None = None


class SavedBookmark(msgspec.Struct, frozen=True):
    """A bookmark of the view. ``lanes`` is an arrangement as in :class:`SessionFile`, or None."""

    slot: Annotated[int, Meta(ge=1, le=9)]
    view: SavedView
    text: Text = ""
    lanes: dict[str, Any] | None = None


class SavedColors(msgspec.Struct, frozen=True):
    """What the lanes' colours say ("class", "name", "rank", "group"), whether they are colour-blind safe, patterns."""

    coloring: Annotated[str, Meta(max_length=40)] = "class"
    safe: bool = False
    patterns: bool = False


class SessionFile(msgspec.Struct, frozen=True):
    """Everything in a session file.

    Attributes:
        title: name of the job.
        lanes: the arrangement of the lanes (order, pins, hidden, filters, collapsed, heights), as plain JSON; whoever
            arranges lanes reads it.
        colors: how the lanes are coloured; None leaves that to whoever opens it.
        dismissed: ids of findings that a person put aside; left out of the file when there are none.
        job: what a person said on the job card, part by part as in its TOML; what a version does not know is kept.
        saved_as: in what is kept over a crash: the file it was saved as, or None.
    """

    title: Text = ""
    sources: Annotated[list[SavedSource], Meta(max_length=20_000)] = field(default_factory=list)
    clock: SavedClock = SavedClock()
    view: SavedView | None = None
    selection: SavedSelection | None = None
    lanes: dict[str, Any] | None = None
    colors: SavedColors | None = None
    marks: Annotated[list[SavedMark], Meta(max_length=1_000)] = field(default_factory=list)
    notes: Annotated[list[SavedNote], Meta(max_length=1_000)] = field(default_factory=list)
    bookmarks: Annotated[list[SavedBookmark], Meta(max_length=9)] = field(default_factory=list)
    dismissed: Annotated[list[Key], Meta(max_length=10_000)] = field(default_factory=list)
    job: dict[str, Any] = field(default_factory=dict)
    saved_as: Annotated[str, Meta(max_length=4_096)] | None = None
