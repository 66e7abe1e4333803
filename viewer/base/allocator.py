"""What allocator events do, and how blocks end: small enumerations that tables hold as numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

BEFORE: Final[int] = -(2**63)
"""An instant before the recording began (the value of ABSENT); smaller than every time."""
NEVER: Final[int] = 2**63 - 1
"""An instant that the recording did not reach; larger than every time."""


class Action(IntEnum):
    """Allocator events. FREE is a free of a source that does not tell request and completion apart."""

    ALLOC = 0
    FREE_REQUESTED = 1
    FREE_COMPLETED = 2
    FREE = 3
    SEGMENT_ALLOC = 4
    SEGMENT_FREE = 5
    SEGMENT_MAP = 6
    SEGMENT_UNMAP = 7
    OOM = 8
    SNAPSHOT = 9
    USER = 10
    CHANGED = 11
    """Bytes that go on under another category."""
    OTHER = 12


class BlockEnd(IntEnum):
    """What became of a block."""

    FREED = 0
    ALLOCATED = 1
    """Held at the end."""
    PENDING = 2
    """Its free was asked for, but is not complete at the end: another stream still uses it."""
    GHOST = 3
    """Never freed in the events, but not there at the end: its free was not recorded."""


class Category(IntEnum):
    """What memory is for."""

    WEIGHTS = 0
    GRADIENTS = 1
    OPTIMIZER = 2
    ACTIVATIONS = 3
    TEMPORARY = 4
    BUFFERS = 5
    """Communication buffers and workspaces."""
    INPUT = 6
    UNKNOWN = 7


CATEGORY_NAMES: Final = tuple(c.name.lower() for c in Category)
NOT_GIVEN: Final = 255
"""In a column of categories: the source gives none."""
