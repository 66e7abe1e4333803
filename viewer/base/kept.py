"""What a person puts upon a job, beside notes: marks, bookmarks of the view, and where a slice is found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MARK_COLORS: Final = ("blue", "green", "orange", "red", "purple", "gray")
"""Names of the colours of marks; a theme has a token ``mark_<name>`` for each."""


@dataclass(frozen=True, slots=True)
class SliceAnchor:
    """A slice as it is found again when its file is opened anew: clocks and indexes may be others then.

    ``lane`` is a LaneRow key, ``start_ns`` the raw start on the file's own clock.
    """

    lane: str
    name: str
    start_ns: int
    dur_ns: int


@dataclass(frozen=True, slots=True)
class Note:
    """A text callout on the timeline. ``lane`` is a LaneRow key; (dx, dy) is the box's offset from its anchor in px.

    ``slice`` is the slice that it speaks of, if any; then the time is that of the slice in the session that is shown,
    and ``depth`` its sub-row.
    """

    id: int
    time_ns: int
    lane: str
    text: str
    dx: float = 24.0
    dy: float = -44.0
    slice: SliceAnchor | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """An instant (``end_ns == start_ns``) or a range of session time; ``lane`` is a LaneRow key, "" for all lanes."""

    id: int
    start_ns: int
    end_ns: int
    text: str = ""
    color: str = MARK_COLORS[0]
    lane: str = ""

    @property
    def is_range(self) -> bool:
        """Whether it has a length."""
        return self.end_ns > self.start_ns


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A view to come back to: its window in session time, its first lane, and how the lanes were arranged.

    Attributes:
        slot: 1 to 9.
        lane: LaneRow key, or the title of a group, of the row at the upper border; "" for the top.
        offset: px by which that row is scrolled away.
        arrangement: an immutable value that the timeline can put in force; None keeps what there is.
    """

    slot: int
    start_ns: int
    end_ns: int
    text: str = ""
    lane: str = ""
    offset: int = 0
    arrangement: Any = None
