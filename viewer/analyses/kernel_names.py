"""The distinct names of GPU work over all ranks, each with its longest run: where a jump by name leads."""

from __future__ import annotations

import numpy as np

from viewer.analyses.gpu_work import gpu_work
from viewer.base.selection import SliceRef
from viewer.base.work import CancelToken
from viewer.store.session import Session


def kernel_names(session: Session, cancel: CancelToken | None = None) -> dict[str, SliceRef]:
    """Names in alphabetical order -> the longest run of each (of equals the first rank's earliest).

    Raises:
        Cancelled: on request, between two inputs.
    """
    best: dict[str, tuple[int, SliceRef]] = {}
    for item in session.inputs:
        if cancel is not None:
            cancel.check()
        trace, work = item.trace, gpu_work(item.trace)
        if not len(work):
            continue
        names = trace.slices.name[work.index]
        lengths = work.end_ns - work.start_ns
        order = np.lexsort((work.start_ns, -lengths, names))
        first = order[np.flatnonzero(np.diff(names[order], prepend=-2))]
        for name, length, row in zip(
            names[first].tolist(), lengths[first].tolist(), work.index[first].tolist(), strict=True
        ):
            text = trace.text(name)
            if text and (text not in best or length > best[text][0]):
                best[text] = (length, SliceRef(item.index, row))
    return {name: best[name][1] for name in sorted(best)}
