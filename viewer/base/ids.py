"""Sentinels and small enumerations that every layer shares."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

ABSENT: Final[int] = -(2**63)
"""An int64 column's "there is no such value" (never 0, never -1)."""

TEXT_ID: Final[int] = 1 << 62
"""Bit that marks an id column's value as an index into the names table: the source's id was text."""


NOTHING_RECORDED: Final = -1
"""In ``slices.recorded``: the args hold nothing that the profiler records of operators and GPU work."""
UNREAD: Final = -2
"""In ``slices.recorded``: nobody looked, or the args are no plain JSON; their text tells."""


class Paint(IntEnum):
    """What a slice is drawn as; for GPU work also its class in every figure."""

    OTHER = 0
    COMPUTE = 1
    COMM = 2
    MEMORY = 3
    OPERATOR = 4
    PYTHON = 5
    RUNTIME = 6
    ANNOTATION = 7
    SYNC = 8
    OVERHEAD = 9


GPU_CLASSES: Final = (Paint.COMPUTE, Paint.COMM, Paint.MEMORY)


class Role(IntEnum):
    """What an event category means to the figures. Only GPU_WORK counts as device time."""

    OTHER = 0
    GPU_WORK = 1
    GPU_MARK = 2
    SYNC = 3
    RUNTIME = 4
    OPERATOR = 5
    PYTHON = 6
    ANNOTATION = 7
    OVERHEAD = 8


class LaneKind(IntEnum):
    """The kinds of lanes. STREAM lanes hold GPU work and nothing else."""

    STREAM = 0
    STREAM_MARKS = 1
    THREAD = 2
    ASYNC = 3
    OTHER = 4
    COUNTER = 5
    """Step lines of a counter; only shown, never in a table."""
