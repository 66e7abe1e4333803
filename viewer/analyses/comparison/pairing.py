"""Which rank and which step of one run stands against which of the other, and whether the runs can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import Step, step_table
from viewer.base.ids import ABSENT
from viewer.store.session import RankGroup, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

MOST_STEPS: Final = 512
"""Steps of a rank that are held against each other; of more, the last ones."""


_EVERYTHING: Final = (-(2**62), 2**62)


@dataclass(frozen=True, eq=False)
class Span:
    """One step of one device, or all of a trace without steps.

    Attributes:
        input: index of the file in its session.
        trace: its trace.
        number: the step's number as shown, None without steps.
        start_ns, end_ns: raw ns of the file: from the last end of the step before (the first: its own first start) to
            its own last end, so that the spans of successive steps touch and no time is in two of them.
        work_ns: when the step's own work began, not before ``start_ns``: idle up to there lies between steps.
        at: positions in ``gpu_work(trace)`` of what the step launched on the device, wherever it ran; ascending.
        mark: raw ns of the step's CPU mark; without steps those of the whole file.
        first: whether no step of the file is before it.
    """

    input: int
    trace: Trace
    number: int | None
    start_ns: int
    end_ns: int
    work_ns: int
    at: I64
    mark: tuple[int, int]
    first: bool = True

    @property
    def length_ns(self) -> int:
        """Length of the span."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, eq=False)
class Unit:
    """One device of one rank of one run, with its spans by time."""

    group: RankGroup
    device: int
    spans: tuple[Span, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """The files that its spans lie in, in order."""
        return tuple(dict.fromkeys(s.input for s in self.spans))


@dataclass(frozen=True, eq=False)
class Pair:
    """One device of both runs; span k of ``base`` stands against span k of ``test``."""

    base: Unit
    test: Unit
    label: str


@dataclass(frozen=True, eq=False)
class Pairing:
    """What stands against what.

    Attributes:
        pairs: empty when the runs cannot be compared.
        reason: why they cannot; "" when they can.
        by_step: whether spans are steps; else each is a whole trace.
        whole: whether nothing of the paired devices is left out.
        notes: what was left out or guessed, as sentences.
    """

    pairs: tuple[Pair, ...]
    reason: str = ""
    by_step: bool = False
    whole: bool = True
    notes: tuple[str, ...] = ()

    @property
    def span_pairs(self) -> int:
        """How many spans are held against each other."""
        return sum(len(p.base.spans) for p in self.pairs)


def pair_runs(base: Session, test: Session) -> Pairing:
    """Pair the ranks, devices and steps of two runs."""
    for name, side in (("base", base), ("test", test)):
        if not side.inputs:
            return Pairing((), f"the {name} run has no trace")
        if not any(len(gpu_work(i.trace)) for i in side.inputs):
            return Pairing((), f"the {name} run holds no GPU work")
    sizes = [{i.trace.meta.world_size for i in s.inputs if i.trace.meta.world_size is not None} for s in (base, test)]
    if all(len(s) == 1 for s in sizes) and sizes[0] != sizes[1]:
        a, b = (next(iter(s)) for s in sizes)
        return Pairing((), f"the base run has world size {a:,}, the test run {b:,}")
    notes: list[str] = []
    ranks = _pair_ranks(base, test, notes)
    if not ranks:
        return Pairing((), "no rank was opened of both runs")
    found = [(a, b, _units(base, a), _units(test, b)) for a, b in ranks]
    marked = [bool(units) for _, _, left, right in found for units in (left, right)]
    by_step = all(marked)
    if not by_step:
        if any(marked):
            notes.append("only one of the runs marks steps (or not on every rank): whole traces are compared")
        found = [(a, b, _whole(base, a), _whole(test, b)) for a, b in ranks]
    pairs: list[Pair] = []
    whole = True
    for left_rank, right_rank, left, right in found:
        for one, other in _pair_devices(left, right, left_rank.label, notes):
            spans = _pair_spans(one.spans, other.spans)
            if not spans:
                continue
            whole &= len(spans) == len(one.spans) == len(other.spans)
            label = _label(left_rank, right_rank)
            if len(left) > 1:
                label += f" GPU {'?' if one.device == ABSENT else one.device}"
            pairs.append(
                Pair(
                    replace(one, spans=tuple(s for s, _ in spans)),
                    replace(other, spans=tuple(s for _, s in spans)),
                    label,
                )
            )
    if not pairs:
        return Pairing((), "no device has GPU work in both runs", notes=tuple(notes))
    if not whole:
        counted = (
            sum(len(u.spans) for _, _, units, _ in found for u in units),
            sum(len(u.spans) for _, _, _, units in found for u in units),
        )
        notes.append(
            f"the runs hold {counted[0]:,} and {counted[1]:,} steps over all ranks: "
            f"{sum(len(p.base.spans) for p in pairs):,} pairs of them are compared"
        )
    return Pairing(tuple(pairs), "", by_step, whole, tuple(notes))


def _label(a: RankGroup, b: RankGroup) -> str:
    return a.label if a.label == b.label else f"{a.label} / {b.label}"


def _pair_ranks(base: Session, test: Session, notes: list[str]) -> list[tuple[RankGroup, RankGroup]]:
    """Groups with GPU work by rank; those that state none in order; a lone one against a lone one whatever they say."""
    left, right = _working(base), _working(test)
    if len(left) == len(right) == 1:
        if left[0].rank != right[0].rank:
            notes.append(f"{left[0].label} of the base is held against {right[0].label} of the test run")
        return [(left[0], right[0])]
    by_rank: dict[int, list[RankGroup]] = {}
    for group in right:
        if group.rank is not None:
            by_rank.setdefault(group.rank, []).append(group)
    pairs, alone = [], []
    for group in left:
        same = by_rank.get(group.rank) if group.rank is not None else None
        if same:
            pairs.append((group, same.pop(0)))
        else:
            alone.append(group)
    taken = {id(b) for _, b in pairs}
    unnamed = [g for g in alone if g.rank is None], [g for g in right if g.rank is None]
    pairs += list(zip(*unnamed, strict=False))
    if not pairs and len(left) == len(right):
        notes.append("the runs have no rank number in common: their ranks are paired in order")
        return list(zip(left, right, strict=True))
    left_out = len(left) + len(right) - 2 * len(pairs)
    if left_out:
        taken |= {id(b) for _, b in pairs}
        notes.append(
            f"{left_out:,} {'rank was' if left_out == 1 else 'ranks were'} opened of one run only and left out"
        )
    return pairs


def _working(session: Session) -> list[RankGroup]:
    return [g for g in session.groups if any(len(gpu_work(session.inputs[i].trace)) for i in g.inputs)]


def _pair_devices(left: list[Unit], right: list[Unit], label: str, notes: list[str]) -> list[tuple[Unit, Unit]]:
    """By place where both runs use as many devices (their numbers may differ), else by number."""
    if len(left) == len(right):
        return list(zip(left, right, strict=True))
    by_number = {u.device: u for u in right}
    pairs = [(u, by_number[u.device]) for u in left if u.device in by_number]
    if not pairs and left and right:
        pairs = [(left[0], right[0])]
    if len(pairs) < max(len(left), len(right)):
        notes.append(f"{label} uses another number of devices in the test run: {len(pairs)} of them are compared")
    return pairs


def _pair_spans(left: Sequence[Span], right: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Step k against step k; of different counts by number where one run's numbers hold the other's, else the last."""
    if len(left) != len(right):
        a, b = {s.number: s for s in left}, {s.number: s for s in right}
        shared = [n for n in a if n in b and n is not None]
        fewest = min(len(left), len(right))
        if len(a) == len(left) and len(b) == len(right) and len(shared) == fewest:
            left, right = [a[n] for n in shared], [b[n] for n in shared]
        else:
            left, right = left[len(left) - fewest :], right[len(right) - fewest :]
    return [_alike(a, b) for a, b in zip(left, right, strict=True)][-MOST_STEPS:]


def _alike(a: Span, b: Span) -> tuple[Span, Span]:
    """Where one of two steps is its file's first, what lies before the other one's work has no counterpart."""
    if a.first == b.first:
        return a, b
    return (a, replace(b, start_ns=b.work_ns)) if a.first else (replace(a, start_ns=a.work_ns), b)


def _units(session: Session, group: RankGroup) -> list[Unit]:
    """The devices of a rank with their steps; spans of steps without work on a device are left out."""
    spans: dict[int, list[tuple[int, Span]]] = {}
    for index in group.inputs:
        item = session.inputs[index]
        work = gpu_work(item.trace)
        for device in work.devices:
            for span in _steps_on(item.index, item.trace, device):
                spans.setdefault(device, []).append((item.clock.to_session(span.start_ns), span))
    return _sorted_units(group, spans)


def _steps_on(index: int, trace: Trace, device: int) -> list[Span]:
    work = gpu_work(trace)
    found: list[tuple[int, int, I64, Step]] = []
    for step in step_table(trace).steps:
        at = np.sort(work.positions(step.rows))
        at = at[work.device[at] == device] if len(work.devices) > 1 else at
        if len(at):
            found.append((int(work.start_ns[at].min()), int(work.end_ns[at].max()), at, step))
    found.sort(key=lambda f: (f[1], f[0]))
    out: list[Span] = []
    before: int | None = None
    for first, last, at, step in found:
        start = first if before is None else before
        mark = (step.start_ns, step.end_ns)
        begun = min(max(first, start), last)
        out.append(Span(index, trace, step.index, start, last, begun, at, mark, before is None))
        before = last
    return out


def _whole(session: Session, group: RankGroup) -> list[Unit]:
    """The devices of a rank, each file one span."""
    spans: dict[int, list[tuple[int, Span]]] = {}
    for index in group.inputs:
        item = session.inputs[index]
        work = gpu_work(item.trace)
        for device in work.devices:
            part = work.of_device(device)
            at = np.arange(part.start, part.stop)
            start, end = int(work.start_ns[part.start]), int(work.end_ns[part].max())
            span = Span(index, item.trace, None, start, end, start, at, _EVERYTHING)
            spans.setdefault(device, []).append((item.clock.to_session(start), span))
    return _sorted_units(group, spans)


def _sorted_units(group: RankGroup, spans: dict[int, list[tuple[int, Span]]]) -> list[Unit]:
    return [
        Unit(group, device, tuple(s for _, s in sorted(spans[device], key=lambda pair: pair[0])))
        for device in sorted(spans)
    ]
