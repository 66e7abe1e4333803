"""Where in the program GPU work comes from: operator and module around its launch; and the host's time in operators."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.links import lanes_of_rows, links
from viewer.analyses.names import flags_where
from viewer.base.ids import LaneKind, Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

DEEPEST: Final = 64
"""Levels of the call tree that are climbed from a launch."""
_MODULE: Final = "nn.Module: "
_NUMBERED: Final = re.compile(r"_\d+$")


@dataclass(frozen=True, eq=False)
class Places:
    """Per position of ``gpu_work``: rows of the innermost operator and module around its launch, -1 for none."""

    operator: I64
    module: I64


def places(trace: Trace) -> Places:
    """Where the GPU work of a trace was launched. Built once."""
    return trace.memo("places", lambda: _build(trace))


def _build(trace: Trace) -> Places:
    s, call_of = trace.slices, links(trace).call_of
    operator, module = np.full(len(call_of), -1, np.int64), np.full(len(call_of), -1, np.int64)
    at = np.flatnonzero(call_of >= 0)
    current = call_of[at]
    is_module = flags_where(trace, s.name, lambda text: text.startswith(_MODULE)) if len(s) else None
    for _ in range(DEEPEST):
        current = s.parent[current].astype(np.int64)
        inside = current >= 0
        at, current = at[inside], current[inside]
        if not len(at) or is_module is None:
            break
        first = (s.paint[current] == Paint.OPERATOR) & (operator[at] < 0)
        operator[at[first]] = current[first]
        first = (s.paint[current] == Paint.PYTHON) & (module[at] < 0) & is_module[s.name[current]]
        module[at[first]] = current[first]
        if not is_module.any():  # nothing is looked for above the operator
            going = operator[at] < 0
            at, current = at[going], current[going]
    return Places(operator, module)


def module_class(name: str) -> str:
    """``"nn.Module: Linear_3"`` -> ``"Linear"``: instances are numbered in the order in which a run meets them."""
    return _NUMBERED.sub("", name.removeprefix(_MODULE))


def operator_times(trace: Trace) -> tuple[I64, I64]:
    """Rows of all operators on threads, and the self time of each: duration - its children's inside it, ns."""

    def build() -> tuple[I64, I64]:
        s = trace.slices
        rows = np.flatnonzero(s.paint == Paint.OPERATOR)
        on_thread = np.array([lane.kind is LaneKind.THREAD for lane in trace.lanes], np.bool_)
        rows = rows[on_thread[lanes_of_rows(trace, rows)]] if len(rows) else rows
        child = np.flatnonzero(s.parent >= 0)
        parent = s.parent[child].astype(np.int64)
        start = s.start_ns[child]
        # Children of one slice lie on one level and do not overlap; one may overrun its parent.
        inside = np.minimum(start + s.dur_ns[child], s.start_ns[parent] + s.dur_ns[parent]) - start
        taken = np.zeros(len(s), np.int64)
        np.add.at(taken, parent, np.maximum(inside, 0))
        return rows, np.maximum(s.dur_ns[rows] - taken[rows], 0)

    return trace.memo("operator_times", build)
