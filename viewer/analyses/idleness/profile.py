"""All that is known of the idle time of one device: by step and cause, its gaps, its launch-bound stretches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import Window, attribute, device_gaps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.gap_list import MOST, GapBook, gap_book
from viewer.analyses.idleness.launch_bound import Stretch, in_graphs, launch_bound
from viewer.analyses.idleness.parts import CAUSES, CODE, Parts, gap_parts, idle_parts
from viewer.analyses.idleness.split import Split, device_split
from viewer.analyses.steps import step_of_work, step_table
from viewer.jit.intervals import union
from viewer.store.trace import Trace

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Idleness:
    """The idle time of one device.

    ``inside`` int64[steps, causes]: ns by cause of the gaps between two works of one step. ``before`` the same of the
    gaps that end with a step's first work and begin with work of no or another step. ``outside`` int64[causes]: the
    rest. Causes as in ``parts.CAUSES``; the sum of all three is ``book.idle_ns`` (asserted). ``in_graph``
    int64[steps + 1] is the part of it inside graph launches; ``launching`` int64[steps + 1] how long computing work
    waited in launch-bound ``stretches`` (of the whole file). Their last entry is for no step.
    Without steps all lies outside.
    """

    device: int
    book: GapBook
    stretches: tuple[Stretch, ...]
    inside: I64
    before: I64
    outside: I64
    launching: I64
    in_graph: I64

    def of(self, causes: Sequence[str]) -> I64:
        """int64[steps]: ns of some causes inside each step."""
        out: I64 = self.inside[:, [CODE[c] for c in causes]].sum(axis=1)
        return out

    def ahead(self, causes: Sequence[str]) -> I64:
        """int64[steps]: ns of some causes between each step's work and the work before it."""
        out: I64 = self.before[:, [CODE[c] for c in causes]].sum(axis=1)
        return out


def idleness(trace: Trace, device: int) -> Idleness | None:
    """The idle time of a device over its whole span; None without GPU work. Built once."""
    return trace.memo(("idleness", device), lambda: idleness_in(trace, device, None))


def idleness_in(trace: Trace, device: int, window: Window | None, most: int = MOST) -> Idleness | None:
    """As :func:`idleness` over a window of raw ns, which cuts gaps; ``most`` gaps of each cause are listed."""
    figures = attribute(trace, device, window)
    if figures is None:
        return None
    if window is None:
        split, parts = idle_parts(trace, device)
    else:
        split = device_split(trace, device, *device_gaps(trace, device, window))
        parts = gap_parts(trace, device, split)
    was, now = steps_around(trace, device, split)
    book = gap_book(trace, device, split, parts, was, now, most)
    found = _by_step(trace, device, split, parts, was, now, book)
    total = int(found.inside.sum() + found.before.sum() + found.outside.sum())
    if not total == book.idle_ns == sum(book.sums.values()) == figures.idle_ns:
        raise AssertionError(f"the causes of idle time add up to {total}, not to {figures.idle_ns} ns")
    return found


def intervals_of(
    trace: Trace, device: int, causes: Sequence[str], *, inside: bool = True, between: bool = False
) -> tuple[I64, I64]:
    """When a device was idle for some causes inside steps, between them, or both: disjoint (start, end), ascending.

    Raw ns of the file.
    """
    split, parts = idle_parts(trace, device)
    was, now = steps_around(trace, device, split)
    chosen = np.isin(parts.cause, [CODE[c] for c in causes])
    chosen &= ((now >= 0) & np.where(was == now, inside, between))[parts.gap]
    found: tuple[I64, I64] = union(parts.start[chosen], parts.end[chosen])
    return found


def graph_gaps(trace: Trace, device: int) -> tuple[I64, I64]:
    """The gaps of a device inside graph launches: (start, end) of raw ns, ascending."""
    split, _ = idle_parts(trace, device)
    chosen = in_graphs(trace, split)
    return split.start[chosen], split.end[chosen]


def steps_around(trace: Trace, device: int, split: Split) -> tuple[I64, I64]:
    """The steps of the work before and after each gap; work whose launch is not known is of the step before it."""
    if not len(split.start):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    work = gpu_work(trace)
    part = work.of_device(device)
    step = step_of_work(trace)[part]
    known = np.maximum.accumulate(np.where(step >= 0, np.arange(len(step)), -1))
    step = np.where(known >= 0, step[np.maximum(known, 0)], -1)

    def of(at: I64) -> I64:
        out: I64 = np.where(at >= 0, step[np.clip(at - part.start, 0, len(step) - 1)], -1)
        return out

    return of(split.before), of(split.after)


def _by_step(
    trace: Trace,
    device: int,
    split: Split,
    parts: Parts,
    was: I64,
    now: I64,
    book: GapBook,
) -> Idleness:
    n, ns = len(step_table(trace).steps), parts.end - parts.start
    table = np.zeros((3, n + 1, len(CAUSES)), np.int64)
    place = np.where(now < 0, 2, np.where(was == now, 0, 1))[parts.gap]
    np.add.at(table, (place, np.where(now >= 0, now, n)[parts.gap], parts.cause), ns)

    graphs = in_graphs(trace, split)
    in_graph = np.zeros(n + 1, np.int64)
    np.add.at(in_graph, np.where(now >= 0, now, n)[graphs], (split.end - split.start)[graphs])
    stretches = launch_bound(trace, device)
    launching = np.zeros(n + 1, np.int64)
    for stretch in stretches:
        launching[n if stretch.step is None else stretch.step] += stretch.wait_ns
    return Idleness(
        device,
        book,
        stretches,
        inside=table[0, :n],
        before=table[1, :n],
        outside=table[2, n],
        launching=launching,
        in_graph=in_graph,
    )
