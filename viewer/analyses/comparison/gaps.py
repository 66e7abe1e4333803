"""Idle time of both runs by the work on either side of it: which gaps grew, which are new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import device_gaps
from viewer.analyses.comparison.amounts import Amounts, Keys
from viewer.analyses.comparison.kernels import Kernels
from viewer.analyses.comparison.rows import Change, Measure, change_of, ordered
from viewer.analyses.comparison.work import Side
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idle import GapCause, gap_cause
from viewer.base.ids import Paint
from viewer.base.selection import GapRef, TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session

I64 = NDArray[np.int64]
Place = tuple[int, int, int, int]
"""(input, device, start, end), raw ns."""

EXPLAINED: Final = 24
"""Rows whose longest gap is asked for its cause."""


def compare_gaps(base: Side, test: Side, kernels: Kernels, cancel: CancelToken | None = None) -> list[Change]:
    """Rows of the gaps inside the compared spans, by what runs before and after them; those that change most first.

    Work that was replaced counts as the same.
    """
    keys = Keys()
    sums: list[tuple[Amounts, Amounts, dict[int, Place]]] = []
    for side in (base, test):
        time, count, longest = Amounts(), Amounts(), dict[int, Place]()
        for chunk in side.chunks:
            if cancel is not None:
                cancel.check()
            spans = [(k, s) for k, s in enumerate(side.units[chunk.unit].spans) if s.input == chunk.input]
            if not spans:
                continue
            low = np.array([s.start_ns for _, s in spans], np.int64)
            high = np.array([s.end_ns for _, s in spans], np.int64)
            start, end = device_gaps(chunk.trace, chunk.device)
            at = np.searchsorted(low, start, "right") - 1
            inside = (at >= 0) & (end <= high[np.maximum(at, 0)])
            start, end = start[inside], end[inside]
            k = np.array([k for k, _ in spans], np.int64)[at[inside]]
            work = gpu_work(chunk.trace)
            part = work.of_device(chunk.device)
            after = part.start + np.searchsorted(work.start_ns[part], end, "left")
            before = work.latest[after - 1]
            names = chunk.trace.slices.name
            number = kernels.keys.of_names(chunk.trace, names[work.index[part]])
            row = kernels.row_of[number]
            key = keys.of_rows(np.stack((row[before - part.start], row[after - part.start]), axis=1), lambda pair: pair)
            time.add(chunk.unit, key, k, end - start)
            count.add(chunk.unit, key, k, np.ones(len(key), np.int64))
            _longest(longest, chunk.input, chunk.device, key, start, end)
        sums.append((time, count, longest))
    time_of, count_of = (
        Measure.of(sums[0][i], sums[1][i], len(keys), base, whole=False)  # type: ignore[arg-type]
        for i in (0, 1)
    )
    judged = time_of.judged()
    rows = [
        change_of(
            i,
            time_of,
            count_of,
            judged=judged,
            name=f"{kernels.rows[before].name} → {kernels.rows[after].name}",
            paint=Paint.OTHER,
            key=i,
            base_names=(kernels.rows[before].name,),
            test_names=(kernels.rows[after].name,),
        )
        for i, (before, after) in enumerate(keys.known)
    ]
    return [
        _placed(row, base.session, test.session, sums[0][2], sums[1][2], explain=place < EXPLAINED)
        for place, row in enumerate(ordered(rows))
    ]


def _longest(known: dict[int, Place], source: int, device: int, key: I64, start: I64, end: I64) -> None:
    order = np.lexsort((end - start, key))
    last = np.flatnonzero(np.diff(key[order], append=-1)) if len(order) else order
    for i in order[last].tolist():
        number, a, b = int(key[i]), int(start[i]), int(end[i])
        if number not in known or b - a > known[number][3] - known[number][2]:
            known[number] = (source, device, a, b)


def _placed(
    row: Change, base: Session, test: Session, one: dict[int, Place], other: dict[int, Place], *, explain: bool
) -> Change:
    places, causes = [], []
    for session, found in ((base, one), (test, other)):
        place = found.get(row.key)
        places.append(None if place is None else _ref(session, *place))
        cause = gap_cause(session.inputs[place[0]].trace, *place[1:]) if place is not None and explain else None
        causes.append(None if cause is None else cause_text(cause))
    detail = {"cause": (causes[0], causes[1])} if any(causes) else {}
    return replace(row, place_base=places[0], place_test=places[1], detail=detail)


def _ref(session: Session, index: int, device: int, start: int, end: int) -> GapRef:
    item = session.inputs[index]
    work = gpu_work(item.trace)
    part = work.of_device(device)
    after = part.start + int(np.searchsorted(work.start_ns[part], end, "left"))
    lane = int(work.lane[min(after, part.stop - 1)])
    return GapRef(index, lane, TimeRange(item.clock.to_session(start), item.clock.to_session(end)))


def cause_text(cause: GapCause) -> str:
    """The largest cause of a gap in a few words, as the idle analysis names it."""
    split = cause.split
    parts: Sequence[tuple[str, int]] = (
        *((f"host: {name}", ns) for name, ns in split.host_causes.items()),
        *((f"queued: {name}", ns) for name, ns in split.dependency_causes.items()),
        *split.launch_causes.items(),
        ("unknown", split.unknown_ns),
    )
    return max(parts, key=lambda p: p[1])[0]
