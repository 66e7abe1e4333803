"""Exposed communication of a job, taken apart: waiting, volume, rate and what nothing hid, per rank and kernel.

wait + volume + rate + unhidden + not separable = exposed, to the nanosecond, for every rank (asserted). A rank's times
are on its own clock: a collective's last arrival is its end minus the shortest duration among its members. Only a
receive's waiting needs the clocks of two ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import attribute_many
from viewer.analyses.collective.baseline import baseline, ideal
from viewer.analyses.collective.exposed_parts import NOT_SEPARABLE, UNHIDDEN, WAITING, Hiding, Kernels, Part, split
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.hiding import held
from viewer.analyses.collective.kinds import POINT_TO_POINT, Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.collective.table import kernel_keys, kernel_waits
from viewer.analyses.collective.volume import needed_share
from viewer.analyses.collective.waits import doubt
from viewer.analyses.gpu_work import gpu_work, unions
from viewer.base.ids import ABSENT, Paint
from viewer.jit.intervals import clip, subtract
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
Window = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """Exposed communication of a rank or a job, ns (of a job: rank-ns). The parts sum to ``exposed_ns`` (asserted).

    ``parts`` and ``transfers`` are by Part and Hiding; ``has_wait`` says whether waiting is known of any communication
    (or there is none), ``has_rate`` and ``has_volume`` whether any had a baseline, and any group a plan.
    """

    exposed_ns: int
    parts: tuple[int, ...]
    transfers: tuple[int, ...]
    has_wait: bool
    has_rate: bool
    has_volume: bool

    def __post_init__(self) -> None:
        if sum(self.parts) != self.exposed_ns:
            raise AssertionError(
                f"the parts of exposed communication add up to {sum(self.parts)}, not {self.exposed_ns}"
            )

    def of(self, parts: Iterable[Part]) -> int:
        """The sum of some parts."""
        return sum(self.parts[p] for p in parts)

    @property
    def wait_ns(self) -> int:
        """Waiting, the pipeline's included."""
        return self.of(WAITING)

    @property
    def unhidden_ns(self) -> int:
        """Ideal transfer that nothing hid."""
        return self.of(UNHIDDEN)

    @property
    def not_separable_ns(self) -> int:
        """What cannot be told apart."""
        return self.of(NOT_SEPARABLE)

    @property
    def transfer_ns(self) -> int:
        """All exposed transfer, with a baseline or without."""
        return sum(self.transfers)


@dataclass(frozen=True, eq=False)
class InputSplit:
    """One input: per communication kernel of ``operations`` its exposed ns by Part and by Hiding; and the whole.

    ``rest`` int64[len(Part)] is of communication that is no operation (copies between devices). ``figures`` is None
    without GPU work.
    """

    parts: I64
    transfers: I64
    rest: I64
    figures: Figures | None


def communication(session: Session, windows: Mapping[int, Window] | None = None) -> tuple[InputSplit, ...]:
    """The split of each input, by index; over raw windows (by input) or everything. Kept for everything."""
    if windows is None:
        return session.card_memo("communication_split", lambda: _build(session, None))
    return _build(session, windows)


def total(splits: Iterable[InputSplit]) -> Figures | None:
    """The sum over inputs; None when none has GPU work."""
    figures = [s.figures for s in splits if s.figures is not None]
    if not figures:
        return None
    return Figures(
        sum(f.exposed_ns for f in figures),
        tuple(sum(column) for column in zip(*(f.parts for f in figures), strict=True)),
        tuple(sum(column) for column in zip(*(f.transfers for f in figures), strict=True)),
        any(f.has_wait for f in figures),
        any(f.has_rate for f in figures),
        any(f.has_volume for f in figures),
    )


@dataclass(frozen=True, eq=False)
class Stages:
    """Per kernel of ``everything``: until when it waited, and what its transfer should have taken. ns.

    ``wait`` is ABSENT where unknown, ``ideal`` 0 without a baseline; ``volume`` is what the bytes beyond the plan take
    at the baseline (a part of nothing else), ``rest`` the Part behind both.
    """

    wait: I64
    ideal: I64
    volume: I64
    rest: NDArray[np.uint8]
    has_baseline: Bools
    has_plan: Bools


def stages(session: Session) -> Stages:
    """What is known of each communication kernel. Built once per card."""
    return session.card_memo("communication_stages", lambda: _stages(session))


def _stages(session: Session) -> Stages:
    every = everything(session)
    op, wait, transfer, complete = kernel_waits(session)
    length = every.end - every.start
    wait = np.where(transfer == ABSENT, ABSENT, np.clip(wait, 0, length))
    parts = every.kind == Kind.ALL_TO_ALL_V
    if parts.any():
        wait = np.where(parts, _by_arrival(session, op, parts), wait)
    # Both at once: it may wait for its own send's peer or for its receive's.
    wait[every.kind == Kind.SEND_RECV] = ABSENT
    groups, share, keys = job_groups(session).groups, needed_share(session), kernel_keys(session)
    count = len(keys.distinct)
    times, judged = np.zeros((2, count), np.int64), np.zeros((2, count), np.bool_)
    for i, (kind, number, size) in enumerate(keys.distinct.tolist()):
        group = groups[number] if number >= 0 else None
        needed = share.get(number) if number >= 0 and Kind(kind) not in POINT_TO_POINT else None
        judged[1, i] = needed is not None
        told = ideal(session, Kind(kind), group, None if size == ABSENT else size)
        if told is not None:
            judged[0, i] = True
            times[0, i] = told.ns if needed is None else round(told.ns * needed)
            times[1, i] = told.ns - times[0, i]
    (least, beyond), (known, planned) = times[:, keys.which], judged[:, keys.which]
    rest = np.where(known, np.where(complete, Part.RATE, Part.MEMBERS_MISSING), Part.NO_BASELINE).astype(np.uint8)
    return Stages(wait, least, beyond, rest, known, planned)


def _by_arrival(session: Session, op: I64, which: Bools) -> I64:
    """Waits by the last arrival on aligned clocks, for operations whose members move different amounts."""
    every = everything(session)
    begun = every.start.copy()
    for item in session.inputs:
        mine = every.input == item.index
        if mine.any():
            begun[mine] = item.clock.many_to_session(every.start[mine] - item.base_ns)
    sure = doubt(session)[every.node] != ABSENT
    out = np.full(len(begun), ABSENT, np.int64)
    at = np.flatnonzero(which & (op >= 0))
    if len(at):
        numbers, inverse = np.unique(op[at], return_inverse=True)
        last = np.full(len(numbers), np.iinfo(np.int64).min)
        np.maximum.at(last, inverse, begun[at])
        all_sure = np.ones(len(numbers), np.bool_)
        np.logical_and.at(all_sure, inverse, sure[at])
        wait = np.clip(last[inverse] - begun[at], 0, (every.end - every.start)[at])
        out[at] = np.where(all_sure[inverse], wait, ABSENT)
    return out


def _build(session: Session, windows: Mapping[int, Window] | None) -> tuple[InputSplit, ...]:
    every, known = everything(session), stages(session)
    pipeline = np.array([g.purpose not in ("dp", "tp", "cp", "ep") for g in job_groups(session).groups] + [True])
    out = []
    for item in session.inputs:
        mine = np.flatnonzero(every.input == item.index)
        out.append(_input(session, item, mine, known, pipeline, None if windows is None else windows[item.index]))
    return tuple(out)


def _input(
    session: Session, item: Input, mine: I64, known: Stages, pipeline: Bools, window: Window | None
) -> InputSplit:
    trace, every = item.trace, everything(session)
    table, work, why = operations(trace), gpu_work(trace), held(session, item)
    count = len(table)
    arrived = np.full(count, ABSENT, np.int64)
    least, beyond = np.zeros(count, np.int64), np.zeros(count, np.int64)
    rest = np.full(count, Part.NOT_MATCHED, np.uint8)
    lines = np.zeros(count, np.bool_)
    at = every.at[mine]
    arrived[at] = np.where(known.wait[mine] == ABSENT, ABSENT, table.start_ns[at] + known.wait[mine])
    least[at], beyond[at], rest[at] = known.ideal[mine], known.volume[mine], known.rest[mine]
    lines[at] = (every.kind[mine] == Kind.RECV) & pipeline[every.group[mine]]
    parts, transfers = np.zeros((len(Part), count), np.int64), np.zeros((len(Hiding), count), np.int64)
    others = np.zeros(len(Part), np.int64)
    place = np.full(len(trace), -1, np.int64)
    place[table.row] = np.arange(count)
    exposed_ns = 0
    for device in work.devices:
        part = work.of_device(device)
        comm = part.start + np.flatnonzero(work.paint[part] == Paint.COMM)
        if not len(comm):
            continue
        comm = comm[np.lexsort((work.lane[comm], work.start_ns[comm]))]
        number = place[work.index[comm]]
        safe, named = np.maximum(number, 0), number >= 0
        if not count:
            safe = np.zeros(len(comm), np.int64)
        start, end = work.start_ns[comm], work.end_ns[comm]

        def column(values: NDArray[Any], none: int, named: Bools = named, safe: I64 = safe) -> NDArray[Any]:
            if not len(values):
                return np.full(len(named), none, values.dtype)
            return np.where(named, values[safe], np.array(none, values.dtype))

        came = column(arrived, ABSENT)
        has = came != ABSENT
        came = np.clip(np.where(has, came, start), start, end)
        until = np.minimum(came + column(least, 0), end)
        kernels = Kernels(
            start=start,
            end=end,
            arrived=came,
            ideal=until,
            volume=np.minimum(until + column(beyond, 0), end),
            known=has,
            rest=column(rest, Part.NOT_MATCHED),
            hiding=column(why.hiding, Hiding.UNKNOWN),
            pipeline=column(lines, 0).astype(np.bool_),
        )
        sets = unions(trace, device)
        alone = subtract(*sets.comm, *sets.compute)
        if window is not None:
            alone = clip(alone[0], alone[1], *window)
        found = split(kernels, alone)
        parts[:, number[named]] += found.parts[:, named]
        transfers[:, number[named]] += found.transfers[:, named]
        others += found.parts[:, ~named].sum(axis=1)
        low, high = window or (int(start[0]), int(end.max()))
        told = attribute_many(trace, device, np.array([low], np.int64), np.array([max(low, high)], np.int64))
        exposed_ns += 0 if told is None else int(told.comm_exposed_ns[0])
    if not work.devices:
        return InputSplit(parts, transfers, others, None)
    figures = Figures(
        exposed_ns,
        tuple(int(v) for v in parts.sum(axis=1) + others),
        tuple(int(v) for v in transfers.sum(axis=1)),
        not (arrived == ABSENT).all() or not (len(arrived) or others.any()),
        bool(known.has_baseline[mine].any()),
        bool(known.has_plan[mine].any()),
    )
    return InputSplit(parts, transfers, others, figures)


def baseline_sentence(session: Session) -> str:
    """What rates are held against, or why they are not."""
    found = baseline(session)
    return f"{found.sentence} {found.problem}".strip()
