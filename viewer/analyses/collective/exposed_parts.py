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
    owner = _first(kernels.start, kernels.end, every)
    known = np.flatnonzero(kernels.known)
    moving = known[np.argsort(kernels.arrived[known], kind="stable")]
    carrier = _first(kernels.arrived[moving], kernels.end[moving], moving)
    dark = np.flatnonzero(~kernels.known)
    unknown = _first(kernels.start[dark], kernels.end[dark], dark)
    edges = [*exposed, *owner[:2], *carrier[:2], *unknown[:2], kernels.ideal[known], kernels.volume[known]]
    border = np.unique(np.concatenate(edges))
    begin, length = border[:-1], np.diff(border)
    shown = _inside(*exposed, begin) >= 0
    begin, length = begin[shown], length[shown]
    charged = _at(owner, begin)
    # What runs on the device without being in the list (nothing does) would be charged to nobody.
    inside = charged >= 0
    begin, length, charged = begin[inside], length[inside], charged[inside]
    by, unmatched = _at(carrier, begin), _at(unknown, begin) >= 0
    part = np.where(kernels.pipeline[charged], Part.PIPELINE_WAIT, Part.WAIT)
    part = np.where(unmatched, Part.NOT_MATCHED, part)
    moves = by >= 0
    safe = np.maximum(by, 0)
    ideal = np.array([Part.UNHIDDEN, Part.STRUCTURAL, Part.SERIALISED])[kernels.hiding[safe]]
    along = np.where(
        begin < kernels.ideal[safe], ideal, np.where(begin < kernels.volume[safe], Part.VOLUME, kernels.rest[safe])
    )
    part = np.where(moves, along, part)
    np.add.at(parts, (part, charged), length)
    np.add.at(transfers, (kernels.hiding[safe[moves]], charged[moves]), length[moves])
    return Split(parts, transfers)


def _first(start: I64, end: I64, number: I64) -> tuple[I64, I64, I64]:
    """Of intervals in the order of their start: disjoint ones in which each is the first of those that still run."""
    if not len(start):
        return start, end, number
    before = np.concatenate((start[:1], np.maximum.accumulate(end)[:-1]))
    begin = np.maximum(start, before)
    some = begin < end
    return begin[some], end[some], number[some]


def _inside(start: I64, end: I64, at: I64) -> I64:
    """Which of disjoint ascending intervals each instant lies in, -1 for none."""
    if not len(start):
        return np.full(len(at), -1, np.int64)
    i = np.searchsorted(start, at, "right") - 1
    found: I64 = np.where((i >= 0) & (at < end[np.maximum(i, 0)]), i, -1)
    return found


def _at(layer: tuple[I64, I64, I64], at: I64) -> I64:
    """The number of the interval of a layer that each instant lies in, -1 for none."""
    i = _inside(layer[0], layer[1], at)
    out: I64 = np.where(i >= 0, layer[2][np.maximum(i, 0)] if len(layer[2]) else -1, -1)
    return out
