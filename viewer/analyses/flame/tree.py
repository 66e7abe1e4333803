"""Weights on stacks, trees of several files added up, and small branches put together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import levels
from viewer.analyses.flame.stacks import stacks
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.base.ids import Paint
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

GPU, CPU = "gpu", "cpu"
WEIGHTS: Final = (GPU, CPU)
SMALLEST: Final = 20_000
"""A branch below this part of the whole goes into "other": it would be narrower than a tenth of a pixel."""
MOST_NODES: Final = 20_000
DEEPEST: Final = 250
NO_LAUNCH: Final = "(no launch recorded)"
_EVERYTHING: Final = (-(2**62), 2**62)


@dataclass(frozen=True, eq=False)
class FlameTree:
    """Nodes in depth-first order, children by weight, largest first. Arrays have one entry per node, ns.

    ``total`` is the weight of a node with all below it, ``own`` without. ``parent`` -1 for the root (node 0). ``input``
    and ``row`` name its longest slice, -1 for none. ``merged`` counts the branches that an "other" node stands for.
    """

    names: list[str]
    paints: list[Paint | None]
    parent: I64
    depth: I64
    total: I64
    own: I64
    input: I64
    row: I64
    merged: I64

    def __len__(self) -> int:
        return len(self.names)


def flame_tree(
    session: Session,
    inputs: tuple[int, ...],
    windows: dict[int, tuple[int, int]],
    weight: str,
    frames: str,
    cancel: CancelToken | None = None,
) -> FlameTree:
    """The merged stacks of some files.

    Args:
        session: the job.
        inputs: indexes of the files that count.
        windows: per file a window of its raw ns; files that are missing are taken whole.
        weight: GPU or CPU.
        frames: one of ``stacks.FRAMES``.
        cancel: asked between two files.
    """
    merged = _Merged()
    for index in inputs:
        if cancel is not None:
            cancel.check()
        trace = session.inputs[index].trace
        window = windows.get(index, _EVERYTHING)
        merged.add(index, trace, *(_gpu if weight == GPU else _cpu)(trace, window, frames))
    return merged.tree()


_Weighed = tuple[list[int], list[int], I64, I64, I64]
"""Parents and codes of nodes; own weight of each; its longest slice and how long that is."""


def _cpu(trace: Trace, window: tuple[int, int], frames: str) -> _Weighed:
    found = stacks(trace, frames, True)
    s, (lo, hi) = trace.slices, window
    cut = np.maximum(0, np.minimum(s.start_ns + s.dur_ns, hi) - np.maximum(s.start_ns, lo))
    on_thread = np.zeros(len(trace), np.bool_)
    for begin, end in levels(trace):
        on_thread[begin:end] = True
    cut = np.where(on_thread, cut, 0)
    inner = np.zeros(len(trace), np.int64)
    has = np.flatnonzero(on_thread & (s.parent >= 0))
    np.add.at(inner, s.parent[has], cut[has])
    own = cut - inner
    # Time outside of any frame (a thread's slices that are none, at its top) belongs to no stack.
    weight = np.zeros(len(found.nodes.parent), np.int64)
    np.add.at(weight, found.node, own)
    weight[0] = 0
    longest, length = _longest(found.node, np.arange(len(trace)), np.where(on_thread, cut, -1), len(weight))
    return found.nodes.parent, found.nodes.code, weight, longest, length


def _gpu(trace: Trace, window: tuple[int, int], frames: str) -> _Weighed:
    found = stacks(trace, frames, False)
    s, work, (lo, hi) = trace.slices, gpu_work(trace), window
    call = links(trace).call_of
    cut = np.maximum(0, np.minimum(work.end_ns, hi) - np.maximum(work.start_ns, lo))
    at = np.flatnonzero(cut > 0)
    nodes = found.nodes.copy()
    base = np.where(call[at] >= 0, found.node[np.maximum(call[at], 0)], 0)
    lost = (call[at] < 0) & (base == 0)
    if lost.any():
        base[lost] = nodes.child(0, -2)
    leaf = nodes.children(base, (s.name[work.index[at]].astype(np.int64) << 4) | work.paint[at])
    weight = np.zeros(len(nodes.parent), np.int64)
    np.add.at(weight, leaf, cut[at])
    longest, length = _longest(leaf, work.index[at], work.end_ns[at] - work.start_ns[at], len(weight))
    return nodes.parent, nodes.code, weight, longest, length


def _longest(node: I64, rows: I64, length: I64, count: int) -> tuple[I64, I64]:
    """Per node its longest slice and how long it is; -1 without one."""
    row, best = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    order = np.argsort(length, kind="stable")
    row[node[order]], best[node[order]] = rows[order], length[order]
    row[best < 0] = -1
    return row, best


class _Merged:
    """A tree by texts."""

    def __init__(self) -> None:
        self.children: list[dict[tuple[str, int], int]] = [{}]
        self.key: list[tuple[str, int]] = [("", -1)]
        self.own: list[int] = [0]
        self.place: list[tuple[int, int, int]] = [(-1, -1, -1)]  # length, input, row of the longest

    def add(
        self, source: int, trace: Trace, parent: list[int], code: list[int], own: I64, row: I64, length: I64
    ) -> None:
        used = own > 0
        for i in range(len(parent) - 1, 0, -1):  # a node is used when anything below it is
            if used[i]:
                used[parent[i]] = True
        to = [0] * len(parent)
        texts: dict[int, str] = {-2 >> 4: NO_LAUNCH}
        weights, rows, lengths = own.tolist(), row.tolist(), length.tolist()
        for i in range(1, len(parent)):
            if not used[i]:
                continue
            name = code[i] >> 4
            if name not in texts:
                texts[name] = trace.text(name)
            key = (texts[name], code[i] & 15 if code[i] >= 0 else -1)
            known = self.children[to[parent[i]]]
            found = known.get(key)
            if found is None:
                found = known[key] = len(self.key)
                self.children.append({})
                self.key.append(key)
                self.own.append(0)
                self.place.append((-1, -1, -1))
            to[i] = found
            self.own[found] += weights[i]
            if lengths[i] > self.place[found][0]:
                self.place[found] = (lengths[i], source, rows[i])

    def tree(self) -> FlameTree:
        total = self.own.copy()
        parent = [-1] * len(total)
        for i, known in enumerate(self.children):
            for child in known.values():
                parent[child] = i
        for i in range(len(total) - 1, 0, -1):  # children come after their parents
            total[parent[i]] += total[i]
        limit = total[0] / SMALLEST
        while True:
            rows = self._laid_out(total, limit)
            if len(rows) <= MOST_NODES:
                break
            limit *= 2
        names, paints, columns = [], [], defaultdict(list)
        for name, paint, *numbers in rows:
            names.append(name)
            paints.append(Paint(paint) if paint >= 0 else None)
            for column, value in zip(
                ("parent", "depth", "total", "own", "input", "row", "merged"), numbers, strict=True
            ):
                columns[column].append(value)
        return FlameTree(names, paints, **{k: np.array(v, np.int64) for k, v in columns.items()})

    def _laid_out(self, total: list[int], limit: float) -> list[tuple[str, int, int, int, int, int, int, int, int]]:
        out: list[tuple[str, int, int, int, int, int, int, int, int]] = []
        waiting = [(0, -1, 0)]
        while waiting:
            node, above, depth = waiting.pop()
            at = len(out)
            if node < 0:  # what was put together: (-count, parent, depth) with its weight behind
                weight = waiting.pop()[0]
                out.append(("other", -1, above, depth, weight, weight, -1, -1, -node))
                continue
            name, paint = self.key[node]
            _, source, row = self.place[node]
            out.append((name, paint, above, depth, total[node], self.own[node], source, row, 0))
            kids = sorted(self.children[node].values(), key=lambda k: (-total[k], self.key[k]))
            large = [k for k in kids if total[k] >= limit and depth < DEEPEST]
            rest = kids[len(large) :]
            if rest:
                waiting.append((sum(total[k] for k in rest), 0, 0))
                waiting.append((-len(rest), at, depth + 1))
            waiting += [(k, at, depth + 1) for k in reversed(large)]
        return out
