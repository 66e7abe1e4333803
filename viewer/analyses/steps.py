"""Steps: the iterations of a job as its CPU marks name them, and the GPU work that each of them launched."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import DeviceFigures, figures_of_parts
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import lanes_of_rows, links, process_numbers
from viewer.analyses.names import distinct, flags, names_of, remembered
from viewer.analyses.periodic import periods
from viewer.base.ids import LaneKind, Paint
from viewer.jit.ordering import group_stable
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

_PROFILER = re.compile(r"^ProfilerStep\s*#\s*(\d+)$", re.IGNORECASE)
_ITERATION = re.compile(
    r"^\W*(?:(?:train(?:ing)?|global|eval(?:uation)?|mini|inference)[ _\-.]*)?"
    r"(?:iter(?:ation)?|step|batch)s?[ _\-.]*[#:=\[(]*\s*(\d+)(?:\s*(?:/|of)\s*\d+)?\W*$"
    r"|^(?:train|predict|inference)[ _#]+(\d+)$",
    re.IGNORECASE,
)
_UNNUMBERED = re.compile(r"^(?:train(?:ing)?[ _\-.]*)(?:step|iter(?:ation)?)$|run_training_batch$", re.IGNORECASE)
_SERVING = re.compile(r"^(?:execute_\w|step\[|\[Executor\] _forward_step\b)")
_OPTIMIZER = re.compile(r"^Optimizer\.step#")

SOURCE_TEXT = {
    "ProfilerStep": "marks of the PyTorch profiler's schedule (ProfilerStep#N)",
    "iteration annotation": "ranges that the program named as iterations",
    "serving mark": "the serving engine's marks of its iterations (execute_*, step[...])",
    "periodic launches": "a sequence of launches that repeats; nothing marks it, so where it begins is a guess",
    "optimizer mark": "from the end of one optimizer step to that of the next (the first from the first event)",
}


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One iteration. Raw ns of the file.

    ``index`` is the number in the mark's name, else the place in time order from 0. ``mark_row`` is the slice of
    its mark, -1 for none. ``kernels`` counts kernels (no copies, no fills) whose launch began inside the CPU mark
    [start_ns, end_ns) on any thread of its process, wherever
    they ran; ``rows`` are all the GPU work so launched, by (device, start). ``devices`` has figures per device over
    first start to last end of that work. ``gap_before_ns`` = first start of compute of this step - last end of compute
    of the step before, 0 if they overlap, None for the first step or without compute.
    """

    index: int
    name: str
    source: str
    start_ns: int
    end_ns: int
    mark_row: int
    kernels: int
    gap_before_ns: int | None
    devices: tuple[tuple[int, DeviceFigures], ...]
    rows: I64

    @property
    def cpu_ns(self) -> int:
        """Length of the CPU mark."""
        return self.end_ns - self.start_ns

    @property
    def figures(self) -> DeviceFigures | None:
        """The figures of the sole device; None without GPU work, or when it ran on several devices."""
        return self.devices[0][1] if len(self.devices) == 1 else None


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a file in time order. ``source`` is "" when nothing marks steps.

    ``outside_rows``: GPU work launched in no step (or whose launch the file does not hold). ``outside_kernels`` and
    ``outside_sum_ns`` count the kernels among it and add their durations.
    """

    steps: tuple[Step, ...]
    source: str
    outside_rows: I64
    outside_kernels: int
    outside_sum_ns: int


@dataclass(frozen=True, slots=True)
class _Mark:
    start: int
    end: int
    process: int
    number: int | None
    name: str
    row: int


@remembered
def marks_step(name: str) -> bool:
    """Whether a range of this name stands for a whole iteration, and so tells nothing of what was done in it."""
    return any(pattern.match(name) for pattern in (_PROFILER, _ITERATION, _UNNUMBERED, _SERVING))


def steps(trace: Trace) -> list[Step]:
    """The steps of a trace in time order; [] when nothing marks them."""
    return list(step_table(trace).steps)


def step_table(trace: Trace) -> Steps:
    """The steps of a trace and what was launched outside them. Built once."""
    return trace.memo("steps", lambda: _build(trace))


def step_of_work(trace: Trace) -> I64:
    """The place in ``step_table(trace).steps`` of all of gpu_work(trace), -1 for work of no step. Built once."""

    def build() -> I64:
        work = gpu_work(trace)
        out = np.full(len(work), -1, np.int64)
        for place, step in enumerate(step_table(trace).steps):
            out[work.positions(step.rows)] = place
        return out

    return trace.memo("step_of_work", build)


def is_kernel(trace: Trace, rows: I64) -> NDArray[np.bool_]:
    """Whether GPU work is a kernel by category (copies and fills are not)."""
    texts = trace.memo("kernel_cats", lambda: _kernel_cats(trace))
    out: NDArray[np.bool_] = texts[trace.slices.cat[rows]]
    return out


def _kernel_cats(trace: Trace) -> NDArray[np.bool_]:
    out = np.ones(len(trace.strings) + 1, np.bool_)
    for cat in distinct(trace.slices.cat[gpu_work(trace).index]):
        out[cat] = not re.search("memcpy|memset", trace.text(cat), re.IGNORECASE)
    return out


def _marks(trace: Trace) -> tuple[str, list[_Mark]]:
    """The first source that marks steps, and its marks by (process, start)."""
    s = trace.slices
    codes, annotated = names_of(trace, Paint.ANNOTATION, Paint.OPERATOR), names_of(trace, Paint.ANNOTATION)
    process = process_numbers(trace)

    def named(pattern: re.Pattern[str], among: list[int]) -> dict[int, re.Match[str]]:
        return {c: m for c in among if (m := pattern.match(trace.text(c)))}

    def collect(found: dict[int, re.Match[str]]) -> list[_Mark]:
        if not found:
            return []
        here = np.flatnonzero(
            flags(trace, found)[s.name] & ((s.paint == Paint.ANNOTATION) | (s.paint == Paint.OPERATOR))
        )
        lane = lanes_of_rows(trace, here)
        on_thread = np.array([item.kind == LaneKind.THREAD for item in trace.lanes], np.bool_)[lane]
        here, owners = here[on_thread], process[lane[on_thread]]
        marks = []
        for row, owner in zip(here.tolist(), owners.tolist(), strict=True):
            match = found[int(s.name[row])]
            numbers = [g for g in match.groups() if g]
            number = int(numbers[0]) if numbers else None
            start = int(s.start_ns[row])
            marks.append(_Mark(start, start + int(s.dur_ns[row]), owner, number, trace.name(row), row))
        return _outermost(marks)

    sources: tuple[tuple[str, Callable[[], list[_Mark]]], ...] = (
        ("ProfilerStep", lambda: collect(named(_PROFILER, codes))),
        (
            "iteration annotation",
            lambda: collect(named(_ITERATION, annotated)) or _repeated(collect(named(_UNNUMBERED, annotated))),
        ),
        ("serving mark", lambda: collect(named(_SERVING, annotated))),
        ("optimizer mark", lambda: _between_optimizers(trace, collect(named(_OPTIMIZER, annotated)))),
    )
    for source, find in sources:
        marks = find()
        if marks:
            return source, marks
    marks = _periodic(trace)
    return ("periodic launches", marks) if marks else ("", [])


def _periodic(trace: Trace) -> list[_Mark]:
    found = periods(trace)
    if found is None:
        return []
    pairs = zip(found.start.tolist(), found.end.tolist(), strict=True)
    return [_Mark(start, end, found.process, None, f"period {i}", -1) for i, (start, end) in enumerate(pairs)]


def _outermost(marks: list[_Mark]) -> list[_Mark]:
    """Marks that lie in no other one of their process, by (process, start): repeated and nested ones are dropped."""
    kept: list[_Mark] = []
    for mark in sorted(marks, key=lambda m: (m.process, m.start, -m.end, m.row)):
        last = kept[-1] if kept and kept[-1].process == mark.process else None
        if last is None or mark.end > last.end:
            kept.append(mark)
    return kept


def _repeated(marks: list[_Mark]) -> list[_Mark]:
    return marks if len(marks) > 1 else []


def _between_optimizers(trace: Trace, marks: list[_Mark]) -> list[_Mark]:
    """Steps that end with the optimizer's step. Of several optimizers the most frequent, then the latest counts."""
    out: list[_Mark] = []
    for process in sorted({m.process for m in marks}):
        mine = [m for m in marks if m.process == process]
        counts: dict[str, int] = {}
        ends: dict[str, int] = {}
        for m in mine:
            counts[m.name] = counts.get(m.name, 0) + 1
            ends.setdefault(m.name, m.end)
        chosen = max(counts, key=lambda name: (counts[name], ends[name]))
        begin = trace.meta.first_ns if trace.meta.first_ns is not None else mine[0].start
        for m in mine:
            if m.name == chosen:
                out.append(_Mark(min(begin, m.start), m.end, process, None, m.name, m.row))
                begin = m.end
    return out


def _build(trace: Trace) -> Steps:
    source, marks = _marks(trace)
    work, s = gpu_work(trace), trace.slices
    call_of = links(trace).call_of
    step_of = np.full(len(work), -1, np.int64)
    if marks:
        linked = np.flatnonzero(call_of >= 0)
        began = s.start_ns[call_of[linked]]
        process = process_numbers(trace)[lanes_of_rows(trace, call_of[linked])] if len(linked) else began
        owners = {m.process for m in marks}
        if len(owners) == 1:
            # A file describes one process; where a writer noted the marks under another id they still are its steps.
            process = np.full(len(linked), marks[0].process)
        for owner in owners:
            numbers = np.array([i for i, m in enumerate(marks) if m.process == owner], np.int64)
            starts = np.array([marks[i].start for i in numbers], np.int64)
            ends = np.array([marks[i].end for i in numbers], np.int64)
            # Starts and ends both ascend: no mark contains another.
            at = np.searchsorted(starts, began, "right") - 1
            inside = (at >= 0) & (process == owner) & (began < ends[np.maximum(at, 0)])
            step_of[linked[inside]] = numbers[at[inside]]
    grouped, bounds = group_stable((step_of + 1).astype(np.int32), len(marks) + 1)
    order = grouped.astype(np.int64)
    kernel = is_kernel(trace, work.index)
    out: list[Step] = []
    previous: dict[int, int | None] = {}
    ordinals: dict[int, int] = {}
    figures = _figures_by_step(trace, order, bounds[1:])
    kernels = _sums(kernel[order], bounds[1:])
    for i, mark in enumerate(marks):
        at = order[bounds[i + 1] : bounds[i + 2]]
        compute = at[work.paint[at] == Paint.COMPUTE]
        gap: int | None = None
        last = previous.get(mark.process)
        if len(compute) and last is not None:
            gap = max(0, int(work.start_ns[compute].min()) - last)
        previous[mark.process] = int(work.end_ns[compute].max()) if len(compute) else None
        ordinal = ordinals.get(mark.process, 0)
        ordinals[mark.process] = ordinal + 1
        out.append(
            Step(
                index=mark.number if mark.number is not None else ordinal,
                name=mark.name,
                source=source,
                start_ns=mark.start,
                end_ns=mark.end,
                mark_row=mark.row,
                kernels=kernels[i],
                gap_before_ns=gap,
                devices=figures[i],
                rows=work.index[at],
            )
        )
    outside = order[: bounds[1]]
    of_kernels = outside[kernel[outside]]
    return Steps(
        steps=tuple(sorted(out, key=lambda step: step.start_ns)),
        source=source,
        outside_rows=work.index[outside],
        outside_kernels=len(of_kernels),
        outside_sum_ns=int((work.end_ns[of_kernels] - work.start_ns[of_kernels]).sum()),
    )


def _sums(flags: NDArray[np.bool_], bounds: I64) -> list[int]:
    """How many of some flags are set in each part [bounds[i], bounds[i + 1])."""
    before = np.concatenate(([0], np.cumsum(flags)))
    found: list[int] = np.diff(before[bounds]).tolist()
    return found


def _figures_by_step(trace: Trace, order: I64, bounds: I64) -> list[tuple[tuple[int, DeviceFigures], ...]]:
    """Of each step the figures of its work by device; that of step i are ``order[bounds[i] : bounds[i + 1]]``."""
    work = gpu_work(trace)
    device = work.device[order]
    # By (device, start) within a step: a change of the device or of the step begins another part.
    begins = np.concatenate(([True], device[1:] != device[:-1]))[: len(order)]
    begins[bounds[:-1][np.diff(bounds) > 0]] = True
    edges = np.append(np.flatnonzero(begins), len(order))
    edges = edges[edges >= bounds[0]]
    start, end = work.start_ns[order], work.end_ns[order]
    parts = figures_of_parts(start, end, work.paint[order], edges)
    first = np.searchsorted(edges[:-1], bounds)
    devices = device[edges[:-1]].tolist()
    return [tuple(zip(devices[a:b], parts[a:b], strict=True)) for a, b in itertools.pairwise(first.tolist())]
