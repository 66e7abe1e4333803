"""Finding a slice by a part of its name."""

from __future__ import annotations

import numpy as np

from viewer.base.ids import GPU_CLASSES
from viewer.base.selection import SliceRef, TimeRange
from viewer.store.session import Session


def longest_named(session: Session, part: str, window: TimeRange | None = None) -> SliceRef | None:
    """The longest slice whose name contains ``part`` (case does not matter); None when there is none.

    GPU work goes before anything else: "allreduce" means the kernel, not the longer operator that launched it.

    Args:
        session: the job.
        part: text, not a pattern.
        window: only slices that touch this range of session time.

    Ties go to the first input, then to the first row.
    """
    import pyarrow.compute as pc

    best: SliceRef | None = None
    longest = (False, -1)
    for item in session.inputs:
        trace = item.trace
        slices = trace.slices
        hits = np.asarray(pc.match_substring(trace.strings, part, ignore_case=True).to_numpy(zero_copy_only=False))
        if not hits.any():
            continue
        chosen = hits[slices.name]
        if window is not None:
            start, end = item.clock.to_raw(window.start_ns), item.clock.to_raw(window.end_ns)
            chosen &= (slices.start_ns < end) & (slices.start_ns + slices.dur_ns > start)
        rows = np.flatnonzero(chosen)
        if len(rows):
            on_gpu = np.isin(slices.paint[rows], GPU_CLASSES)
            if on_gpu.any():
                rows = rows[on_gpu]
            row = int(rows[np.argmax(slices.dur_ns[rows])])
            found = (bool(on_gpu.any()), int(slices.dur_ns[row]))
            if found > longest:
                longest = found
                best = SliceRef(item.index, row)
    return best
