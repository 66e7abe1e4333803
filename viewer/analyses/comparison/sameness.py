"""Whether two runs hold the same events."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from viewer.analyses.comparison.pairing import Pairing
from viewer.store.session import Session
from viewer.store.trace import Trace


def identical(base: Session, test: Session, pairing: Pairing) -> bool:
    """Whether every file of one run holds the events of one of the other: names, categories, lanes and times.

    Times count from the first event of their file. Files are held against each other in the order of the pairs.
    """
    if len(base.inputs) != len(test.inputs):
        return False
    one = list(dict.fromkeys(i for p in pairing.pairs for i in p.base.group.inputs))
    other = list(dict.fromkeys(i for p in pairing.pairs for i in p.test.group.inputs))
    if len(one) != len(base.inputs) or len(other) != len(test.inputs):
        return False
    return all(_same(base.inputs[i].trace, test.inputs[j].trace) for i, j in zip(one, other, strict=True))


def _same(a: Trace, b: Trace) -> bool:
    if a is b:
        return True
    if len(a) != len(b) or len(a.rows) != len(b.rows) or len(a.lanes) != len(b.lanes):
        return False
    if not len(a):
        return True
    if (a.rows.begin != b.rows.begin).any() or (a.rows.lane != b.rows.lane).any():
        return False
    if (a.slices.dur_ns != b.slices.dur_ns).any():
        return False
    if (a.slices.start_ns - a.slices.start_ns.min() != b.slices.start_ns - b.slices.start_ns.min()).any():
        return False
    return all(_same_texts(a, b, getattr(a.slices, c), getattr(b.slices, c)) for c in ("name", "cat"))


def _same_texts(a: Trace, b: Trace, one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether two columns of indexes mean the same texts, row by row."""
    pairs = np.unique(np.stack((one, other), axis=1), axis=0)
    if ((pairs[:, 0] < 0) != (pairs[:, 1] < 0)).any():
        return False
    pairs = pairs[pairs[:, 0] >= 0]
    equal = pc.equal(a.strings.take(pairs[:, 0]), b.strings.take(pairs[:, 1]))
    return bool(pc.all(equal).as_py() in (True, None))
