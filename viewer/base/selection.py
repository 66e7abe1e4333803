"""What a user can point at. All times are session time: absolute int64 ns on the job's common clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SliceRef:
    """A slice: index of the input in the session, and the row of its ``slices`` table."""

    input: int
    index: int


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A half-open range [start_ns, end_ns) of session time."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Length in ns."""
        return self.end_ns - self.start_ns

    def contains(self, t_ns: int) -> bool:
        """Whether the instant lies inside."""
        return self.start_ns <= t_ns < self.end_ns

    def clamp(self, other: TimeRange) -> TimeRange:
        """The part of this range inside ``other`` (may be empty, never reversed)."""
        start = min(max(self.start_ns, other.start_ns), other.end_ns)
        return TimeRange(start, max(start, min(self.end_ns, other.end_ns)))


@dataclass(frozen=True, slots=True)
class GapRef:
    """A gap on one lane (between two slices of the stream) in session time; ``lane`` is the lane id of the input."""

    input: int
    lane: int
    range: TimeRange


@dataclass(frozen=True, slots=True)
class GroupRef:
    """A rank: the id of its RankGroup; None stands for all ranks."""

    group: int | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The one selection of the window: at most one of slice and gap, plus an optional range, rank group and lanes.

    ``lanes`` are keys of lanes (``LaneRow.key``) chosen beside each other; they stay valid while files are added.
    """

    slice: SliceRef | None = None
    gap: GapRef | None = None
    range: TimeRange | None = None
    group: int | None = None
    lanes: frozenset[str] = frozenset()


EMPTY = Selection()
