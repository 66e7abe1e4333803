"""Kinds of communication, told from what the profiler writes or else from the kernel's name."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

LONGEST_NAME: Final = 400
"""Characters of a name that are looked at: the kind stands at its front, templates behind it are of any length."""


class Kind(IntEnum):
    """What an operation does. ALL_TO_ALL has equal parts, ALL_TO_ALL_V has parts of any size."""

    UNKNOWN = 0
    ALL_REDUCE = 1
    ALL_GATHER = 2
    REDUCE_SCATTER = 3
    ALL_TO_ALL = 4
    ALL_TO_ALL_V = 5
    BROADCAST = 6
    REDUCE = 7
    GATHER = 8
    SCATTER = 9
    BARRIER = 10
    SEND = 11
    RECV = 12
    SEND_RECV = 13

    @property
    def text(self) -> str:
        """As reports spell it."""
        return _TEXTS[self]


_TEXTS: Final = {
    Kind.UNKNOWN: "unknown",
    Kind.ALL_REDUCE: "allreduce",
    Kind.ALL_GATHER: "allgather",
    Kind.REDUCE_SCATTER: "reduce_scatter",
    Kind.ALL_TO_ALL: "alltoall",
    Kind.ALL_TO_ALL_V: "alltoallv",
    Kind.BROADCAST: "broadcast",
    Kind.REDUCE: "reduce",
    Kind.GATHER: "gather",
    Kind.SCATTER: "scatter",
    Kind.BARRIER: "barrier",
    Kind.SEND: "send",
    Kind.RECV: "recv",
    Kind.SEND_RECV: "sendrecv",
}

END_TOGETHER: Final = frozenset({Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BARRIER})
"""Every member needs data of every other one, so their kernels end at about the same instant: evidence for clocks."""
NEEDS_ALL: Final = END_TOGETHER | {Kind.ALL_TO_ALL_V}
"""No member can end before the last one began: bounds for clocks."""
POINT_TO_POINT: Final = frozenset({Kind.SEND, Kind.RECV, Kind.SEND_RECV})

_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"all_?to_?all_?(v|single_?v)", Kind.ALL_TO_ALL_V),
        (r"all_?to_?all", Kind.ALL_TO_ALL),
        (r"all_?reduce|cross_device_reduce", Kind.ALL_REDUCE),
        (r"reduce_?scatter", Kind.REDUCE_SCATTER),
        (r"all_?gather", Kind.ALL_GATHER),
        (r"send_?recv|batch_?isend|batch_?p2p", Kind.SEND_RECV),
        (r"broad_?cast", Kind.BROADCAST),
        (r"barrier", Kind.BARRIER),
        (r"(^|[^a-z])i?send($|[^a-z])", Kind.SEND),
        (r"(^|[^a-z])i?rece?i?ve?($|[^a-z])", Kind.RECV),
        (r"scatter", Kind.SCATTER),
        (r"gather", Kind.GATHER),
        (r"reduce", Kind.REDUCE),
    )
)


def kind_of(text: str) -> Kind:
    """The kind that a collective's or a communication kernel's name states; UNKNOWN when it states none."""
    head = text[:LONGEST_NAME]
    return next((kind for pattern, kind in _PATTERNS if pattern.search(head)), Kind.UNKNOWN)
