"""Binary searches in rows of slices: what touches an instant, what begins after it, and what is wide enough to name."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
Int: TypeAlias = Any
"""A whole number: int outside, int64 in compiled code."""


@kernel
def first_touching(starts: I64, durs: I64, lo: Int, hi: Int, time: Int) -> Any:
    """First slice of the row [lo, hi) that ends after ``time`` or starts at or after it (binary search)."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if starts[mid] < time and starts[mid] + durs[mid] <= time:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def first_from(starts: I64, lo: Int, hi: Int, time: Int) -> Any:
    """First slice of the row [lo, hi) that starts at or after ``time`` (binary search)."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if starts[mid] < time:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def find_wide(
    starts: I64,
    durs: I64,
    begin: I64,
    end: I64,
    longest: I64,
    rows: I64,
    t0: Int,
    length: Int,
    at_least: Int,
    which: I64,
    found: I64,
) -> Any:
    """Slices that show for at least ``at_least`` ns inside the window, row by row, in time order.

    Rows with many slices are probed by binary searches (a wide slice cannot hide between two probes), so the cost
    depends on the number of places for wide slices.

    Args:
        starts: int64[n] raw ns; ``durs`` likewise.
        durs: durations, ns.
        begin: int64[rows of the source]; with ``end``: the slices of each row.
        end: see ``begin``.
        longest: int64[rows of the source] no slice of a row lasts longer, ns.
        rows: int64[q] rows to search.
        t0: start of the window, raw ns.
        length: its length, ns.
        at_least: visible ns, >= 1.
        which: int64[capacity] out: index into ``rows``.
        found: int64[capacity] out: the slice.

    Returns:
        How many were found, at most the capacity.
    """
    n = 0
    stop = t0 + length
    for q in range(len(rows)):
        r = rows[q]
        if longest[r] < at_least:
            continue
        a = first_touching(starts, durs, begin[r], end[r], t0)
        b = first_from(starts, a, end[r], stop)
        probing = b - a > 4 * (length // at_least)
        probe = t0 + at_least - 1
        i = a
        while i < b:
            if probing:
                if probe >= stop:
                    break
                i = first_touching(starts, durs, i, b, probe)
                probe += at_least
                if i >= b:
                    break
                probe = max(probe, starts[i] + at_least - 1)
            s = max(starts[i], t0)
            e = min(starts[i] + durs[i], stop)
            if e - s >= at_least:
                if n == len(found):
                    return n
                which[n] = q
                found[n] = i
                n += 1
                if probing:
                    probe = max(probe, e + at_least - 1)
            i += 1
    return n
