"""The gaps of a device as a list: the longest, and the longest of each cause, with their parts and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import largest
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.parts import CAUSES, Parts
from viewer.analyses.idleness.split import Split
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

MOST: Final = 300
"""Gaps that are kept of each cause, and in all."""
MOST_PARTS: Final = 60
"""Parts of one gap that are listed; what is beyond them is added to the last of its cause."""


class GapPart(NamedTuple):
    """A part of a gap: why, how long (ns), and the slice that tells it (-1: none)."""

    cause: str
    ns: int
    row: int


@dataclass(frozen=True, slots=True)
class IdleGap:
    """One gap of a device. Raw ns of the file; rows of ``slices``, -1 for none.

    ``parts`` are in order and sum to its length. ``cause`` is the one with the largest share, ``culprit_row`` the slice
    that tells the longest part of it. ``call_row`` launched the work after it. ``lane`` is the stream of that work (of
    the work before at the end). ``step`` is the place in ``step_table`` of the step whose work ends the gap (None: of
    no step), ``between`` says that the work before it is another step's.
    """

    device: int
    start_ns: int
    end_ns: int
    parts: tuple[GapPart, ...]
    cause: str
    culprit_row: int
    call_row: int
    before_row: int
    after_row: int
    lane: int
    step: int | None
    between: bool

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns

    def ns_of(self, cause: str) -> int:
        """How much of it has a cause."""
        return sum(p.ns for p in self.parts if p.cause == cause)


@dataclass(frozen=True, slots=True)
class GapBook:
    """All gaps of a device in sums, and the longest in detail.

    ``count`` gaps of ``idle_ns`` in all; ``sums`` and ``counts`` are ns and gaps by cause (a gap with two causes counts
    for both). ``gaps`` holds the :data:`MOST` longest of all and of each cause, longest first, ties by time.
    """

    device: int
    count: int
    idle_ns: int
    sums: dict[str, int]
    counts: dict[str, int]
    gaps: Sequence[IdleGap]


def gap_book(
    trace: Trace, device: int, split: Split, parts: Parts, step_before: I64, step_after: I64, most: int = MOST
) -> GapBook:
    """The book of the gaps of a split.

    Args:
        trace: the file.
        device: whose gaps.
        split: the gaps.
        parts: their parts.
        step_before: per gap the place of the step of the work before it, -1 for none.
        step_after: of the work after it.
        most: how many are kept in detail of each cause and in all.
    """
    length = split.end - split.start
    chosen = [largest(length, most)]
    sums, counts = {}, {}
    for cause in np.unique(parts.cause):
        name = CAUSES[int(cause)]
        own = parts.by_gap(len(length), (name,))
        having = np.flatnonzero(own)
        sums[name], counts[name] = int(own.sum()), len(having)
        chosen.append(having[largest(own[having], most)])
    which = np.unique(np.concatenate(chosen)) if len(length) else np.empty(0, np.int64)
    which = which[np.argsort(-length[which], kind="stable")]
    gaps = GapList(trace, device, split, parts, which, step_before[which], step_after[which])
    return GapBook(device, len(length), int(length.sum()), sums, counts, gaps)


class GapList(Sequence[IdleGap]):
    """Gaps of a split in detail, each made when it is asked for: most are never looked at.

    Args:
        trace: the file.
        device: whose gaps.
        split: gaps.
        parts: their parts.
        which: the gaps of the split that are listed, in order.
        step_before: of each listed gap the place of the step of the work before it, -1 for none.
        step_after: of the work after it.
    """

    def __init__(
        self, trace: Trace, device: int, split: Split, parts: Parts, which: I64, step_before: I64, step_after: I64
    ) -> None:
        work = gpu_work(trace)
        after, before = split.after[which], split.before[which]
        neighbour = np.where(after >= 0, after, before)
        self._device, self._parts = device, parts
        self._told = (
            split.start[which],
            split.end[which],
            split.call[which],
            _at(work.index, before),
            _at(work.index, after),
            _at(work.lane, neighbour),
            step_after,
            (step_before != step_after) & (after >= 0) & (before >= 0),
            np.searchsorted(parts.gap, which, "left"),
            np.searchsorted(parts.gap, which, "right"),
        )
        self._made: dict[int, IdleGap] = {}

    def __len__(self) -> int:
        return len(self._told[0])

    @overload
    def __getitem__(self, at: int) -> IdleGap: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[IdleGap, ...]: ...

    def __getitem__(self, at: int | slice) -> IdleGap | tuple[IdleGap, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        at = range(len(self))[at]
        found = self._made.get(at)
        if found is None:
            found = self._made[at] = self._make(at)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _make(self, at: int) -> IdleGap:
        start, end, call, before_row, after_row, lane, step, between, a, b = (c[at].item() for c in self._told)
        parts = self._parts
        cause, row = parts.cause[a:b].tolist(), parts.row[a:b].tolist()
        ns = (parts.end[a:b] - parts.start[a:b]).tolist()
        main = _main(cause, ns)
        culprit = max((i for i in range(b - a) if cause[i] == main), key=ns.__getitem__)
        return IdleGap(
            device=self._device,
            start_ns=start,
            end_ns=end,
            parts=_listed(cause, ns, row),
            cause=CAUSES[main],
            culprit_row=row[culprit],
            call_row=call,
            before_row=before_row,
            after_row=after_row,
            lane=lane,
            step=step if step >= 0 else None,
            between=between,
        )


def _at(column: NDArray[Any], place: I64) -> I64:
    """The values at places, -1 where the place is."""
    if not len(column):
        return np.full(len(place), -1, np.int64)
    return np.where(place >= 0, column[np.maximum(place, 0)], -1).astype(np.int64)


def _main(cause: list[int], ns: list[int]) -> int:
    """The cause with the largest sum, of equal ones the first of ``CAUSES``."""
    sums: dict[int, int] = {}
    for c, n in zip(cause, ns, strict=True):
        sums[c] = sums.get(c, 0) + n
    return max(sums, key=lambda c: (sums[c], -c))


def _listed(cause: list[int], ns: list[int], row: list[int]) -> tuple[GapPart, ...]:
    out = [GapPart(CAUSES[c], n, r) for c, n, r in zip(cause[:MOST_PARTS], ns, row, strict=False)]
    for c, n in zip(cause[MOST_PARTS:], ns[MOST_PARTS:], strict=True):
        name = CAUSES[c]
        at = max((i for i, p in enumerate(out) if p.cause == name), default=-1)
        if at < 0:
            out.append(GapPart(name, n, -1))
        else:
            out[at] = GapPart(name, out[at].ns + n, out[at].row)
    return tuple(out)
