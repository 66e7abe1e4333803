"""Begins and ends of the same track to pairs."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

SEARCH: Final = 4096
"""How far down a stack an end looks for the begin of its name."""


@kernel
def pair_up(
    track: NDArray[np.int32],
    is_begin: NDArray[np.bool_],
    name: NDArray[np.int32],
    tracks: int,
    partner: NDArray[np.int64],
) -> int:
    """Match every end with a begin of its track; rows are in order of time.

    An end closes the innermost open begin of its name; one without a name (-1), or whose name is not open, closes the
    innermost begin of all. Writes the row of the partner, -1 for a row without one; returns how many pairs have two
    different names.
    """
    n = len(track)
    top = np.full(tracks, -1, np.int64)
    below = np.full(n, -1, np.int64)
    partner[:] = -1
    mismatched = 0
    for i in range(n):
        t = track[i]
        if is_begin[i]:
            below[i] = top[t]
            top[t] = i
            continue
        found = top[t]
        if found < 0:
            continue
        above = np.int64(-1)
        if name[i] >= 0 and name[found] != name[i]:
            walk = found
            over = np.int64(-1)
            steps = 0
            while walk >= 0 and steps < SEARCH and name[walk] != name[i]:
                over = walk
                walk = below[walk]
                steps += 1
            if walk >= 0 and name[walk] == name[i]:
                found = walk
                above = over
            else:
                mismatched += 1
        if above < 0:
            top[t] = below[found]
        else:
            below[above] = below[found]
        partner[i] = found
        partner[found] = i
    return mismatched
