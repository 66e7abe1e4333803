"""GPU work under a CPU slice, a call, or a range: how much, how long, and which kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.base.frames import Figure, Section
from viewer.base.ids import Paint
from viewer.jit.intervals import total, union
from viewer.views.figures import TableMaker, dur, exact, lane_name, num, plural, share, word
from viewer.views.subject import Subject

I64 = NDArray[np.int64]
ROWS = 100


def launched_figures(subject: Subject, rows: I64, how: str) -> list[Figure]:
    """Count, sum and busy time of some GPU work."""
    s = subject.trace.slices
    start = s.start_ns[rows]
    end = start + s.dur_ns[rows]
    order = np.argsort(start, kind="stable")
    busy = total(*union(start[order], end[order]))
    return [
        Figure("GPU work", plural(len(rows), "piece"), how),
        Figure(
            "total (a sum)",
            exact(int((end - start).sum())),
            "Sum of the durations of that GPU work. A sum: instants at which several pieces run count several times.",
        ),
        Figure(
            "busy", exact(busy), "U(that GPU work): the union of its intervals over all devices, overlaps count once."
        ),
        Figure(
            "runs from … to",
            f"{subject.when(int(start.min()))} … {subject.when(int(end.max()))}",
            "First start and last end of that GPU work: it runs later than the host code that launched it.",
        ),
    ]


def by_name_section(subject: Subject, title: str, rows: I64, how: str) -> Section:
    """GPU work by name, largest sum first, with its figures."""
    s = subject.trace.slices
    table = TableMaker(
        (
            ("Name", "A row leads to the longest run."),
            ("Total", "Sum of durations."),
            ("Count", "Pieces of GPU work of that name."),
            ("Share", "Of the sum over all names."),
        )
    )
    names = s.name[rows]
    distinct, place = np.unique(names, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place, s.dur_ns[rows])
    counts = np.bincount(place, minlength=len(distinct))
    whole = int(sums.sum())
    for g in np.argsort(-sums, kind="stable")[:ROWS]:
        mine = rows[place == g]
        longest = int(mine[int(np.argmax(s.dur_ns[mine]))])
        table.add(
            word(subject.name(longest)),
            dur(int(sums[g])),
            num(int(counts[g])),
            (share(int(sums[g]), whole), int(sums[g]) / whole if whole else None),
            jump=subject.ref(longest),
            paint=Paint(int(s.paint[longest])),
        )
    hidden = len(distinct) - len(table)
    note = f"{plural(hidden, 'more name')} with smaller sums." if hidden > 0 else ""
    return Section(title, tuple(launched_figures(subject, rows, how)), table.frame(), note=note)


def one_by_one_section(subject: Subject, title: str, rows: I64, how: str) -> Section:
    """GPU work piece by piece in order of start, with the delay of each since the subject's start."""
    s = subject.trace.slices
    table = TableMaker(
        (
            ("Name", "A row leads to it."),
            ("Stream", "Where it ran."),
            ("After", "Its GPU start − begin of the call; negative means that the clocks disagree."),
            ("Duration", "End − start on the GPU."),
        )
    )
    for row in (int(r) for r in rows[:ROWS]):
        lane = subject.trace.lane_of(row)
        table.add(
            word(subject.name(row)),
            (lane_name(lane).removeprefix("stream "), lane.stream),
            dur(int(s.start_ns[row]) - subject.start),
            dur(int(s.dur_ns[row])),
            jump=subject.ref(row),
            paint=Paint(int(s.paint[row])),
        )
    note = f"The first {ROWS} of {len(rows):,} by start." if len(rows) > ROWS else ""
    return Section(title, tuple(launched_figures(subject, rows, how)), table.frame(), note=note)
