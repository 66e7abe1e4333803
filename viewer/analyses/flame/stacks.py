"""The tree of stacks of one file: equal names under equal stacks are one node, whenever and on whatever thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import levels, nearest
from viewer.analyses.names import flags_where
from viewer.analyses.optable.modules import PREFIX, forward_of
from viewer.analyses.steps import step_table
from viewer.base.ids import Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

OPERATORS, MODULES, EVERYTHING = "operators", "modules", "everything"
"""Which frames stacks have: operators; modules and operators; these, Python, annotations and (by CPU time) calls."""
FRAMES: Final = (MODULES, EVERYTHING, OPERATORS)


@dataclass
class Nodes:
    """Nodes of a tree: 0 is the root, every other one comes after its parent. ``code`` = name << 4 | paint."""

    parent: list[int] = field(default_factory=lambda: [-1])
    code: list[int] = field(default_factory=lambda: [-1])
    _known: dict[tuple[int, int], int] = field(default_factory=dict)

    def child(self, parent: int, code: int) -> int:
        """The node of a name and class under another one."""
        key = (parent, code)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.parent)
            self.parent.append(parent)
            self.code.append(code)
        return found

    def children(self, parents: I64, codes: I64) -> I64:
        """As :meth:`child` for many at once."""
        if not len(parents):
            return np.empty(0, np.int64)
        width = int(codes.max()) + 1
        keys, inverse = np.unique(parents * width + codes, return_inverse=True)  # below 2**31 nodes x 2**32 codes
        ids = np.array([self.child(p, c) for p, c in (divmod(k, width) for k in keys.tolist())], np.int64)
        return ids[inverse]

    def copy(self) -> Nodes:
        """The same tree, to grow on its own."""
        return Nodes(self.parent.copy(), self.code.copy(), self._known.copy())


@dataclass(frozen=True, eq=False)
class Stacks:
    """``node`` is the node of each row of ``slices``: its own, or that of the next frame around; 0 at the top."""

    nodes: Nodes
    node: I64


def stacks(trace: Trace, frames: str, calls: bool) -> Stacks:
    """The stacks of a file. Built once for each choice.

    Args:
        trace: the file.
        frames: one of FRAMES.
        calls: whether runtime calls are frames as well.
    """
    return trace.memo(("stacks", frames, calls), lambda: _build(trace, frames, calls))


def _build(trace: Trace, frames: str, calls: bool) -> Stacks:
    s = trace.slices
    shown = _frames(trace, frames, calls)
    code = (s.name.astype(np.int64) << 4) | s.paint
    nodes = Nodes()
    node = np.zeros(len(trace), np.int64)
    none = np.full(len(trace), -1, np.int64)
    runs = levels(trace)
    _walk(nodes, node, runs, s.parent, shown, code, none)
    moved = _backward(trace, shown, node) if frames != OPERATORS else none
    if (moved >= 0).any():
        _walk(nodes, node, runs, s.parent, shown, code, moved)
    return Stacks(nodes, node)


def _walk(
    nodes: Nodes, node: I64, runs: list[tuple[int, int]], parent: I64, shown: Bools, code: I64, moved: I64
) -> None:
    """Give each slice its node, upper levels first. ``moved`` is the node above where that is not its parent's."""
    for begin, end in runs:
        above = parent[begin:end]
        base = np.where(above >= 0, node[np.maximum(above, 0)], 0)
        base = np.where(moved[begin:end] >= 0, moved[begin:end], base)
        mine = shown[begin:end]
        out = base.copy()
        if mine.any():
            out[mine] = nodes.children(base[mine], code[begin:end][mine])
        node[begin:end] = out


def _frames(trace: Trace, frames: str, calls: bool) -> Bools:
    s = trace.slices
    out: Bools = np.asarray(s.paint == Paint.OPERATOR)
    python = s.paint == Paint.PYTHON
    if frames == MODULES:
        named = flags_where(trace, s.name[python], lambda name: name.startswith(PREFIX))
        out = out | (python & named[s.name])
    elif frames == EVERYTHING:
        out = out | python | (s.paint == Paint.ANNOTATION)
        marks = [step.mark_row for step in step_table(trace).steps if step.mark_row >= 0]
        out[marks] = False  # numbered: each step would be a tree of its own
    return out | (s.paint == Paint.RUNTIME) if calls else out


def _backward(trace: Trace, shown: Bools, node: I64) -> I64:
    """Per slice the node below which it goes instead of its parent's; -1: stays.

    The first slice of a backward pass goes below the module or Python frame that called the forward operator.
    """
    s = trace.slices
    forward = forward_of(trace)
    out = np.full(len(trace), -1, np.int64)
    parent = s.parent
    inherits = (parent >= 0) & (forward[np.maximum(parent, 0)] == forward)
    first = np.flatnonzero((forward >= 0) & ~inherits)
    if len(first):
        context = np.asarray(shown & (s.paint != Paint.OPERATOR) & (s.paint != Paint.RUNTIME))
        around = nearest(trace, context)[forward[first]]
        has = around >= 0
        out[first[has]] = node[around[has]]
    return out
