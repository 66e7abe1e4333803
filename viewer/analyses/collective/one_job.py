"""Whether members of an operation can be of one job: files of two runs state the same groups and numbers.

Runs that were recorded at different times are told by the wall clock (``recordings``); of runs at the same time the
ends of what looks like shared operations keep no distance, and members of one end before those of the other began.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.lines import STEEPEST, fit
from viewer.analyses.robust import deviation
from viewer.store.session import Session

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

TIGHT_NS: Final = 30_000.0
"""Differences of ends that change by less from operation to operation are those of two clocks."""
CONTRARY: Final = 0.2
"""Share of operations in which a member ends before another one began, from which they are no operations at all."""
FEWEST: Final = 4
APART_NS: Final = 60_000_000_000
"""Clocks that a time server sets differ by less: recordings so far apart share nothing."""
WALL_CLOCK_NS: Final = 10**18
"""Times beyond are those of a calendar (2001 on); smaller ones count from a start of their own."""
MOST: Final = 128
"""Members of a group that are compared all with all."""


def of_one_job(starts: F64, ends: F64) -> list[I64]:
    """Columns of members that belong together: all of them, or several sets that contradict each other.

    Sets of members whose ends keep together are of one run each where, whatever the difference of their clocks, members
    of one set end before those of the other began.

    Args:
        starts: float64[operations, members], ns on each member's own clock, NaN where it has none.
        ends: the same.
    """
    count = ends.shape[1]
    whole = [np.arange(count)]
    if not 2 <= count <= MOST or len(ends) < FEWEST:
        return whole
    first = ends - ends[:, :1]
    loose = [i for i in range(1, count) if _change(first[:, i]) > TIGHT_NS]
    if not loose:
        return whole
    sets = _together(ends)
    largest = max(sets, key=lambda s: (len(s), -int(s[0])))
    apart = [s for s in sets if s is not largest and _contrary(starts, ends, largest, s)]
    if not apart:
        return whole
    gone = np.concatenate(apart)
    return [np.setdiff1d(whole[0], gone), *apart]


def _change(difference: F64) -> float:
    """Scatter of a difference of clocks, its drift apart."""
    known = difference[~np.isnan(difference)]
    return deviation(np.diff(known), 0.0) / 2.0**0.5 if len(known) >= FEWEST else 0.0


def _together(ends: F64) -> list[I64]:
    left, out = list(range(ends.shape[1])), []
    while left:
        head = left[0]
        mine = [i for i in left if i == head or _change(ends[:, i] - ends[:, head]) <= TIGHT_NS]
        out.append(np.array(mine, np.int64))
        left = [i for i in left if i not in mine]
    return out


def _contrary(starts: F64, ends: F64, one: I64, other: I64) -> bool:
    whole = ~np.isnan(ends[:, [one[0], other[0]]]).any(axis=1)
    if int(whole.sum()) < FEWEST:
        return False
    starts, ends = starts[whole].copy(), ends[whole].copy()
    line = fit(ends[:, one[0]], ends[:, other[0]] - ends[:, one[0]])
    slope = line.slope if abs(line.slope) <= STEEPEST else 0.0
    drifted = slope * (ends[:, one[0]] - ends[0, one[0]])
    for times in (starts, ends):
        times[:, other] -= drifted[:, None]
    for members in (one, other):  # each set on the clock of its first
        shift = np.nanmedian(ends[:, members] - ends[:, members[:1]], axis=0)
        starts[:, members] -= shift
        ends[:, members] -= shift
    # Differences of the clocks with which neither set ends before the other began, by operation.
    low = np.nanmax(starts[:, other], axis=1) - np.nanmin(ends[:, one], axis=1) - TIGHT_NS
    high = np.nanmin(ends[:, other], axis=1) - np.nanmax(starts[:, one], axis=1) + TIGHT_NS
    possible = [int(((low <= at) & (at <= high)).sum()) for at in low]
    return max(possible) < (1.0 - CONTRARY) * len(low)


def keeps_distance(difference: F64) -> bool:
    """Whether ends of shared operations keep their distance from one to the next, as those of one run alone do."""
    return len(difference) >= FEWEST and _change(difference) <= TIGHT_NS


def recordings(session: Session) -> I64:
    """Per RankGroup a number that is equal for ranks that were recorded at one time; 0 has most ranks.

    Where times are those of a calendar, recordings with a minute or more between them are of different runs, or of
    different parts of one: nothing is shared. Others are all of one.
    """
    out = np.zeros(len(session.groups), np.int64)
    spans: list[tuple[int, int, int]] = []
    for group in session.groups:
        for index in group.inputs:
            item = session.inputs[index]
            first, last = item.trace.meta.first_ns, item.trace.meta.last_ns
            if first is not None and last is not None and item.clock.known and first + item.base_ns > WALL_CLOCK_NS:
                spans.append((first + item.base_ns, last + item.base_ns, group.id))
    spans.sort()
    number, until = 0, spans[0][1] if spans else 0
    found: dict[int, int] = {}
    parent = list(range(len(spans) + 1))
    for begin, end, rank in spans:
        if begin - until > APART_NS:
            number += 1
        until = max(until, end)
        known = found.setdefault(rank, number)
        if known != number:  # segments of one rank join what lies between them
            parent = [parent[known] if p == number else p for p in parent]
    if number:
        told = {g: parent[n] for g, n in found.items()}
        names, counts = np.unique(list(told.values()), return_counts=True)
        order = {int(n): i for i, n in enumerate(names[np.argsort(-counts, kind="stable")])}
        for rank, n in told.items():
            out[rank] = order[n]
    return out
