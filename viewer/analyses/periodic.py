"""Steps without a mark: a sequence of launches that repeats.

The launches of a process in the order of their calls, each by the name of the GPU work that it starts first (a graph
launch counts once). A name that comes back at one distance, with the same launches in between, is a period. A period is
taken for a step only if something in it speaks for that: a copy, a graph launch, or a shorter repetition inside
(layers); else the layers of a single step would pass for steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.links import lanes_of_rows, links, process_numbers
from viewer.analyses.names import flags_where
from viewer.base.ids import Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

LEAST_PERIODS: Final = 3
LEAST_LAUNCHES: Final = 8
"""Launches in a period: shorter repetitions are loops, not steps."""
EVEN: Final = 0.8
"""So many of the distances must be equal, and"""
ALIKE: Final = 0.9
"""so many of the launches of neighbouring periods the same, and"""
COVERED: Final = 0.7
"""so much of all launches must lie in periods."""
MOST_TRIED: Final = 64
"""Names that are tried, the rarest first."""


@dataclass(frozen=True, eq=False)
class Periods:
    """Periods of a process (number as in ``process_numbers``); the i-th is [start[i], end[i]) in raw ns."""

    process: int
    start: I64
    end: I64


def periods(trace: Trace) -> Periods | None:
    """The periods of the process that launches most; None where nothing repeats. Built once."""
    return trace.memo("periods", lambda: _build(trace))


def _build(trace: Trace) -> Periods | None:
    found, s = links(trace), trace.slices
    calls = found.calls[found.first_gpu_of_call >= 0]
    first = found.first_gpu_of_call[found.first_gpu_of_call >= 0]
    if len(calls) < LEAST_PERIODS * LEAST_LAUNCHES:
        return None
    process = process_numbers(trace)[lanes_of_rows(trace, calls)]
    mine = int(np.argmax(np.bincount(process)))
    chosen = np.flatnonzero(process == mine)
    order = chosen[np.argsort(s.start_ns[calls[chosen]], kind="stable")]
    calls, first = calls[order], first[order]
    names = s.name[first] + 1  # 0: without a name
    tells = (s.paint[first] == Paint.MEMORY) | flags_where(trace, s.name[calls], _is_graph)[s.name[calls]]
    at = _anchor(names, tells)
    if at is None:
        return None
    begins, ends = s.start_ns[calls], s.start_ns[calls] + s.dur_ns[calls]
    at = _extended(names, _boundary(at, begins, ends))
    last = min(int(at[-1]) + int(np.median(np.diff(at))), len(calls)) - 1
    # The last period ends with its last launch: nothing says where the next would have begun.
    start = begins[at]
    return Periods(mine, start, np.append(start[1:], max(int(ends[last]), int(start[-1]) + 1)))


def _is_graph(name: str) -> bool:
    return "graphlaunch" in name.lower()


def _anchor(names: I32, tells: NDArray[np.bool_]) -> I64 | None:
    """Where the periods begin: the places of the rarest name that comes back regularly."""
    count = np.bincount(names)
    fits = np.flatnonzero((count >= LEAST_PERIODS) & (count <= len(names) // LEAST_LAUNCHES))
    for name in fits[np.argsort(count[fits], kind="stable")][:MOST_TRIED]:
        at = np.flatnonzero(names == name)
        length = int(np.median(np.diff(at)))
        if length < LEAST_LAUNCHES or not _regular(names, at, length):
            continue
        one = slice(int(at[0]), int(at[0]) + length)
        if all(tells[a : a + length].any() for a in at[:-1]) or _repeats_inside(names[one]):
            return at
    return None


def _regular(names: I32, at: I64, length: int) -> bool:
    distances = np.diff(at)
    if (distances == length).mean() < EVEN or (at[-1] - at[0] + length) < COVERED * len(names):
        return False
    pairs = [(a, b) for a, b in pairwise(at.tolist()) if b + length <= len(names)]
    alike = [float((names[a : a + length] == names[b : b + length]).mean()) for a, b in pairs[:MOST_TRIED]]
    return bool(alike) and float(np.median(alike)) >= ALIKE


def _repeats_inside(names: I32) -> bool:
    """Whether a stretch of launches holds a shorter sequence several times over (the layers of a model)."""
    count = np.bincount(names)
    for name in np.flatnonzero(count >= LEAST_PERIODS):
        at = np.flatnonzero(names == name)
        length = int(np.median(np.diff(at)))
        if length < 2:
            continue
        pairs = [(a, b) for a, b in pairwise(at.tolist()) if b + length <= len(names)]
        same = [bool((names[a : a + length] == names[b : b + length]).all()) for a, b in pairs]
        if sum(same) >= LEAST_PERIODS - 1 and sum(same) * length >= 0.3 * len(names):
            return True
    return False


def _extended(names: I32, at: I64) -> I64:
    """With the periods before and after that are alike but lack the name."""
    length = int(np.median(np.diff(at))) if len(at) > 1 else 0
    places = at.tolist()

    def like(place: int, other: int) -> bool:
        n = min(length, len(names) - max(place, other))
        return n * ALIKE >= length - 1 and float((names[place : place + n] == names[other : other + n]).mean()) >= ALIKE

    while length and places[0] >= length and like(places[0] - length, places[0]):
        places.insert(0, places[0] - length)
    while length and places[-1] + length < len(names) and like(places[-1] + length, places[-1]):
        places.append(places[-1] + length)
    return np.array(places, np.int64)


def _boundary(at: I64, begins: I64, ends: I64) -> I64:
    """The places moved to where, in most periods, the host takes the longest pause before a launch."""
    length = int(np.median(np.diff(at)))
    # Within one period back or ahead, so that no period is lost at the file's begin.
    shift = np.arange(-min(int(at[0]), length - 1), length)
    pause = np.full(len(shift), -1.0)
    for i, by in enumerate(shift):
        here = at + by
        here = here[(here >= 1) & (here < len(begins))]
        if len(here) >= len(at) - 1:
            pause[i] = float(np.median(begins[here] - ends[here - 1]))
    moved = at + int(shift[int(np.argmax(pause))])
    return moved[(moved >= 0) & (moved < len(begins))]
