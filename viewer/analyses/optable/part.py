"""The GPU work of one file in groups: which entries a group has, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import operator_of_work
from viewer.analyses.copies import copied_bytes
from viewer.analyses.flops.launchers import recorded_launchers
from viewer.analyses.flops.ledger import ledger
from viewer.analyses.flops.traffic import moved_bytes
from viewer.analyses.gpu_work import GpuWork, gpu_work
from viewer.analyses.names import distinct
from viewer.analyses.optable.modules import PREFIX, module_nest, module_of_work, operator_nest
from viewer.analyses.optable.nest import Nest
from viewer.analyses.steps import step_table
from viewer.jit.grouping import sum_by_group
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

KERNEL, OPERATOR, SHAPE, MODULE, STEP, CLASS = "kernel", "operator", "shape", "module", "step", "class"
GROUPINGS: Final = (KERNEL, OPERATOR, SHAPE, MODULE, STEP, CLASS)
NESTED: Final = (OPERATOR, MODULE)
"""Groupings whose entries enclose each other: their totals hold what is inside, and they have times on the CPU."""
NOWHERE: Final = ("",)
"""The group of GPU work that belongs to no operator or module of the file."""
NO_WINDOW: Final = (-(2**62), 2**62)


@dataclass(frozen=True, eq=False)
class Part:
    """The groups of one file. Arrays have one entry per group unless said otherwise; ns.

    ``entry_group``, ``entry_row``, ``entry_ns``: per run (of a kernel) or call (of an operator, a module): its group,
    its row of ``slices``, and the whole duration of its GPU work. ``total`` and ``own`` add GPU time cut to the window,
    ``own`` without what is in calls further inside; ``cpu_total`` and ``cpu_own`` likewise, of the calls themselves.
    ``flops`` were done in ``flops_ns``, ``moved`` bytes in ``moved_ns`` (whole kernels with known figures only).
    """

    keys: list[tuple[Any, ...]]
    entry_group: I64
    entry_row: I64
    entry_ns: I64
    total: I64
    own: I64
    cpu_total: I64
    cpu_own: I64
    flops: F64
    flops_ns: I64
    moved: F64
    moved_ns: I64


def part(trace: Trace, by: str, window: tuple[int, int] | None = None) -> Part:
    """The groups of a file, in a window of its raw ns or as a whole (which is kept)."""
    if window is None:
        return trace.memo(("op_part", by), lambda: _build(trace, by, NO_WINDOW))
    return _build(trace, by, window)


def _build(trace: Trace, by: str, window: tuple[int, int]) -> Part:
    runs = _Runs.of(trace, window)
    if by == OPERATOR:
        nest = operator_nest(trace)
        inner = operator_of_work(trace)
        own = np.where(inner >= 0, nest.around[np.maximum(inner, 0)], -1).astype(np.int64)
        names = trace.slices.name[nest.rows]
        keys, group = _named(trace, names)
        return _nested(trace, nest, own, keys, group, runs, window)
    if by == MODULE:
        modules = module_nest(trace)
        if len(modules):
            keys, group = _named(trace, trace.slices.name[modules.rows], len(PREFIX))
            return _nested(trace, modules, module_of_work(trace), keys, group, runs, window)
        keys, group = _hierarchy(trace)
        return _joined(_flat(runs, [NOWHERE], np.where(group < 0, 0, -1)), _flat(runs, keys, group))
    if by == SHAPE:
        return _calls(trace, runs)
    return _flat(runs, *_of_runs(trace, by))


def gpu_ns(trace: Trace, window: tuple[int, int] | None = None) -> int:
    """Sum of the durations of a file's GPU work, cut to a window of its raw ns."""
    work, (lo, hi) = gpu_work(trace), window or NO_WINDOW
    return int(np.maximum(np.minimum(work.end_ns, hi) - np.maximum(work.start_ns, lo), 0).sum())


@dataclass(frozen=True, eq=False)
class _Runs:
    """The GPU work that touches a window: positions of ``gpu_work``, and figures of each."""

    work: GpuWork
    at: I64
    cut: I64
    whole: I64
    flops: F64
    moved: F64

    @classmethod
    def of(cls, trace: Trace, window: tuple[int, int]) -> _Runs:
        work, lo, hi = gpu_work(trace), *window
        touches = (work.start_ns < hi) & ((work.end_ns > lo) | (work.start_ns >= lo))
        at = np.flatnonzero(touches).astype(np.int64)
        start, end = work.start_ns[at], work.end_ns[at]
        cut = np.minimum(end, hi) - np.maximum(start, lo)
        moved = copied_bytes(trace)
        for more in (ledger(trace).bytes, moved_bytes(trace)):
            moved = np.where(np.isnan(moved), more, moved)
        return cls(work, at, cut, end - start, ledger(trace).flops[at], moved[at])

    def sums(self, group: I64, count: int) -> tuple[I64, F64, I64, F64, I64]:
        """Per group: cut ns, FLOPs, ns of what has FLOPs, bytes, ns of what has bytes; group -1 is left out."""
        mine = group >= 0

        def add(values: Any, where: Any) -> Any:
            return _sums(count, group[where], values[where])

        counted, sized = mine & ~np.isnan(self.flops), mine & ~np.isnan(self.moved)
        return (
            add(self.cut, mine),
            add(self.flops, counted),
            add(self.whole, counted),
            add(self.moved, sized),
            add(self.whole, sized),
        )


def _sums(count: int, group: I64, values: Any) -> Any:
    """The sum of the values of each of ``count`` groups."""
    if values.dtype != np.int64:
        return np.bincount(group, values, count)
    out = np.zeros(count, np.int64)
    sum_by_group(group, values, out)
    return out


def _flat(runs: _Runs, keys: list[tuple[Any, ...]], group_of_work: I64) -> Part:
    """Groups of single runs; -1: in none."""
    group = group_of_work[runs.at]
    cut, flops, flops_ns, moved, moved_ns = runs.sums(group, len(keys))
    mine = group >= 0
    none = np.zeros(len(keys), np.int64)
    rows = runs.work.index[runs.at]
    return Part(keys, group[mine], rows[mine], runs.whole[mine], cut, cut, none, none, flops, flops_ns, moved, moved_ns)


def _nested(
    trace: Trace,
    nest: Nest,
    own_of_work: I64,
    keys: list[tuple[Any, ...]],
    group: I64,
    runs: _Runs,
    window: tuple[int, int],
) -> Part:
    """Groups of calls that enclose each other; ``own_of_work`` is the innermost call of each piece of GPU work."""
    own_call = own_of_work[runs.at]
    cut, flops, flops_ns, moved, moved_ns = runs.sums(own_call, len(nest))
    launched = own_call >= 0
    whole = _sums(len(nest), own_call[launched], runs.whole[launched])
    count = np.bincount(own_call[launched], minlength=len(nest))
    inside = np.stack([cut, flops_ns, moved_ns, whole, count], axis=1)
    inside_f = np.stack([flops, moved], axis=1)
    nest.inclusive(inside, inside_f)
    s, (lo, hi) = trace.slices, window
    start = s.start_ns[nest.rows]
    end = start + s.dur_ns[nest.rows]
    on_cpu = np.maximum(0, np.minimum(end, hi) - np.maximum(start, lo))
    cpu_own = on_cpu - nest.of_children(on_cpu)
    outermost = ~nest.inside_own_group(group)
    there = ((start < hi) & (end > lo)) | (inside[:, 4] > 0)

    def add(values: Any, where: Any) -> Any:
        return _sums(len(keys), group[where], values[where])

    everyone = np.ones(len(nest), np.bool_)
    rest = _flat(runs, [NOWHERE], np.where(own_of_work < 0, 0, -1))
    return _joined(
        rest,
        Part(
            keys,
            group[there],
            nest.rows[there],
            np.asarray(inside[there, 3], np.int64),
            add(inside[:, 0], outermost),
            add(cut, everyone),
            add(on_cpu, outermost),
            add(cpu_own, everyone),
            add(inside_f[:, 0], outermost),
            add(inside[:, 1], outermost),
            add(inside_f[:, 1], outermost),
            add(inside[:, 2], outermost),
        ),
    )


def _joined(rest: Part, other: Part) -> Part:
    """One more group before those of another part, if it has any entry."""
    if not len(rest.entry_row):
        return other
    shifted = replace(other, entry_group=other.entry_group + len(rest.keys))
    columns = [f.name for f in fields(Part) if f.name != "keys"]
    return Part(rest.keys + other.keys, *(np.concatenate((getattr(rest, c), getattr(shifted, c))) for c in columns))


def _calls(trace: Trace, runs: _Runs) -> Part:
    """Operators by the shapes of what they were called with; those that launch by themselves."""
    rows, place, keys, group = trace.memo("shape_groups", lambda: _shapes(trace))
    own = place[runs.at]
    rest = _flat(runs, [("", "")], np.where(place < 0, 0, -1))
    cut, flops, flops_ns, moved, moved_ns = runs.sums(np.append(group, -1)[own], len(keys))
    mine = own >= 0
    whole = _sums(len(rows), own[mine], runs.whole[mine])
    used = np.unique(own[mine])
    none = np.zeros(len(keys), np.int64)
    found = Part(keys, group[used], rows[used], whole[used], cut, cut, none, none, flops, flops_ns, moved, moved_ns)
    return _joined(rest, found)


def _shapes(trace: Trace) -> tuple[I64, I64, list[tuple[Any, ...]], I64]:
    found = recorded_launchers(trace)
    texts = [e.text for e in found.entries]
    keys: dict[tuple[Any, ...], int] = {}
    names = trace.slices.name[found.rows].tolist()
    group = [keys.setdefault((n, texts[e]), len(keys)) for n, e in zip(names, found.number.tolist(), strict=True)]
    return found.rows, found.place, [(trace.text(n), t) for n, t in keys], np.array(group, np.int64)


def _named(trace: Trace, names: NDArray[np.int32], skip: int = 0) -> tuple[list[tuple[Any, ...]], I64]:
    found = ([-1] if len(names) and int(names.min()) < 0 else []) + distinct(names)
    place = np.empty(len(trace.strings) + 1, np.int64)
    place[found] = np.arange(len(found))
    return [(trace.text(c)[skip:],) for c in found], place[names]


def _of_runs(trace: Trace, by: str) -> tuple[list[tuple[Any, ...]], I64]:
    """Keys, and the group of each position of ``gpu_work``."""
    return trace.memo(("op_groups", by), lambda: _group_runs(trace, by))


def _group_runs(trace: Trace, by: str) -> tuple[list[tuple[Any, ...]], I64]:
    work = gpu_work(trace)
    if by == KERNEL:
        code = (trace.slices.name[work.index].astype(np.int64) << 8) | work.paint
        found, group = np.unique(code, return_inverse=True)
        return [(trace.text(c >> 8), c & 0xFF) for c in found.tolist()], group.astype(np.int64)
    if by == CLASS:
        found, group = np.unique(work.paint, return_inverse=True)
        return [(c,) for c in found.tolist()], group.astype(np.int64)
    steps = step_table(trace)
    out = np.full(len(work), -1, np.int64)
    for number, step in enumerate(steps.steps):
        out[work.positions(step.rows)] = number
    keys: list[tuple[Any, ...]] = [(step.name or str(step.index), step.index) for step in steps.steps]
    if len(steps.outside_rows):
        keys.append(("outside of steps", -1))
        out[work.positions(steps.outside_rows)] = len(keys) - 1
    return keys, out


def _hierarchy(trace: Trace) -> tuple[list[tuple[Any, ...]], I64]:
    """Modules as the profiler writes them on operators (``with_modules``), where no frames of modules are."""

    def build() -> tuple[list[tuple[Any, ...]], I64]:
        found = recorded_launchers(trace)
        keys: dict[str, int] = {}
        of_entry = np.array([keys.setdefault(e.module, len(keys)) if e.module else -1 for e in found.entries], np.int64)
        out = np.full(len(found.place), -1, np.int64)
        has = found.place >= 0
        out[has] = of_entry[found.number[found.place[has]]]
        return [(k,) for k in keys], out

    return trace.memo("module_hierarchy", build)
