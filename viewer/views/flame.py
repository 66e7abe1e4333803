"""The Flame graph panel as data: a tree laid out, its words, and where a frame leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.flame.stacks import EVERYTHING, MODULES, OPERATORS
from viewer.analyses.flame.tree import CPU, GPU, FlameTree, flame_tree
from viewer.base.flame_frame import FlameFrame
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.figures import plural, shown
from viewer.views.op_table import OpScope

WEIGHT_TEXT: Final = {GPU: "GPU time", CPU: "CPU self time"}
FRAME_TEXT: Final = {MODULES: "Modules and operators", EVERYTHING: "Everything", OPERATORS: "Operators"}
HOW: Final = {
    GPU: "A frame is as wide as the GPU work that was launched in it and below it (durations added, cut to the range); "
    "kernels are the lowest row. A backward pass stands below the module that called its forward operator.",
    CPU: "A frame is as wide as the time that it and the frames below it took on the CPU, cut to the range; threads "
    "are added. A backward pass stands below the module that called its forward operator.",
}


@dataclass(frozen=True, eq=False)
class FlameView:
    """A computed graph."""

    session: Session
    tree: FlameTree
    frame: FlameFrame
    note: str

    def target(self, node: int) -> SliceRef | None:
        """The longest slice of a frame; None where it stands for none."""
        row = int(self.tree.row[node])
        return SliceRef(int(self.tree.input[node]), row) if row >= 0 else None


def compute(session: Session, scope: OpScope, weight: str, frames: str, cancel: CancelToken | None = None) -> FlameView:
    """The graph of a scope. For a worker."""
    tree = flame_tree(session, scope.inputs, dict(scope.windows), weight, frames, cancel)
    return FlameView(session, tree, _laid_out(tree, WEIGHT_TEXT[weight]), _note(tree, weight, frames))


def _laid_out(tree: FlameTree, weight: str) -> FlameFrame:
    left, right = np.zeros(len(tree)), np.ones(len(tree))
    whole = max(1, int(tree.total[0]))
    used = [0] * len(tree)  # how much of a node's width its children before this one take
    start = [0] * len(tree)
    for i, (parent, total) in enumerate(zip(tree.parent.tolist(), tree.total.tolist(), strict=True)):
        if parent >= 0:
            start[i] = start[parent] + used[parent]
            used[parent] += total
        left[i], right[i] = start[i] / whole, (start[i] + total) / whole
    names = [_name(tree, i) for i in range(len(tree))]
    return FlameFrame(names, tree.paints, tree.parent, tree.depth, left, right, tree.total, tree.own, weight)


def _name(tree: FlameTree, node: int) -> str:
    if not node:
        return "all"
    if tree.merged[node]:
        return f"other ({plural(int(tree.merged[node]), 'small frame')})"
    return shown(tree.names[node].removeprefix("nn.Module: "))


def _note(tree: FlameTree, weight: str, frames: str) -> str:
    if not tree.total[0]:
        return "No GPU work in the range." if weight == GPU else "Nothing ran on the CPU in the range."
    said = []
    if weight == GPU and len(tree) and not bool((tree.depth > 1).any()):
        said.append("no stacks were recorded for this GPU work: profile CPU activities as well")
    elif frames == MODULES and not any(name.startswith("nn.Module: ") for name in tree.names):
        said.append("no modules were recorded (with_stack)")
    merged = int(tree.merged.sum())
    if merged:
        lost = int(tree.total[tree.merged > 0].sum())
        said.append(f"{plural(merged, 'small frame')} put together as other: {format_duration(lost)}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""
