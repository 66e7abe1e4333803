"""Where in the program GPU work comes from, in words that two runs share; and the host's own time in operators."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import operator_of_work
from viewer.analyses.optable.modules import PREFIX, module_nest, module_of_work, operator_nest
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

_NUMBERED: Final = re.compile(r"_\d+$")


def places(trace: Trace) -> tuple[I64, I64]:
    """Per position of ``gpu_work`` rows of the innermost operator and module that it belongs to, -1 for none."""

    def build() -> tuple[I64, I64]:
        nest, place = module_nest(trace), module_of_work(trace)
        module = np.where(place >= 0, nest.rows[np.maximum(place, 0)], -1) if len(nest) else place
        return operator_of_work(trace), module.astype(np.int64)

    return trace.memo("places", build)


def module_class(name: str) -> str:
    """``"nn.Module: Linear_3"`` -> ``"Linear"``: instances are numbered in the order in which a run meets them."""
    return _NUMBERED.sub("", name.removeprefix(PREFIX))


def describer(trace: Trace) -> Callable[[tuple[int, ...]], tuple[str, str]]:
    """A function of (name of an operator, name of a module or -1), as indexes into strings, that gives their texts."""

    def describe(pair: tuple[int, ...]) -> tuple[str, str]:
        return trace.text(pair[0]), module_class(trace.text(pair[1])) if pair[1] >= 0 else ""

    return describe


def operator_times(trace: Trace) -> tuple[I64, I64]:
    """Rows of all operators on threads, and the self time of each: duration - its children's inside it, ns."""

    def build() -> tuple[I64, I64]:
        s, rows = trace.slices, operator_nest(trace).rows
        child = np.flatnonzero(s.parent >= 0)
        parent = s.parent[child].astype(np.int64)
        start = s.start_ns[child]
        # Children of one slice lie on one level and do not overlap; one may overrun its parent.
        inside = np.minimum(start + s.dur_ns[child], s.start_ns[parent] + s.dur_ns[parent]) - start
        taken = np.zeros(len(s), np.int64)
        np.add.at(taken, parent, np.maximum(inside, 0))
        return rows.astype(np.int64), np.maximum(s.dur_ns[rows] - taken[rows], 0)

    return trace.memo("operator_times", build)
