"""The job: its inputs, their ranks and their clocks. Immutable; opening one more file makes a new session.

Session time is absolute int64 ns: raw time of a file + its base time - the offset of its clock
(``viewer.base.clock``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from viewer.base.clock import Clock
from viewer.base.findings import Finding
from viewer.base.ids import ABSENT
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.base.memo import Memo
from viewer.base.selection import TimeRange
from viewer.store.rules import RuleTable, shipped_rules
from viewer.store.trace import Trace

T = TypeVar("T")

FAR_APART_NS = 30 * 24 * 3600 * 1_000_000_000
"""Files further apart than this share no clock (one counts from boot, the other from 1970)."""


@dataclass(frozen=True, slots=True)
class Input:
    """One opened file of the job. ``rank`` is None when nothing states it (never 0)."""

    index: int
    path: Path
    trace: Trace
    rank: int | None
    rank_source: str
    clock: Clock
    segment: int = 0
    """Number among the files of one rank with disjoint times (0 for the first)."""
    conflict: bool = False
    """Another input states the same rank for overlapping times."""

    @property
    def label(self) -> str:
        """Text for people: the rank, or the file name when the rank is unknown."""
        return f"rank {self.rank}" if self.rank is not None else self.path.name

    @property
    def base_ns(self) -> int:
        """The base time that the file states, whether or not the clock in force adds it; ns."""
        return (self.trace.meta.base_ns or 0) if self.clock.known else self.clock.base_ns

    def extent(self) -> TimeRange | None:
        """First start to last end of everything in the file, session time; None without events."""
        meta = self.trace.meta
        if meta.first_ns is None or meta.last_ns is None:
            return None
        return TimeRange(self.clock.to_session(meta.first_ns), self.clock.to_session(meta.last_ns))


@dataclass(frozen=True, slots=True)
class RankGroup:
    """What the lanes show as one group: the segments of a rank, or a single conflicting or unranked input."""

    id: int
    label: str
    rank: int | None
    inputs: tuple[int, ...]
    host: str | None
    gpu: str | None


@dataclass(frozen=True)
class Session:
    """A job. Build with :func:`build_session`."""

    inputs: tuple[Input, ...] = ()
    groups: tuple[RankGroup, ...] = ()
    findings: tuple[Finding, ...] = ()
    rules: RuleTable = field(default_factory=shipped_rules)
    clock_method: str = "base"
    """How the clocks came about: "collectives", "base", "none", "given"."""
    _shared: Memo = field(default_factory=Memo, repr=False, compare=False)
    card: JobCard = EMPTY_CARD
    queue_lanes: bool = False
    """Whether computed counters of launch queues are lanes."""
    _own: Memo = field(default_factory=Memo, repr=False, compare=False)
    _carded: Memo = field(default_factory=Memo, repr=False, compare=False)

    def memo(self, key: Hashable, build: Callable[[], T]) -> T:
        """A value derived from the traces and ranks of this session, not from its clocks; built once (thread-safe)."""
        return self._shared.get(key, build)

    def peek(self, key: Hashable) -> Any:
        """What :meth:`memo` has under a key by now, else None; never waits."""
        return self._shared.peek(key)

    def clocked_memo(self, key: Hashable, build: Callable[[], T]) -> T:
        """As :meth:`memo`, for what depends on the clocks too."""
        return self._own.get(key, build)

    def card_memo(self, key: Hashable, build: Callable[[], T]) -> T:
        """As :meth:`clocked_memo`, for what depends on the job card too."""
        return self._carded.get(key, build)

    def with_card(self, card: JobCard) -> Session:
        """The same job with another card; what does not depend on it is not built again."""
        return replace(self, card=card, _carded=Memo())

    def with_queue_lanes(self, on: bool) -> Session:
        """The same job with or without lanes of launch queues."""
        return replace(self, queue_lanes=on)

    def with_clocks(self, clocks: Sequence[Clock], method: str) -> Session:
        """The same job on other clocks, one per input; what does not depend on them is not built again."""
        inputs = tuple(replace(i, clock=c) for i, c in zip(self.inputs, clocks, strict=True))
        return replace(self, inputs=inputs, clock_method=method, _own=Memo(), _carded=Memo())

    def extent(self) -> TimeRange | None:
        """First start to last end over all inputs; None without events."""
        extents = [e for i in self.inputs if (e := i.extent()) is not None]
        if not extents:
            return None
        return TimeRange(min(e.start_ns for e in extents), max(e.end_ns for e in extents))

    def origin_ns(self) -> int:
        """Zero of displayed times and of ``--window``: the first GPU start, else the first event, else 0."""
        gpu = [
            i.clock.to_session(i.trace.meta.gpu_first_ns) for i in self.inputs if i.trace.meta.gpu_first_ns is not None
        ]
        if gpu:
            return min(gpu)
        extent = self.extent()
        return extent.start_ns if extent else 0

    def group_of(self, input_index: int) -> RankGroup:
        """The group that shows an input."""
        return next(g for g in self.groups if input_index in g.inputs)


@dataclass(frozen=True, slots=True)
class Opened:
    """An input before ranks and clocks are settled. ``given_rank`` is the user's word (``--rank FILE=N``)."""

    path: Path
    trace: Trace
    given_rank: int | None = None


def build_session(opened: list[Opened], rules: RuleTable | None = None, align: str = "auto") -> Session:
    """Settle ranks, segments, conflicts and clocks of the opened files.

    Args:
        opened: in the order in which the report lists them.
        rules: class rules, the shipped ones by default.
        align: "auto" and "base" add each file's base time, "none" adds nothing.
    """
    findings: list[Finding] = []
    clocks = _clocks(opened, align, findings)
    inputs = []
    for index, item in enumerate(opened):
        meta = item.trace.meta
        rank, source = (item.given_rank, "given") if item.given_rank is not None else (meta.rank, meta.rank_source)
        inputs.append(Input(index, item.path, item.trace, rank, source, clocks[index]))
    inputs = _segments_and_conflicts(inputs, findings)
    method = "base" if any(c.base_ns for c in clocks) else "none"
    return Session(tuple(inputs), _groups(inputs), tuple(findings), rules or shipped_rules(), method)


def clocks_as_written(inputs: Sequence[Opened | Input], align: str) -> list[Clock]:
    """The clocks of files before anything is aligned: "base" adds their base times, "none" adds nothing."""
    return _clocks(inputs, align, [])


def _clocks(opened: Sequence[Opened | Input], align: str, findings: list[Finding]) -> list[Clock]:
    clocks = []
    reference: int | None = None
    # What tells of a rank beside its trace comes to the traces, not they to it.
    for item in opened:
        meta = item.trace.meta
        if not meta.companion and meta.first_ns is not None:
            reference = Clock(0 if align == "none" else (meta.base_ns or 0)).to_session(meta.first_ns)
            break
    for item in opened:
        meta = item.trace.meta
        base = 0 if align == "none" else (meta.base_ns or 0)
        clock = Clock(base)
        if meta.first_ns is not None:
            start = clock.to_session(meta.first_ns)
            if reference is None:
                reference = start
            elif abs(start - reference) > FAR_APART_NS:
                clock = Clock(base, start - reference, known=False)
                findings.append(
                    Finding(
                        "no-common-clock",
                        "warning",
                        1,
                        f"{item.path.name} counts time from another origin than the first file: its lanes are moved to "
                        "start with it, and times across files mean nothing here.",
                        item.path.name,
                    )
                )
        clocks.append(clock)
    return clocks


def _segments_and_conflicts(inputs: list[Input], findings: list[Finding]) -> list[Input]:
    by_rank: dict[int, list[Input]] = {}
    for item in inputs:
        if item.rank is not None and not item.trace.meta.companion:
            by_rank.setdefault(item.rank, []).append(item)
    out = list(inputs)
    for rank, members in by_rank.items():
        if len(members) < 2:
            continue
        timed = sorted(
            ((extent, m) for m in members if (extent := m.extent()) is not None), key=lambda pair: pair[0].start_ns
        )
        overlap = any(a.end_ns > b.start_ns for (a, _), (b, _) in itertools.pairwise(timed))
        if overlap:
            names = ", ".join(m.path.name for m in members)
            findings.append(
                Finding(
                    "rank-conflict",
                    "warning",
                    len(members),
                    f"{names} all say that they are rank {rank} for overlapping times: each is shown apart. "
                    "Say which is which with --rank FILE=N.",
                    names,
                )
            )
            for m in members:
                out[m.index] = replace(m, conflict=True)
        else:
            for number, (_, m) in enumerate(timed):
                out[m.index] = replace(m, segment=number)
    return out


def _groups(inputs: list[Input]) -> tuple[RankGroup, ...]:
    buckets: dict[tuple[int, int], list[Input]] = {}
    for item in inputs:
        shared = item.rank is not None and not item.conflict
        key = (item.rank, -1) if shared else (2**31 if item.rank is None else item.rank, item.index)
        buckets.setdefault(key, []).append(item)  # type: ignore[arg-type]
    groups = []
    for number, key in enumerate(sorted(buckets)):
        members = sorted(buckets[key], key=lambda m: (m.trace.meta.companion, m.segment))
        head = members[0]
        label = head.label if not head.conflict else f"{head.label} ({head.path.name})"
        groups.append(
            RankGroup(
                number, label, head.rank, tuple(m.index for m in members), head.trace.meta.host, _gpu_name(members)
            )
        )
    return tuple(groups)


def _gpu_name(members: list[Input]) -> str | None:
    for item in members:
        used = {lane.device for lane in item.trace.lanes if lane.device is not None and lane.device != ABSENT}
        names = {d.name for d in item.trace.meta.devices if d.id in used and d.name}
        if len(names) == 1:
            return names.pop()
    return None
