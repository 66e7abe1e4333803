"""All runs of one kernel: on its rank with a histogram, and on the other ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.kernels import mean_half_even, runs_of, runs_with_text
from viewer.analyses.links import lanes_of_rows
from viewer.base.frames import Figure, HistogramFrame, Section
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.jit.intervals import total, union
from viewer.store.session import RankGroup, Session
from viewer.views.figures import TableMaker, device_name, dur, exact, num, plural, share, shown
from viewer.views.subject import Subject

I64 = NDArray[np.int64]
BINS = 32
WIDE = 12
"""From this ratio of longest to shortest on, bins are geometric."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of one kernel in the files of a rank group: input, row and duration of each, by (input, start)."""

    inputs: I64
    rows: I64
    durations: I64

    def __len__(self) -> int:
        return len(self.rows)

    def ref(self, at: int) -> SliceRef:
        """The run at a place."""
        return SliceRef(int(self.inputs[at]), int(self.rows[at]))

    @property
    def median(self) -> int:
        """The median, rounded half to even when it lies between two."""
        n = len(self.durations)
        middle = ((n - 1) // 2, n // 2)
        parted = np.partition(self.durations, middle)
        return mean_half_even(int(parted[middle[0]]) + int(parted[middle[1]]), 2)


def runs_in(session: Session, group: RankGroup, name: str) -> Runs:
    """All runs of a kernel of that name in a rank group."""
    inputs, rows, durations = [], [], []
    for index in group.inputs:
        trace = session.inputs[index].trace
        found = runs_with_text(trace, name)
        inputs.append(np.full(len(found), index, np.int64))
        rows.append(found)
        durations.append(trace.slices.dur_ns[found].astype(np.int64))
    return Runs(np.concatenate(inputs), np.concatenate(rows), np.concatenate(durations))


def runs_section(subject: Subject) -> Section:
    """All runs of the subject's kernel on its rank, with this one marked."""
    trace = subject.trace
    runs = runs_in(subject.session, subject.group, trace.name(subject.row))
    places = np.flatnonzero((runs.inputs == subject.item.index) & (runs.rows == subject.row))
    if not len(places):
        note = "It has neither a time nor a duration (or no name): it is listed, but in no figure."
        return Section("All runs on this rank", note=note)
    at = int(places[0])
    d = runs.durations
    rank = shown(subject.group.label, 60)
    if len(runs) == 1:
        return Section("All runs on this rank", note=f"This is the only run of that name on {rank}.")
    slower = int((d > subject.dur).sum())
    total_ns = int(d.sum())
    same = f"over all {plural(len(runs), 'run')} of exactly this name on {rank}"
    figures = [
        Figure("runs", f"{len(runs):,}", f"GPU work of exactly this name on {rank}, all streams and devices."),
        Figure(
            "this one", f"{exact(subject.dur)}, {_place(slower, len(runs))}", "Its duration among those of all runs."
        ),
        Figure("minimum", exact(int(d.min())), f"Shortest duration {same}."),
        Figure("median", exact(runs.median), f"Middle duration {same}; of an even number the mean of the middle two."),
        Figure("maximum", exact(int(d.max())), f"Longest duration {same}."),
        Figure("mean", exact(mean_half_even(total_ns, len(runs))), f"Sum ÷ count {same}, rounded half to even."),
        Figure("total", exact(total_ns), f"Sum of durations {same}. A sum: runs at the same time count twice."),
        _share(subject),
    ]
    here = runs.inputs == subject.item.index
    same_file = np.flatnonzero(here)
    place = int(np.searchsorted(same_file, at))
    actions = (
        ("Previous run", runs.ref(int(same_file[place - 1])) if place > 0 else _at_edge(runs, at - 1)),
        ("Next run", runs.ref(int(same_file[place + 1])) if place + 1 < len(same_file) else _at_edge(runs, at + 1)),
        ("Slowest run", runs.ref(int(np.argmax(d)))),
        ("Fastest run", runs.ref(int(np.argmin(d)))),
    )
    histogram = histogram_of(d, subject.dur)
    note = "" if histogram is not None else "All runs took the same time."
    return Section("All runs on this rank", tuple(figures), histogram=histogram, actions=actions, note=note)


def _at_edge(runs: Runs, at: int) -> SliceRef | None:
    return runs.ref(at) if 0 <= at < len(runs) else None


def _place(slower: int, count: int) -> str:
    if slower == 0:
        return "the slowest"
    return f"{plural(slower, 'run')} of {count:,} {'is' if slower == 1 else 'are'} slower"


def _share(subject: Subject) -> Figure:
    """How much of the device's busy time the runs of this kernel cover."""
    trace = subject.trace
    work = gpu_work(trace)
    own = work.position(subject.row)
    label = "share of busy time"
    if own < 0:
        return Figure(label, "untimed: in no figure", tone="muted")
    device = int(work.device[own])
    rows = runs_of(trace, subject.row)
    on = np.array([lane.device == subject.lane.device for lane in trace.lanes], np.bool_)
    rows = rows[on[lanes_of_rows(trace, rows)]]
    start = trace.slices.start_ns[rows]
    covered = total(*union(start, start + trace.slices.dur_ns[rows]))
    busy = total(*unions(trace, device).busy)
    where = device_name(subject.item, device)
    return Figure(
        label,
        f"{share(covered, busy)} of {format_duration(busy)}",
        f"U(runs of this name) ÷ U(all GPU work) on {where} in this file. Work at the same time is in both: the shares "
        "of all names can add up to more than 100 %.",
    )


def histogram_of(durations: I64, marker: int) -> HistogramFrame | None:
    """Counts of durations in a unit that suits their median; None when all are equal."""
    low, high = int(durations.min()), int(durations.max())
    if low == high:
        return None
    middle = float(np.median(durations))
    unit, scale = next(
        (u, s) for u, s in (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)) if middle >= s or s == 1.0
    )
    bins = int(min(BINS, max(4, 2 * np.sqrt(len(durations)))))
    if low > 0 and high / low > WIDE:
        edges = np.geomspace(low, high, bins + 1)
    else:
        edges = np.linspace(low, high, min(bins, high - low) + 1)
    edges[0], edges[-1] = low, high
    counts, _ = np.histogram(durations, edges)
    return HistogramFrame(edges / scale, counts.astype(np.int64), unit, marker / scale)


def other_ranks_section(subject: Subject) -> list[Section]:
    """The same kernel on every rank, this one included for comparison; [] in a job of one rank."""
    session, own = subject.session, subject.group
    if len(session.groups) < 2:
        return []
    name = subject.trace.name(subject.row)
    table = TableMaker(
        (
            ("Rank", "A row leads to the slowest run on that rank."),
            ("Median", "Middle duration of all runs on the rank; of an even number the mean of the middle two."),
            ("Max", "Longest duration."),
            ("Min", "Shortest duration."),
            ("Count", "Runs of exactly this name."),
            ("Total", "Sum of durations. A sum: runs at the same time count twice."),
        )
    )
    missing = []
    for group in session.groups:
        runs = runs_in(session, group, name)
        if not len(runs):
            missing.append(group.label)
            continue
        label = shown(group.label, 60) + (" (this)" if group.id == own.id else "")
        d = runs.durations
        table.add(
            (label, (group.rank is None, group.rank or 0, group.id)),
            dur(runs.median),
            dur(int(d.max())),
            dur(int(d.min())),
            num(len(runs)),
            dur(int(d.sum())),
            jump=runs.ref(int(np.argmax(d))),
            paint=subject.paint if group.id == own.id else None,
        )
    note = ""
    if missing:
        listed = ", ".join(shown(m, 40) for m in missing[:8]) + ("…" if len(missing) > 8 else "")
        note = f"It does not run on {listed}."
    if subject.paint is Paint.COMM:
        note = (
            note + " The rank that arrives last has the shortest communication kernels: it waits for nobody."
        ).strip()
    return [Section("Same kernel on all ranks", table=table.frame(), note=note)]
