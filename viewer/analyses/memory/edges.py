"""Borders of steps among the allocator events of a device, and the groups by which what is held is told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import block_categories
from viewer.analyses.memory.figures import device_blocks, device_events
from viewer.analyses.memory.makers import maker_names, of_library, stack_frames
from viewer.analyses.memory.steps import memory_steps
from viewer.analyses.numbering import numbered_values
from viewer.base.ids import ABSENT
from viewer.jit.grouping import sum_by_group
from viewer.store.memory_rules import shipped_memory_rules
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

WARM_UP = 3
"""Steps at the beginning that are set apart, at most a quarter of all: optimizer state, caches, first compilation."""


@dataclass(frozen=True, eq=False)
class Edges:
    """``at`` int64[steps + 1]: rows of allocator_events, each the first one at or after a border of steps.

    ``first`` steps are warm-up; ``index`` int64[steps] numbers the steps; ``source`` says where borders come from.
    """

    at: I64
    index: I64
    first: int
    source: str

    @property
    def count(self) -> int:
        """Number of steps."""
        return len(self.index)

    def levels_of(self, step: int) -> slice:
        """Rows after which levels of a step are told: its events; of a step without any, the one before it."""
        first, last = int(self.at[step]), int(self.at[step + 1])
        return slice(first, last) if first < last else slice(max(first - 1, 0), max(first, 1))


def step_edges(session: Session, item: Input, device: int) -> Edges | None:
    """Borders of the steps of a rank for one of its devices; None with fewer than two steps.

    Steps are those that the rank's files mark; without any, each run of allocations by the optimizer ends one.
    """

    def build() -> Edges | None:
        e, rows = item.trace.tables["allocator_events"], device_events(item.trace, device)
        steps = memory_steps(session, item)
        if steps is not None:
            at, index = np.searchsorted(e.time_ns[rows], steps.edges(), "left") + rows.start, steps.index
            seen = np.flatnonzero(np.diff(at) > 0)  # steps that the recording did not see show nothing
            if len(seen) >= 2:
                kept = slice(seen[0], seen[-1] + 1)
                at, index = at[seen[0] : seen[-1] + 2], index[kept]
                return Edges(at, index, _warm_up(len(index)), "steps")
        runs = _optimizer_runs(session, item, device)
        if len(runs) < 3:
            return None
        count = len(runs) - 1
        return Edges(runs, np.arange(count), _warm_up(count), "runs of the optimizer")

    return session.clocked_memo(("memory edges", item.index, device), build)


def _warm_up(steps: int) -> int:
    return min(WARM_UP, max(1, steps // 4)) if steps > 2 else 0


def _optimizer_runs(session: Session, item: Input, device: int) -> I64:
    """First event of each run of allocations that the optimizer makes."""
    b, rows = item.trace.tables["blocks"], device_blocks(item.trace, device)
    made = b.made_event[rows]
    known = made >= 0
    phase = block_categories(session, item).phase[rows][known]
    optimizer = phase == shipped_memory_rules().phase("optimizer")
    # A run ends with an allocation of another phase; those of no phase say nothing.
    told = phase != 0
    made, optimizer = made[known][told], optimizer[told]
    begins = optimizer & ~np.concatenate([[False], optimizer[:-1]])
    out: I64 = made[begins]
    return out


def block_keys(trace: Trace, device: int) -> I64:
    """What made each block of a device, as one number: its stack, else -2 - the name of the slice, else -1."""

    def build() -> I64:
        b, rows = trace.tables["blocks"], device_blocks(trace, device)
        key: I64 = b.stack[rows].astype(np.int64)
        made = b.made_event[rows]
        lost = np.flatnonzero((key < 0) & (made >= 0))
        if len(lost) and (trace.tables["allocator_events"].mark[made[lost]] != ABSENT).any():
            name = maker_names(trace)[made[lost]]
            key[lost[name >= 0]] = -2 - name[name >= 0]
        return key

    return trace.memo(("memory keys", device), build)


def key_text(trace: Trace, key: int) -> str:
    """Who that is, for people: the innermost frame of the program's own code with file and line, or a slice's name."""
    if key < -1:
        return trace.text(-2 - key) or "a slice without a name"
    frames = stack_frames(trace, key)
    if not frames:
        return "code without a stack"
    own = [f for f in frames if not of_library(f[1])] or frames
    name, file, line = own[0]
    return f"{name} ({file.replace(chr(92), '/').rpartition('/')[2] or '?'}:{line})"


def held_by_key(trace: Trace, device: int, edges: I64) -> tuple[I64, I64]:
    """(keys int64[k], bytes int64[k, edges]): what each maker holds before each edge's event, until asked to free."""
    b, rows = trace.tables["blocks"], device_blocks(trace, device)
    keys, _, of = numbered_values(block_keys(trace, device))
    made, asked, size = b.made_event[rows], b.asked_event[rows], b.size[rows]
    first = np.where(made >= 0, np.searchsorted(edges, made, "right"), 0)  # edges beyond it see the block
    gone = np.where(asked >= 0, np.searchsorted(edges, asked, "right"), len(edges))
    gone = np.where(b.asked_ns[rows] == ABSENT, 0, gone)  # asked before the recording: held by nobody
    width = len(edges) + 1
    change = np.zeros(len(keys) * width, np.int64)
    seen = gone > first
    sum_by_group((of * width + first)[seen], size[seen], change)
    sum_by_group((of * width + gone)[seen], -size[seen], change)
    return keys, np.cumsum(change.reshape(len(keys), width), axis=1)[:, : len(edges)]
