"""Exposed communication of one device, instant by instant: what each part of it was. Arrays only.

An instant of exposed time that several communications share is *transfer* if any of them is past its last arrival, else
*not separable* if of any of them nobody knows when that was, else *wait*. It is charged to the one that started first
(ties: the lower stream), so the rows sum exactly to the device's exposed time. A transfer is that of the one whose
transfer began first; along it come first the time that the bytes the plan needs take at the baseline, then that of the
bytes beyond it, then the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.charging import charge

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Intervals = tuple[I64, I64]


class Part(IntEnum):
    """What an exposed instant was."""

    WAIT = 0
    """Waiting for other members of a collective."""
    PIPELINE_WAIT = 1
    """A receive that waits for its send along the pipeline."""
    STRUCTURAL = 2
    """Ideal transfer, nothing hid it, and the next compute needs it."""
    SERIALISED = 3
    """Ideal transfer that independent work stood behind."""
    UNHIDDEN = 4
    """Ideal transfer, and nothing proves why nothing hid it."""
    VOLUME = 5
    """Transfer of bytes beyond what the plan needs, at the baseline's rate."""
    RATE = 6
    """Transfer beyond the baseline."""
    NO_BASELINE = 7
    """Transfer: without a baseline it cannot be split into rate and ideal."""
    NOT_MATCHED = 8
    """No other member is opened, or nothing tells when the last one came: waiting and transfer cannot be told apart."""
    MEMBERS_MISSING = 9
    """Beyond the baseline, and members are missing: slow, or waiting for one of them."""


WAITING: Final = (Part.WAIT, Part.PIPELINE_WAIT)
UNHIDDEN: Final = (Part.STRUCTURAL, Part.SERIALISED, Part.UNHIDDEN)
NOT_SEPARABLE: Final = (Part.NO_BASELINE, Part.NOT_MATCHED, Part.MEMBERS_MISSING)


_CODES: Final = np.array(
    [
        Part.UNHIDDEN,
        Part.STRUCTURAL,
        Part.SERIALISED,
        Part.VOLUME,
        Part.NOT_MATCHED,
        Part.WAIT,
        Part.PIPELINE_WAIT,
    ],
    np.int64,
)
"""As ``jit.charging`` takes them."""


class Hiding(IntEnum):
    """Why nothing hid a transfer."""

    UNKNOWN = 0
    STRUCTURAL = 1
    SERIALISED = 2


@dataclass(frozen=True, eq=False)
class Kernels:
    """Communication kernels of one device, by start (ties: lower stream). Raw ns of one file; int64[n] each.

    ``start`` <= ``arrived`` <= ``ideal`` <= ``volume`` <= ``end``: when the last member came, and until when the bytes
    that the plan needs, and then those beyond it, would have been moved at the baseline. Where nobody knows when the
    last member came, ``known`` is False and the three mean nothing. ``rest`` is the Part of [volume, end), ``hiding`` a
    Hiding, ``pipeline`` whether waiting is the pipeline's.
    """

    start: I64
    end: I64
    arrived: I64
    ideal: I64
    volume: I64
    known: NDArray[np.bool_]
    rest: U8
    hiding: U8
    pipeline: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class Split:
    """Exposed ns by Part and kernel, int64[len(Part), n], charged to the kernel that started first.

    ``transfers`` int64[len(Hiding), n] is all exposed transfer (with or without a baseline) by why nothing hid it.
    """

    parts: I64
    transfers: I64


def split(kernels: Kernels, exposed: Intervals) -> Split:
    """The parts of the exposed time.

    Args:
        kernels: what communicates.
        exposed: disjoint ascending intervals in which communication runs and no compute does.
    """
    n = len(kernels)
    parts, transfers = np.zeros((len(Part), n), np.int64), np.zeros((len(Hiding), n), np.int64)
    if not n or not len(exposed[0]):
        return Split(parts, transfers)
    every = np.arange(n)
    known = np.flatnonzero(kernels.known)
    moving = known[np.argsort(kernels.arrived[known], kind="stable")]
    dark = np.flatnonzero(~kernels.known)
    charge(
        np.stack((*exposed, exposed[0])),
        _first(kernels.start, kernels.end, every),
        _first(kernels.arrived[moving], kernels.end[moving], moving),
        _first(kernels.start[dark], kernels.end[dark], dark),
        kernels.ideal,
        kernels.volume,
        kernels.rest,
        kernels.hiding,
        kernels.pipeline,
        _CODES,
        parts,
        transfers,
    )
    return Split(parts, transfers)


def _first(start: I64, end: I64, number: I64) -> I64:
    """Of intervals in the order of their start: disjoint ones in which each is the first of those that still run.

    int64[3, k]: starts, ends and numbers.
    """
    before = np.concatenate((start[:1], np.maximum.accumulate(end)[:-1])) if len(start) else start
    begin = np.maximum(start, before)
    some = begin < end
    return np.stack((begin[some], end[some], number[some]))
